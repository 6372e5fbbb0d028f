// What was found out about a thread where it was first looked at, by what had happened before (`Step::past`).
//
// A stack also holds what nobody will read any more, the remains of earlier calls, which may differ with the way that
// led to a step: run for the first time, once more, or brought back by a snapshot. Two equal states may look different
// for that, which is no harm by itself; but equivalent executions must take threads for waiting in the same way
// (exploration.md). So what was found where a thread had a certain past holds wherever it has that past again.
//
// Nothing is forgotten, since two answers for one past would contradict each other: a search that comes to the limit of
// its memory (`--memory`) ends with it, and says so.
#pragma once

#include "hashed.hpp"

namespace teetotal::runtime {

template <typename Value>
class FirstFound {
 public:
  // What holds for a past: what was found when it was first met.
  Value decide(std::uint64_t past, Value found) {
    const Value first = pasts_.add(past, found);
    contested_ = contested_ || first != found;
    return first;
  }

  // Whether something else was found later where a past was met again.
  bool contested() const { return contested_; }
  std::size_t size() const { return pasts_.size(); }

  template <typename Look>
  void each(Look look) const {
    pasts_.each(look);
  }

  void clear() { *this = {}; }

 private:
  Hashed<Value> pasts_;
  bool contested_ = false;
};

}  // namespace teetotal::runtime
