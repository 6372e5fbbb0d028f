// The program under control: its threads, the operation that each stands before, and the way back to the beginning.
//
// Every thread is a fiber that runs until it stands just before its next visible operation (an access to memory that
// others may see, a fence, an operation on a mutex, …). The hooks that the compiler's instrumentation calls describe
// that operation in `Thread::operation` and switch to the scheduler; when the scheduler comes back, the hook does the
// operation, or returns to the instruction that does it. So at any time one thread runs and the others are parked.
//
// What is not visible: a thread's own stack and thread-local variables where no other thread ever touched them
// (lifetimes.hpp: `touched`, `shared_locals`), and everything while no other thread is running or waits to be joined.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "callers.hpp"
#include "cells.hpp"
#include "channel.hpp"
#include "fiber.hpp"
#include "libraries.hpp"
#include "memory.hpp"
#include "operation.hpp"
#include "program.hpp"
#include "remarks.hpp"
#include "rules.hpp"
#include "thread.hpp"

namespace teetotal::runtime {

// A step that is to be done again: by whom, and what it was.
struct Again {
  std::uint32_t thread;
  Kind kind;
  std::uintptr_t place;
  std::uintptr_t address;
  bool fatal;  // ends the process: the thread fails instead
  bool sees;   // `before`
  Wide before;
};

// What the scheduler knows at a moment of an execution, beside the threads. What others own: records.hpp.
struct ProcessRecord {
  bool alone = true;        // nobody else is there: nothing is visible
  std::uint32_t count = 1;  // threads so far in this execution
  std::uint32_t unjoined = 0;
  std::int32_t step = -1;    // the step that is running
  std::uint32_t ending = 0;  // threads in the midst of ending the life of some memory
};

struct Process : ProcessRecord {
  using Record = ProcessRecord;

  Fiber scheduler;
  std::vector<Again> tape;  // steps to do again without asking the scheduler
  std::size_t tape_next = 0;
  Thread* current = nullptr;  // null: the scheduler runs
  std::uint64_t untold = 0;   // what was done while nobody else was there, and may concern what others did before
  bool trap = false;          // stop in the debugger when the thread goes on
  bool supposing = false;     // a thread runs to find out what it would do: see waiting.cpp
  bool restart = false;       // what was learnt makes the search begin again
  std::array<Thread, kMaxThreads> threads;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;  // (creator, how many before) → thread

  // To the beginning: constructors, then main.
  void reset();

  // A thread as if it had never been: its stack and its thread-local variables are as at the beginning.
  void clear(Thread& thread);
  static void clear_locals(const Thread& thread);  // these alone

  // Runs the operation that the thread stands before, and on to the next.
  [[gnu::always_inline]] void resume(Thread& thread) {
    std::atomic<std::uint64_t>& beats = channel.pulse().beats;
    const std::uint64_t beat = beats.load(std::memory_order_relaxed) | 1U;  // a search that died may have left it odd
    beats.store(beat, std::memory_order_relaxed);
    current = &thread;
    switch_fiber(scheduler, thread.fiber);
    current = nullptr;
    beats.store(beat + 1, std::memory_order_relaxed);
  }

  // Whether nobody else is there: what is done to shared memory then is no step.
  bool unwatched() {
    untold += alone;
    return alone;
  }

  // What is to be known of a thread that has come to stand before an operation.
  void park(Thread& thread);

  // Whether the thread stands before the next step of the tape.
  bool as_before(const Thread& thread) const {
    const Again& wanted = tape[tape_next];
    const Operation& operation = thread.operation;
    return operation.place == wanted.place && operation.address == wanted.address && operation.kind == wanted.kind &&
           (!wanted.sees || seen_by(operation) == wanted.before);
  }

  bool enabled(const Thread& thread) const { return thread.state == State::parked && open(thread); }
  // Whether nothing keeps a thread from what it stands before. Whoever waits for a lock in memory that is over does so
  // no more: it fails.
  static bool open(const Thread& thread) {
    return !thread.operation.enabled || thread.operation.enabled(thread) || waits_in_the_dead(thread);
  }
  static bool waits_in_the_dead(const Thread& thread);  // lifetimes.cpp
};

extern Process process;

extern "C" int teetotal_frames_up;  // for the debugger: where the program's own code is when it stops

// -- for hooks: all of these run on the stack of the current thread ---------------------------------------------------

// Ends what the compiler has done by itself since the last hook: as if it had been done part by part, or not at all.
void settle(Thread& self);
void settle_before_end(Thread& self, std::uintptr_t below);  // of all below an address of its stack
void take_back(Thread& self);

// Whether teetotal_frame_ends has anything to do: a bit each, the last two for good.
enum Watched : std::uint8_t { kCopy = 1, kSharedStacks = 2, kLocks = 4, kTold = 8 };
extern "C" std::uint8_t teetotal_frames_watched;

// Whose line the operation is on that the thread stands before, if it is not on that of its place.
inline std::uintptr_t caller_of(const Thread& self, const void* frame) {
  if (callers.empty()) return 0;
  return self.range.settles_for != 0 ? self.range.settles_for : callers.teller(self.operation.place, frame);
}

// Who goes on where the current thread stands before its operation: whoever the tape says, or the scheduler.
const Fiber& next_to_run();

// Registers that a call may change hold what the scheduler left there: nothing, from here on. hooks_assembly.cpp.
extern "C" void teetotal_wipe_registers();

// Waits for the scheduler to choose the operation in self.operation.
[[gnu::always_inline]] inline void visible(Thread& self) {
  if (self.range.size != 0) [[unlikely]]
    settle(self);
  if (process.alone && Process::open(self)) {
    ++process.untold;
    if (follows_rounds) note_seen(self);
    return;
  }
  switch_by(self.fiber, process.scheduler, next_to_run);
  if (follows_rounds) note_seen(self);
  if (program.tells_registers) [[unlikely]]
    teetotal_wipe_registers();
  if (process.trap) [[unlikely]] {
    process.trap = false;
    teetotal_frames_up = callers.frames_up(__builtin_frame_address(0));
    asm volatile("int3");
  }
}

// What the program changed in its process is as before: hooks_lasting.cpp.
void put_lasting_back();

// The thread does nothing more in this execution.
[[noreturn]] void stop(Thread& self, State state);
[[noreturn]] void fail(Thread& self, Failure failure, std::string message, std::uintptr_t place);
[[noreturn]] void fail(Thread& self, Failure failure, const char* message, std::uintptr_t place);
[[noreturn]] void fail(Thread& self, const Fault& fault, std::uintptr_t place);

// The thread runs its end: thread-local destructors, keys, and the step that others can join.
[[noreturn]] void finish(Thread& self, void* result);

void run_key_destructors(Thread& self);
void run_at_thread_exit(Thread& self);  // what std::notify_all_at_thread_exit and the like have put off

// Whether an address belongs to the program: its variables, heap, stacks. Others are the business of libraries.
bool of_program(const void* address);

// Whether the scheduler may look at an address without risk.
inline bool readable(std::uintptr_t address) {
  if (memory.in_object(address) || in_heap(address)) return true;
  const std::uint32_t owner = stack_owner(address);
  if (owner < kMaxThreads) return !below_stack(address);
  return of_program(reinterpret_cast<const void*>(address));
}

// With the order of a fence of C11, `na` where it is only part of an access; `fence` is one that nothing else knows.
void mfence(Thread& self, std::uintptr_t place, Order order = Order::na);
void fence_before_call(Thread& self, std::uintptr_t place);  // of what nobody knows
void sfence(Thread& self, std::uintptr_t place, Order order = Order::na);
void fence(Thread& self, std::uintptr_t place, Order order);

// One operation on an object that threads synchronise on.
struct Choice {
  bool (*enabled)(const Thread&) = nullptr;
  Waiting waiting = Waiting::none;
  std::int32_t enabler = -1;
  Writes writes = Writes::always;
  Wide expected = 0;
  Needs needs = Needs::nothing;
  bool part = false;
  bool alone = false;
};
void synchronise(Thread& self, Verb verb, Kind kind, Tag tag, const void* object, std::uintptr_t place,
                 const Choice& choice = {});

// An operation that looks first, and is an rmw only if it will write: a load where it fails, which is no fence. One
// step, but two where TSO and PSO are searched: there an rmw needs empty buffers and a load does not, and what a thread
// needs must not depend on what others do.
void attempt(Thread& self, Verb verb, Tag tag, const void* object, std::uintptr_t place, const Choice& choice);

// A store that releases what came before: a plain one on x86.
void release_store(Thread& self, Verb verb, Tag tag, const void* object, std::uintptr_t place);

bool matches(Writes when, Wide expected, Wide seen);
bool satisfies(Needs needs, Wide seen);
inline bool would_write(const Operation& operation, Wide seen) {
  return matches(operation.writes, operation.expected, seen);
}

// The number of the thread that this one creates next.
std::uint32_t next_thread(const Thread& self);
void create_thread(Thread& self, void* (*routine)(void*), void* argument, bool detached, std::uintptr_t place);

inline std::uintptr_t place_of(void* return_address) { return reinterpret_cast<std::uintptr_t>(return_address); }
#define TEETOTAL_PLACE ::teetotal::runtime::place_of(__builtin_return_address(0))

}  // namespace teetotal::runtime
