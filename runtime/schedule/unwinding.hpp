// Up a stack that was left, frame by frame: where the caller's registers are that calls preserve.
//
// The compiler has written down, for the sake of exceptions, where each function of this executable keeps them (DWARF,
// section 6.4, as .eh_frame has it). Only what compilers write about such functions is understood; where there is more,
// the way up ends. What was found about a place is remembered.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "fiber.hpp"

namespace teetotal::runtime {

// Registers that calls preserve, in the order of programs/c/liveness.py, and the frame pointer.
enum Kept : std::uint8_t { kRbx, kR12, kR13, kR14, kR15, kRbp, kKept };

struct Unwound {
  std::uintptr_t place = 0;                   // where its caller goes on
  std::uintptr_t end = 0;                     // of all frames below the caller's
  std::array<std::uintptr_t, kKept> slots{};  // where the caller's registers are kept
  std::uintptr_t value(Kept which) const { return *reinterpret_cast<const std::uintptr_t*>(slots[which]); }
};

// A fiber that was left, as the function sees it that left it.
Unwound unwound(const Fiber& fiber);

// Goes one frame up, out of a function of this executable; false where it cannot be told how.
bool go_up(Unwound& at);

}  // namespace teetotal::runtime
