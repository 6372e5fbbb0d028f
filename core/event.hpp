// The vocabulary of shared memory, as teetotal/answers/events.py has it.
#pragma once

#include <cstdint>

namespace teetotal {

// What an event does. The numbers go to Python by core/numbers.py, and into trace files.
// A `fence` is one that C11 alone knows: TSO and PSO keep the order that it asks for anyway.
enum class Kind : std::uint8_t { ld = 0, st = 1, rmw = 2, mfence = 3, sfence = 4, lock = 5, unlock = 6, fence = 7 };

// The memory orders of C11. An access of order `na` is not atomic; a fence of that order is none of C11's: it stands
// for part of an access on TSO or PSO. consume is acquire.
enum class Order : std::uint8_t { na = 0, relaxed = 1, acquire = 2, release = 3, acq_rel = 4, seq_cst = 5 };

// Of an operation that is no access of the program's text: the standards say what it synchronises with, and nobody asks
// what else it might read.
inline constexpr std::uint8_t kUnchecked = 8;
constexpr Order unchecked(Order order) { return static_cast<Order>(static_cast<std::uint8_t>(order) | kUnchecked); }

constexpr bool acquires(Order order) { return order == Order::acquire || order >= Order::acq_rel; }
constexpr bool releases(Order order) { return order >= Order::release; }

enum class Model : std::uint8_t { sc = 0, tso = 1, pso = 2 };

// The choices that the literature leaves open: teetotal.answers.events.Semantics.
struct Semantics {
  bool rmw_flushes_all = true;     // a PSO rmw flushes all buffers of its thread, not only its own address
  bool unlock_is_fence = true;     // an unlock is also a full fence
  bool failed_cas_writes = false;  // a failed compare-and-swap writes the old value back
};

constexpr bool is_fence(Kind kind) { return kind == Kind::mfence || kind == Kind::sfence || kind == Kind::fence; }

// Reads and writes in one step: an rmw, or a mutex operation, which is an rmw on the mutex.
constexpr bool is_atomic(Kind kind) { return kind == Kind::rmw || kind == Kind::lock || kind == Kind::unlock; }

// One event of an SC execution, in the order in which they happened, as monitors and searches see it.
struct Event {
  std::uint32_t thread = 0;
  Kind kind = Kind::ld;
  bool writes = false;  // false for loads, fences, and an atomic operation that wrote nothing
  Order order = Order::na;
  std::uint8_t also = 0;       // see failure() and own()
  std::uint32_t address = 0;   // dense number of the location; unused by fences
  std::uint32_t location = 0;  // which instruction of the program: what "the same place" means in reports

  bool operator==(const Event&) const = default;

  // Of an rmw: its order where it writes nothing.
  constexpr Order failure() const { return kind == Kind::rmw ? static_cast<Order>(also) : Order::na; }

  constexpr bool checked() const { return (static_cast<std::uint8_t>(order) & kUnchecked) == 0; }
  constexpr Order asked() const { return static_cast<Order>(static_cast<std::uint8_t>(order) & ~kUnchecked); }

  // The order that it has, having done what it did. An operation on an object that only looked has synchronised with
  // nobody, unless it is one that would release as well.
  constexpr Order effective() const {
    const bool failed = kind == Kind::rmw && !writes;
    if (checked()) return failed ? failure() : order;
    if (asked() == Order::na || !(failed || kind == Kind::ld)) return asked();
    return asked() == Order::acq_rel ? Order::acquire : Order::relaxed;
  }

  // Whether it is the end of what lies at its address: whoever is given that memory next begins anew.
  constexpr bool ends_life() const { return kind == Kind::ld && order == unchecked(Order::na); }

  // Whether it is what an operation on an object comes to that finds it cannot be done, or only asks.
  constexpr bool only_looks() const { return kind == Kind::ld && !checked() && !ends_life(); }

  // With store buffers: which of its buffer's stores is issued, or seen by a load, from 1; 0 where it is none of these.
  constexpr std::uint8_t own() const { return kind == Kind::rmw ? std::uint8_t{0} : also; }
};

static_assert(sizeof(Event) == 16);  // searches copy them all the time

// Whether an event empties all buffers of its thread under PSO. Under TSO every atomic operation does.
constexpr bool flushes_all(const Semantics& semantics, const Event& e) {
  return is_atomic(e.kind) && (semantics.rmw_flushes_all || (e.kind == Kind::unlock && semantics.unlock_is_fence));
}

constexpr bool reads(const Event& e) { return e.kind == Kind::ld || is_atomic(e.kind); }

// Neither order gives the other's result: the same address, and at least one of them writes.
constexpr bool conflict(const Event& a, const Event& b) {
  return !is_fence(a.kind) && !is_fence(b.kind) && a.address == b.address && (a.writes || b.writes);
}

}  // namespace teetotal
