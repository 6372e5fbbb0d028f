// Every reachable outcome of a program under SC, TSO or PSO: the machines of teetotal.models, walked breadth first over
// distinct states, with no bound on the length of a buffer.
//
//   teetotal.models          here
//   Memory.m                 State::memory
//   B[p] (TSO), B[p][a]      State::buffers[p]: one sequence. Under PSO the stores between two sfence markers stand in
//   (PSO, with markers)      the order of their addresses, which is the same set of queues and makes equal states equal
//   mfence, atomic: flush    wait until what must be flushed has been committed by steps of its own: the same states
//   in one step              are reachable
//
// Reduction. A step that commutes with every other step, now and later, is taken alone (a singleton persistent set):
// issuing a store to a buffer, a fence with nothing to wait for, and accesses to locations that one thread alone uses.
// Final states and failed assertions are kept: a lone step is trusted only where it leads to a new state, so it cannot
// postpone the others for ever. So are hangs (states in which every thread only goes round its loop): a lone step of a
// thread that hangs leads to a state that hangs. Breadth-first order makes the schedule of each finding a short one.
//
// Memory. A state is a string of numbers of seven bits a byte, of which most take one. What is kept of all states is
// counted, so that an exploration ends before its memory does; where that ends first all the same, it ends there, with
// what it has found. Then all is given back but the ways to its findings: others have questions, too.
#pragma once

#include <functional>
#include <unordered_set>

#include "blocks.hpp"
#include "open_table.hpp"
#include "rounds.hpp"

namespace teetotal {

// A step of a schedule: a thread's next request, or an internal commit (of one location's oldest store, under PSO).
struct ScheduleStep {
  static constexpr std::int32_t kIssue = -1, kCommit = -2;
  std::uint32_t thread;
  std::int32_t address;  // kIssue, kCommit (TSO), or the number of the location (PSO)
};

// What an outcome consists of: a register of a thread, or a location.
struct Observable {
  std::int32_t thread;  // -1: a location
  std::uint32_t index;
};

struct Outcome {
  std::vector<Value> values;
  std::uint32_t state;  // where it was first reached: for Outcomes::schedule
};

struct Failure {
  std::uint32_t thread;
  std::uint32_t instruction;
  Status status;  // failed or wild
  std::uint32_t state;
};

class Outcomes {
 public:
  Outcomes(const Program& program, Model model, Semantics semantics, std::vector<Observable> observed);

  // Once: explores until nothing is left, `max_states` are known, `max_bytes` or all that there are are taken, or
  // `stop` says so (asked now and then).
  void explore(std::uint64_t max_states, std::uint64_t max_bytes, const std::function<bool()>& stop);

  bool complete() const { return complete_; }  // every reachable state has been visited
  bool full() const { return full_; }          // it ended because its memory did
  std::uint64_t states() const { return states_; }
  std::uint64_t cut() const { return cut_; }  // final states in which a loop's bound cut a thread
  const std::vector<Outcome>& outcomes() const { return outcomes_; }
  const std::vector<Failure>& failures() const { return failures_; }
  std::optional<std::uint32_t> deadlock() const { return deadlock_; }
  std::optional<std::uint32_t> livelock() const { return livelock_; }
  const std::set<std::pair<std::uint32_t, std::uint32_t>>& evaluated() const { return locals_.evaluated(); }

  std::vector<ScheduleStep> schedule(std::uint32_t state) const;

 private:
  struct Entry {
    std::uint32_t address;  // kMarker: an sfence
    Value value;
  };
  struct State {
    std::vector<LocalId> locals;
    std::vector<Value> memory;
    std::vector<std::vector<Entry>> buffers;
  };
  static constexpr std::uint32_t kMarker = ~0U;

  void find_private_locations();
  void explore_all(std::uint64_t max_states, std::uint64_t max_bytes, const std::function<bool()>& stop);
  std::size_t bytes() const;
  void keep_findings();
  void expand(std::uint32_t index);
  bool enabled(const State& state, std::uint32_t thread) const;
  bool alone(const State& state, std::uint32_t thread) const;
  bool commit_alone(const State& state, std::uint32_t thread) const;
  void issue(State& state, std::uint32_t thread);
  void commit(State& state, std::uint32_t thread, std::size_t position) const;
  bool take(const State& from, std::uint32_t index, ScheduleStep step, std::size_t position);
  bool insert(const State& state, std::uint32_t parent, ScheduleStep step);
  void finish(const State& state, std::uint32_t index);
  bool hangs(const State& state);
  void load(std::uint32_t index, State& state) const;

  Locals locals_;
  Model model_;
  Semantics semantics_;
  std::vector<Observable> observed_;
  std::vector<bool> private_;  // locations that one thread alone uses

  std::uint32_t states_ = 0;
  Strings strings_;                // of all states; none begins with another
  Blocks<Strings::Place> places_;  // where each state's is
  Blocks<std::uint32_t> parents_;  // in the end of those alone that lead to findings
  Blocks<ScheduleStep> steps_;
  struct Known {
    std::uint32_t number = 0;  // index + 1
    std::uint32_t hash = 0;
    bool free() const { return number == 0; }
    std::uint32_t index() const { return number - 1; }
  };
  OpenTable<Known, 75> known_;  // states by their strings
  std::vector<std::uint8_t> scratch_;
  State current_, successor_;

  std::vector<Outcome> outcomes_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> outcome_by_hash_;
  std::vector<Failure> failures_;
  std::optional<std::uint32_t> deadlock_, livelock_;
  static constexpr std::size_t kMostRestless = 1'000'000;
  std::unordered_set<std::uint64_t> restless_;  // threads, where they are, and memory: alone they count for ever
  std::uint64_t cut_ = 0;
  std::uint32_t next_ = 0;
  bool complete_ = false, full_ = false;
};

}  // namespace teetotal
