// How much time and memory the work on a history may take.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>

namespace teetotal::histories {

// When to give up. `interrupted` is polled now and then.
struct Budget {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::size_t conflicts = std::numeric_limits<std::size_t>::max();  // of the search in decide.hpp
  std::function<bool()> interrupted;
  bool over() const { return (interrupted && interrupted()) || std::chrono::steady_clock::now() >= deadline; }
};

struct OutOfBudget {};

// The bytes, or std::bad_alloc if this machine does not have them to spare: the system would hand them out all the
// same, and kill somebody when they are used.
std::size_t affordable(std::size_t bytes);

}  // namespace teetotal::histories
