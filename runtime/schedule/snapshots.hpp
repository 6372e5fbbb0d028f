// Copies of the program at moments of an execution, so that going back need not begin at main.
//
// A snapshot holds all that the program itself can have changed: its variables, the heap in use, the used part of every
// stack (the unused part too, as far down as anything was ever written: local states are hashed, see system.cpp),
// thread-local variables, and the records of the process and its threads. It is taken only where that is everything:
//
// - No function of a library was called since that may keep something of its own (imports.hpp), and no memory of a
//   library was allocated or freed (`libraries.changes`), that of our own hooks included, which they may hold where
//   they stand; but not what they find out for good (`Lasting`).
// - No variables are so many that the kernel puts them back, no thread has thread-specific data.
//
// Otherwise the whole execution is run again. Snapshots form a stack, as the search's own frames do. One is taken every
// few steps (`interval`), fewer of them the larger they are.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "records.hpp"

namespace teetotal::runtime {

class Snapshots {
 public:
  static inline std::size_t interval = 12;  // a snapshot every so many steps; 0: none

  // Keeps the program as it stands after `steps` steps, where that is safe and worth its while: whether it did.
  bool consider(std::size_t steps) { return steps >= due_ && take(steps); }

  // Puts the program back to the latest moment that was kept and is not after `steps`; false where there is none.
  bool restore(std::size_t steps);

  // Those after so many steps are of another execution from now on.
  void drop(std::size_t steps) {
    if (depth_ == 0 || kept_[depth_ - 1].steps <= steps) return;
    while (depth_ > 0 && kept_[depth_ - 1].steps > steps) --depth_;
    due_ = this->steps() + pause_;
  }

  // After how many steps the next one is worth its while.
  std::size_t due() const { return due_; }

  // After how many steps the latest snapshot was taken.
  std::size_t steps() const { return depth_ == 0 ? 0 : kept_[depth_ - 1].steps; }
  std::size_t depth() const { return depth_; }

  void forget() {
    depth_ = 0;
    due_ = 0;
  }

 private:
  struct KeptThread : ThreadRecord {
    std::array<std::byte, kExceptionWords> caught{};  // what is at `exceptions`
  };
  struct Snapshot {
    std::size_t steps = 0;
    std::uint64_t outside = 0;
    Records records;
    std::vector<KeptThread> threads;
    Used used{};
    std::vector<Region> regions;
    std::vector<std::byte> bytes;  // of the regions, one after the other
  };

  static bool safe();
  bool take(std::size_t steps);

  std::vector<Snapshot> kept_;  // those above depth_ are there to be used again
  std::size_t depth_ = 0;
  std::size_t due_ = 0;    // after how many steps the next one is worth its while
  std::size_t pause_ = 0;  // between two of them
};

}  // namespace teetotal::runtime
