// Robustness of cyclic programs: can any trace under TSO or PSO be not sequentially consistent?
//
// Bouajjani, Derevenetc, Meyer (ESOP 2013) reduce this for TSO to reachability under SC: if there is a trace with a
// happens-before cycle, there is one in which a single thread, the attacker, delays stores, and the others run as under
// SC.
//   attack (t_A, st_A, ld_A)     `attacker`, `victim` (the location of st_A); ld_A is whatever the others continue from
//   instrumented helpers         `tainted`: what happens after st_A, by program order and then by conflicts
// Once st_A is delayed, the attacker's later events are tainted; an access that conflicts with a tainted one before it
// is tainted, and so is what its thread does next. The cycle closes when a tainted access of another thread touches the
// location of st_A, which is still on its way. The attacker's buffer needs no word: only its own last stores.
//   PSO (as in Burnim, Sen, Stergiou, TACAS 2011)   a later store of the attacker to another location may become
//   visible at once, unless an sfence came between, or stay in the buffer as well.
#pragma once

#include "symbolic/bounded.hpp"

namespace teetotal::symbolic {

struct RobustResult {
  bool robust = true;
  std::uint64_t states = 0;
  std::vector<Step> schedule;  // up to the access that closes the cycle; what is in buffers then commits
};

RobustResult check_robust(Graph& graph, Progress* progress);

}  // namespace teetotal::symbolic
