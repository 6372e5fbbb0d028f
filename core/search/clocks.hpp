// Vector clocks, one for each event of an execution, as the rows of one array. Their width is a multiple of four, and
// loops over them go by fours: a clock of up to four threads is one register of the processor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace teetotal {

class Clocks {
 public:
  static constexpr std::size_t kStep = 4;

  std::uint32_t* operator[](std::size_t row) { return words_.data() + row * width_; }
  const std::uint32_t* operator[](std::size_t row) const { return words_.data() + row * width_; }
  std::size_t width() const { return width_; }

  // Room for that many rows and components. Rows may move; what is new is zero.
  void reserve(std::size_t rows, std::size_t components) {
    if (components > width_) [[unlikely]]
      widen(components);
    if (rows > rows_) [[unlikely]] {
      rows_ = 2 * rows;
      words_.resize(rows_ * width_);
    }
  }

 private:
  void widen(std::size_t components) {
    const std::size_t wider = (components + kStep - 1) / kStep * kStep;
    std::vector<std::uint32_t> words(rows_ * wider);
    for (std::size_t row = 0; row < rows_; ++row) std::copy_n((*this)[row], width_, words.data() + row * wider);
    words_.swap(words);
    width_ = wider;
  }

  std::size_t width_ = kStep, rows_ = 0;
  std::vector<std::uint32_t> words_;
};

template <class Do>
[[gnu::always_inline]] inline void by_fours(std::size_t width, Do act) {
  for (std::size_t block = 0; block < width; block += Clocks::kStep)
    for (std::size_t i = block; i < block + Clocks::kStep; ++i) act(i);
}

inline void join(std::uint32_t* __restrict clock, const std::uint32_t* __restrict other, std::size_t width) {
  by_fours(width, [&](std::size_t i) { clock[i] = std::max(clock[i], other[i]); });
}

inline void copy(std::uint32_t* __restrict clock, const std::uint32_t* __restrict other, std::size_t width) {
  by_fours(width, [&](std::size_t i) { clock[i] = other[i]; });
}

inline void clear(std::uint32_t* clock, std::size_t width) {
  by_fours(width, [&](std::size_t i) { clock[i] = 0; });
}

}  // namespace teetotal
