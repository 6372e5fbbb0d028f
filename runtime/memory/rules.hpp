// What the memory model that is searched asks of the hooks: set once, by main.cpp.
#pragma once

#include "operation.hpp"

namespace teetotal::runtime {

struct Rules {
  bool unlock_needs_fence = false;  // papers' PSO: creating and ending a thread flush by a fence of their own
  bool post_needs_fence = false;    // an unlock is a fence, but an rmw is not
  bool rmw_needs_marker = false;    // rmw=address: a releasing rmw is an sfence and the rmw
  bool failed_cas_writes = false;   // a failed compare-and-swap writes the old value back
  bool buffered = false;            // TSO or PSO itself is explored
  bool halves = false;              // what looks before it writes does so in two steps
};

inline Rules rules;

// When a compare-and-swap writes: where it succeeds, or, as the papers have it, always.
inline Writes swap_writes() { return rules.failed_cas_writes ? Writes::always : Writes::if_equal; }

}  // namespace teetotal::runtime
