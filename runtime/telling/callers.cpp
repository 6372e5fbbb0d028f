#include "callers.hpp"

#include <algorithm>
#include <fstream>
#include <ios>
#include <iterator>

#include "process.hpp"

namespace teetotal::runtime {

Callers callers;

void Callers::read(const std::string& file, std::uintptr_t base) {
  std::ifstream lines(file);
  lines >> std::hex;
  for (Range range{}; lines >> range.begin >> range.end >> range.limited;)
    library_.push_back({base + range.begin, base + range.end, range.limited});
}

// A place is where a call returns to: the call is before it.
const Callers::Range* Callers::range_of(std::uintptr_t place) const {
  const auto next = std::ranges::upper_bound(library_, place - 1, {}, &Range::begin);
  return next != library_.begin() && place - 1 < std::prev(next)->end ? &*std::prev(next) : nullptr;
}

bool Callers::waits_with_limit(std::uintptr_t place) const {
  const Range* range = range_of(place);
  return range != nullptr && range->limited;
}

bool Callers::of_program(std::uintptr_t place) const { return memory.in_object(place) && !of_library(place); }

Callers::Caller Callers::nearest(const void* frame) const {
  struct Frame {
    const Frame* caller;
    std::uintptr_t returns_to;
  };
  if (process.current == nullptr) return {};
  constexpr int kDeepest = 64;
  const std::uintptr_t top = stack_top(process.current->number);
  const auto* at = static_cast<const Frame*>(frame);
  for (int depth = 1; depth <= kDeepest; ++depth) {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    if (address % sizeof(void*) != 0 || address >= top || address < top - kStackSize) break;
    if (of_program(at->returns_to)) return {at->returns_to, depth};
    if (at->caller <= at) break;
    at = at->caller;
  }
  return {};
}

std::uintptr_t Callers::teller(std::uintptr_t place, const void* frame) const {
  if (of_program(place)) return place;
  const Caller found = nearest(frame);
  return found.place != 0 ? found.place : place;
}

int Callers::frames_up(const void* frame) const { return nearest(frame).frames; }

}  // namespace teetotal::runtime
