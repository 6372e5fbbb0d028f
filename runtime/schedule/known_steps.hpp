// What threads are known to do: a step need not be run where it is known what it does.
//
// A thread depends on nothing but what it sees. So what a thread has seen is where it stands: a moment, one of a tree
// whose edges are steps, each with the value that it saw. With an edge goes what the step left in its cell, with a
// moment the operation that the thread stands before then. Whoever comes to a moment again, in whatever execution, and
// sees a value again, need not run the program: what the step changes that others can see is put in its place. The
// thread itself is left behind, on its stack; it is run up to where it should be (system.cpp, `run_up`) once somebody
// sees what nobody saw there before.
//
// Known is only what is nothing but a step:
//
// - an access of the compiler's to a variable or to the heap, of up to 8 bytes, a fence, the beginning of a thread, its
//   end, a join, and the end of the process;
// - after which nothing has changed but what such a step changes. The records of the process and of all threads are
//   compared, how much memory was given out, what libraries may have kept (`libraries.changes`), and what was done
//   while nobody else was there to see it (`Process::untold`). Loads of variables are all that may be among that, and
//   they must see the same;
// - that was run twice, and did the same.
//
// Behind any other step of a thread nothing is known of it any more, except that to create a thread is to go on.
// Where a step that is known is run nevertheless (now and then, to look) and does something else, the program depends
// on more than it sees: nothing is known from then on, and the search begins again.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "records.hpp"

namespace teetotal::runtime {

// A load that was no step, since nobody else was there, and what it saw.
struct UntoldLoad {
  const void* address;
  Tag tag;
  std::uint64_t seen;

  std::uint64_t now() const {
    Operation load;
    load.tag = tag;
    load.address = reinterpret_cast<std::uintptr_t>(address);
    return static_cast<std::uint64_t>(seen_by(load));
  }
  bool operator==(const UntoldLoad&) const = default;
};

// Those of the step that is run: as many as there is room for.
struct UntoldLoads {
  std::array<UntoldLoad, 32> loads;
  std::size_t count = 0;

  void add(const void* address, Tag tag) {
    if (tag > Tag::oct || count == loads.size() || !memory.in_object(reinterpret_cast<std::uintptr_t>(address))) return;
    loads[count] = {address, tag, 0};
    loads[count].seen = loads[count].now();
    ++count;
  }
};
extern UntoldLoads untold_loads;

class KnownSteps {
 public:
  static constexpr std::uint32_t kUnknown = 0, kBeginning = 1;

  // How a thread stands, for others. Many moments have the same.
  struct Stand {
    Operation operation;
    Event event;  // that, for searches
    State state = State::parked;
    const void* waits_on = nullptr;
    void* result = nullptr;
    std::uint64_t local = 0;  // its local state, if one was made: even where remains of calls may be part of it
    std::uint32_t site = 0;   // where that is, for loops that seem to have no end (endless.hpp)

    bool operator==(const Stand&) const = default;
  };

  // A step of a thread that had seen what it had seen, and where the thread stands behind it.
  struct alignas(64) Moment {
    std::uint64_t value = 0, after = 0;  // what the step saw, and left
    const Stand* stand = nullptr;
    std::uint32_t unjoined = 0;          // of a join: what else decides
    std::uint32_t first = 0, other = 0;  // that comes next; that comes behind the same one
    std::uint32_t created = 0;           // where the thread begins that the step created, if it did
    std::uint32_t loads = 0, end = 0;    // of untold loads: which are its own
    std::uint32_t asked = 0, waits = 0;  // bits of values: it was asked whether the thread waits with it; it does
    bool skips = false;                  // the step need not be run
    bool exits = false;                  // it ends the process
  };

  // Where the step leads that a thread stands before, if it need not be run; otherwise unknown.
  std::uint32_t find(std::uint32_t moment, const Thread& thread) const {
    if (moment == kUnknown) return kUnknown;
    const std::uint32_t next = next_of(moment, thread);
    if (next == kUnknown || !moments_[next].skips || !goes_well(next, thread)) return kUnknown;
    ++skipped_;
    return next;
  }

  // The same of a thread that stands before an end or a join and would find this: of a join what the other thread has
  // left, and how many are not joined by then.
  std::uint32_t find_end(std::uint32_t moment, const void* result, std::uint32_t unjoined) const {
    if (moment == kUnknown) return kUnknown;
    const std::uint32_t next = next_of(moment, {reinterpret_cast<std::uintptr_t>(result), unjoined});
    if (next == kUnknown || !moments_[next].skips) return kUnknown;
    if (moments_[next].exits && (endings.exited || endings.leaving != 0)) return kUnknown;
    ++skipped_;
    return next;
  }

  // Of a thread that stands there: whether it only waits with a value. That depends on what it has seen, as all that it
  // does; kept for small values, which most threads wait for.
  std::optional<bool> waits_with(std::uint32_t moment, Wide value) const {
    if (moment == kUnknown || value >= kSmall) return std::nullopt;
    const auto bit = static_cast<std::uint32_t>(value);
    if ((moments_[moment].asked >> bit & 1U) == 0) return std::nullopt;
    return (moments_[moment].waits >> bit & 1U) != 0;
  }
  void keep_waiting(std::uint32_t moment, Wide value, bool waits) {
    if (moment == kUnknown || value >= kSmall) return;
    const auto bit = static_cast<std::uint32_t>(value);
    moments_[moment].asked |= 1U << bit;
    moments_[moment].waits |= std::uint32_t{waits} << bit;
  }

  // The processor gets hold of what its thread may come to next, while others have their turn.
  void expect_next(const Moment& moment) const { __builtin_prefetch(&moments_[moment.first]); }

  const Moment& operator[](std::uint32_t moment) const { return moments_[moment]; }
  const Stand& stand(std::uint32_t moment) const { return *moments_[moment].stand; }

  // Where a thread begins that was created by the step of this moment.
  std::uint32_t created_at(std::uint32_t moment) {
    if (moment == kUnknown) return kUnknown;
    if (moments_[moment].created == 0) {
      const std::uint32_t fresh = add({});
      moments_[moment].created = fresh;
    }
    return moments_[moment].created;
  }

  // Before a step is run: whether there is anything to learn from it.
  bool watch(std::uint32_t moment, const Thread& thread);

  // After it: the moment to which it led, and whether it can be taken back. `after` is what it left in its cell,
  // `exact` whether nothing but the thread's own decides the local state.
  struct Learnt {
    std::uint32_t moment = kUnknown;
    bool plain = false;
  };
  Learnt learn(const Thread& thread, const Operation& done, Wide after, const Event& next, std::uint32_t site,
               std::uint64_t local, bool exact);

  // Whether what is known turned out to be wrong.
  bool wrong() const { return wrong_; }

  bool on() const { return on_; }
  void stop() { on_ = false; }
  void clear() {
    moments_.assign(2, {});
    stands_.clear();
    loads_.clear();
    by_hash_.clear();
    wrong_ = false;
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 20;  // moments
  static constexpr std::size_t kMostValues = 64;              // of a moment
  static constexpr std::uint32_t kSmall = 32;                 // values

  // What it sees, or what decides besides what becomes of it.
  struct Value {
    std::uint64_t value;
    std::uint32_t unjoined;
  };
  static Value value_for(const Thread& thread) {
    const Operation& operation = thread.operation;
    if (operation.verb == Verb::join)
      return {reinterpret_cast<std::uintptr_t>(static_cast<const Thread*>(thread.waits_on)->result), process.unjoined};
    const bool sees = operation.verb == Verb::none && (operation.kind == Kind::ld || operation.kind == Kind::rmw);
    return {sees ? static_cast<std::uint64_t>(seen_by(operation)) : 0, 0};
  }
  std::uint32_t next_of(std::uint32_t moment, const Thread& thread) const {
    return moments_[moment].first == 0 ? kUnknown : next_of(moment, value_for(thread));
  }
  std::uint32_t next_of(std::uint32_t moment, const Value& seen) const {
    const auto [value, unjoined] = seen;
    std::uint32_t next = moments_[moment].first;
    while (next != 0 && (moments_[next].value != value || moments_[next].unjoined != unjoined || !loads_same(next)))
      next = moments_[next].other;
    return next;
  }
  bool loads_same(std::uint32_t moment) const {
    for (std::uint32_t i = moments_[moment].loads; i < moments_[moment].end; ++i)
      if (loads_[i].now() != loads_[i].seen) return false;
    return true;
  }
  // Whether nothing that is no value keeps the thread's step from leading there, or makes more of it.
  bool goes_well(std::uint32_t next, const Thread& thread) const {
    const Operation& operation = thread.operation;
    if (in_heap(operation.address) && !Memory::in_use(operation.address, size_of(operation.tag))) return false;
    if (moments_[next].exits && (endings.exited || endings.leaving != 0)) return false;
    if (operation.verb != Verb::join) return true;
    const auto& joined = *static_cast<const Thread*>(thread.waits_on);
    return !joined.joined && !joined.detached;
  }
  Learnt learn_stand(const Thread& thread, const Operation& done, Wide after, const Event& next, std::uint32_t site,
                     std::uint64_t local, bool exact);
  static bool tells_all(const Thread& thread);
  bool changed_nothing_else(const Thread& thread, const Operation& done);
  const Stand* kept(const Stand& stand);
  std::uint32_t add(const Moment& moment) {
    moments_.push_back(moment);
    return static_cast<std::uint32_t>(moments_.size() - 1);
  }

  bool on_ = true, wrong_ = false;
  std::vector<Moment> moments_{2};
  std::deque<Stand> stands_;  // which stay where they are: steps refer to them
  std::vector<UntoldLoad> loads_;
  std::unordered_multimap<std::uint64_t, const Stand*> by_hash_;
  mutable std::uint64_t skipped_ = 0;
  std::uint64_t learnt_ = 0;

  // Of the step that is run, before it:
  std::uint32_t from_ = kUnknown;
  std::uint32_t known_ = kUnknown;  // where it is known to lead
  bool expected_ = false;           // it would not be run, were it not to look
  Value value_{};
  std::vector<Bytes<ThreadRecord>> threads_;
  Records::AsBytes records_;
  Used heap_{};
  std::uint64_t outside_ = 0, untold_ = 0;
};

}  // namespace teetotal::runtime
