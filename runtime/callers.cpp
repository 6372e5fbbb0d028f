#include "callers.hpp"

#include <algorithm>
#include <fstream>
#include <ios>

#include "process.hpp"

namespace teetotal::runtime {

void Callers::read(const std::string& file, std::uintptr_t base) {
  std::ifstream lines(file);
  lines >> std::hex;
  for (Range range{}; lines >> range.begin >> range.end;) library_.push_back({base + range.begin, base + range.end});
}

// A place is where a call returns to: the call is before it.
bool Callers::of_library(std::uintptr_t place) const {
  const auto next = std::ranges::upper_bound(library_, place - 1, {}, &Range::begin);
  return next != library_.begin() && place - 1 < std::prev(next)->end;
}

std::uintptr_t Callers::teller(std::uintptr_t place, const void* frame) const {
  const auto in_program = [&](std::uintptr_t at) { return process.memory.in_object(at) && !of_library(at); };
  if (in_program(place) || process.current == nullptr) return place;
  struct Frame {
    const Frame* caller;
    std::uintptr_t returns_to;
  };
  constexpr int kDeepest = 64;
  const std::uintptr_t top = stack_top(process.current->number);
  const auto* at = static_cast<const Frame*>(frame);
  for (int depth = 0; depth < kDeepest; ++depth) {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    if (address % sizeof(void*) != 0 || address >= top || address < top - kStackSize + 4096) return place;
    if (in_program(at->returns_to)) return at->returns_to;
    if (at->caller <= at) return place;
    at = at->caller;
  }
  return place;
}

}  // namespace teetotal::runtime
