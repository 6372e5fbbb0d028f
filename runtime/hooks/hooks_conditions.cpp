// Condition variables, barriers, semaphores, futexes (std::atomic's wait and notify): what lets other threads go on.
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <map>
#include <set>

#include "accesses.hpp"
#include "calls.hpp"
#include "conditions.hpp"
#include "imports.hpp"
#include "local_state.hpp"
#include "synchronisation.hpp"
#include "touching.hpp"

namespace teetotal::runtime {
namespace {

std::set<std::uintptr_t> crowded;  // barriers that more threads use than they are for, in any execution
std::map<std::uintptr_t, std::set<std::uint32_t>> barrier_users;

// -- waiting for a signal ---------------------------------------------------------------------------------------------
//
// A signal wakes any one of those who wait then and whom no signal before has woken. Which one is decided late: by who
// is scheduled first. So each waiting thread counts the signals since it began that have woken nobody yet. One that
// goes on uses up the earliest of its own: those who began before it counted that one too, and of those who began after
// it just the ones that count as many. No choice is lost by the earliest, since whoever can use it can use a later one.

void begin_waiting(Thread& self, const void* object, std::uintptr_t place) {
  synchronise(self, Verb::wait, Kind::rmw, Tag::condition, object, place);
  self.waits_on = object;
  self.wait.since = process.step;
  self.wait.signals = 0;
}

bool can_be_woken(const Thread& thread) { return thread.wait.signals > 0; }

// Whether it was woken; one that need not be woken may not have been.
bool wait(Thread& self, Verb verb, const void* object, bool needs_signal, std::uintptr_t place) {
  synchronise(
      self, verb, Kind::rmw, Tag::condition, object, place,
      {.enabled = needs_signal ? can_be_woken : nullptr, .waiting = needs_signal ? Waiting::lock : Waiting::none});
  self.waits_on = nullptr;
  if (self.wait.signals == 0) return false;
  each_waiting(object, [&](Thread& other) {
    if (other.wait.since < self.wait.since || other.wait.signals == self.wait.signals) --other.wait.signals;
  });
  return true;
}

}  // namespace

// How many it wakes. Where nobody waits, that is all it sees; a futex is in the kernel's hands, which locks it.
std::uint32_t signal(Thread& self, const void* object, std::size_t most, std::uintptr_t place, bool locked) {
  attempt(self, most == 1 ? Verb::signal : Verb::broadcast, Tag::condition, object, place,
          {.writes = locked ? Writes::always : Writes::if_different, .expected = 0});
  std::uint32_t waiting = 0, woken = 0;
  each_waiting(object, [&](Thread& thread) {
    ++waiting;
    woken = std::max(woken, thread.wait.signals);  // who began first counts them all
  });
  const auto more = static_cast<std::uint32_t>(std::min<std::size_t>(most, waiting - woken));
  each_waiting(object, [&](Thread& thread) { thread.wait.signals += more; });
  return more;
}

int condition_wait(Thread& self, pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* limit,
                   std::uintptr_t place) {
  const bool limited = limit != nullptr;
  const timespec until = limited ? read_limit(limit, place) : timespec{};
  use(self, mutex, "waits on a condition with a mutex", place);
  if (!holds(self, mutex)) fail(self, Failure::misuse, "waits on a condition without its mutex", place);
  begin_waiting(self, condition, place);
  use(self, condition, "waits on a condition", place);
  each_waiting(condition, [&](const Thread& other) {
    if (&other != &self && other.wait.signals == 0 && other.wait.with != mutex)
      fail(self, Failure::misuse, "waits on a condition with another mutex than T" + std::to_string(other.born), place);
  });
  self.wait.with = mutex;
  const unsigned count = mutex->__data.__count;
  unlock(self, mutex, place);
  const bool may_idle = !limited && self.wait.idle_wakes < conditions.idle_wakes;
  const bool signalled = wait(self, limited ? Verb::wake_or_not : Verb::wake, condition, !limited && !may_idle, place);
  self.wait.idle_wakes += may_idle && !signalled;
  lock(self, mutex, place);
  mutex->__data.__count = count;
  return signalled || may_idle ? 0 : out_of_time(self, &until);
}

// Arrivals at a barrier that no more threads use than it is for commute: whoever leaves comes after all of them. Where
// more do, who meets whom depends on their order (`crowded`, learnt). The last one to arrive is nobody special then:
// who is told that he is, where he looks, is decided among those who leave.
int barrier_wait(Thread& self, Barrier* barrier, std::uintptr_t place) {
  const auto address = reinterpret_cast<std::uintptr_t>(barrier);
  const bool ordered = crowded.contains(address);
  synchronise(self, Verb::arrive, Kind::rmw, Tag::barrier, barrier, place,
              {.writes = ordered ? Writes::always : Writes::never});
  use(self, reinterpret_cast<pthread_barrier_t*>(barrier), "waits at a barrier", place, barrier->needed != 0);
  const unsigned needed = barrier->needed;
  if (!ordered) {
    auto& users = barrier_users[address];
    users.insert(self.number);
    if (users.size() > needed) {
      crowded.insert(address);
      process.restart = true;
    }
  }
  self.waits_on = barrier;
  self.wait.woken_by = -1;
  if (++barrier->arrived == needed) {
    barrier->arrived = 0;
    each_waiting(barrier, [](Thread& thread) {
      thread.wait.woken_by = thread.operation.enabler = process.step;
      thread.waits_on = nullptr;
    });
    if (ordered) return PTHREAD_BARRIER_SERIAL_THREAD;
    barrier->serial = 0;
  }
  synchronise(self, Verb::leave, Kind::rmw, Tag::barrier, barrier, place,
              {.enabled = [](const Thread& t) { return t.wait.woken_by >= 0; },
               .waiting = Waiting::other,
               .enabler = self.wait.woken_by,
               .writes = Writes::never,
               .expected = needed});
  const bool unused = std::exchange(self.rounds.unused, false);
  if (ordered || unused || !local_states.uses_result(place)) return 0;
  synchronise(self, Verb::none, Kind::rmw, Tag::word, &barrier->serial, place,
              {.writes = Writes::if_equal, .expected = 0});
  return std::exchange(barrier->serial, 1) == 0 ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

void condition_init(pthread_cond_t* condition, std::uintptr_t place) {
  if (Thread* self = controlled(condition, place)) begin(*self, Tag::condition, condition, place);
  *condition = PTHREAD_COND_INITIALIZER;
}

void condition_destroy(pthread_cond_t* condition, std::uintptr_t place) {
  if (Thread* self = controlled(condition, place)) mark_of(condition) = end(*self, Tag::condition, condition, place);
}

namespace {

// -- futexes: what std::atomic's wait and notify come down to ---------------------------------------------------------
//
// The kernel looks at the word and lets the thread lie down under a lock that those who wake others take as well: the
// futex is that lock, and a condition beside it is what they lie on. To C11 both are fences, on whatever machine, and
// who is woken comes after whoever woke him.

void busy_with(Thread& self, const void* futex, std::uintptr_t place) {
  fence(self, place, Order::seq_cst);
  synchronise(self, Verb::enter_futex, Kind::lock, Tag::futex, futex, place,
              {.enabled =
                   [](const Thread& t) {
                     for (std::uint32_t number = 0; number < process.count; ++number)
                       if (reinterpret_cast<std::uintptr_t>(process.threads[number].wait.bucket) == t.operation.address)
                         return false;
                     return true;
                   },
               .waiting = Waiting::lock});
  self.wait.bucket = futex;
}

void done_with(Thread& self, const void* futex, std::uintptr_t place) {
  synchronise(self, Verb::leave_futex, Kind::unlock, Tag::futex, futex, place);
  self.wait.bucket = nullptr;
}

int futex_wait(Thread& self, int* word_at, int expected, const timespec* limit, std::uintptr_t place) {
  const bool limited = limit != nullptr;
  const timespec until = limited ? read_limit(limit, place) : timespec{};
  busy_with(self, word_at, place);
  look_at(word_at, Tag::word, Order::relaxed, place);
  const bool changed = *word_at != expected;
  if (!changed) begin_waiting(self, word_at, place);
  done_with(self, word_at, place);
  if (!changed && wait(self, limited ? Verb::wake_or_not : Verb::wake, word_at, !limited, place)) {
    fence(self, place, Order::acquire);
    return 0;
  }
  errno = changed ? EAGAIN : out_of_time(self, &until);
  return -1;
}

int futex_wake(Thread& self, int* word_at, int most, std::uintptr_t place) {
  busy_with(self, word_at, place);
  const std::uint32_t woken = signal(self, word_at, static_cast<std::size_t>(most), place, true);
  done_with(self, word_at, place);
  return static_cast<int>(woken);
}

// -- semaphores -------------------------------------------------------------------------------------------------------

int failure(int error) {
  errno = error;
  return -1;
}

bool take(sem_t* object) {
  if (word(object) == 0) return false;
  --word(object);
  return true;
}

int take_in_time(sem_t* object, const timespec* limit, std::uintptr_t place) {
  Thread* self = controlled(object, place);
  if (self == nullptr) return 0;
  const timespec until = read_limit(limit, place);
  synchronise(*self, Verb::try_take, Kind::rmw, Tag::semaphore, object, place,
              {.writes = Writes::if_different, .expected = 0});
  use(*self, object, "takes a semaphore", place);
  return take(object) ? 0 : failure(out_of_time(*self, &until));
}

}  // namespace

std::uint32_t waiting_on(std::uintptr_t object) {
  std::uint32_t waiting = 0;
  each_waiting(reinterpret_cast<const void*>(object), [&](const Thread&) { ++waiting; });
  return waiting;
}

std::uint64_t signalled(std::uintptr_t object) {
  std::uint64_t threads = 0;
  each_waiting(reinterpret_cast<const void*>(object), [&](const Thread& thread) {
    threads |= static_cast<std::uint64_t>(can_be_woken(thread)) << thread.number;
  });
  return threads;
}

}  // namespace teetotal::runtime

using namespace teetotal;           // NOLINT: the hooks below are the whole rest of the file
using namespace teetotal::runtime;  // NOLINT

extern "C" {

int pthread_cond_init(pthread_cond_t* condition, const pthread_condattr_t*) {
  condition_init(condition, TEETOTAL_PLACE);
  return 0;
}
int pthread_cond_destroy(pthread_cond_t* condition) {
  condition_destroy(condition, TEETOTAL_PLACE);
  return 0;
}
int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  Thread* self = controlled(condition, TEETOTAL_PLACE);
  return self == nullptr ? 0 : condition_wait(*self, condition, mutex, nullptr, TEETOTAL_PLACE);
}
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* limit) {
  Thread* self = controlled(condition, TEETOTAL_PLACE);
  return self == nullptr ? ETIMEDOUT : condition_wait(*self, condition, mutex, limit, TEETOTAL_PLACE);
}
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t, const timespec* limit) {
  Thread* self = controlled(condition, TEETOTAL_PLACE);
  return self == nullptr ? ETIMEDOUT : condition_wait(*self, condition, mutex, limit, TEETOTAL_PLACE);
}
int pthread_cond_signal(pthread_cond_t* condition) {
  Thread* self = controlled(condition, TEETOTAL_PLACE);
  if (self != nullptr) signal(*self, condition, 1, TEETOTAL_PLACE);
  if (self != nullptr) use(*self, condition, "signals a condition", TEETOTAL_PLACE);
  return 0;
}
int pthread_cond_broadcast(pthread_cond_t* condition) {
  Thread* self = controlled(condition, TEETOTAL_PLACE);
  if (self != nullptr) signal(*self, condition, SIZE_MAX, TEETOTAL_PLACE);
  if (self != nullptr) use(*self, condition, "broadcasts a condition", TEETOTAL_PLACE);
  return 0;
}

int pthread_barrier_init(pthread_barrier_t* object, const pthread_barrierattr_t*, unsigned count) {
  if (count == 0) return EINVAL;
  if (Thread* self = controlled(object, TEETOTAL_PLACE)) begin(*self, Tag::barrier, object, TEETOTAL_PLACE);
  *reinterpret_cast<Barrier*>(object) = {0, count, 0, 0};
  return 0;
}
int pthread_barrier_destroy(pthread_barrier_t* object) {
  if (Thread* self = controlled(object, TEETOTAL_PLACE))
    mark_of(object) = end(*self, Tag::barrier, object, TEETOTAL_PLACE);
  return 0;
}
int pthread_barrier_wait(pthread_barrier_t* object) {
  Thread* self = controlled(object, TEETOTAL_PLACE);
  return self == nullptr ? 0 : barrier_wait(*self, reinterpret_cast<Barrier*>(object), TEETOTAL_PLACE);
}

int sem_init(sem_t* object, int, unsigned value) {
  if (value > SEM_VALUE_MAX) {
    errno = EINVAL;
    return -1;
  }
  if (Thread* self = controlled(object, TEETOTAL_PLACE)) begin(*self, Tag::semaphore, object, TEETOTAL_PLACE);
  word(object) = static_cast<int>(value);
  mark_of(object) = 0;
  return 0;
}
int sem_destroy(sem_t* object) {
  if (Thread* self = controlled(object, TEETOTAL_PLACE))
    mark_of(object) = end(*self, Tag::semaphore, object, TEETOTAL_PLACE);
  return 0;
}
int sem_wait(sem_t* object) {
  if (Thread* self = controlled(object, TEETOTAL_PLACE)) {
    synchronise(*self, Verb::take, Kind::rmw, Tag::semaphore, object, TEETOTAL_PLACE,
                {.enabled = [](const Thread& t) { return seen_by(t.operation) != 0; },
                 .waiting = Waiting::lock,
                 .needs = Needs::not_zero});
    use(*self, object, "takes a semaphore", TEETOTAL_PLACE);
    --word(object);
  }
  return 0;
}
int sem_trywait(sem_t* object) {
  Thread* self = controlled(object, TEETOTAL_PLACE);
  if (self == nullptr) return 0;
  attempt(*self, Verb::try_take, Tag::semaphore, object, TEETOTAL_PLACE,
          {.writes = Writes::if_different, .expected = 0, .alone = true});
  use(*self, object, "tries to take a semaphore", TEETOTAL_PLACE);
  return take(object) ? 0 : failure(EAGAIN);
}
int sem_timedwait(sem_t* object, const timespec* limit) { return take_in_time(object, limit, TEETOTAL_PLACE); }
int sem_clockwait(sem_t* object, clockid_t, const timespec* limit) {
  return take_in_time(object, limit, TEETOTAL_PLACE);
}
int sem_post(sem_t* object) {
  if (Thread* self = controlled(object, TEETOTAL_PLACE)) {
    if (rules.post_needs_fence) mfence(*self, TEETOTAL_PLACE);
    synchronise(*self, Verb::post, Kind::rmw, Tag::semaphore, object, TEETOTAL_PLACE);
    use(*self, object, "posts a semaphore", TEETOTAL_PLACE);
    if (word(object) == SEM_VALUE_MAX)  // the C library only looks, which is no fence, and gives up
      fail(*self, Failure::unsupported, "a semaphore that is posted beyond the greatest value", TEETOTAL_PLACE);
    ++word(object);
  }
  return 0;
}
int sem_getvalue(sem_t* object, int* value) {
  if (Thread* self = controlled(object, TEETOTAL_PLACE)) {
    synchronise(*self, Verb::look, Kind::ld, Tag::semaphore, object, TEETOTAL_PLACE, {.writes = Writes::never});
    use(*self, object, "looks at a semaphore", TEETOTAL_PLACE);
  }
  Touch(TEETOTAL_PLACE).put(value, word(object));
  return 0;
}

long syscall(long number, ...) {
  va_list given;
  va_start(given, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(given, long);
  va_end(given);
  Thread* self = process.current;
  if (number == SYS_futex && self != nullptr && of_program(reinterpret_cast<void*>(arguments[0]))) {
    auto* word_at = reinterpret_cast<int*>(arguments[0]);
    const int operation = static_cast<int>(arguments[1]) & FUTEX_CMD_MASK, value = static_cast<int>(arguments[2]);
    if ((operation == FUTEX_WAIT_BITSET || operation == FUTEX_WAKE_BITSET) &&
        static_cast<std::uint32_t>(arguments[5]) != FUTEX_BITSET_MATCH_ANY)
      fail(*self, Failure::unsupported, "a futex that wakes some of those who wait, by their bits", TEETOTAL_PLACE);
    if (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET)
      return futex_wait(*self, word_at, value, reinterpret_cast<const timespec*>(arguments[3]), TEETOTAL_PLACE);
    if (operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET)
      return futex_wake(*self, word_at, value, TEETOTAL_PLACE);
    fail(*self, Failure::unsupported, "a futex operation other than wait and wake", TEETOTAL_PLACE);
  }
  if (number == SYS_futex && self != nullptr && (arguments[1] & FUTEX_CMD_MASK) != FUTEX_WAKE)
    fail(*self, Failure::unsupported, "a futex in memory that is a library's", TEETOTAL_PLACE);
  if (self != nullptr) {
    // Else what it does to memory, and what it learns, is not followed.
    if (number != SYS_futex && number != SYS_sched_yield && number != SYS_exit_group) {
      unseen_call("the system call " + call_name(number), TEETOTAL_PLACE);
      fence_before_call(*self, TEETOTAL_PLACE);
    }
    if (const auto answer = answered_here(*self, number, arguments, TEETOTAL_PLACE)) return *answer;
  }
  const long result = call_of_program(number, arguments);
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}
}
