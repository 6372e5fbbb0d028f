// Sequences that only grow, in blocks that stay where they are. A vector that doubles has, for a moment, three times
// what it held, which is when memory ends; these take what they hold and at most one block more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace teetotal {

template <typename T>
class Blocks {
 public:
  std::size_t size() const { return size_; }
  std::size_t bytes() const {
    return blocks_.size() == 1 ? blocks_[0].capacity() * sizeof(T) : blocks_.size() * kBlock * sizeof(T);
  }
  const T& operator[](std::size_t index) const { return blocks_[index >> kShift][index & (kBlock - 1)]; }
  T& operator[](std::size_t index) { return blocks_[index >> kShift][index & (kBlock - 1)]; }

  void push_back(const T& value) {
    if (size_ >> kShift == blocks_.size()) add_block();
    blocks_.back().push_back(value);  // the first block grows as it is needed: most sequences are short
    ++size_;
  }
  // Without all but the first `size` ones.
  void shorten(std::size_t size) {
    blocks_.resize((size + kBlock - 1) >> kShift);
    if (!blocks_.empty()) blocks_.back().resize(size - ((blocks_.size() - 1) << kShift));
    size_ = size;
  }

 private:
  static constexpr std::size_t kShift = 16, kBlock = std::size_t{1} << kShift;

  void add_block() {
    std::vector<T> block;
    if (!blocks_.empty()) block.reserve(kBlock);
    blocks_.push_back(std::move(block));
  }

  std::vector<std::vector<T>> blocks_;
  std::size_t size_ = 0;
};

// Strings of bytes, each in one piece.
class Strings {
 public:
  using Place = std::uint64_t;  // the block's number, and where in it

  std::size_t bytes() const { return bytes_ + (blocks_.empty() ? 0 : blocks_.back().capacity()); }

  Place add(std::span<const std::uint8_t> string) {
    if (blocks_.empty() || (!blocks_.back().empty() && blocks_.back().size() + string.size() > kBlock)) {
      std::vector<std::uint8_t> block;
      if (!blocks_.empty()) block.reserve(std::max(kBlock, string.size()));
      const std::size_t before = bytes();
      blocks_.push_back(std::move(block));
      bytes_ = before;
    }
    auto& block = blocks_.back();
    const Place place = Place{blocks_.size() - 1} << 32U | block.size();
    block.insert(block.end(), string.begin(), string.end());
    return place;
  }

  const std::uint8_t* at(Place place) const { return blocks_[place >> 32U].data() + static_cast<std::uint32_t>(place); }

  // Whether what begins there begins with this.
  bool begins(Place place, std::span<const std::uint8_t> string) const {
    const auto& block = blocks_[place >> 32U];
    const auto from = static_cast<std::uint32_t>(place);
    return block.size() - from >= string.size() && std::memcmp(block.data() + from, string.data(), string.size()) == 0;
  }

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 20U;

  std::vector<std::vector<std::uint8_t>> blocks_;
  std::size_t bytes_ = 0;  // of all blocks but the last
};

}  // namespace teetotal
