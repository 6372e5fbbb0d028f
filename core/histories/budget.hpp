// How much time and memory the work on a history may take.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <new>
#include <string>

namespace teetotal::histories {

// When to give up. `interrupted` is polled now and then.
struct Budget {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::size_t conflicts = std::numeric_limits<std::size_t>::max();  // of the search in decide.hpp
  std::function<bool()> interrupted;
  bool over() const { return (interrupted && interrupted()) || std::chrono::steady_clock::now() >= deadline; }
};

struct OutOfBudget {};

// Thrown before anything is allocated.
class NotEnough final : public std::bad_alloc {
 public:
  NotEnough(std::size_t needed, std::size_t there);
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

// The bytes, or NotEnough if this machine does not have them to spare: the system would hand them out all the same, and
// kill somebody when they are used.
std::size_t affordable(std::size_t bytes);

}  // namespace teetotal::histories
