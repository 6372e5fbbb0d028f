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
//   compared, how much memory was given out, what libraries may have kept (`Process::outside`), and what was done while
//   nobody else was there to see it (`Process::untold`);
// - that was run twice, and did the same.
//
// Behind any other step of a thread nothing is known of it any more, except that to create a thread is to go on.
// Where a step that is known is run nevertheless (now and then, to look) and does something else, the program depends
// on more than it sees: nothing is known from then on, and the search begins again.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "process.hpp"

namespace teetotal::runtime {

class KnownSteps {
 public:
  static constexpr std::uint32_t kUnknown = 0, kBeginning = 1;

  // Where a thread stands that has seen what it has seen.
  struct Moment {
    Operation operation;
    State state = State::parked;
    const void* waits_on = nullptr;
    void* result = nullptr;
    std::uint64_t local = 0;    // its local state, if one was made
    std::uint32_t edge = 0;     // the first that leads on; 0: none
    std::uint32_t created = 0;  // the moment of a thread that was just created, if it was
  };
  struct Edge {
    Wide value = 0, after = 0;
    std::uint32_t to = kUnknown;
    std::uint32_t other = 0;  // of the same moment
    bool skips = false;       // it need not be run
  };

  // What is known of the step that a thread stands before, if it need not be run.
  const Edge* find(std::uint32_t moment, const Thread& thread) const {
    const Edge* edge = moment == kUnknown ? nullptr : edge_of(moment, value_for(thread));
    if (edge == nullptr || !edge->skips) return nullptr;
    const Operation& operation = thread.operation;
    if (in_heap(operation.address) && !Memory::in_use(operation.address, size_of(operation.tag))) return nullptr;
    if (moments_[edge->to].state == State::exited && (process.exited || process.leaving != 0)) return nullptr;
    return edge;
  }

  const Moment& moment(std::uint32_t number) const { return moments_[number]; }

  // Where a thread begins that was created by a step which led to this moment.
  std::uint32_t created_at(std::uint32_t moment) {
    if (moment == kUnknown) return kUnknown;
    if (moments_[moment].created == 0) {
      const std::uint32_t fresh = add_moment();
      moments_[moment].created = fresh;
    }
    return moments_[moment].created;
  }

  // Before a step is run: whether there is anything to learn from it.
  bool watch(std::uint32_t moment, const Thread& thread);

  // After it: the moment to which it led. `skippable` is whether nothing speaks against leaving it out; it then tells
  // whether it can be taken back.
  struct Learnt {
    std::uint32_t moment = kUnknown;
    bool plain = false;
  };
  Learnt learn(const Thread& thread, const Operation& done, Wide after, std::uint64_t local, bool exact);

  // Whether what is known turned out to be wrong.
  bool wrong() const { return wrong_; }

  bool used() const { return on_; }
  void stop() {
    on_ = false;
    clear();
  }
  void clear() {
    moments_.assign(2, {});
    edges_.assign(1, {});
    wrong_ = false;
  }

  // A step was not run.
  void count() { ++skipped_; }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 17;  // moments
  static constexpr std::size_t kMostValues = 16;              // of a moment

  static Wide value_for(const Thread& thread);
  static bool tells_all(const Thread& thread);
  bool changed_nothing_else(const Thread& thread, const Operation& done);
  const Edge* edge_of(std::uint32_t moment, Wide value) const {
    for (std::uint32_t at = moments_[moment].edge; at != 0; at = edges_[at].other)
      if (edges_[at].value == value) return &edges_[at];
    return nullptr;
  }
  std::uint32_t add_moment() {
    moments_.emplace_back();
    return static_cast<std::uint32_t>(moments_.size() - 1);
  }

  bool on_ = true, wrong_ = false;
  std::vector<Moment> moments_{2};
  std::vector<Edge> edges_{1};
  std::uint64_t skipped_ = 0, learnt_ = 0;

  // Of the step that is run, before it:
  std::uint32_t from_ = kUnknown;
  Wide value_ = 0;
  struct Copy {
    alignas(ThreadRecord) std::array<std::byte, sizeof(ThreadRecord)> bytes;
  };
  std::vector<Copy> threads_;
  alignas(ProcessRecord) std::array<std::byte, sizeof(ProcessRecord)> process_{};
  Used heap_{};
  std::uint64_t outside_ = 0, untold_ = 0;
};

}  // namespace teetotal::runtime
