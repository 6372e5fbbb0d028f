// A thread's local state, as a number: equal ones go on alike, whatever else is in memory.
//
// It is where the thread stands, what it is about to do, and what of its stack, its registers and its thread-local
// variables may still be read. What is dead was found out from the program's machine code, for each place that a call
// returns to (programs/c/liveness.py), and lies in a table in the object. A stack is gone up from the hook at its end:
// frames of our own by what the compiler wrote about them (unwinding.hpp), then those of the program, by the table. Of
// a hook that does one access, or only tries to take something, the operation says all; of others every word counts,
// remains of earlier calls too, but the copies of registers, which are their owner's to judge. From the first frame on
// about which nothing is known, everything is live.
//
// What other threads may look at is not local: not such parts of a stack (lifetimes.hpp), and not the thread-local
// variables of a thread once others have touched them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "process.hpp"
#include "unwinding.hpp"

namespace teetotal::runtime {

struct LocalState {
  std::uint64_t hash = 0;
  bool exact = true;  // nothing dead is part of it
};

class LocalStates {
 public:
  // A file that says where the table is, and whether anything reads errno.
  void read(const std::string& file, std::uintptr_t base);

  // Whether the program, or what it calls, reads errno.
  void read_errno(bool reads) { reads_errno_ = reads; }

  // Of a thread that stands before a read, if that may be part of a loop that only waits; otherwise 0.
  LocalState waiting(const Thread& thread) const {
    if (follows_rounds) return on_its_way(thread);
    return !nobody_waits_ && may_wait(thread) ? of(thread) : LocalState{};
  }

  // Whether what a call returns may be looked at.
  bool uses_result(std::uintptr_t place) const {
    const Entry* entry = at(place);
    return entry == nullptr || entry->live(0);
  }

  // Whether a hook before a volatile load is for what nobody else has the address of.
  bool loads_own(std::uintptr_t place) const {
    const Entry* entry = at(place);
    return entry != nullptr && (entry->flags & kOwn) != 0;
  }

 private:
  static constexpr std::uint32_t kMayWait = 1, kWhole = 2, kVectors = 4, kOwn = 1U << 28U, kRemains = 1U << 29U,
                                 kNobodyWaits = 1U << 30U;
  static constexpr unsigned kBits = 3;  // of registers: behind these, as programs/c/machine.py numbers them
  struct Slot {
    std::int32_t offset;
    std::uint32_t size : 31;
    std::uint32_t given_away : 1;  // others may read it by its address, and some of it may be dead
  };
  struct Entry {  // as programs/c/liveness.py tells it, with its slots behind it
    std::int32_t place;
    std::uint32_t flags, saved, count;

    bool live(unsigned number) const { return (flags >> (kBits + number) & 1U) != 0; }
    std::span<const Slot> slots() const { return {reinterpret_cast<const Slot*>(this + 1), count}; }
  };

  LocalState of(const Thread& thread) const;
  LocalState on_its_way(const Thread& thread) const;
  std::uint64_t before_operation(const Thread& thread) const;
  bool may_wait(const Thread& thread) const;
  const Entry* at(std::uintptr_t place) const {
    const std::uintptr_t offset = place - base_;
    if (offset >= entries_.size() || entries_[offset] == 0) return nullptr;
    return reinterpret_cast<const Entry*>(base_ + entries_[offset]);
  }

  std::vector<std::uint32_t> entries_;  // of each place in the object's code: where in the object; asked at every read
  std::uintptr_t base_ = 0;
  bool nobody_waits_ = false;
  bool reads_errno_ = true;  // the program, or what it calls
};

extern LocalStates local_states;

// Where a thread stands before an operation, and in which calls, as a number; of a call that it is in several times
// (recursion) that does not tell how often.
std::uint64_t where_in_calls(const Thread& thread);

}  // namespace teetotal::runtime
