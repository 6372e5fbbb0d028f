// What was found out about a thread where it was first looked at, by what had happened before (`Step::past`).
//
// A stack also holds what nobody will read any more, the remains of earlier calls, which may differ with the way that
// led to a step: run for the first time, once more, or brought back by a snapshot. Two equal states may look different
// for that, which is no harm by itself; but equivalent executions must take threads for waiting in the same way
// (exploration.md). So what was found where a thread had a certain past holds wherever it has that past again.
//
// A long search may know many, and asks for one at every step at which a thread may wait. So: open addressing with
// linear probing, no memory for each entry. A past is a hash already, and odd: 0 stands for none. Nothing is forgotten,
// since two answers for one past would contradict each other: a search that comes to the limit of its memory
// (`--memory`) ends with it, and says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace teetotal::runtime {

template <typename Value>
class FirstFound {
 public:
  // What holds for a past: what was found when it was first met.
  Value decide(std::uint64_t past, Value found) {
    if (4 * (size_ + 1) > 3 * pasts_.size()) grow();
    const std::size_t at = slot(past);
    if (pasts_[at] == 0) {
      pasts_[at] = past;
      values_[at] = found;
      ++size_;
    }
    contested_ = contested_ || values_[at] != found;
    return values_[at];
  }

  // Whether something else was found later where a past was met again.
  bool contested() const { return contested_; }
  std::size_t size() const { return size_; }

  template <typename Look>
  void each(Look look) const {
    for (std::size_t i = 0; i < pasts_.size(); ++i)
      if (pasts_[i] != 0) look(pasts_[i], values_[i]);
  }

  void clear() { *this = {}; }

 private:
  static constexpr std::size_t kFirst = 1024;  // a power of two

  // Where a past is, or belongs.
  std::size_t slot(std::uint64_t past) const {
    const std::size_t mask = pasts_.size() - 1;
    std::size_t at = past >> 1U & mask;  // the lowest bit is set in all
    while (pasts_[at] != past && pasts_[at] != 0) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    const std::size_t size = pasts_.empty() ? kFirst : 2 * pasts_.size();
    const auto pasts = std::exchange(pasts_, std::vector<std::uint64_t>(size));
    const auto values = std::exchange(values_, std::vector<Value>(size));
    for (std::size_t i = 0; i < pasts.size(); ++i) {
      if (pasts[i] == 0) continue;
      const std::size_t at = slot(pasts[i]);
      pasts_[at] = pasts[i];
      values_[at] = values[i];
    }
  }

  std::vector<std::uint64_t> pasts_;
  std::vector<Value> values_;
  std::size_t size_ = 0;
  bool contested_ = false;
};

}  // namespace teetotal::runtime
