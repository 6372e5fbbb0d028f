#include "turn.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "recorder.hpp"

namespace teetotal::native {

Thread threads[kMaxThreads];

namespace {

constexpr std::uint32_t kTurn = 1, kNoTurn = 2;  // what is granted
constexpr int kMostHooks = 64;
constexpr long kPatience = 200'000, kMostPatience = 5'000'000, kComputed = 10'000'000;  // nanoseconds

enum State : std::uint64_t { unowned = 0, outside = 1, inside = 2 };

constexpr State state_of(std::uint64_t word) { return static_cast<State>(word & 3U); }
std::uint64_t word_of(std::uint64_t last, const Thread& thread, State state) {
  const auto slot = static_cast<std::uint64_t>(&thread - threads);
  return ((last >> 18U) + 1) << 18U | slot << 2U | state;
}
Thread& holder_of(std::uint64_t word) { return threads[(word >> 2U) & 0xffffU]; }

int hooks_of_a_turn(Thread& self) {
  self.random ^= self.random << 13U;
  self.random ^= self.random >> 7U;
  self.random ^= self.random << 17U;
  return 1 + static_cast<int>(self.random % kMostHooks);
}

void sleep_on(std::atomic<std::uint32_t>& word, long nanoseconds) {
  const timespec most{0, nanoseconds};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &most, nullptr, 0);
}

void wake(Thread& thread, std::uint32_t granted) {
  thread.granted.store(granted);
  syscall(SYS_futex, &thread.granted, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

long computed(const Thread& thread) {
  const auto clock = static_cast<clockid_t>(~static_cast<unsigned>(thread.kernel_id) << 3U | 6U);
  timespec time{};
  return clock_gettime(clock, &time) == 0 ? time.tv_sec * 1'000'000'000 + time.tv_nsec : 0;
}

bool sleeps(const Thread& thread) {
  char path[64] = "/proc/self/task/", text[512];
  char* end = path + 16;
  char digits[16];
  int count = 0;
  for (auto rest = static_cast<unsigned>(thread.kernel_id); rest != 0; rest /= 10)
    digits[count++] = static_cast<char>('0' + rest % 10);
  while (count > 0) *end++ = digits[--count];
  for (const char* letter = "/stat"; *letter != 0;) *end++ = *letter++;
  *end = 0;
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT;  // it has ended
  const long size = syscall(SYS_read, file, text, sizeof text);
  syscall(SYS_close, file);
  long closing = size - 1;
  while (closing > 0 && text[closing] != ')') --closing;
  if (closing <= 0 || closing + 2 >= size) return false;
  const char state = text[closing + 2];
  return state == 'S' || state == 'Z' || state == 'X';
}

}  // namespace

bool Turn::take(Thread& self) {
  const std::uint64_t seen = word_.load();
  if (state_of(seen) != outside || &holder_of(seen) != &self || !try_word(seen, self)) return wait(self);
  finish(self);
  if (--self.hooks_left > 0) return true;
  self.hooks_left = hooks_of_a_turn(self);
  collect();
  if (waiters_ == 0) return true;
  grant_to_one(self);
  return wait(self);
}

bool Turn::take_again(Thread& self) {
  const std::uint64_t seen = word_.load();
  return (state_of(seen) == outside && &holder_of(seen) == &self && try_word(seen, self)) || wait(self);
}

void Turn::keep(Thread& self) { word_.store(word_of(word_.load(), self, outside)); }

void Turn::give(Thread& self) {
  for (;;) {
    collect();
    if (waiters_ != 0) return grant_to_one(self);
    const std::uint64_t free = word_of(word_.load(), self, unowned);
    word_.store(free);
    std::uint64_t expected = free;
    if (arrivals_.load() == nullptr || !word_.compare_exchange_strong(expected, word_of(free, self, inside))) return;
  }
}

void Turn::give_up(Thread& self) {
  collect();
  while (waiting_ != nullptr) {
    Thread* next = waiting_->next;
    wake(*waiting_, kNoTurn);
    waiting_ = next;
  }
  waiters_ = 0;
  give(self);
}

bool Turn::try_word(std::uint64_t seen, Thread& self) {
  return word_.compare_exchange_strong(seen, word_of(seen, self, inside));
}

bool Turn::wait(Thread& self) {
  self.granted.store(0);
  self.next = arrivals_.load();
  while (!arrivals_.compare_exchange_weak(self.next, &self)) {
  }
  std::uint64_t first = 0;
  long computed_then = 0, patience = kPatience;
  for (;;) {
    const std::uint64_t seen = word_.load();
    const bool free = state_of(seen) == unowned;
    if (const std::uint32_t granted = self.granted.load(); granted != 0) {
      self.hooks_left = hooks_of_a_turn(self);
      return granted == kTurn;
    }
    if (!free && seen != first) {
      first = seen;
      patience = kPatience;
      computed_then = computed(holder_of(seen));
      sleep_on(self.granted, patience);
      continue;
    }
    Thread& holder = holder_of(seen);
    const bool done =
        free || (state_of(seen) == outside && (computed(holder) - computed_then >= kComputed || sleeps(holder)));
    if (done && try_word(seen, self)) {
      unlink(self);
      if (!free) finish(holder);
      self.hooks_left = hooks_of_a_turn(self);
      return true;
    }
    if (patience < kMostPatience) patience *= 2;
    sleep_on(self.granted, patience);
  }
}

void Turn::collect() {
  for (Thread* one = arrivals_.exchange(nullptr); one != nullptr;) {
    Thread* next = one->next;
    one->next = waiting_;
    waiting_ = one;
    ++waiters_;
    one = next;
  }
}

// To any of them.
void Turn::grant_to_one(Thread& self) {
  Thread** link = &waiting_;
  for (auto skip = static_cast<int>(self.random >> 8U & 0xffffU) % waiters_; skip > 0; --skip) link = &(*link)->next;
  Thread& chosen = **link;
  *link = chosen.next;
  --waiters_;
  word_.store(word_of(word_.load(), chosen, inside));
  wake(chosen, kTurn);
}

void Turn::unlink(Thread& self) {
  collect();
  for (Thread** link = &waiting_; *link != nullptr; link = &(*link)->next)
    if (*link == &self) {
      *link = self.next;
      --waiters_;
      return;
    }
}

}  // namespace teetotal::native
