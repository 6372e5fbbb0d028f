// The program under control: its threads, the operation that each stands before, and the way back to the beginning.
//
// Every thread is a fiber that runs until it stands just before its next visible operation (an access to memory that
// others may see, a fence, an operation on a mutex, …). The hooks that the compiler's instrumentation calls describe
// that operation in `Thread::operation` and switch to the scheduler; when the scheduler comes back, the hook does the
// operation, or returns to the instruction that does it. So at any time one thread runs and the others are parked.
//
// What is not visible: a thread's own stack and thread-local variables where no other thread ever touched them
// (`touched`, `shared_locals`), and everything while no other thread is running or waits to be joined.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <csignal>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "callers.hpp"
#include "cells.hpp"
#include "channel.hpp"
#include "choices.hpp"
#include "fiber.hpp"
#include "memory.hpp"
#include "operation.hpp"
#include "seldom.hpp"

namespace teetotal::runtime {

struct Handler;  // endings.hpp

enum class State : std::uint8_t {
  unborn,
  parked,
  ended,
  exited,  // with the process: its frames stay, and nobody can join it
  stopped,
};

enum class Failure : std::uint8_t {
  none,
  assertion,
  crash,
  freed,     // use of freed memory
  overflow,  // an access to memory of the heap that was never given out
  returned,  // use of a frame, a stack or thread-local variables after their end
  misuse,    // unlocking what is not locked, and the like
  aborted,
  hang,         // runs on without any visible operation
  unsupported,  // something that cannot be explored
  waits,        // for something outside of the program
  memory,       // needs more than there is to be had
  corruption,   // the explorer's own memory is overwritten
};

// Who has announced what a thread does until the next hook, and whether it is one access or made of parts.
enum class Announced : std::uint8_t { compiler, parts, whole };

// Where something was ended, and by which thread (its number).
struct End {
  std::uint32_t thread = 0;
  std::uintptr_t place = 0;

  bool operator==(const End&) const = default;
};

// What was done wrong, and what was done before that made it wrong: "freed it", by whom and where.
struct Fault {
  Failure failure = Failure::none;
  std::string message;
  std::string done;
  End cause;
};

// The latest frames of a thread that ended: all below the first address, told by the second. See lifetimes.hpp.
struct EndedFrames {
  std::array<std::pair<std::uintptr_t, std::uintptr_t>, 4> latest{};
  std::uint32_t next = 0;
};

// Who has set and who has asked for something that is no memory, beside others: threads, as bits. Where the order of
// two matters it is not explored, since neither is a step: whoever comes second is told so (imports.hpp,
// `unordered_call`).
struct Users {
  std::uint64_t setting = 0, asking = 0;
};
static_assert(kMaxThreads <= 64);

// What a thread was told and nothing depends on: see hooks_properties.cpp.
struct Properties {
  std::array<char, 16> name{"program"};
  std::uint64_t processors = 3;
  int policy = 0, priority = 0, cancel_state = 0, cancel_type = 0;
  stack_t alternative{nullptr, SS_DISABLE, 0};
  Users users;
};

// What a thread is at a moment of an execution, in plain words: snapshots keep copies.
struct ThreadRecord {
  Fiber fiber;
  State state = State::unborn;
  Operation operation;
  bool single = false;  // that is all that a hook of the compiler's does
  bool calls = false;   // it stands before a call of what nobody knows, at the fence that stands for it
  std::uint32_t number = 0;
  std::uint32_t born = 0;             // how many threads were created before it in this execution
  std::uint32_t creations = 0;        // threads that it created
  std::uint32_t created_after = 0;    // by the same thread, which did nothing else between; 0: none
  std::uint32_t twin = 0, group = 0;  // of those like it, the one before it and the first one: see symmetry.hpp
  bool locals_private = true;
  std::uintptr_t stack_low = 0;          // the lowest address of its stack seen in use
  std::uintptr_t tls = 0, tls_size = 0;  // the program's thread-local variables
  int* error = nullptr;                  // its errno
  void* exceptions = nullptr;            // those that it has caught or thrown: two words of the C++ library
  void* (*routine)(void*) = nullptr;
  void* argument = nullptr;
  void* result = nullptr;
  Wide operand = 0;  // of a single rmw: what it writes or adds
  std::int32_t end_step = -1;
  std::int32_t woken_by = -1;  // the step that ends its waiting at a barrier
  std::uint32_t idle_wakes = 0;
  std::uint32_t signals = 0;  // those since it began to wait that may still wake it: see hooks_conditions.cpp
  bool detached = false, joined = false, exiting = false;
  bool over = false;  // nothing of its stack and of its thread-local variables may be used any more
  std::uint32_t atomic_section = 0;
  Seldom<std::array<const void*, 16>> rwlocks;  // those that it holds, each as often as it does; null: free
  const void* bucket = nullptr;                 // the futex that it is busy with: others wait
  const void* waits_on = nullptr;               // a condition variable, a barrier, …
  const void* waits_with = nullptr;             // the mutex of that condition variable
  std::int32_t waits_since = -1;                // the step at which it began
  std::uint64_t clock = 0, random = 0, nondet = 0;
  std::uint64_t changes = 0;  // of what no hook follows: calls of libraries, memory that it asked for
  // What the compiler has announced and then does by itself, until the next hook: see hooks_copies.cpp.
  std::uintptr_t range_to = 0, range_from = 0, range_place = 0;
  std::size_t range_size = 0;
  Announced range_by = Announced::compiler;
  std::uintptr_t range_caller = 0;  // whose line it is on, as Operation::caller
  std::uintptr_t settles_for = 0;   // the same, while it is done part by part
  Seldom<EndedFrames> ended;
  std::uintptr_t dead_below = 0;  // of its stack, since it was last let go on
  std::uintptr_t left_below = 0;  // of its stack, where it ended the process
  std::uintptr_t told_below = 0;  // whose end its latest operation told, if that told one
  Wide last_stored = 0;           // what it stored then, where that has died
  End joined_by, detached_by;
  void* team = nullptr;  // OpenMP: of its parallel region, and its number there; single constructs met so far
  std::uint32_t team_number = 0;
  int singles = 0;
  Seldom<Properties> properties;
  std::uintptr_t suspected = 0, suspected_at = 0;  // a load of what may be unwritten, not decided yet: unwritten.hpp
  void* cleanup = nullptr;                         // the innermost handler that C code has pushed
  std::uint64_t signals_blocked = 0, signals_pending = 0;  // a bit each
  bool chose_signals = false;                              // it has said itself which ones it blocks
  Handler* at_end = nullptr;                               // destructors of its thread-local variables
  Failure failure = Failure::none;
  std::uintptr_t failed_at = 0;
  std::int32_t failed_step = -1;
  End cause;  // of its failure: what was done before
};

struct Thread : ThreadRecord {
  std::string message;                      // of its failure
  std::string done;                         // what was done before, at its cause
  std::map<std::uint32_t, void*> specific;  // by key

  void forget_words() {  // all that is not in the record
    message.clear();
    done.clear();
    specific.clear();
  }
};

// The bit of a thread in Process::shared_stacks and the like: those beyond 31 share the last one.
inline constexpr std::uint32_t bit_of(std::uint32_t thread) { return 1U << (thread < 31 ? thread : 31); }

inline constexpr std::size_t kExceptionWords = 16;  // bytes at `exceptions`

// The part of a thread's stack that it may have written: all that is live, and somewhat below the lowest address that
// was seen, for what calls between two operations left there.
inline std::uintptr_t used_stack(const ThreadRecord& thread) {
  constexpr std::uintptr_t kBelow = 512;
  const auto live = reinterpret_cast<std::uintptr_t>(thread.fiber.stack_pointer);
  const std::uintptr_t low = thread.state == State::parked ? std::min(thread.stack_low, live) : thread.stack_low;
  return std::max(low - kBelow, stack_top(thread.number) - kStackSize);
}

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

// A lock that is taken, and by whom.
struct Held {
  const void* object = nullptr;
  std::uint32_t thread = 0;
  bool left = false;  // it was given back by a store that has not reached memory
};

// What the process is at a moment of an execution, beside its threads and its memory.
struct ProcessRecord {
  bool alone = true;        // nobody else is there: nothing is visible
  bool exited = false;      // main returned, or exit was called
  std::uint32_t count = 1;  // threads so far in this execution
  std::uint32_t unjoined = 0;
  std::uint32_t keys = 0;  // of thread-specific data
  Users numbering;         // of keys: who gets which depends on who comes first
  Seldom<std::bitset<1024>> deleted_keys;
  std::int32_t step = -1;                // the step that is running
  Seldom<std::array<Held, 8>> held;      // mutexes and spinlocks; null: free
  alignas(16) int atomic_section = 0;    // whether a thread is between __VERIFIER_atomic_begin and _end
  alignas(16) int critical_section = 0;  // the same, of OpenMP
  alignas(16) int atomic_region = 0;
  std::uint32_t team_size = 0;  // that the program has asked for
  std::uint32_t living = 1;     // threads that have not ended, where that is counted (`last_exits`)
  std::uint32_t leaving = 0;    // 1 + the number of the thread that called exit last
  bool main_left = false;       // by pthread_exit
  bool finalised = false;       // the destructors of the object have been run, or are
  Handler* at_exit = nullptr;   // the latest first
  Handler* at_quick_exit = nullptr;
  struct sigaction* signal_actions = nullptr;  // by signal; null: all are as by default
  alignas(16) int exit_lock = 0;               // held while one of these lists is changed
  alignas(16) int signal_lock = 0;             // held while what a signal does is looked up or changed
};

struct Process : ProcessRecord {
  Fiber scheduler;
  std::vector<Again> tape;  // steps to do again without asking the scheduler
  std::size_t tape_next = 0;
  Thread* current = nullptr;  // null: the scheduler runs
  std::uint64_t untold = 0;   // what was done while nobody else was there, and may concern what others did before
  std::uint64_t outside = 0;  // how often something may have changed that is a library's own: memory, or what it keeps
  std::uint32_t kept_keys = 0;  // that libraries created while they were loaded, and what thread 0 has by them
  std::map<std::uint32_t, void*> kept_specific;
  bool loaded = false;
  bool unlock_needs_fence = false;  // papers' PSO: creating and ending a thread flush by a fence of their own
  bool post_needs_fence = false;    // an unlock is a fence, but an rmw is not
  std::uintptr_t marks_begin = 0;   // bytes of the object whose loads are none of the program's
  std::size_t mark_count = 0;
  bool is_mark(const Operation& operation) const { return operation.address - marks_begin < mark_count; }
  // A fence, or a mark: neither reads nor writes anything that another thread could change.
  bool passes_by(const Operation& operation) const { return is_fence(operation.kind) || is_mark(operation); }
  bool rmw_needs_marker = false;   // rmw=address: a releasing rmw is an sfence and the rmw
  bool failed_cas_writes = false;  // a failed compare-and-swap writes the old value back
  bool show_output = false;
  bool symmetry = false;           // threads that nothing has told apart begin in order: symmetry.hpp
  std::size_t snapshots = 12;      // a snapshot every so many steps; 0: none
  bool buffered = false;           // TSO or PSO itself is explored
  bool halves = false;             // what looks before it writes does so in two steps
  bool tells_registers = false;    // the program has hooks that keep all registers, on the thread's stack
  bool trap = false;               // stop in the debugger when the thread goes on
  std::set<std::uintptr_t> tried;  // locks of readers and writers that some thread only tries to take, in any execution
  std::set<std::uintptr_t> crowded;  // barriers that more threads use than they are for, in any execution
  std::map<std::uintptr_t, std::set<std::uint32_t>> barrier_users;
  std::uint64_t disputed = 0;      // bit of a thread: it is joined or detached more than once, in some execution
  std::set<std::uintptr_t> freed;  // blocks that were freed while others could look at them, in any execution
  bool assumptions_failed = false;
  bool incomplete = false;
  bool assembly = false;         // locked instructions that are no operations of C11 were met
  std::uint32_t idle_wakes = 0;  // how often a thread may wake up on a condition for no reason
  Choices choices;
  std::uint64_t progress = 0;          // hooks called
  std::uint32_t shared_stacks = 0;     // bit of a thread: all of its stack is visible, to replay older tokens
  std::uint32_t shared_locals = 0;     // others have touched its thread-local variables
  std::vector<std::uint32_t> touched;  // grains of stacks that others have touched: see lifetimes.hpp
  std::array<std::uintptr_t, kMaxThreads>
      ended_below{};               // of each stack: what has ended beside others, in any execution
  std::uint32_t ended_locals = 0;  // the same of thread-local variables, a bit for each thread
  bool ends_told = false;          // some execution has such an event: lifetimes.hpp
  std::vector<End> ends;           // of objects and blocks, each once: their marks are numbers of these
  bool uses_signals = false;       // the program asks what signals do, or says it, in some execution
  bool late_handlers = false;      // exit handlers are registered beside other threads, in some execution
  bool last_exits = false;         // main leaves by pthread_exit, and there is something to run when the last one ends
  bool supposing = false;          // a thread runs to find out what it would do: see waiting.cpp
  bool restart = false;            // what was learnt makes the search begin again
  std::array<Thread, kMaxThreads> threads;
  std::vector<std::string> arguments;
  Cells cells;
  Memory memory;
  Callers callers;
  int (*main)(int, char**, char**) = nullptr;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;  // (creator, how many before) → thread
  std::vector<std::string> oddities;  // what the program does that makes the answer weaker; each once
  std::vector<Block> mappings;        // of files, as far as the C library was asked for them: the latest at the end
  std::set<std::pair<std::string, std::uintptr_t>> unseen;  // what it did that no hook follows, and where: no proof

  // Loads the program and finds main. Throws std::runtime_error.
  void load(const std::string& object);

  // To the beginning: constructors, then main.
  void reset();

  // A thread as if it had never been: its stack and its thread-local variables are as at the beginning.
  void clear(Thread& thread);

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

  bool enabled(const Thread& thread) const {
    return thread.state == State::parked && (!thread.operation.enabled || thread.operation.enabled(thread));
  }

  void note(const std::string& oddity);

  // As note, where it also means that executions may be missing.
  void weaken(const std::string& oddity) {
    incomplete = true;
    note(oddity);
  }
};

extern Process process;

// What is allocated or freed in its time belongs to no moment of an execution: snapshots before it are still good.
class Lasting {
 public:
  Lasting() = default;
  ~Lasting() { process.outside = outside_; }
  Lasting(const Lasting&) = delete;
  Lasting& operator=(const Lasting&) = delete;

 private:
  std::uint64_t outside_ = process.outside;
};

// When a compare-and-swap writes: where it succeeds, or, as the papers have it, always.
inline Writes swap_writes() { return process.failed_cas_writes ? Writes::always : Writes::if_equal; }

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
  if (process.callers.empty()) return 0;
  return self.settles_for != 0 ? self.settles_for : process.callers.teller(self.operation.place, frame);
}

// Who goes on where the current thread stands before its operation: whoever the tape says, or the scheduler.
const Fiber& next_to_run();

// Registers that a call may change hold what the scheduler left there: nothing, from here on. hooks_assembly.cpp.
extern "C" void teetotal_wipe_registers();

// Waits for the scheduler to choose the operation in self.operation.
[[gnu::always_inline]] inline void visible(Thread& self) {
  ++process.progress;
  if (self.range_size != 0) [[unlikely]]
    settle(self);
  if (process.alone && (!self.operation.enabled || self.operation.enabled(self))) {
    ++process.untold;
    return;
  }
  switch_by(self.fiber, process.scheduler, next_to_run);
  if (process.tells_registers) [[unlikely]]
    teetotal_wipe_registers();
  if (process.trap) [[unlikely]] {
    process.trap = false;
    teetotal_frames_up = process.callers.frames_up(__builtin_frame_address(0));
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

// The threads that wait on an object and could be woken now, a bit each; and how many wait at all.
std::uint64_t signalled(std::uintptr_t object);
std::uint32_t waiting_on(std::uintptr_t object);

// Whether an address belongs to the program: its variables, heap, stacks. Others are the business of libraries.
bool of_program(const void* address);

// Whether the scheduler may look at an address without risk.
inline bool readable(std::uintptr_t address) {
  if (process.memory.in_object(address) || in_heap(address)) return true;
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
