// What hooks_copies.cpp keeps of a thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace teetotal::runtime {

// Who has announced what a thread does until the next hook, and whether it is one access or made of parts.
enum class Announced : std::uint8_t { compiler, parts, whole };

// What the compiler has announced and then does by itself, until the next hook.
struct AnnouncedRange {
  std::uintptr_t to = 0, from = 0, place = 0;
  std::size_t size = 0;
  std::uintptr_t caller = 0;       // whose line it is on, as Operation::caller
  std::uintptr_t settles_for = 0;  // the same, while it is done part by part
  Announced by = Announced::compiler;
};

}  // namespace teetotal::runtime
