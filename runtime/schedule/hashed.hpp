// A table by hashes of 64 bits that are odd: 0 stands for none. Open addressing with linear probing, no memory for each
// entry. Nothing is forgotten but all at once. What was found lies elsewhere after something was added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace teetotal::runtime {

template <typename Value>
class Hashed {
 public:
  const Value* find(std::uint64_t hash) const {
    if (size_ == 0) return nullptr;
    const std::size_t at = slot(hash);
    return hashes_[at] == 0 ? nullptr : &values_[at];
  }

  // What is there already, or this.
  const Value& add(std::uint64_t hash, const Value& value) {
    if (4 * (size_ + 1) > 3 * hashes_.size()) grow();
    const std::size_t at = slot(hash);
    if (hashes_[at] == 0) {
      hashes_[at] = hash;
      values_[at] = value;
      ++size_;
    }
    return values_[at];
  }

  std::size_t size() const { return size_; }

  void clear() { *this = {}; }

 private:
  static constexpr std::size_t kFirst = 64;  // a power of two

  // Where a hash is, or belongs.
  std::size_t slot(std::uint64_t hash) const {
    const std::size_t mask = hashes_.size() - 1;
    std::size_t at = hash >> 1U & mask;
    while (hashes_[at] != hash && hashes_[at] != 0) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    const std::size_t size = hashes_.empty() ? kFirst : 2 * hashes_.size();
    const auto hashes = std::exchange(hashes_, std::vector<std::uint64_t>(size));
    const auto values = std::exchange(values_, std::vector<Value>(size));
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      if (hashes[i] == 0) continue;
      const std::size_t at = slot(hashes[i]);
      hashes_[at] = hashes[i];
      values_[at] = values[i];
    }
  }

  std::vector<std::uint64_t> hashes_;
  std::vector<Value> values_;
  std::size_t size_ = 0;
};

}  // namespace teetotal::runtime
