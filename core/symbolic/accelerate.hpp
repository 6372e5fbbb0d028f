// The method of Linden and Wolper itself: SPIN 2010 for TSO, TACAS 2013 for PSO.
//
// paper                                              here
//   one control location for each process, buffer      State (moves.hpp); Buffers, which keeps ★ in step
//   automata for each process (PSO: and location)
//   load, store, sfence, mfence, commit                Moves::steps, Moves::commits
//   cycle detection and acceleration                   `accelerated`: a cycle found on the stack whose buffers are what
//                                                      they were but for what was appended: A becomes A·w*; for PSO
//                                                      each location alone (Theorem 1: the numbers of writes to
//                                                      different locations need not fit)
//   load-preserving cycles                             `recurs`: each load sees the same again
//   persistent sets (Godefroid 1996)                   Moves::private_steps, `begin`, `widen`
//   sleep sets (Godefroid 1996)                        Entry::asleep, Explored::asleep
// Depth-first, down to a limit that grows until nothing lies below it.
//
// Deviations. A cycle may have steps of several processes, and commits, as long as every buffer comes back or is only
// appended to; cycles with an sfence, and cycles within cycles, are accelerated as well. The search need not end for
// all that: time limits are for it.
//
// Why nothing is missed. Claim: from an explored state every run to a bad state is found that is not equivalent to one
// that begins with a sleeping move. By induction over the length of the run, then over the order in which entries leave
// the stack:
// - All moves pending: take the first of those taken that the run, or an equivalent one, can begin with. What sleeps
//   behind it sleeps here, or was taken before it, so the rest of the run does not begin with it.
// - One process's private steps pending: a run with one of them can begin with it. A run with none of them is still
//   there after each, as long as before: so one of them must have been taken, and what it led to must be complete
//   before this entry is (`carried`); otherwise all other moves follow (`widen`). A sleeping step carries nothing.
// - Covered by an explored state: what slept there and does not sleep here is explored from here.
#pragma once

#include <optional>

#include "symbolic/concretise.hpp"

namespace teetotal::symbolic {

struct AccelerateResult {
  bool bad = false;
  std::uint64_t states = 0;
  std::uint64_t accelerations = 0;
  std::optional<std::vector<Step>> schedule;  // where it is bad, and one was found
};

AccelerateResult explore_accelerated(Graph& graph, Progress* progress);

}  // namespace teetotal::symbolic
