// Vector clocks, one for each event of an execution, as the rows of one array.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace teetotal {

class Clocks {
 public:
  std::uint32_t* operator[](std::size_t row) { return words_.data() + row * width_; }
  const std::uint32_t* operator[](std::size_t row) const { return words_.data() + row * width_; }
  std::size_t width() const { return width_; }

  // Room for that many rows and components. Rows may move; what is new is zero.
  void reserve(std::size_t rows, std::size_t components) {
    if (components > width_) widen(components);
    if (words_.size() < rows * width_) words_.resize(2 * rows * width_);
  }

 private:
  void widen(std::size_t components) {
    const std::size_t wider = (components + kStep - 1) / kStep * kStep;
    std::vector<std::uint32_t> words(words_.size() / width_ * wider);
    for (std::size_t row = 0; row < words_.size() / width_; ++row)
      std::copy_n((*this)[row], width_, words.data() + row * wider);
    words_.swap(words);
    width_ = wider;
  }

  static constexpr std::size_t kStep = 4;
  std::size_t width_ = kStep;
  std::vector<std::uint32_t> words_;
};

inline void join(std::uint32_t* clock, const std::uint32_t* other, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) clock[i] = std::max(clock[i], other[i]);
}

}  // namespace teetotal
