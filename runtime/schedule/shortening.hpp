// A schedule that leads to a failure, made shorter: fewest steps and fewest switches between threads, as far as a
// greedy search within a small budget gets.
//
// After Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input" (2002), Fig. 3:
//
//   paper                    here
//   configuration c          Moves: steps of threads, and commits
//   test(c)                  Shortening::fails: the program itself, run by them
//   complements, n           Shortening::without, chunk
//
// Deviations. A step that is not possible where it stands is left out instead of making the whole unresolved, so that a
// thread that loses a round of its loop goes on all the same. Beside leaving steps out, runs of a thread's steps are
// moved next to others of it. What counts is steps and switches together.
#pragma once

#include <chrono>
#include <vector>

#include "system.hpp"

namespace teetotal::runtime {

struct Move {
  std::uint32_t born = 0;  // a thread, by the order in which threads were created
  bool commit = false;
  std::int64_t cell = 0;  // of a commit under PSO
};
using Moves = std::vector<Move>;

class Shortening {
 public:
  Shortening(Controlled& system, double seconds);

  // From a schedule that fails; itself where it does not fail, or nothing shorter was found.
  Moves shortened(const Moves& moves);

 private:
  struct Signature {
    Failure failure = {};
    std::uintptr_t place = 0;
    bool operator==(const Signature&) const = default;
  };

  bool fails(const Moves& moves);  // the execution's own moves are then in done_
  bool better(const Moves& moves);
  bool without();
  bool beside();
  bool over() const { return moves_left_ == 0 || std::chrono::steady_clock::now() >= end_; }

  Controlled& system_;
  std::chrono::steady_clock::time_point end_;  // where steps take very long
  std::size_t moves_left_ = 200'000;           // what ends it, for the same program always at the same point
  Signature wanted_;
  Moves best_, done_;
};

// The agent of a move where it is possible; nothing where it is not.
std::optional<std::uint32_t> possible_agent(Controlled& system, const Move& move);

}  // namespace teetotal::runtime
