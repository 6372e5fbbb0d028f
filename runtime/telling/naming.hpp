// Which function's frame a part of a stack belonged to when an execution touched it: enough for programs/c/symbols.py
// to name the variable.
//
// At the end of an execution the frames are gone. So where it touched a stack, it is run once more, and before each
// such step the frames of the stack's owner are gone through: the program is compiled with frame pointers.
#pragma once

#include <cstdint>
#include <map>

#include "system.hpp"

namespace teetotal::runtime {

struct Frame {
  std::uintptr_t place = 0;  // in the function's code: where its callee returns to
  std::uintptr_t top = 0;    // the canonical frame address: where its caller's frame begins
};

using Frames = std::map<std::uint32_t, Frame>;  // by cell

// Before a step: of the stack that it touches, if it does.
void note_frame(Frames& frames, const Operation& operation);

// Of the steps before `end`. A program that does not do the same again has no names: the search finds that out next.
Frames frames_of(Controlled& system, std::size_t end);

}  // namespace teetotal::runtime
