// SC executions of a program, as a System that searches can drive: one step at a time, with every step taken back on
// demand.
//
// Waiting. A thread reads in circles until somebody else writes. Two ways to do without the circles:
// - `Waiting::skip`: rounds in which nothing happens are no part of executions. A step that would complete one waits:
//   it changes nothing, and leads to where the thread was since its own last change (docs/explanation/waiting.md).
// - `Waiting::count`: they are, but after an iteration that came back to the same local state, wrote nothing, and saw
// in
//   every read the same write as the iteration before, the thread stops for the rest of this execution: a smallest
//   violation has no such iteration (Lemma 7 of docs/explanation/memory-models.md). The executions in which it reads
//   something new are explored as others.
//
// Cuts. Where a program has no `loop_bound` of its own, loops that end are not cut. A thread stops after `kMostIdle`
// rounds in which it changed nothing and read what it had read, but came to another local state (it counts), if it
// would go on like that for ever; and after kMostSteps steps.
//
// Threads that do the same (`twins`) take their first steps, fences apart, in the order of their numbers: as far as
// their names go, nothing is lost by that (Theorem 5 of docs/explanation/exploration.md).
#pragma once

#include <set>
#include <tuple>

#include "rounds.hpp"
#include "search/system.hpp"

namespace teetotal {

enum class Waiting : std::uint8_t { skip, count };

// Where a loop was cut: its first and last instruction, and how often the thread had gone round.
struct Cut {
  std::uint32_t thread, first, last, rounds;
  auto operator<=>(const Cut&) const = default;
};

class Execution final : public System {
 public:
  // `twins`: of each thread, the latest before it that does the same, or -1; empty: they are not asked for.
  Execution(const Program& program, Semantics semantics, Waiting waiting, std::vector<std::int32_t> twins = {});

  std::uint32_t threads() const override { return locals_.threads(); }
  Pending pending(std::uint32_t thread) const override;
  bool enabled(std::uint32_t thread) const override;
  Event execute(std::uint32_t thread) override;
  void rewind(std::size_t length) override;
  bool would_write(std::uint32_t thread, std::size_t index, std::size_t before) const override;
  std::ptrdiff_t enabler(std::size_t index) const override { return steps_[index].enabler; }
  std::vector<std::int32_t> awaited(std::uint32_t thread) const override;
  bool waits(std::size_t index) const override;
  bool possible(std::uint32_t thread, std::size_t index, std::size_t before) const override;
  bool skips_waiting() const override { return waiting_ == Waiting::skip; }
  Ending ending() const override;

  // The loops that were cut in any execution so far.
  const std::set<Cut>& cuts() const { return cuts_; }

  // Of each location: how executions so far used it.
  enum class Use : std::uint8_t { unknown, data, mutex };
  const std::vector<Use>& uses() const { return use_; }

 private:
  static constexpr std::int64_t kInitial = -1;
  static constexpr std::uint32_t kMostIdle = 100;
  struct Cell {
    Value value;
    std::int64_t writer;  // the step that wrote it; kInitial
  };
  struct Step {
    Event event;
    LocalId before;                 // the thread's local state before it
    Cell overwritten{0, kInitial};  // what the location held, whether it was overwritten or read
    std::uint32_t quiet = 0;        // how many of its thread's latest steps, itself included, changed nothing
    bool may_wait = false;          // Local::may_wait, where that matters
    std::uint32_t idle = 0;         // rounds up to it that were like the one before
    std::int32_t enabler = -1;      // of its thread's first step: that of its twin
  };
  enum class Halt : std::uint8_t { no, spinning, cut, endless };

  Status status(std::uint32_t thread) const { return locals_.at(thread, current_[thread]).status; }
  bool follows_twin(std::uint32_t thread, const Local& local) const;
  std::int32_t first_step(std::uint32_t thread) const;
  std::size_t position(std::uint32_t thread, std::size_t index) const;
  LocalId local_at(std::uint32_t thread, std::size_t position) const;
  bool waits_now(std::uint32_t thread, const Local& local) const;
  bool completes_round(std::uint32_t thread, std::size_t position, Value seen) const;
  bool repeats_itself(std::uint32_t thread) const;
  std::uint32_t idle_rounds(std::uint32_t thread) const;
  bool idle_for_ever(std::uint32_t thread) const;
  void halt_if_endless(std::uint32_t thread);
  void note_cut(std::uint32_t thread);
  void check_mutex_use(const Event& event);

  // Instructions are numbered through all threads, one after the other.
  Event described(std::uint32_t thread, const Local& local) const;
  std::uint32_t location(std::uint32_t thread, std::uint32_t pc) const { return first_instruction_[thread] + pc; }

  mutable Locals locals_;  // grows with what is asked
  Semantics semantics_;
  Waiting waiting_;
  std::vector<std::int32_t> twins_;
  std::vector<LocalId> current_;
  std::vector<Halt> halted_;
  std::vector<Cell> memory_;
  std::vector<Step> steps_;
  std::vector<std::vector<std::size_t>> by_thread_;
  std::vector<std::vector<std::vector<std::uint32_t>>> visits_;  // of each thread, by Local::standing: positions
  std::vector<std::uint32_t> first_instruction_;
  std::set<Cut> cuts_;
  std::vector<Use> use_;
};

// A location is used both as a mutex and otherwise, which a search over executions does not reduce correctly.
struct MixedMutex : std::runtime_error {
  explicit MixedMutex(std::uint32_t location_number)
      : std::runtime_error("a location is used both as a mutex and as data"), location(location_number) {}
  std::uint32_t location;
};

}  // namespace teetotal
