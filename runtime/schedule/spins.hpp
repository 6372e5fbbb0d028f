// What was found out about threads that may spin, by what happened before (`Step::past`): see system.hpp.
//
// A long search may know many, and asks for one at every step at which a thread repeats itself. So: open addressing
// with linear probing, nine bytes a slot, no memory for each entry. A past is a hash already, and odd: 0 stands for
// none. Nothing is forgotten, since two answers for one past would contradict each other: a search that comes to the
// limit of its memory (`--memory`) ends with it, and says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace teetotal::runtime {

class Spins {
 public:
  // What holds for a past: what was found when it was first met.
  std::uint32_t decide(std::uint64_t past, std::uint32_t found) {
    if (4 * (size_ + 1) > 3 * pasts_.size()) grow();
    const std::size_t at = slot(past);
    if (pasts_[at] == 0) {
      pasts_[at] = past;
      lengths_[at] = static_cast<std::uint8_t>(found);
      ++size_;
    }
    return lengths_[at];
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
    const auto lengths = std::exchange(lengths_, std::vector<std::uint8_t>(size));
    for (std::size_t i = 0; i < pasts.size(); ++i) {
      if (pasts[i] == 0) continue;
      const std::size_t at = slot(pasts[i]);
      pasts_[at] = pasts[i];
      lengths_[at] = lengths[i];
    }
  }

  std::vector<std::uint64_t> pasts_;
  std::vector<std::uint8_t> lengths_;
  std::size_t size_ = 0;
};

}  // namespace teetotal::runtime
