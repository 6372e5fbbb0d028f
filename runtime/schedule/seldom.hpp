// What changes seldom and is copied often: a copy compares numbers first, and has nothing to do where they are equal.
//
// Each change gives what it holds a number that nothing of its kind had before. So equal numbers mean equal values,
// whatever was copied where in between, and 0 is the value of the beginning.
#pragma once

#include <cstdint>

namespace teetotal::runtime {

template <typename T>
class Seldom {
 public:
  Seldom() = default;
  Seldom(const Seldom&) = default;
  ~Seldom() = default;
  Seldom& operator=(const Seldom& other) {
    if (number_ == other.number_) return *this;
    number_ = other.number_;
    value_ = other.value_;
    return *this;
  }

  const T* operator->() const { return &value_; }
  const T& operator*() const { return value_; }

  // To be changed at once: not to be kept.
  T& change() {
    number_ = ++numbers;
    return value_;
  }

 private:
  static inline std::uint64_t numbers = 0;
  std::uint64_t number_ = 0;
  T value_{};
};

}  // namespace teetotal::runtime
