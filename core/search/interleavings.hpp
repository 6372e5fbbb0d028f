// Every SC interleaving, or every one with so many preemptions: plain depth-first search.
//
//   Musuvathi, Qadeer: Iterative context bounding (PLDI 2007)     here
//   a preemption: a switch away from a thread that could go on    Frame::spent
//   bound c: the executions with exactly c preemptions            Preemptions{c, c}; who asks counts c up
//   places where a thread may be preempted                        Preemptions::kinds: all, unless said otherwise
//   the work queue of what bound c + 1 begins with                none: the executions of smaller bounds are walked
//                                                                 again, unseen, which costs time but no memory
#pragma once

#include <cstdint>
#include <limits>

#include "search/system.hpp"

namespace teetotal {

struct Preemptions {
  std::uint32_t fewest = 0;
  std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t kinds = ~0U;  // bit of a kind: a thread may be preempted before such an event

  bool before(Kind kind) const { return (kinds >> static_cast<unsigned>(kind) & 1U) != 0; }
};

SearchResult all_interleavings(System& system, Visitor& visitor, Preemptions preemptions = {});

}  // namespace teetotal
