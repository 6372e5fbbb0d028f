// Reads of memory from malloc or new, or of a frame, that nobody has written: whatever follows from them is no fact
// about the program.
//
// Fresh memory is filled with a byte; so are frames, by code that the build puts in (programs/c/unwritten.py). A load
// that sees nothing but that byte is suspected, and after a search with such loads there is a second one, with the
// opposite byte: where the same instruction then sees that at the same address, its value came from the fill. What the
// program wrote itself is the same both times, and up to the first load of unwritten memory all is the same. So no
// store costs anything, a load a comparison, and memory that a library has written needs no hook.
//
// Copies carry unwritten bytes along and read none of them: struct padding, for instance. A store to a bit-field reads
// its neighbours: where the program has any (elf.py looks), a load that the same thread's next access, a few
// instructions on, stores to again is no read.
#pragma once

#include <cstdint>

namespace teetotal::runtime {

struct Thread;

inline constexpr std::uint64_t kEveryByte = 0x0101'0101'0101'0101;

struct Unwritten {
  std::uint8_t fill = 0xA5;
  std::uint64_t pattern = 0xA5 * kEveryByte;
  bool bit_fields = false;  // the program has some
  bool clocks = false;      // one was looked at whose other value a second search shows: hooks_clock.cpp

  // After a search: whether there must be a second one. It is then with the opposite byte.
  bool asks_again();
  bool is_second() const;

  // Whether a load was suspected so far, or a clock looked at.
  bool suspects() const;
};

extern Unwritten unwritten;

// Of a thread: a load of what may be unwritten, not decided yet.
struct Suspicion {
  std::uintptr_t address = 0, place = 0;
};
extern "C" std::uint64_t teetotal_fill;  // the pattern, for frames: see programs/c/unwritten.py

// A load at `place` that is no half of anything has seen nothing but the fill.
[[gnu::cold]] void weigh_unwritten(std::uintptr_t address, std::uintptr_t place);

// The same, but it may be the first half of a store to a bit-field.
[[gnu::cold]] void suspect_unwritten(Thread& self, std::uintptr_t address, std::uintptr_t place);

// The next access of a thread that has a suspicion of its own to decide: `address` is where it stores, 0 if it does
// not.
[[gnu::cold]] void decide_suspicion(Thread& self, std::uintptr_t address, std::uintptr_t place);

}  // namespace teetotal::runtime
