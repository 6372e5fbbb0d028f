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

#include <utility>
#include <vector>

#include "hashed.hpp"

namespace teetotal::runtime {

template <typename Value>
class FirstFound {
 public:
  // What holds for a past: what was found when it was first met.
  Value decide(std::uint64_t past, Value found) {
    const std::size_t known = pasts_.size();
    const Value first = pasts_.add(past, found);
    contested_ = contested_ || first != found;
    if (pasts_.size() > known) sample(past, first);
    return first;
  }

  bool empty() const { return pasts_.size() == 0; }

  // Whether something else was found later where a past was met again.
  bool contested() const { return contested_; }

  // Of the pasts that are new since somebody has asked for them, some, to be compared with another process's: of each,
  // its bits decide, so that both tell the same.
  std::vector<std::pair<std::uint64_t, Value>> take_sample() { return std::exchange(sample_, {}); }

  void clear() { *this = {}; }

 private:
  static constexpr std::size_t kMost = 10'000;  // in a sample

  void sample(std::uint64_t past, Value found) {
    const auto left_out = [&](std::uint64_t one) { return (one >> 1U & mask_) != 0; };
    if (left_out(past)) return;
    sample_.emplace_back(past, found);
    if (sample_.size() <= kMost) return;
    mask_ = 2 * mask_ + 1;
    std::erase_if(sample_, [&](const auto& one) { return left_out(one.first); });
  }

  Hashed<Value> pasts_;
  bool contested_ = false;
  std::uint64_t mask_ = 0;
  std::vector<std::pair<std::uint64_t, Value>> sample_;
};

}  // namespace teetotal::runtime
