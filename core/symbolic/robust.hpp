// Robustness of cyclic programs: can any trace under TSO or PSO be not sequentially consistent?
//
// Bouajjani, Derevenetc, Meyer (ESOP 2013) reduce this for TSO to reachability under SC: if there is a trace with a
// happens-before cycle, there is one in which a single process, the attacker, delays stores, and the others, the
// helpers, run as under SC (attack.hpp). Such a run is
//     τ · st_A (delayed) · ρ · e      where e, a helper's access to the location of st_A, happens after one of the
// attacker's visible accesses in ρ. Which runs of that shape are looked at:
//
// 1. ρ holds only what e depends on: the rest, and what follows from it alone, can be left out.
// 2. What depends on none of the attacker's steps in ρ can be done before st_A is delayed: it conflicts with nothing
//    that it is moved over. So a helper stays where it is until it conflicts with the attacker, or with a helper that
//    does (`late`).
// 3. Let ld_A be the attacker's last visible access in ρ. By 1, e depends on it; what does not can be done before it.
//    So after ld_A only what happens after it moves, and the attacker does not: chase.hpp.
//    These are Mazurkiewicz's equivalences: steps of two processes commute unless they touch one location, ghosts
//    included, and one of them writes it. Which accesses happen after which is the same in equivalent runs.
// 4. Between two changes of memory the processes do not see each other, so for τ and for ρ before ld_A a state is
//    (m, S_1 … S_n), S_p the set of places where p can be: the product is exact (see saturate.hpp), and no interleaving
//    of steps that change nothing is left. For the attacker S_p holds places with its own last delayed stores.
//
// A run that a rule would leave out is a run all the same, so letting too many helpers move (`late` is decided for the
// whole of S_p) costs time and nothing else. States that lie in others are dropped; states that differ in one component
// are united, which is exact; what nobody will read of memory is forgotten (saturate.hpp). A cycle found is looked for
// again without either, so that there is a path to it.
#pragma once

#include "symbolic/attack.hpp"

namespace teetotal::symbolic {

struct RobustResult {
  bool robust = true;
  std::uint64_t states = 0;
  std::vector<Step> schedule;  // up to the access that closes the cycle; what is in buffers then commits
};

RobustResult check_robust(Graph& graph, Progress* progress);

}  // namespace teetotal::symbolic
