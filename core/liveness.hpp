// What of a thread's local state matters at each place of its code: found once, by looking at the code alone.
//
// A register is live where what it holds may be used before it is written again; those that belong to an outcome are
// used at the end. Two local states at one place with the same live registers do the same for ever: they are one state
// to whoever asks whether a loop came back to where it was (docs/explanation/waiting.md).
#pragma once

#include <vector>

#include "program.hpp"

namespace teetotal {

struct Place {
  std::vector<std::uint32_t> live;  // registers, by number
  bool may_wait = false;            // a load, rmw or fence that can be passed again without a store, lock or unlock
};

// Of each instruction.
std::vector<Place> places_of(const Thread& thread);

}  // namespace teetotal
