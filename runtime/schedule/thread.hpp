// A thread of the program: where it stands, what it is about to do, and what others keep of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "conditions.hpp"
#include "copies.hpp"
#include "fiber.hpp"
#include "hooks_signals.hpp"
#include "openmp.hpp"
#include "operation.hpp"
#include "properties.hpp"
#include "rounds.hpp"
#include "seldom.hpp"
#include "stacks.hpp"
#include "together.hpp"
#include "unwritten.hpp"

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
  too_large,    // needs more than there is to be had
  corruption,   // the explorer's own memory is overwritten
};

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

// What a thread has got that others have no part in: it counts in its local state.
struct Asked {
  std::uint64_t clock = 0, random = 0;
  std::uint64_t nondet = 0;   // values from choices.hpp
  std::uint64_t changes = 0;  // of what no hook follows: calls of libraries, memory that it asked for
};

// Memory of the program's own that a thread was told to run on (pthread_attr_setstack), until it leaves it.
struct GivenStack {
  std::uintptr_t begin = 0, end = 0;
  std::uintptr_t place = 0;  // where the thread was created

  bool meets(std::uintptr_t from, std::uintptr_t to) const { return begin < to && from < end; }
};

// What a thread is at a moment of an execution, in plain words: snapshots keep copies. The last of it belongs to hooks
// and to what they share, and is declared with these.
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
  bool detached = false, joined = false, exiting = false;
  bool stack_over = false;  // nothing of its stack may be used any more
  bool over = false;        // nor of its thread-local variables
  EndingMemory ending;
  std::uint32_t atomic_section = 0;
  const void* waits_on = nullptr;  // a thread, a condition variable, a barrier, …
  End joined_by, detached_by;
  void* cleanup = nullptr;    // the innermost handler that C code has pushed
  Handler* at_end = nullptr;  // destructors of its thread-local variables
  Failure failure = Failure::none;
  std::uintptr_t failed_at = 0;
  std::int32_t failed_step = -1;
  End cause;  // of its failure: what was done before

  AnnouncedRange range;
  Suspicion suspicion;
  Asked asked;
  Rounds rounds;  // of programs that were seen through LLVM's IR
  Wait wait;
  OpenMpThread openmp;
  TakenTogether together;
  SignalsOfThread signals;
  StackEnds stack;
  GivenStack given;
  Seldom<std::array<const void*, 16>> rwlocks;  // those that it holds, each as often as it does; null: free
  Seldom<Properties> properties;
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

// The bit of a thread in Lifetimes::shared_stacks and the like: those beyond 31 share the last one.
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

}  // namespace teetotal::runtime
