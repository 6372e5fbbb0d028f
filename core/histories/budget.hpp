// How much time and memory the work on a history may take.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <new>
#include <string>
#include <vector>

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

// The bytes, or NotEnough if they are not to be had: where the machine, or the group of processes that this one belongs
// to, does not have them to spare, the system would hand them out all the same, and kill somebody when they are used.
std::size_t affordable(std::size_t bytes);

// For one more, of a list that may come to be most of what there is.
template <typename T>
void make_room(std::vector<T>& list) {
  constexpr std::size_t kFirst = 1024;
  if (list.size() < list.capacity()) return;
  list.reserve(affordable(std::max(kFirst, 2 * list.size()) * sizeof(T)) / sizeof(T));
}

}  // namespace teetotal::histories
