// Explicit states with buffers of at most N stores: the plain opinion that the symbolic engines are compared with.
//
// Breadth-first over (memory, and for each process its control state and its buffer as a word), one step of the machine
// at a time: Linden, Wolper (TACAS 2013), section 2, with buffers that refuse a store (or a ★) when they hold N of
// them.
#pragma once

#include <vector>

#include "symbolic/concretise.hpp"

namespace teetotal::symbolic {

struct BoundedResult {
  bool bad = false;
  bool cut = false;  // some buffer was full when a store came
  std::uint64_t states = 0;
  std::vector<Step> schedule;  // to the bad state
};

BoundedResult explore_bounded(Graph& graph, std::size_t capacity, Progress* progress);

}  // namespace teetotal::symbolic
