// What a thread stands before: one visible operation, as the hooks describe it to the scheduler.
#pragma once

#include <cstdint>

#include "cells.hpp"
#include "event.hpp"

namespace teetotal::runtime {

enum class Writes : std::uint8_t { never, always, if_equal, if_different };  // from `expected`

// What the word of an object must be for an operation that waits: see synchronisation.hpp.
enum class Needs : std::uint8_t { nothing, zero, not_zero, not_running, no_writer };

// How a thread that is not enabled waits. `lock` competes with whoever holds the object; the others can only be let go.
enum class Waiting : std::uint8_t { none, lock, other };

// What an operation is to a person, where its kind does not say. The numbers go to Python by core/numbers.py.
enum class Verb : std::uint8_t {
  none,
  create,
  begin,
  end,
  join,
  lock,
  unlock,
  try_lock,
  read_lock,
  try_read_lock,
  write_lock,
  try_write_lock,
  wait,
  wake,         // it was signalled
  wake_idly,    // for no reason
  wake_or_not,  // there is a limit: one of wake and give_up in the end
  give_up,
  signal,
  broadcast,
  arrive,
  leave,
  take,
  try_take,
  post,
  look,
  enter_once,
  leave_once,
  enter_section,
  leave_section,
  enter_futex,
  leave_futex,
  free,
  initialise,
  destroy,
  end_life,  // of what lies in a frame, on a stack or in thread-local memory, before that is over: lifetimes.hpp
  detach,    // of a thread that is joined or detached by others too
};

struct Thread;

__extension__ using Wide = unsigned __int128;

struct Operation {
  Kind kind = Kind::ld;
  Writes writes = Writes::never;
  Tag tag = Tag::byte;
  Waiting waiting = Waiting::none;
  Verb verb = Verb::none;
  Needs needs = Needs::nothing;  // where an rmw waits for a value
  bool part = false;             // a further part of the copy that its thread was busy with before
  bool plain = false;            // neither atomic nor volatile: a race on it is a data race
  bool alone = false;            // of an object: its hook goes on by what it finds there, and by nothing that it knows
  Order order = Order::na;       // as the program asks for it, and where a compare-and-swap fails
  Order failure = Order::na;
  std::uint32_t cell = 0;
  std::int32_t enabler = -1;  // the step that made it possible
  std::uintptr_t address = 0;
  std::uintptr_t place = 0;                  // the instruction: the return address of the hook
  std::uintptr_t caller = 0;                 // where the program's own code called for it, if that is elsewhere
  bool (*enabled)(const Thread&) = nullptr;  // null: always
  Wide expected = 0;

  bool operator==(const Operation&) const = default;

  // A load where it writes nothing, and an rmw where it does.
  bool decides() const { return kind == Kind::ld && writes > Writes::always; }

  std::uintptr_t told_place() const { return caller != 0 ? caller : place; }
};

// What an operation would see now: the bytes of its cell, or the word in which an object keeps its state.
Wide seen_of_object(const Operation& operation);
inline Wide seen_by(const Operation& operation) {
  const auto at = [&]<typename T>(T) { return *reinterpret_cast<const T*>(operation.address); };
  switch (operation.tag) {
    case Tag::byte:
      return at(std::uint8_t{});
    case Tag::half:
      return at(std::uint16_t{});
    case Tag::word:
      return at(std::uint32_t{});
    case Tag::oct:
      return at(std::uint64_t{});
    default:
      return seen_of_object(operation);
  }
}

}  // namespace teetotal::runtime
