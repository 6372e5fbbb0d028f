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

// What functions that have returned were given on the stack, where that lies in frames that go on: their callers keep
// room for arguments at the lower ends of their frames. The lowest come last.
struct DeadParameters {
  struct Piece {
    std::uintptr_t begin = 0, end = 0;
  };
  std::array<Piece, 16> pieces{};
  std::uint32_t count = 0;

  bool contains(std::uintptr_t address) const {
    for (std::uint32_t i = 0; i < count; ++i)
      if (address - pieces[i].begin < pieces[i].end - pieces[i].begin) return true;
    return false;
  }
};

// Memory whose life a thread is ending, a cell after the other, from `begin` on: what lies below `data` has ended, and
// then of the objects those up to this one. All zeros: none.
struct EndingMemory {
  std::uintptr_t begin = 0, data = 0;
  std::pair<std::uintptr_t, Tag> object{};
  std::uintptr_t place = 0;  // where it does so

  bool has_ended(std::uintptr_t address, Tag tag) const {
    return address >= begin && (is_data(tag) ? address < data : std::pair(address, tag) <= object);
  }
};

// Frames that have ended, and lie above those of what runs then.
struct GoneFrames {
  std::uintptr_t begin = 0, end = 0;

  bool contains(std::uintptr_t address) const { return address - begin < end - begin; }
};

struct StackEnds {
  std::uintptr_t dead_below = 0;  // since it was last let go on
  std::uintptr_t left_below = 0;  // where it ended the process
  GoneFrames gone;                // before its last handlers ran
  std::uintptr_t told_below = 0;  // whose end its latest operation told, if that told one
  Seldom<EndedFrames> ended;
  Seldom<DeadParameters> parameters;
  Wide last_stored = 0;  // what it stored last, where that has died
};

}  // namespace teetotal::runtime
