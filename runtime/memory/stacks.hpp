// What lifetimes.cpp keeps of a thread: which of its frames have ended.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "operation.hpp"
#include "seldom.hpp"

namespace teetotal::runtime {

// The latest of them: all below the first address, told by the second.
struct EndedFrames {
  std::array<std::pair<std::uintptr_t, std::uintptr_t>, 4> latest{};
  std::uint32_t next = 0;
};

struct StackEnds {
  std::uintptr_t dead_below = 0;  // since it was last let go on
  std::uintptr_t left_below = 0;  // where it ended the process
  std::uintptr_t told_below = 0;  // whose end its latest operation told, if that told one
  Seldom<EndedFrames> ended;
  Wide last_stored = 0;  // what it stored last, where that has died
};

}  // namespace teetotal::runtime
