// Mutexes, spinlocks, locks of readers and writers, once.
#include <pthread.h>

#include <algorithm>
#include <cerrno>

#include "real.hpp"
#include "synchronisation.hpp"

namespace teetotal::runtime {

void lock(Thread& self, void* object, std::uintptr_t place) {
  synchronise(self, Verb::lock, Kind::lock, Tag::mutex, object, place,
              {.enabled = [](const Thread& t) { return word(t) == 0 || gone(word(t)); }, .waiting = Waiting::lock});
  if (gone(word(object))) check_usable(self, word(object), true, "locks a spinlock", place);
  word(object) = static_cast<int>(self.number) + 1;
  note_held(self, object);
}

void unlock(Thread& self, void* object, std::uintptr_t place) {
  if (!holds(self, object))
    fail(self, Failure::misuse,
         word(object) == 0 ? "unlocks a mutex that nobody holds" : "unlocks a mutex that another thread holds", place);
  synchronise(self, Verb::unlock, Kind::unlock, Tag::mutex, object, place);
  word(object) = 0;
  note_released(object);
}

namespace {

constexpr int kFlags = 0x3F0;  // of a mutex, beside its kind

void use(Thread& self, pthread_mutex_t* mutex, const char* does, std::uintptr_t place) {
  runtime::use(self, mutex, does, place, (mutex->__data.__kind & ~(kFlags | 3)) == 0);
}

int kind_of(const pthread_mutex_t* mutex) { return mutex->__data.__kind & 3; }

bool try_lock(Thread& self, void* object, std::uintptr_t place) {
  synchronise(self, Verb::try_lock, Kind::rmw, Tag::mutex, object, place, {.writes = swap_writes(), .expected = 0});
  if (word(object) != 0) return false;
  word(object) = static_cast<int>(self.number) + 1;
  note_held(self, object);
  return true;
}

int mutex_lock(Thread& self, pthread_mutex_t* mutex, std::uintptr_t place) {
  use(self, mutex, "locks a mutex", place);
  if (holds(self, mutex)) {
    if (kind_of(mutex) == PTHREAD_MUTEX_RECURSIVE) {
      ++mutex->__data.__count;
      return 0;
    }
    if (kind_of(mutex) == PTHREAD_MUTEX_ERRORCHECK) return EDEADLK;
  }
  lock(self, mutex, place);
  use(self, mutex, "locks a mutex", place);
  mutex->__data.__count = 1;
  return 0;
}

int mutex_trylock(Thread& self, pthread_mutex_t* mutex, std::uintptr_t place) {
  use(self, mutex, "tries to lock a mutex", place);
  if (holds(self, mutex) && kind_of(mutex) == PTHREAD_MUTEX_RECURSIVE) {
    ++mutex->__data.__count;
    return 0;
  }
  const bool taken = try_lock(self, mutex, place);
  use(self, mutex, "tries to lock a mutex", place);
  if (!taken) return EBUSY;
  mutex->__data.__count = 1;
  return 0;
}

int mutex_unlock(Thread& self, pthread_mutex_t* mutex, std::uintptr_t place) {
  use(self, mutex, "unlocks a mutex", place);
  if (kind_of(mutex) == PTHREAD_MUTEX_ERRORCHECK && !holds(self, mutex)) return EPERM;
  if (holds(self, mutex) && mutex->__data.__count > 1) {
    --mutex->__data.__count;
    return 0;
  }
  unlock(self, mutex, place);
  return 0;
}

// -- readers and writers ----------------------------------------------------------------------------------------------
//
// Locks and unlocks of readers write nothing, so that a search takes them as independent of each other. One that only
// tries to lock could not be told then: how many readers there are decides what it finds. So where some thread tries,
// every operation is an rmw that writes, and the search begins again with that known.

constexpr Wide kWriter = 0xFFFF'FFFFU;
constexpr const char* kRwlock = "a lock of readers and writers";

bool tried(const void* object) { return process.tried.contains(reinterpret_cast<std::uintptr_t>(object)); }

void note_trying(const void* object) {
  if (process.tried.insert(reinterpret_cast<std::uintptr_t>(object)).second && !process.alone) process.restart = true;
}

void note_holding(Thread& self, const void* object, std::uintptr_t place) {
  const auto free = std::ranges::find(self.rwlocks, nullptr);
  if (free == self.rwlocks.end())
    fail(self, Failure::unsupported, "a thread that holds more than 16 locks of readers and writers", place);
  *free = object;
}

void read_lock(Thread& self, pthread_rwlock_t* object, std::uintptr_t place) {
  if (object->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP)
    fail(self, Failure::unsupported, "a lock whose readers wait for writers that wait", place);
  use(self, object, "locks a lock of readers and writers", place);
  const bool counts = tried(object);
  synchronise(self, Verb::read_lock, counts ? Kind::rmw : Kind::lock, Tag::rwlock, object, place,
              {.enabled = [](const Thread& t) { return word(t) >= 0; },
               .waiting = Waiting::lock,
               .writes = counts ? Writes::always : Writes::never,
               .expected = kWriter,
               .possible = Writes::if_different});
  use(self, object, "locks a lock of readers and writers", place);
  ++word(object);
  note_holding(self, object, place);
}

void write_lock(Thread& self, pthread_rwlock_t* object, std::uintptr_t place) {
  use(self, object, "locks a lock of readers and writers", place);
  synchronise(self, Verb::write_lock, tried(object) ? Kind::rmw : Kind::lock, Tag::rwlock, object, place,
              {.enabled = [](const Thread& t) { return word(t) == 0; },
               .waiting = Waiting::lock,
               .expected = 0,
               .possible = Writes::if_equal});
  use(self, object, "locks a lock of readers and writers", place);
  word(object) = -1;
  note_holding(self, object, place);
}

int read_trylock(Thread& self, pthread_rwlock_t* object, std::uintptr_t place) {
  note_trying(object);
  synchronise(self, Verb::try_read_lock, Kind::rmw, Tag::rwlock, object, place,
              {.writes = Writes::if_different, .expected = kWriter});
  use(self, object, "tries to lock a lock of readers and writers", place);
  if (word(object) < 0) return EBUSY;
  ++word(object);
  note_holding(self, object, place);
  return 0;
}

int write_trylock(Thread& self, pthread_rwlock_t* object, std::uintptr_t place) {
  note_trying(object);
  synchronise(self, Verb::try_write_lock, Kind::rmw, Tag::rwlock, object, place,
              {.writes = Writes::if_equal, .expected = 0});
  use(self, object, "tries to lock a lock of readers and writers", place);
  if (word(object) != 0) return EBUSY;
  word(object) = -1;
  note_holding(self, object, place);
  return 0;
}

void rw_unlock(Thread& self, void* object, std::uintptr_t place) {
  const auto held = std::ranges::find(self.rwlocks, object);
  if (held == self.rwlocks.end()) fail(self, Failure::misuse, "unlocks a lock that it does not hold", place);
  *held = nullptr;
  const bool counts = tried(object), writer = word(object) < 0;
  if (counts && process.post_needs_fence) mfence(self, place);
  synchronise(self, Verb::unlock, counts ? Kind::rmw : Kind::unlock, Tag::rwlock, object, place,
              {.writes = counts || writer ? Writes::always : Writes::never});
  word(object) = writer ? 0 : word(object) - 1;
}

// -- once -------------------------------------------------------------------------------------------------------------

void run_once(Thread& self, int* state, void (*routine)(), std::uintptr_t place) {
  constexpr int kNew = 0, kRunning = 1, kDone = 2;
  const auto leave = [&](int result) {
    *state = kRunning;
    synchronise(self, Verb::leave_once, Kind::unlock, Tag::mutex, state, place);
    *state = result;
  };
  synchronise(self, Verb::enter_once, Kind::lock, Tag::mutex, state, place,
              {.enabled = [](const Thread& t) { return word(t) != kRunning; }, .waiting = Waiting::lock});
  if (*state != kDone) {
    *state = kRunning;
    try {
      routine();
    } catch (...) {  // another thread may try
      leave(kNew);
      throw;
    }
  }
  leave(kDone);
}

}  // namespace
}  // namespace teetotal::runtime

using namespace teetotal;           // NOLINT: the hooks below are the whole rest of the file
using namespace teetotal::runtime;  // NOLINT

extern "C" {

int pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes) {
  if (Thread* self = controlled(mutex)) begin(*self, Tag::mutex, mutex, "a mutex", held_by, TEETOTAL_PLACE);
  *mutex = PTHREAD_MUTEX_INITIALIZER;
  int kind = PTHREAD_MUTEX_NORMAL, survives = PTHREAD_MUTEX_STALLED;
  if (attributes != nullptr) {
    pthread_mutexattr_gettype(attributes, &kind);
    pthread_mutexattr_getrobust(attributes, &survives);
  }
  if (survives != PTHREAD_MUTEX_STALLED && process.current != nullptr)
    fail(*process.current, Failure::unsupported, "a mutex that survives the thread that holds it", TEETOTAL_PLACE);
  mutex->__data.__kind = kind;
  return 0;
}
int pthread_mutex_destroy(pthread_mutex_t* mutex) {
  Thread* self = controlled(mutex);
  if (self == nullptr) return 0;
  use(*self, mutex, "destroys a mutex", TEETOTAL_PLACE);
  mark_of(mutex) = end(*self, Tag::mutex, mutex, mark_of(mutex), "a mutex", held_by, TEETOTAL_PLACE);
  return 0;
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
int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* limit) {
  Thread* self = controlled(mutex);
  if (self == nullptr) return real().mutex_lock(mutex);
  return mutex_trylock(*self, mutex, TEETOTAL_PLACE) == 0 ? 0 : out_of_time(*self, limit);
}
int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t, const timespec* limit) {
  Thread* self = controlled(mutex);
  if (self == nullptr) return real().mutex_lock(mutex);
  return mutex_trylock(*self, mutex, TEETOTAL_PLACE) == 0 ? 0 : out_of_time(*self, limit);
}

int pthread_spin_init(pthread_spinlock_t* object, int) {
  void* lock = const_cast<int*>(object);
  if (Thread* self = controlled(lock)) begin(*self, Tag::mutex, lock, "a spinlock", held_by, TEETOTAL_PLACE);
  *object = 0;
  return 0;
}
int pthread_spin_destroy(pthread_spinlock_t* object) {
  void* lock = const_cast<int*>(object);
  if (Thread* self = controlled(lock))
    mark_of(object) = end(*self, Tag::mutex, lock, mark_of(object), "a spinlock", held_by, TEETOTAL_PLACE);
  return 0;
}
int pthread_spin_lock(pthread_spinlock_t* object) {
  if (Thread* self = controlled(const_cast<int*>(object))) lock(*self, const_cast<int*>(object), TEETOTAL_PLACE);
  return 0;
}
int pthread_spin_trylock(pthread_spinlock_t* object) {
  Thread* self = controlled(const_cast<int*>(object));
  if (self != nullptr) use(*self, object, "tries to lock a spinlock", TEETOTAL_PLACE);
  return self == nullptr || try_lock(*self, const_cast<int*>(object), TEETOTAL_PLACE) ? 0 : EBUSY;
}
int pthread_spin_unlock(pthread_spinlock_t* object) {
  if (Thread* self = controlled(const_cast<int*>(object))) use(*self, object, "unlocks a spinlock", TEETOTAL_PLACE);
  if (Thread* self = controlled(const_cast<int*>(object))) unlock(*self, const_cast<int*>(object), TEETOTAL_PLACE);
  return 0;
}

int pthread_rwlock_init(pthread_rwlock_t* object, const pthread_rwlockattr_t* attributes) {
  if (Thread* self = controlled(object)) begin(*self, Tag::rwlock, object, kRwlock, held_by, TEETOTAL_PLACE);
  *object = PTHREAD_RWLOCK_INITIALIZER;
  int preference = PTHREAD_RWLOCK_DEFAULT_NP;
  if (attributes != nullptr) pthread_rwlockattr_getkind_np(attributes, &preference);
  object->__data.__flags = static_cast<unsigned>(preference);
  return 0;
}
int pthread_rwlock_destroy(pthread_rwlock_t* object) {
  if (Thread* self = controlled(object))
    mark_of(object) = end(*self, Tag::rwlock, object, mark_of(object), kRwlock, held_by, TEETOTAL_PLACE);
  return 0;
}
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
int pthread_rwlock_timedrdlock(pthread_rwlock_t* object, const timespec* limit) {
  Thread* self = controlled(object);
  return self == nullptr || read_trylock(*self, object, TEETOTAL_PLACE) == 0 ? 0 : out_of_time(*self, limit);
}
int pthread_rwlock_timedwrlock(pthread_rwlock_t* object, const timespec* limit) {
  Thread* self = controlled(object);
  return self == nullptr || write_trylock(*self, object, TEETOTAL_PLACE) == 0 ? 0 : out_of_time(*self, limit);
}
int pthread_rwlock_clockrdlock(pthread_rwlock_t* object, clockid_t, const timespec* limit) {
  Thread* self = controlled(object);
  return self == nullptr || read_trylock(*self, object, TEETOTAL_PLACE) == 0 ? 0 : out_of_time(*self, limit);
}
int pthread_rwlock_clockwrlock(pthread_rwlock_t* object, clockid_t, const timespec* limit) {
  Thread* self = controlled(object);
  return self == nullptr || write_trylock(*self, object, TEETOTAL_PLACE) == 0 ? 0 : out_of_time(*self, limit);
}
int pthread_rwlock_unlock(pthread_rwlock_t* object) {
  if (Thread* self = controlled(object)) rw_unlock(*self, object, TEETOTAL_PLACE);
  return 0;
}

int pthread_once(pthread_once_t* object, void (*routine)()) {
  Thread* self = controlled(object);
  if (self == nullptr) return real().once(object, routine);
  run_once(*self, object, routine, TEETOTAL_PLACE);
  return 0;
}
}
