// SC executions of a program, as a System that searches can drive: one step at a time, with every step taken back on
// demand.
//
// Spinning. A thread that reads in circles can do so for ever, and a search over executions would not end. After an
// iteration that came back to the same local state, wrote nothing, and saw in every read the same write as the
// iteration before, the thread stops for the rest of this execution: a smallest violation has no such iteration (Lemma
// 7 of docs/explanation/memory-models.md). The executions in which it reads something new are explored as others.
#pragma once

#include "locals.hpp"
#include "search/system.hpp"

namespace teetotal {

class Execution final : public System {
 public:
  Execution(const Program& program, Semantics semantics);

  std::uint32_t threads() const override { return locals_.threads(); }
  Pending pending(std::uint32_t thread) const override;
  Event execute(std::uint32_t thread) override;
  void rewind(std::size_t length) override;
  bool would_write(std::size_t index, std::size_t before) const override;
  bool would_write_from(std::uint32_t thread, std::size_t index, std::ptrdiff_t source) const override;
  bool waits(std::size_t index) const override { return steps_[index].event.kind == Kind::lock; }
  bool possible(std::uint32_t, std::size_t, std::size_t before) const override {
    return steps_[before].overwritten.value == 0;
  }
  Ending ending() const override;

  // What the execution at hand did, beyond its events.
  static constexpr std::int64_t kInitial = -1;
  struct Detail {
    LocalId before;         // the thread's local state before it
    Value read = 0;         // what it saw
    Value written = 0;      // what it wrote, if it wrote
    std::int64_t source;    // the event that wrote what it saw; kInitial
    std::uint32_t quiet;    // how many of its thread's latest events, itself included, wrote nothing
    bool spinning = false;  // the thread stopped after it: another iteration like the last
  };
  const Detail& detail(std::size_t index) const { return steps_[index].detail; }
  Status status(std::uint32_t thread) const { return locals_.at(thread, current_[thread]).status; }
  bool spinning(std::uint32_t thread) const { return spinning_[thread]; }
  const Locals& locals() const { return locals_; }

  // Instructions are numbered through all threads, one after the other.
  std::uint32_t location(std::uint32_t thread, std::uint32_t pc) const { return first_instruction_[thread] + pc; }

 private:
  struct Cell {
    Value value;
    std::int64_t writer;
  };
  struct Step {
    Event event;
    Detail detail;
    Cell overwritten;
  };

  bool repeats_itself(std::uint32_t thread) const;
  void check_mutex_use(const Event& event);

  Locals locals_;
  Semantics semantics_;
  std::vector<LocalId> current_;
  std::vector<bool> spinning_;
  std::vector<Cell> memory_;
  std::vector<Step> steps_;
  std::vector<std::vector<std::size_t>> by_thread_;
  std::vector<std::uint32_t> first_instruction_;
  enum class Use : std::uint8_t { unknown, data, mutex };
  std::vector<Use> use_;
};

// A location is used both as a mutex and otherwise, which a search over executions does not reduce correctly.
struct MixedMutex : std::runtime_error {
  explicit MixedMutex(std::uint32_t location_number)
      : std::runtime_error("a location is used both as a mutex and as data"), location(location_number) {}
  std::uint32_t location;
};

}  // namespace teetotal
