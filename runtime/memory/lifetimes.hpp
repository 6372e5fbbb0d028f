// When memory and objects end, and what uses them afterwards.
//
// - Frames: the build puts a call of teetotal_frame_ends where a frame ends that others may know of (programs/c/
//   frames.py). What its thread still has in a store buffer for it never reaches memory (system.hpp), and what the
//   compiler copies there is not waited for. A use of a stack below its thread's live frames, or after the thread's
//   end, is a use after return; so is that of the thread-local variables of a thread that has ended.
// - Objects that threads synchronise on: see objects.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "objects.hpp"
#include "process.hpp"

namespace teetotal::runtime {

// What is known of memory that others look at and of memory that ends, from all executions so far.
struct Lifetimes {
  std::uint32_t shared_stacks = 0;     // bit of a thread: all of its stack is visible, to replay older tokens
  std::uint32_t shared_locals = 0;     // others have touched its thread-local variables
  std::vector<std::uint32_t> touched;  // grains of stacks that others have touched
  std::array<std::uintptr_t, kMaxThreads> ended_below{};  // of each stack: what has ended beside others
  std::uint32_t ended_locals = 0;                         // the same of thread-local variables, a bit for each thread
  bool ends_told = false;                                 // some execution has an event for an end: `end_life`
  std::set<std::uintptr_t> freed;                         // blocks that were freed while others could look at them
};

extern Lifetimes lifetimes;

inline constexpr std::uintptr_t kFrameHead = 16;  // the caller's frame, and where it goes on: nobody's variable

// Whose thread-local variables an address is among, if it is.
Thread* owner_of_local(std::uintptr_t address);

// What a use of a frame whose end was told is. The end of its thread, by which all of its frames end, has no place.
Fault use_of_ended_frame(const End& end);

// Whether an address on a stack belongs to no frame that still runs. `frame`: that of the hook that asks, or of what it
// called, on its stack; 0: its own stack is not asked about.
bool on_dead_stack(const Thread& self, std::uintptr_t address, std::uintptr_t frame);

// A use of memory that is neither a variable's nor of the heap: fails where that memory's time is over.
void check_owner(Thread& self, std::uintptr_t address, std::uintptr_t place, std::uintptr_t frame);

// The same of memory that another thread is ending, of which this cell has ended.
void check_ending(Thread& self, std::uintptr_t address, Tag tag, std::uintptr_t place);

// A thread's own stack: what `hidden` found below the hook that asks.
[[noreturn]] void use_after_return(Thread& self, std::uintptr_t address, std::uintptr_t place);
// A store of the thread reaches memory now, as the scheduler sees it: what is wrong where that memory is over.
std::optional<Fault> fault_at_commit(const Thread& self, std::uintptr_t address);
// A lock is taken that may lie in a frame.
void watch_locks(const void* object);

// What other threads look at on a stack becomes visible where its owner looks at it, too, in grains of a few bytes:
// what lies beside it is often the owner's own.
inline constexpr std::uintptr_t kGrainSize = 4;
void touch_stack(std::uintptr_t address, std::size_t size);
void touch_grain(std::uint32_t grain);

// From the first to the last of what others have touched, on each stack: little of it, and most questions are about
// what lies outside.
struct Span {
  std::uintptr_t begin = ~std::uintptr_t{0}, end = 0;
};
extern std::array<Span, kMaxThreads> touched_spans;

bool grains_touched(std::uintptr_t address, std::size_t size);
inline bool touched_by_others(std::uintptr_t address, std::size_t size, std::uint32_t owner) {
  if (lifetimes.shared_stacks != 0 && (lifetimes.shared_stacks & bit_of(owner)) != 0) return true;
  const Span& span = touched_spans[owner];
  return address < span.end && address + size > span.begin && grains_touched(address, size);
}

// The end of memory that others may look at is an event for each of its cells: a read as far as the machine goes, which
// is done at once and flushes nothing, but one that conflicts with reads, too. So the search looks for accesses in
// every order with it. By the time a thread stands before it the memory is over: nothing can keep the thread from going
// on.
// Each cell ends with its own event, and no other one does by then: accesses to them are independent of it. Who comes
// between two of these events is told what has ended by Thread::ending.
void end_life(Thread& self, std::uintptr_t begin, std::uintptr_t end, Verb verb, std::uintptr_t place,
              std::uintptr_t told_place);
void end_frames(Thread& self, std::uintptr_t below, std::uintptr_t place);  // all of its stack below an address
void end_all(Thread& self);  // a thread's stack and thread-local variables

// The cells of stacks that have such events, as numbers, for replays to know them from the beginning.
std::vector<std::uint64_t> ended_cells();
bool know_ended_cell(std::uint64_t told);  // false: it is a grain

// Runs handlers of the program's once all of its frames below `frame`, that of the caller, have ended: below those, so
// that theirs are told from them, as far as those did not reach further down.
template <typename Run>
[[gnu::noinline]] void run_below(Thread& self, const void* frame, Run run) {
  constexpr std::size_t kGap = 4096;
  auto* gap = static_cast<char*>(__builtin_alloca(kGap));
  asm volatile("" ::"r"(gap));
  self.stack.gone = {reinterpret_cast<std::uintptr_t>(gap), reinterpret_cast<std::uintptr_t>(frame) + kFrameHead};
  run();
  self.stack.gone = {};  // nothing of the program's runs any more: a step that comes here is as known as any
}

// The process ends with the thread's frames alive, those of the program that still run.
void keep_frames(Thread& self);

// Whether memory has ended without an event for this cell, since it was not known: the search must begin again.
bool ended_unnoticed(std::uintptr_t address, Tag tag);

// Whether an address that belongs to no region of the program is nobody else's business.
bool outside(Thread& self, std::uintptr_t address, std::uintptr_t place);

}  // namespace teetotal::runtime
