// Living on when the program takes the process down in a way that nobody can catch: SIGKILL, a system call that ends
// the process, memory of ours overwritten, no memory left.
//
// The search runs in a child process. Its parent, a copy of everything as it was at the fork, waits. When the child
// dies, the parent starts another one. A search does the same again from the same state, so if that one dies at the
// same step (the journal, which they share, counts steps), a third knows: there the thread fails instead of going on.
// So a death costs the work since the fork, twice, and is told with its schedule like any other failure.
//
// The first parent is the supervisor, which never runs anything of the program. A search doubles up each time it has
// run twice as long, and after each death that it survived.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "channel.hpp"
#include "process.hpp"

namespace teetotal::runtime {

// Who waits for an explorer.
class Guardian {
 public:
  // Until it has ended, or stops: as waitpid tells it.
  virtual int wait(pid_t explorer) = 0;
  // Another one is started.
  virtual void again() = 0;
  // There will be no other: it has come to its end, or nothing can be done about its death.
  [[noreturn]] virtual void end(int status) = 0;

 protected:
  ~Guardian() = default;
};

// For a guardian: whether it was the supervisor that has stopped the explorer, and will let it go on.
class Pauses {
 public:
  bool explain(int status) {
    const std::uint32_t now = WIFSTOPPED(status) ? channel.notices().pauses.load() : known_;
    return std::exchange(known_, now) != now;
  }

 private:
  std::uint32_t known_ = channel.notices().pauses;
};

class Survival {
 public:
  // From here on the caller is a child, over which its parent watches. False: it is not, for want of processes.
  bool double_up(Guardian& guardian);
  bool double_up();

  // Another piece of work, by its number: a death in it is told from those in others. Whoever takes over after one
  // begins with the piece again, and knows nothing from those before: nobody doubles up within one.
  void begin(std::uint64_t piece) {
    steps_ = piece << 40U;
    find_next_death();
  }

  // Between two executions: doubles up where that is due.
  void consider();

  // A new step begins: whether it is one that ends the process.
  bool fatal() {
    channel.pulse().steps.store(++steps_, std::memory_order_relaxed);
    return steps_ == next_death_ && survive();
  }

  // The same of the step that comes next, before it begins.
  bool fatal_next() const { return steps_ + 1 == next_death_; }

  // Whether a death was survived since the last fork.
  bool passed() const { return passed_; }

  // What would have happened at the latest of them.
  Failure failure() const;
  std::string message() const;

  // The end, as it should be.
  [[noreturn]] void finish(int status);

  // Processor time of this process and of those that it was forked from, until then.
  double processor_seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Death {
    std::uint64_t step;
    int status;       // as waitpid tells it
    Reason asked;     // by the supervisor, which the program did not heed
    bool in_program;  // rather than in the search
  };
  static constexpr std::uint32_t kMostDeaths = 100;
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  struct Journal {
    std::uint32_t deaths = 0;
    std::uint32_t suspicions = 0;  // deaths that may not be the program's doing
    Death death[kMostDeaths] = {};
  };

  bool learn(int status);
  void find_next_death();
  bool survive() {
    passed_ = true;
    survived_ = next_;
    find_next_death();
    return true;
  }

  Journal* journal_ = nullptr;
  std::uint64_t steps_ = 0;
  std::uint64_t next_death_ = 0;  // the step, 0 for none
  Death next_{}, survived_{};
  bool passed_ = false;            // a death, since the last fork
  std::uint64_t suspect_ = kNone;  // the step at which a child of this process died, so far once
  Clock::time_point forked_{};
  Clock::duration pause_ = std::chrono::seconds(1);
  double earlier_seconds_ = 0;
};

extern Survival survival;

}  // namespace teetotal::runtime
