// A schedule that leads to a failure, or to what a monitor reports, made shorter: fewest steps and fewest switches
// between threads, as far as a greedy search within a small budget gets.
//
// After Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input" (2002), Fig. 3:
//
//   paper                    here
//   configuration c          Moves: steps of threads, and commits
//   test(c)                  Shortening::holds: the program itself, run by them, and what the Goal says
//   complements, n           Shortening::without, chunk
//
// Deviations. A step that is not possible where it stands is left out instead of making the whole unresolved, so that a
// thread that loses a round of its loop goes on all the same. Beside chunks of steps, all that a thread does from
// somewhere on is left out, and runs of a thread's steps are moved next to others of it. What counts is steps and
// switches together.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "monitors/watch.hpp"
#include "system.hpp"

namespace teetotal::runtime {

struct Move {
  std::uint32_t born = 0;  // a thread, by the order in which threads were created
  bool commit = false;
  std::int64_t cell = 0;  // of a commit under PSO
};
using Moves = std::vector<Move>;

// What an execution must still lead to. The first one that is asked about says what that is.
class Goal {
 public:
  enum class Seen { nothing, other, wanted };

  virtual ~Goal() = default;
  // After each step, and once more after the last one.
  virtual Seen seen(Controlled& system, bool last) = 0;
  // How many of the steps lead to what was wanted.
  virtual std::size_t needed(const Controlled& system) const { return system.steps().size(); }
};

class SameFailure final : public Goal {
 public:
  Seen seen(Controlled& system, bool last) override;

 private:
  struct Signature {
    Failure failure = {};
    std::uintptr_t place = 0;
    bool operator==(const Signature&) const = default;
  };
  std::optional<Signature> wanted_;
};

// A report of a monitor about an SC execution, with the same delayed store and the same deciding event.
class SameReport final : public Goal {
 public:
  SameReport(std::string monitor, const Semantics& semantics, std::size_t delayed, std::size_t deciding);

  Seen seen(Controlled& system, bool last) override;
  std::size_t needed(const Controlled&) const override { return static_cast<std::size_t>(report_.deciding) + 1; }
  const monitors::Report& report() const { return report_; }

 private:
  using Places = std::pair<std::uintptr_t, std::uintptr_t>;

  std::vector<std::string> monitor_;
  Semantics semantics_;
  std::size_t delayed_, deciding_;  // in the first execution
  std::optional<Places> wanted_;
  monitors::Report report_;
};

class Shortening {
 public:
  Shortening(Controlled& system, Goal& goal, double seconds);

  // From a schedule that leads to the goal; itself where it does not, or nothing shorter was found.
  Moves shortened(const Moves& moves);

 private:
  bool holds(const Moves& moves);  // the execution's own moves are then in done_
  bool better(const Moves& moves);
  bool ended();
  bool without();
  bool beside();
  bool over() const { return moves_left_ == 0 || std::chrono::steady_clock::now() >= end_; }

  Controlled& system_;
  Goal& goal_;
  std::chrono::steady_clock::time_point end_;  // where steps take very long
  std::size_t moves_left_ = 200'000;           // what ends it, for the same program always at the same point
  Moves best_, done_;
};

// The agent of a move where it is possible; nothing where it is not.
std::optional<std::uint32_t> possible_agent(Controlled& system, const Move& move);

}  // namespace teetotal::runtime
