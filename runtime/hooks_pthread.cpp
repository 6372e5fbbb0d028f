// POSIX threads under control. C++ threads, mutexes and condition variables of libstdc++ come down to these.
//
// An object keeps its state in the first word of its own memory, so that it goes back with the rest:
//   mutex, spinlock   0, or 1 + the owner's number         semaphore   its value
//   rwlock            0, -1 (a writer), or how many read   once        0, 1 running, 2 done
// Events: lock and unlock are lock and unlock on the object; a reader's are those that write nothing. trylock is an rmw
// that fails where it writes nothing. wait on a condition: an rmw on the condition, unlock, an rmw that only a signal
// enables, lock. A signal wakes any of those who wait; no wake-up is spurious. What waits with a time
// limit gives up whenever it is scheduled before it gets what it waits for. Operations on semaphores are rmws.
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdarg>

#include "process.hpp"
#include "real.hpp"

namespace teetotal::runtime {
namespace {

constexpr std::uintptr_t kHandles = 0x7ee7'0000;

int& word(void* object) { return *static_cast<int*>(object); }
const int& word(const Thread& thread) { return *reinterpret_cast<const int*>(thread.operation.address); }

// The thread that runs and the object is the program's; otherwise null: a library's own affair.
Thread* controlled(const void* object) {
  return process.current != nullptr && of_program(object) ? process.current : nullptr;
}

int kind_of(const pthread_mutex_t* mutex) { return mutex->__data.__kind & 3; }

void lock(Thread& self, void* object, std::uintptr_t place) {
  synchronise(self, Kind::lock, Tag::mutex, object, place,
              {.enabled = [](const Thread& t) { return word(t) == 0; }, .waiting = Waiting::lock});
  word(object) = static_cast<int>(self.number) + 1;
}

bool try_lock(Thread& self, void* object, std::uintptr_t place) {
  synchronise(self, Kind::rmw, Tag::mutex, object, place, {.writes = Writes::if_equal, .expected = 0});
  if (word(object) != 0) return false;
  word(object) = static_cast<int>(self.number) + 1;
  return true;
}

void unlock(Thread& self, void* object, std::uintptr_t place) {
  if (word(object) != static_cast<int>(self.number) + 1)
    fail(self, Failure::misuse,
         word(object) == 0 ? "unlocks a mutex that nobody holds" : "unlocks a mutex that another thread holds", place);
  synchronise(self, Kind::unlock, Tag::mutex, object, place);
  word(object) = 0;
}

int mutex_lock(Thread& self, pthread_mutex_t* mutex, std::uintptr_t place) {
  if (word(mutex) == static_cast<int>(self.number) + 1) {
    if (kind_of(mutex) == PTHREAD_MUTEX_RECURSIVE) {
      ++mutex->__data.__count;
      return 0;
    }
    if (kind_of(mutex) == PTHREAD_MUTEX_ERRORCHECK) return EDEADLK;
  }
  lock(self, mutex, place);
  mutex->__data.__count = 1;
  return 0;
}

int mutex_trylock(Thread& self, pthread_mutex_t* mutex, std::uintptr_t place) {
  if (word(mutex) == static_cast<int>(self.number) + 1 && kind_of(mutex) == PTHREAD_MUTEX_RECURSIVE) {
    ++mutex->__data.__count;
    return 0;
  }
  if (!try_lock(self, mutex, place)) return EBUSY;
  mutex->__data.__count = 1;
  return 0;
}

int mutex_unlock(Thread& self, pthread_mutex_t* mutex, std::uintptr_t place) {
  if (kind_of(mutex) == PTHREAD_MUTEX_ERRORCHECK && word(mutex) != static_cast<int>(self.number) + 1) return EPERM;
  if (word(mutex) == static_cast<int>(self.number) + 1 && mutex->__data.__count > 1) {
    --mutex->__data.__count;
    return 0;
  }
  unlock(self, mutex, place);
  return 0;
}

// -- waiting for a signal ---------------------------------------------------------------------------------------------
//
// A signal wakes any one of those who wait then and whom no signal before has woken. Which one is decided late: by who
// is scheduled first. So each waiting thread counts the signals since it began that have woken nobody yet. One that
// goes on uses up the earliest of its own: those who began before it counted that one too, and of those who began after
// it just the ones that count as many. No choice is lost by the earliest, since whoever can use it can use a later one.

template <typename Visit>
void each_waiting(const void* object, Visit visit) {
  for (std::uint32_t number = 0; number < process.count; ++number) {
    Thread& thread = process.threads[number];
    if (thread.state == State::parked && thread.waits_on == object) visit(thread);
  }
}

void begin_waiting(Thread& self, const void* object) {
  self.waits_on = object;
  self.waits_since = process.step;
  self.signals = 0;
}

bool can_be_woken(const Thread& thread) { return thread.signals > 0; }

// Whether it was woken; with a limit it may not have been.
bool wait(Thread& self, Tag tag, const void* object, bool limited, std::uintptr_t place) {
  synchronise(self, Kind::rmw, tag, object, place,
              {.enabled = limited ? nullptr : can_be_woken, .waiting = limited ? Waiting::none : Waiting::lock});
  self.waits_on = nullptr;
  if (self.signals == 0) return false;
  each_waiting(object, [&](Thread& other) {
    if (other.waits_since < self.waits_since || other.signals == self.signals) --other.signals;
  });
  return true;
}

void signal(const void* object, std::size_t most) {
  std::uint32_t waiting = 0, woken = 0;
  each_waiting(object, [&](Thread& thread) {
    ++waiting;
    woken = std::max(woken, thread.signals);  // who began first counts them all
  });
  const auto more = static_cast<std::uint32_t>(std::min<std::size_t>(most, waiting - woken));
  each_waiting(object, [&](Thread& thread) { thread.signals += more; });
}

int condition_wait(Thread& self, pthread_cond_t* condition, pthread_mutex_t* mutex, bool limited,
                   std::uintptr_t place) {
  if (word(mutex) != static_cast<int>(self.number) + 1)
    fail(self, Failure::misuse, "waits on a condition without its mutex", place);
  synchronise(self, Kind::rmw, Tag::condition, condition, place);
  begin_waiting(self, condition);
  const unsigned count = mutex->__data.__count;
  unlock(self, mutex, place);
  const bool signalled = wait(self, Tag::condition, condition, limited, place);
  lock(self, mutex, place);
  mutex->__data.__count = count;
  return signalled ? 0 : ETIMEDOUT;
}

int condition_wake(Thread& self, pthread_cond_t* condition, std::size_t most, std::uintptr_t place) {
  synchronise(self, Kind::rmw, Tag::condition, condition, place);
  signal(condition, most);
  return 0;
}

// -- readers and writers ----------------------------------------------------------------------------------------------

constexpr Wide kWriter = 0xFFFF'FFFFU;

void read_lock(Thread& self, void* object, std::uintptr_t place) {
  synchronise(
      self, Kind::lock, Tag::rwlock, object, place,
      {.enabled = [](const Thread& t) { return word(t) >= 0; }, .waiting = Waiting::lock, .writes = Writes::never});
  ++word(object);
}

void write_lock(Thread& self, void* object, std::uintptr_t place) {
  synchronise(self, Kind::lock, Tag::rwlock, object, place,
              {.enabled = [](const Thread& t) { return word(t) == 0; }, .waiting = Waiting::lock});
  word(object) = -1;
}

// Readers' unlocks are independent of each other, so that a search does not see that they decide what these find.
void note_trying() {
  process.weaken("trying a lock of readers and writers: not every order with its readers' unlocks is explored");
}

int read_trylock(Thread& self, void* object, std::uintptr_t place) {
  note_trying();
  synchronise(self, Kind::rmw, Tag::rwlock, object, place, {.writes = Writes::if_different, .expected = kWriter});
  if (word(object) < 0) return EBUSY;
  ++word(object);
  return 0;
}

int write_trylock(Thread& self, void* object, std::uintptr_t place) {
  note_trying();
  synchronise(self, Kind::rmw, Tag::rwlock, object, place, {.writes = Writes::if_equal, .expected = 0});
  if (word(object) != 0) return EBUSY;
  word(object) = -1;
  return 0;
}

void rw_unlock(Thread& self, void* object, std::uintptr_t place) {
  if (word(object) == 0) fail(self, Failure::misuse, "unlocks a lock that nobody holds", place);
  const bool writer = word(object) < 0;
  synchronise(self, Kind::unlock, Tag::rwlock, object, place, {.writes = writer ? Writes::always : Writes::never});
  word(object) = writer ? 0 : word(object) - 1;
}

struct Barrier {
  int unused;
  unsigned needed, arrived;
};

int barrier_wait(Thread& self, Barrier* barrier, std::uintptr_t place) {
  synchronise(self, Kind::rmw, Tag::barrier, barrier, place);
  if (++barrier->arrived == barrier->needed) {
    barrier->arrived = 0;
    each_waiting(barrier, [](Thread& thread) {
      thread.woken_by = thread.operation.enabler = process.step;
      thread.waits_on = nullptr;
    });
    return PTHREAD_BARRIER_SERIAL_THREAD;
  }
  self.waits_on = barrier;
  self.woken_by = -1;
  synchronise(
      self, Kind::rmw, Tag::barrier, barrier, place,
      {.enabled = [](const Thread& t) { return t.woken_by >= 0; }, .waiting = Waiting::other, .writes = Writes::never});
  return 0;
}

void run_once(Thread& self, int* state, void (*routine)(), std::uintptr_t place) {
  constexpr int kRunning = 1, kDone = 2;
  synchronise(self, Kind::lock, Tag::mutex, state, place,
              {.enabled = [](const Thread& t) { return word(t) != kRunning; }, .waiting = Waiting::lock});
  if (*state != kDone) {
    *state = kRunning;
    routine();
  }
  *state = kRunning;
  synchronise(self, Kind::unlock, Tag::mutex, state, place);
  *state = kDone;
}

// -- futexes: what std::atomic's wait and notify come down to ---------------------------------------------------------

int futex_wait(Thread& self, int* word_at, int expected, bool limited, std::uintptr_t place) {
  // Looking at the word and lying down is one step; a wake-up is an operation on the same object.
  synchronise(self, Kind::rmw, Tag::futex, word_at, place);
  if (*word_at != expected) {
    errno = EAGAIN;
    return -1;
  }
  begin_waiting(self, word_at);
  if (wait(self, Tag::futex, word_at, limited, place)) return 0;
  errno = ETIMEDOUT;
  return -1;
}

int futex_wake(Thread& self, int* word_at, int most, std::uintptr_t place) {
  synchronise(self, Kind::rmw, Tag::futex, word_at, place);
  signal(word_at, static_cast<std::size_t>(most));
  return 0;
}

// -- threads ----------------------------------------------------------------------------------------------------------

pthread_t handle_of(std::uint32_t number) { return static_cast<pthread_t>(kHandles + number); }

Thread* thread_of(pthread_t handle) {
  const std::uintptr_t number = static_cast<std::uintptr_t>(handle) - kHandles;
  return number < process.count ? &process.threads[number] : nullptr;
}

int join(Thread& self, pthread_t handle, void** result, std::uintptr_t place) {
  Thread* other = thread_of(handle);
  if (other == nullptr || other->joined || other->detached) return ESRCH;
  if (other == &self) return EDEADLK;
  self.waits_on = other;
  synchronise(self, Kind::lock, Tag::thread, other, place,
              {.enabled = [](const Thread& t) { return static_cast<const Thread*>(t.waits_on)->state == State::ended; },
               .waiting = Waiting::other});
  self.waits_on = nullptr;
  other->joined = true;
  if (result != nullptr) *result = other->result;
  if (--process.unjoined == 0) process.alone = true;
  return 0;
}

std::map<std::uint32_t, void (*)(void*)> key_destructors;

}  // namespace

std::uint64_t signalled(std::uintptr_t object) {
  std::uint64_t threads = 0;
  each_waiting(reinterpret_cast<const void*>(object), [&](const Thread& thread) {
    threads |= static_cast<std::uint64_t>(can_be_woken(thread)) << thread.number;
  });
  return threads;
}

void run_key_destructors(Thread& self) {
  for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS; ++round) {
    bool any = false;
    for (auto& [key, value] : self.specific) {
      const auto destructor = key_destructors.find(key);
      if (value == nullptr || destructor == key_destructors.end() || destructor->second == nullptr) continue;
      any = true;
      void* old = value;
      value = nullptr;
      destructor->second(old);
    }
    if (!any) return;
  }
}

}  // namespace teetotal::runtime

using namespace teetotal;           // NOLINT: the hooks below are the whole rest of the file
using namespace teetotal::runtime;  // NOLINT

extern "C" {

int pthread_create(pthread_t* handle, const pthread_attr_t* attributes, void* (*routine)(void*), void* argument) {
  Thread* self = process.current;
  if (self == nullptr) return real().thread_create(handle, attributes, routine, argument);
  int detached = PTHREAD_CREATE_JOINABLE;
  if (attributes != nullptr) pthread_attr_getdetachstate(attributes, &detached);
  *handle = handle_of(create_thread(*self, routine, argument, detached == PTHREAD_CREATE_DETACHED, TEETOTAL_PLACE));
  return 0;
}
int pthread_join(pthread_t handle, void** result) {
  return process.current == nullptr ? ESRCH : join(*process.current, handle, result, TEETOTAL_PLACE);
}
int pthread_detach(pthread_t handle) {
  Thread* other = process.current == nullptr ? nullptr : thread_of(handle);
  if (other == nullptr) return ESRCH;
  other->detached = true;
  return 0;
}
void pthread_exit(void* result) {
  if (process.current == nullptr) _Exit(70);
  finish(*process.current, result);
}
pthread_t pthread_self() {
  return process.current == nullptr ? real().thread_self() : handle_of(process.current->number);
}
int pthread_equal(pthread_t a, pthread_t b) { return a == b; }
int sched_yield() { return 0; }
int pthread_cancel(pthread_t) {
  if (process.current != nullptr) fail(*process.current, Failure::unsupported, "pthread_cancel", TEETOTAL_PLACE);
  return ENOSYS;
}

int pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes) {
  *mutex = PTHREAD_MUTEX_INITIALIZER;
  int kind = PTHREAD_MUTEX_NORMAL;
  if (attributes != nullptr) pthread_mutexattr_gettype(attributes, &kind);
  mutex->__data.__kind = kind;
  return 0;
}
int pthread_mutex_destroy(pthread_mutex_t* mutex) {
  return controlled(mutex) != nullptr && word(mutex) != 0 ? EBUSY : 0;
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  Thread* self = controlled(mutex);
  return self == nullptr ? real().mutex_lock(mutex) : mutex_lock(*self, mutex, TEETOTAL_PLACE);
}
int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  Thread* self = controlled(mutex);
  return self == nullptr ? real().mutex_unlock(mutex) : mutex_unlock(*self, mutex, TEETOTAL_PLACE);
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  Thread* self = controlled(mutex);
  return self == nullptr ? real().mutex_lock(mutex) : mutex_trylock(*self, mutex, TEETOTAL_PLACE);
}
int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec*) {
  Thread* self = controlled(mutex);
  if (self == nullptr) return real().mutex_lock(mutex);
  return mutex_trylock(*self, mutex, TEETOTAL_PLACE) == 0 ? 0 : ETIMEDOUT;
}
int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t, const timespec*) {
  Thread* self = controlled(mutex);
  if (self == nullptr) return real().mutex_lock(mutex);
  return mutex_trylock(*self, mutex, TEETOTAL_PLACE) == 0 ? 0 : ETIMEDOUT;
}

int pthread_spin_init(pthread_spinlock_t* object, int) {
  *object = 0;
  return 0;
}
int pthread_spin_destroy(pthread_spinlock_t*) { return 0; }
int pthread_spin_lock(pthread_spinlock_t* object) {
  if (Thread* self = controlled(const_cast<int*>(object))) lock(*self, const_cast<int*>(object), TEETOTAL_PLACE);
  return 0;
}
int pthread_spin_trylock(pthread_spinlock_t* object) {
  Thread* self = controlled(const_cast<int*>(object));
  return self == nullptr || try_lock(*self, const_cast<int*>(object), TEETOTAL_PLACE) ? 0 : EBUSY;
}
int pthread_spin_unlock(pthread_spinlock_t* object) {
  if (Thread* self = controlled(const_cast<int*>(object))) unlock(*self, const_cast<int*>(object), TEETOTAL_PLACE);
  return 0;
}

int pthread_cond_init(pthread_cond_t* condition, const pthread_condattr_t*) {
  *condition = PTHREAD_COND_INITIALIZER;
  return 0;
}
int pthread_cond_destroy(pthread_cond_t*) { return 0; }
int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  Thread* self = controlled(condition);
  return self == nullptr ? 0 : condition_wait(*self, condition, mutex, false, TEETOTAL_PLACE);
}
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec*) {
  Thread* self = controlled(condition);
  return self == nullptr ? ETIMEDOUT : condition_wait(*self, condition, mutex, true, TEETOTAL_PLACE);
}
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t, const timespec*) {
  Thread* self = controlled(condition);
  return self == nullptr ? ETIMEDOUT : condition_wait(*self, condition, mutex, true, TEETOTAL_PLACE);
}
int pthread_cond_signal(pthread_cond_t* condition) {
  Thread* self = controlled(condition);
  return self == nullptr ? 0 : condition_wake(*self, condition, 1, TEETOTAL_PLACE);
}
int pthread_cond_broadcast(pthread_cond_t* condition) {
  Thread* self = controlled(condition);
  return self == nullptr ? 0 : condition_wake(*self, condition, SIZE_MAX, TEETOTAL_PLACE);
}

int pthread_rwlock_init(pthread_rwlock_t* object, const pthread_rwlockattr_t*) {
  *object = PTHREAD_RWLOCK_INITIALIZER;
  return 0;
}
int pthread_rwlock_destroy(pthread_rwlock_t*) { return 0; }
int pthread_rwlock_rdlock(pthread_rwlock_t* object) {
  if (Thread* self = controlled(object)) read_lock(*self, object, TEETOTAL_PLACE);
  return 0;
}
int pthread_rwlock_wrlock(pthread_rwlock_t* object) {
  if (Thread* self = controlled(object)) write_lock(*self, object, TEETOTAL_PLACE);
  return 0;
}
int pthread_rwlock_tryrdlock(pthread_rwlock_t* object) {
  Thread* self = controlled(object);
  return self == nullptr ? 0 : read_trylock(*self, object, TEETOTAL_PLACE);
}
int pthread_rwlock_trywrlock(pthread_rwlock_t* object) {
  Thread* self = controlled(object);
  return self == nullptr ? 0 : write_trylock(*self, object, TEETOTAL_PLACE);
}
int pthread_rwlock_timedrdlock(pthread_rwlock_t* object, const timespec*) {
  Thread* self = controlled(object);
  return self == nullptr || read_trylock(*self, object, TEETOTAL_PLACE) == 0 ? 0 : ETIMEDOUT;
}
int pthread_rwlock_timedwrlock(pthread_rwlock_t* object, const timespec*) {
  Thread* self = controlled(object);
  return self == nullptr || write_trylock(*self, object, TEETOTAL_PLACE) == 0 ? 0 : ETIMEDOUT;
}
int pthread_rwlock_clockrdlock(pthread_rwlock_t* object, clockid_t, const timespec*) {
  Thread* self = controlled(object);
  return self == nullptr || read_trylock(*self, object, TEETOTAL_PLACE) == 0 ? 0 : ETIMEDOUT;
}
int pthread_rwlock_clockwrlock(pthread_rwlock_t* object, clockid_t, const timespec*) {
  Thread* self = controlled(object);
  return self == nullptr || write_trylock(*self, object, TEETOTAL_PLACE) == 0 ? 0 : ETIMEDOUT;
}
int pthread_rwlock_unlock(pthread_rwlock_t* object) {
  if (Thread* self = controlled(object)) rw_unlock(*self, object, TEETOTAL_PLACE);
  return 0;
}

int pthread_barrier_init(pthread_barrier_t* object, const pthread_barrierattr_t*, unsigned count) {
  if (count == 0) return EINVAL;
  *reinterpret_cast<Barrier*>(object) = {0, count, 0};
  return 0;
}
int pthread_barrier_destroy(pthread_barrier_t*) { return 0; }
int pthread_barrier_wait(pthread_barrier_t* object) {
  Thread* self = controlled(object);
  return self == nullptr ? 0 : barrier_wait(*self, reinterpret_cast<Barrier*>(object), TEETOTAL_PLACE);
}

int sem_init(sem_t* object, int, unsigned value) {
  word(object) = static_cast<int>(value);
  return 0;
}
int sem_destroy(sem_t*) { return 0; }
int sem_wait(sem_t* object) {
  if (Thread* self = controlled(object)) {
    synchronise(*self, Kind::rmw, Tag::semaphore, object, TEETOTAL_PLACE,
                {.enabled = [](const Thread& t) { return word(t) > 0; }, .waiting = Waiting::lock});
    --word(object);
  }
  return 0;
}
int sem_trywait(sem_t* object) {
  if (Thread* self = controlled(object)) {
    synchronise(*self, Kind::rmw, Tag::semaphore, object, TEETOTAL_PLACE,
                {.writes = Writes::if_different, .expected = 0});
    if (word(object) == 0) {
      errno = EAGAIN;
      return -1;
    }
    --word(object);
  }
  return 0;
}
int sem_timedwait(sem_t* object, const timespec*) {
  if (sem_trywait(object) == 0) return 0;
  errno = ETIMEDOUT;
  return -1;
}
int sem_clockwait(sem_t* object, clockid_t, const timespec* limit) { return sem_timedwait(object, limit); }
int sem_post(sem_t* object) {
  if (Thread* self = controlled(object)) {
    if (process.post_needs_fence) mfence(*self, TEETOTAL_PLACE);
    synchronise(*self, Kind::rmw, Tag::semaphore, object, TEETOTAL_PLACE);
    ++word(object);
  }
  return 0;
}
int sem_getvalue(sem_t* object, int* value) {
  if (Thread* self = controlled(object))
    synchronise(*self, Kind::rmw, Tag::semaphore, object, TEETOTAL_PLACE, {.writes = Writes::never});
  *value = word(object);
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
    if (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET)
      return futex_wait(*self, word_at, value, arguments[3] != 0, TEETOTAL_PLACE);
    if (operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET)
      return futex_wake(*self, word_at, value, TEETOTAL_PLACE);
    fail(*self, Failure::unsupported, "a futex operation other than wait and wake", TEETOTAL_PLACE);
  }
  long result;
  register long r10 asm("r10") = arguments[3];
  register long r8 asm("r8") = arguments[4];
  register long r9 asm("r9") = arguments[5];
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(arguments[0]), "S"(arguments[1]), "d"(arguments[2]), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

int pthread_once(pthread_once_t* object, void (*routine)()) {
  Thread* self = controlled(object);
  if (self == nullptr) return real().once(object, routine);
  run_once(*self, object, routine, TEETOTAL_PLACE);
  return 0;
}

int pthread_key_create(pthread_key_t* key, void (*destructor)(void*)) {
  if (process.current == nullptr) return real().key_create(key, destructor);
  *key = 0x10000 + process.keys++;
  key_destructors[*key] = destructor;
  return 0;
}
int pthread_key_delete(pthread_key_t key) {
  key_destructors.erase(key);
  return 0;
}
void* pthread_getspecific(pthread_key_t key) {
  if (process.current == nullptr || key < 0x10000) return real().getspecific(key);
  const auto found = process.current->specific.find(key);
  return found == process.current->specific.end() ? nullptr : found->second;
}
int pthread_setspecific(pthread_key_t key, const void* value) {
  if (process.current == nullptr || key < 0x10000) return real().setspecific(key, value);
  process.current->specific[key] = const_cast<void*>(value);
  return 0;
}
}
