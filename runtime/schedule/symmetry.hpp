// Threads that nothing tells apart take their first steps in the order in which they were created.
//
// Exchanging such threads makes an execution of an execution, so those in which the later of them comes first need not
// be explored (docs/explanation/exploration.md, Theorem 5). To the search it is one thing more that a thread waits for:
// the first step of a thread makes that of the next one possible. Only where the search visits one execution of each
// class, under SC.
//
// Threads are alike if one thread created them, one after the other and doing nothing else that is visible between,
// with the same routine, the same argument and the same attributes. What would tell them apart (`tell_apart`) ends it
// for good, and the search begins again without.
//
// - a thread of theirs asks who it is, draws a number, asks for a value, memory or the time, calls into a library, has
//   data by key, creates threads, or stores an address of its own stack or thread-local variables;
// - others use its stack or its thread-local variables;
// - they are not joined one after the other by one thread, all of them, for nothing but their ends; or are detached,
//   named, looked at.
#pragma once

#include "process.hpp"

namespace teetotal::runtime {

struct Symmetry {
  bool on = false;  // nothing has told any threads apart, and the search may ask
};

inline Symmetry symmetry;

// Before `self` creates `child`: finds out whom it is like.
void find_twin(const Thread& self, Thread& child, void* (*routine)(void*), const void* argument, bool detached);

inline void tell_apart(const Thread& thread) {
  if (!symmetry.on || thread.group == 0) return;
  symmetry.on = false;
  process.restart = true;
}

// Before `self` joins it.
void watch_join(const Thread& self, const Thread& joined, bool for_result);

// After a step of the thread, which left so much in its cell.
void watch_symmetry(const Thread& thread, const Operation& done, Wide stored);

}  // namespace teetotal::runtime
