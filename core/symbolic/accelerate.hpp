// The method of Linden and Wolper itself: SPIN 2010 for TSO, TACAS 2013 for PSO.
//
// paper                                              here
//   one buffer automaton per process (TSO), per        State::buffers: languages over letters; a word's end is control
//   0 process and location (PSO), ★ in all of them load: keep the contents on which it succeeds       Automata-level
//   `restricted` store, sfence: append; mfence: keep ε; commit      `appended`, `quotient` cycle detection and
//   acceleration                   `accelerate`: a cycle of one process's own steps, found on the stack,
//                                                      that can be repeated: A becomes A·w*, for PSO each location
//                                                      alone (Theorem 1: the writes to different locations need no
//                                                      synchrony)
//   persistent sets, sleep sets (Godefroid 1996)       `persistent`, `Entry::asleep`
// Depth-first, down to a limit that grows until nothing lies below it. A cycle can be repeated if each of its loads
// reads the same again: from memory, from the cycle's own last store, or from a store before it in the cycle. Cycles
// that append ★ are not accelerated: their buffers are synchronised for good, so that such programs may not end; time
// limits are for that.
#pragma once

#include <optional>

#include "symbolic/concretise.hpp"

namespace teetotal::symbolic {

struct AccelerateResult {
  bool bad = false;
  std::uint64_t states = 0;
  std::uint64_t accelerations = 0;
  std::optional<std::vector<Step>> schedule;
};

AccelerateResult explore_accelerated(Graph& graph, Progress* progress);

}  // namespace teetotal::symbolic
