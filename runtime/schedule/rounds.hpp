// Where a thread stands, as programs say it that were seen through LLVM's IR (programs/c/ir/writing.py): a number that
// is the same only where all that the thread may still look at of its own is the same.
//
// The number, `path`, is a hash. At a point, before an instruction on a way round that may read what others write, it
// is made anew: of the base of its function, of the place, and of what the program hands over as live there, with its
// thread-local variables and those locals of all its frames that others may know. From there on each visible operation
// adds what it has seen. A function's base is the path where it was called: so its callers' frames are part of it,
// which cannot change meanwhile but through memory that has hooks.
//
// Whatever has no point only makes paths differ: a round is then not taken for one that waits.
#pragma once

#include <cstdint>
#include <span>

namespace teetotal::runtime {

// A function's record in its frame, in the words that programs/c/ir/writing.py makes room for.
struct FrameRecord {
  struct Slot {
    std::uintptr_t begin;
    std::uint64_t size;  // 0: nothing lives there
  };

  FrameRecord* caller;  // the next one that has any
  std::uint64_t blind;  // some of its locals cannot be listed any more: whoever looks at them never waits
  std::uint64_t count;  // of slots, which are behind it

  std::span<Slot> slots() { return {reinterpret_cast<Slot*>(this + 1), count}; }
};

// Of a thread.
struct Rounds {
  FrameRecord* frames = nullptr;  // the innermost one
  std::uint64_t path = 1;
  bool looping = false;  // it may be on a way round
  bool blind = false;
  bool unused = false;  // nobody looks at what the next call returns
};

struct Thread;

// Whether the program says such things at all.
inline bool follows_rounds = false;

// A thread has come to see what the operation that it stood before shows.
void note_seen(Thread& self);

// The same of memory that it has read while nobody else was there.
void note_read(Thread& self, std::uintptr_t address, std::size_t size);

// A thread that was alone creates another one: what it has read meanwhile, by whatever way, it may have from those who
// have ended. All that the program has in memory is part of where it stands from here on.
void note_memory(Thread& self);

// Where a thread begins.
void begin_path(Thread& created);

}  // namespace teetotal::runtime
