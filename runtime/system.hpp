// A C program as a System that searches can drive: steps are its visible operations, and going back is running again.
//
// Spinning. As in core/execution.hpp: a thread whose last iteration came back to the same local state, wrote nothing and
// saw in every read the same write as the iteration before stops for the rest of this execution. Here the local state is
// the thread's stack, its registers and its thread-local variables, compared by a hash that is made only where the events
// of two iterations are equal. A search without reduction lets it go on once something that it read has changed.
//
// Loops that do write are cut when a thread comes to the same instruction too often (`loop_bound`).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "process.hpp"
#include "search/system.hpp"

namespace teetotal::runtime {

struct Restart {};  // thrown where something was learnt that makes the numbers given so far void

struct Nondeterministic : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Bounds {
  std::uint32_t loop_bound = 100;
  std::uint32_t steps = 100'000;
  bool spinners_wake = false;  // for searches without reduction
};

struct Step {
  Event event;
  Operation operation;
  Wide before = 0, after = 0;       // what the cell held
  std::int32_t source = -1;         // the step that wrote what it saw
  std::uint32_t quiet = 0;          // how many of its thread's latest steps, itself included, wrote nothing
  std::uint32_t spin = 0;           // the length of the iteration that its thread repeated, 0 if it did not
  std::uint64_t local = 0;          // a hash of its thread's local state after it, 0 where none was made
};

enum class Stuck : std::uint8_t { no, deadlock, livelock };

class Controlled final : public System {
 public:
  explicit Controlled(Bounds bounds) : bounds_(bounds) {}

  std::uint32_t threads() const override;
  Pending pending(std::uint32_t thread) const override;
  Event execute(std::uint32_t thread) override;
  void rewind(std::size_t length) override;
  bool would_write(std::size_t index, std::size_t before) const override;
  std::ptrdiff_t enabler(std::size_t index) const override { return steps_[index].operation.enabler; }
  Ending ending() const override;

  // Everything anew, after a Restart.
  void forget();

  const std::vector<Step>& steps() const { return steps_; }
  Stuck stuck() const;
  std::uintptr_t place(std::uint32_t location) const { return places_[location]; }

  // Threads that failed in the execution at hand.
  const std::vector<std::uint32_t>& failed() const { return failed_; }

 private:
  void catch_up();
  void describe(std::uint32_t thread);
  void described_new_threads();
  std::uint32_t location(std::uintptr_t place);
  bool cut(std::uint32_t thread) const;
  bool spinning(std::uint32_t thread) const;
  bool sees_changes(std::uint32_t thread) const;
  void detect_spinning(std::uint32_t thread);
  bool same_events(std::uint32_t thread, std::size_t length) const;
  void check_freed_cells();

  Bounds bounds_;
  std::vector<Step> steps_;
  bool stale_ = true;                             // the program stands elsewhere
  std::vector<Event> next_;                       // of each thread, without `writes` where that depends on memory
  std::vector<std::vector<std::uint32_t>> own_;   // steps of each thread
  std::vector<std::vector<std::uint32_t>> visits_;  // of each thread, by location
  std::vector<std::int32_t> writer_;              // the latest, by cell
  std::vector<std::vector<std::int32_t>> writers_;  // those before it
  std::unordered_map<std::uintptr_t, std::uint32_t> locations_;
  std::vector<std::uintptr_t> places_;
  std::vector<std::uint32_t> failed_;
  std::size_t known_cells_ = 0;
};

}  // namespace teetotal::runtime
