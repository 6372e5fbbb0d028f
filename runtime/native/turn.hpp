// One thread at a time: a thread holds the turn from one of its hooks until its next one, so that the access that
// follows the hook is done while nobody else accesses anything. What is recorded under the turn is an SC execution.
//
// The turn is a word: who has it, whether that thread is in a hook, and how often it has left one. It changes hands
// - in a hook of its holder, to somebody who waits, when the holder has used up a random number of hooks, or blocks;
// - to somebody who has waited long, from a holder that is outside and has surely done its access: because it sleeps in
//   the kernel (the access directly follows the hook, without a system call between; a page that it has to wait for is
//   waited for in another state), or has computed for so long since then. The word says that it was in no hook
//   meanwhile.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace teetotal::native {

struct Pending {
  std::uintptr_t address = 0, place = 0;
  std::size_t size = 0;  // 0: nothing is pending
};

struct Load {
  std::uintptr_t address = 0, place = 0;
  std::uint64_t value = 0;
  bool operator==(const Load&) const = default;
};

constexpr std::uint32_t kMaxThreads = 4096;  // at a time

struct Thread {
  std::uint32_t number = 0;
  pid_t kernel_id = 0;
  bool busy = false;  // in a hook: those of a signal handler do nothing then
  std::atomic<bool> used = false;
  Pending pending;  // a store that follows a hook; only the turn's holder has one
  Load last;        // if that was the last that it did
  std::uint64_t random = 1;
  int hooks_left = 0;
  std::atomic<std::uint32_t> granted = 0;
  Thread* next = nullptr;  // of those who wait
};

extern Thread threads[kMaxThreads];

class Turn {
 public:
  // At a hook: the turn is ours, and what its last holder did is done. False if recording has ended meanwhile.
  bool take(Thread& self);
  // The same, but what we do is not done yet, and nobody else may have the turn.
  bool take_again(Thread& self);
  // At the end of a hook: the turn stays ours.
  void keep(Thread& self);
  // The same, but somebody else may have it.
  void give(Thread& self);
  // All who wait go on without a turn.
  void give_up(Thread& self);

 private:
  bool wait(Thread& self);
  void collect();
  void grant_to_one(Thread& self);
  void unlink(Thread& self);
  bool try_word(std::uint64_t seen, Thread& self);

  std::atomic<std::uint64_t> word_ = 0;
  std::atomic<Thread*> arrivals_ = nullptr;  // anybody pushes, the holder takes all
  Thread* waiting_ = nullptr;                // the holder's
  int waiters_ = 0;
};

}  // namespace teetotal::native
