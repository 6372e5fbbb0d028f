// One step of an execution: what was done, as the search sees it and as the machine does, what is remembered of it to
// take it back or to tell it, and what can be wrong with it.
#pragma once

#include <cstdint>
#include <optional>

#include "known_steps.hpp"
#include "operation.hpp"

namespace teetotal::runtime {

struct Step {
  Step(const Event& e, std::uint32_t who, const Operation& what)
      : event(e), operation(what), thread(who), enabler(what.enabler) {}

  Event event;                 // as searches see it: its thread is an agent
  Wide before = 0, after = 0;  // what the cell held, as its thread saw it
  const Operation& operation;  // kept where it lasts: with what is known, or beside the steps
  std::uint64_t local = 0;     // its thread's local state after it (waiting.cpp, spinning.cpp), 0 where none was made
  std::uint32_t thread;
  std::uint32_t moment = KnownSteps::kUnknown;  // of its thread, after it
  std::int32_t earlier = -1;                    // the step of its thread before it; of a commit: that issued the store
  std::int32_t source = -1;                     // the step that wrote what it saw
  std::int32_t enabler = -1;                    // that made it possible
  std::int32_t covers = -1;                     // whose write it overwrites, if it writes
  std::uint32_t quiet = 0;      // how many of its thread's latest steps, itself included, changed nothing
  std::uint32_t idle = 0;       // how many idle rounds its thread went without a pause
  std::uint64_t past = 0;       // a hash of what happened before it, and it: the same in equivalent executions
  std::uint64_t signalled = 0;  // bit of a thread: it waited for its object then, and a signal could wake it
  std::uint32_t spin = 0;       // the length of the iteration that its thread repeated, 0 if it did not
  std::uint32_t markers = 0;    // of a commit: sfences of its thread before the store
  std::int32_t late = -1;       // the step that ended the life of what it uses, if it is too late
  bool known = false;           // all that it changed is known: it can be taken back
  bool commit = false;
  bool fatal = false;  // it ends the process, or is too late: the thread failed instead
  bool sees = false;   // its thread gets to know `before`: a store overwrites what nobody may have looked at

  // As the machine, and whoever looks at an execution, has it: arrivals at a barrier are independent to searches alone.
  bool writes() const { return (event.writes && event.kind != Kind::ld) || operation.verb == Verb::arrive; }
  bool changes() const { return event.writes && event.kind != Kind::ld; }  // what others read: see lifetimes.hpp
  Kind kind() const { return operation.decides() ? event.kind : operation.kind; }  // what it came to
};

// A step that was not as before when the program was run again in the same way: it depends on what is not controlled.
struct Nondeterministic {
  std::uint32_t thread;
  Operation then;
  std::optional<Operation> now;  // none: the thread has come to its end, or stands elsewhere
  Wide seen_then = 0, seen_now = 0;
};

// What went wrong in an execution, at which step of whom.
struct Failed {
  std::uint32_t thread;
  Fault fault;
  std::uintptr_t place;
  std::int32_t step;
};

}  // namespace teetotal::runtime
