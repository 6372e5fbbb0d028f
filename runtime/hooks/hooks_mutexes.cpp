// Mutexes, spinlocks, locks of readers and writers, once.
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "real.hpp"
#include "synchronisation.hpp"

namespace teetotal::runtime {

namespace {

void check_holding(Thread& self, void* object, std::uintptr_t place) {
  if (!holds(self, object))
    fail(self, Failure::misuse,
         word(object) == 0 ? "unlocks a mutex that nobody holds" : "unlocks a mutex that another thread holds", place);
}

}  // namespace

void lock(Thread& self, void* object, std::uintptr_t place) {
  synchronise(self, Verb::lock, Kind::lock, Tag::mutex, object, place,
              {.enabled = [](const Thread& t) { return lets_lock(static_cast<std::uint32_t>(word(t))); },
               .waiting = Waiting::lock});
  if (word(object) != 0) check_usable(self, word(object), false, "locks a mutex", place);
  word(object) = static_cast<int>(self.number) + 1;
  note_held(self, object);
}

void unlock(Thread& self, void* object, std::uintptr_t place) {
  check_holding(self, object, place);
  synchronise(self, Verb::unlock, Kind::unlock, Tag::mutex, object, place);
  word(object) = 0;
  note_released(object);
}

namespace {

int kind_of(const pthread_mutex_t* mutex) { return mutex->__data.__kind & 3; }

}  // namespace

void note_foreign(const void* object, std::uintptr_t place) {
  if (!memory.in_object(place)) return;
  static_cast<void>(*static_cast<const volatile char*>(object));  // fails where there is no memory
  remarks.unseen.insert({"an object to synchronise on that lies in a library", place});
}

bool try_lock(Thread& self, void* object, Patience patience, std::uintptr_t place) {
  const Choice free{.writes = swap_writes(), .expected = 0, .alone = patience == Patience::none};
  if (patience == Patience::none) {
    attempt(self, Verb::try_lock, Tag::mutex, object, place, free);
  } else {
    synchronise(self, Verb::try_lock, Kind::rmw, Tag::mutex, object, place, free);
  }
  if (word(object) != 0) return false;
  word(object) = static_cast<int>(self.number) + 1;
  note_held(self, object);
  return true;
}

void mutex_init(pthread_mutex_t* mutex, int kind, std::uintptr_t place) {
  if (Thread* self = controlled(mutex, place)) begin(*self, Tag::mutex, mutex, place);
  *mutex = PTHREAD_MUTEX_INITIALIZER;
  mutex->__data.__kind = kind;
}

void mutex_destroy(pthread_mutex_t* mutex, std::uintptr_t place) {
  if (Thread* self = controlled(mutex, place)) mark_of(mutex) = end(*self, Tag::mutex, mutex, place);
}

int mutex_lock(Thread& self, pthread_mutex_t* mutex, std::uintptr_t place) {
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

int mutex_trylock(Thread& self, pthread_mutex_t* mutex, std::uintptr_t place, Patience patience) {
  if (holds(self, mutex) && kind_of(mutex) == PTHREAD_MUTEX_RECURSIVE) {
    ++mutex->__data.__count;
    return 0;
  }
  const bool taken = try_lock(self, mutex, patience, place);
  use(self, mutex, "tries to lock a mutex", place);
  if (!taken) return EBUSY;
  mutex->__data.__count = 1;
  return 0;
}

int mutex_timedlock(Thread& self, pthread_mutex_t* mutex, const timespec* limit, std::uintptr_t place) {
  if (holds(self, mutex) && kind_of(mutex) == PTHREAD_MUTEX_ERRORCHECK) return EDEADLK;
  if (mutex_trylock(self, mutex, place, Patience::limited) == 0) return 0;
  const timespec until = read_limit(limit, place);  // not looked at where the mutex is free
  return out_of_time(self, &until);
}

int mutex_unlock(Thread& self, pthread_mutex_t* mutex, std::uintptr_t place) {
  if (!holds(self, mutex)) {  // what it is instead is for others to say
    synchronise(self, Verb::look, Kind::ld, Tag::mutex, mutex, place, {.writes = Writes::never});
    use(self, mutex, "unlocks a mutex", place);
    if (kind_of(mutex) == PTHREAD_MUTEX_ERRORCHECK) return EPERM;
  } else if (mutex->__data.__count > 1) {
    --mutex->__data.__count;
    return 0;
  }
  unlock(self, mutex, place);
  return 0;
}

namespace {

// -- spinlocks --------------------------------------------------------------------------------------------------------
//
// Unlocking is a plain store. So the lock is a word of data, on which its operations are rmws and stores, and no mutex.

void spin_lock(Thread& self, int* object, std::uintptr_t place) {
  synchronise(self, Verb::lock, Kind::rmw, Tag::word, object, place,
              {.enabled = [](const Thread& t) { return word(t) == 0 || gone(word(t)); },
               .waiting = Waiting::lock,
               .needs = Needs::zero});
  if (gone(*object)) check_usable(self, *object, true, "locks a spinlock", place);
  *object = static_cast<int>(self.number) + 1;
  note_held(self, object);
}

bool spin_trylock(Thread& self, int* object, std::uintptr_t place) {
  synchronise(self, Verb::try_lock, Kind::rmw, Tag::word, object, place,
              {.writes = swap_writes(), .expected = 0, .alone = true});
  if (gone(*object)) check_usable(self, *object, true, "tries to lock a spinlock", place);
  if (*object != 0) return false;
  *object = static_cast<int>(self.number) + 1;
  note_held(self, object);
  return true;
}

void spin_unlock(Thread& self, int* object, std::uintptr_t place) {
  check_holding(self, object, place);
  const bool at_once = stores_at_once();
  release_store(self, Verb::unlock, Tag::word, object, place);
  *object = 0;
  note_released(object, at_once);
}

// -- readers and writers ----------------------------------------------------------------------------------------------
//
// Locks and unlocks of readers write nothing, so that a search takes them as independent of each other. One that only
// tries to lock could not be told then: how many readers there are decides what it finds. So where some thread tries,
// every operation is an rmw that writes, and the search begins again with that known.

constexpr std::uint32_t kWriter = 0xFFFF'FFFFU;

std::set<std::uintptr_t> only_tried;  // locks that some thread only tries to take, in any execution

bool tried(const void* object) { return only_tried.contains(reinterpret_cast<std::uintptr_t>(object)); }

void note_trying(const void* object) {
  if (only_tried.insert(reinterpret_cast<std::uintptr_t>(object)).second && !process.alone) process.restart = true;
}

void note_holding(Thread& self, const void* object, std::uintptr_t place) {
  const auto free = std::ranges::find(*self.rwlocks, nullptr);
  if (free == self.rwlocks->end())
    fail(self, Failure::unsupported, "a thread that holds more than 16 locks of readers and writers", place);
  self.rwlocks.change()[static_cast<std::size_t>(free - self.rwlocks->begin())] = object;
}

// What the holder for writing cannot take again: only its own lock shows it that.
bool writes_already(const Thread& self, void* object) {
  return word(object) < 0 && std::ranges::find(*self.rwlocks, object) != self.rwlocks->end();
}

int read_lock(Thread& self, pthread_rwlock_t* object, std::uintptr_t place) {
  if (writes_already(self, object)) return EDEADLK;
  const bool counts = tried(object);
  synchronise(self, Verb::read_lock, counts ? Kind::rmw : Kind::lock, Tag::rwlock, object, place,
              {.enabled = [](const Thread& t) { return word(t) >= 0; },
               .waiting = Waiting::lock,
               .writes = counts ? Writes::always : Writes::never,
               .needs = Needs::no_writer});
  use(self, object, "locks a lock of readers and writers", place);
  if (object->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP)
    fail(self, Failure::unsupported, "a lock whose readers wait for writers that wait", place);
  ++word(object);
  note_holding(self, object, place);
  return 0;
}

int write_lock(Thread& self, pthread_rwlock_t* object, std::uintptr_t place) {
  if (writes_already(self, object)) return EDEADLK;
  synchronise(
      self, Verb::write_lock, tried(object) ? Kind::rmw : Kind::lock, Tag::rwlock, object, place,
      {.enabled = [](const Thread& t) { return word(t) == 0; }, .waiting = Waiting::lock, .needs = Needs::zero});
  use(self, object, "locks a lock of readers and writers", place);
  word(object) = -1;
  note_holding(self, object, place);
  return 0;
}

void try_rwlock(Thread& self, Verb verb, pthread_rwlock_t* object, Patience patience, std::uintptr_t place,
                const Choice& choice) {
  note_trying(object);
  if (patience == Patience::none) {
    Choice look = choice;
    look.alone = true;
    return attempt(self, verb, Tag::rwlock, object, place, look);
  }
  synchronise(self, verb, Kind::rmw, Tag::rwlock, object, place, choice);
}

int read_trylock(Thread& self, pthread_rwlock_t* object, std::uintptr_t place, Patience patience = Patience::none) {
  try_rwlock(self, Verb::try_read_lock, object, patience, place, {.writes = Writes::if_different, .expected = kWriter});
  use(self, object, "tries to lock a lock of readers and writers", place);
  if (word(object) < 0) return EBUSY;
  ++word(object);
  note_holding(self, object, place);
  return 0;
}

int write_trylock(Thread& self, pthread_rwlock_t* object, std::uintptr_t place, Patience patience = Patience::none) {
  try_rwlock(self, Verb::try_write_lock, object, patience, place, {.writes = Writes::if_equal, .expected = 0});
  use(self, object, "tries to lock a lock of readers and writers", place);
  if (word(object) != 0) return EBUSY;
  word(object) = -1;
  note_holding(self, object, place);
  return 0;
}

int read_timedlock(Thread& self, pthread_rwlock_t* object, const timespec* limit, std::uintptr_t place) {
  const timespec until = read_limit(limit, place);
  if (writes_already(self, object)) return EDEADLK;
  return read_trylock(self, object, place, Patience::limited) == 0 ? 0 : out_of_time(self, &until);
}

int write_timedlock(Thread& self, pthread_rwlock_t* object, const timespec* limit, std::uintptr_t place) {
  const timespec until = read_limit(limit, place);
  if (writes_already(self, object)) return EDEADLK;
  return write_trylock(self, object, place, Patience::limited) == 0 ? 0 : out_of_time(self, &until);
}

void rw_unlock(Thread& self, void* object, std::uintptr_t place) {
  const auto held = std::ranges::find(*self.rwlocks, object);
  if (held == self.rwlocks->end()) fail(self, Failure::misuse, "unlocks a lock that it does not hold", place);
  const bool counts = tried(object), writer = word(object) < 0;
  if (counts && rules.post_needs_fence) mfence(self, place);
  synchronise(self, Verb::unlock, counts ? Kind::rmw : Kind::unlock, Tag::rwlock, object, place,
              {.writes = counts || writer ? Writes::always : Writes::never});
  self.rwlocks.change()[static_cast<std::size_t>(held - self.rwlocks->begin())] = nullptr;
  word(object) = writer ? 0 : word(object) - 1;
}

}  // namespace

// -- once -------------------------------------------------------------------------------------------------------------

void run_once(Thread& self, int* state, void (*routine)(), std::uintptr_t place) {
  constexpr int kNew = 0, kRunning = 1, kDone = 2;
  const auto leave = [&](int result) {
    release_store(self, Verb::leave_once, Tag::word, state, place);
    *state = result;
  };
  attempt(self, Verb::enter_once, Tag::word, state, place,
          {.enabled = [](const Thread& t) { return word(t) != kRunning; },
           .waiting = Waiting::lock,
           .writes = Writes::if_equal,
           .expected = kNew,
           .needs = Needs::not_running});
  if (*state != kNew) return;
  *state = kRunning;
  try {
    routine();
  } catch (...) {  // another thread may try
    leave(kNew);
    throw;
  }
  leave(kDone);
}

}  // namespace teetotal::runtime

using namespace teetotal;           // NOLINT: the hooks below are the whole rest of the file
using namespace teetotal::runtime;  // NOLINT

extern "C" {

int pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes) {
  int kind = PTHREAD_MUTEX_NORMAL, survives = PTHREAD_MUTEX_STALLED, protocol = PTHREAD_PRIO_NONE;
  if (attributes != nullptr) {
    pthread_mutexattr_gettype(attributes, &kind);
    pthread_mutexattr_getrobust(attributes, &survives);
    pthread_mutexattr_getprotocol(attributes, &protocol);
  }
  if (protocol == PTHREAD_PRIO_PROTECT && process.current != nullptr)
    fail(*process.current, Failure::unsupported, "a mutex with a ceiling of priorities", TEETOTAL_PLACE);
  if (survives != PTHREAD_MUTEX_STALLED && process.current != nullptr)
    fail(*process.current, Failure::unsupported, "a mutex that survives the thread that holds it", TEETOTAL_PLACE);
  mutex_init(mutex, kind, TEETOTAL_PLACE);
  return 0;
}
int pthread_mutex_destroy(pthread_mutex_t* mutex) {
  mutex_destroy(mutex, TEETOTAL_PLACE);
  return 0;
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  Thread* self = controlled(mutex, TEETOTAL_PLACE);
  return self == nullptr ? real().mutex_lock(mutex) : mutex_lock(*self, mutex, TEETOTAL_PLACE);
}
int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  Thread* self = controlled(mutex, TEETOTAL_PLACE);
  return self == nullptr ? real().mutex_unlock(mutex) : mutex_unlock(*self, mutex, TEETOTAL_PLACE);
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  Thread* self = controlled(mutex, TEETOTAL_PLACE);
  return self == nullptr ? real().mutex_lock(mutex) : mutex_trylock(*self, mutex, TEETOTAL_PLACE);
}
int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* limit) {
  Thread* self = controlled(mutex, TEETOTAL_PLACE);
  return self == nullptr ? real().mutex_lock(mutex) : mutex_timedlock(*self, mutex, limit, TEETOTAL_PLACE);
}
int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t, const timespec* limit) {
  Thread* self = controlled(mutex, TEETOTAL_PLACE);
  return self == nullptr ? real().mutex_lock(mutex) : mutex_timedlock(*self, mutex, limit, TEETOTAL_PLACE);
}

int pthread_spin_init(pthread_spinlock_t* object, int) {
  void* lock = const_cast<int*>(object);
  if (Thread* self = controlled(lock, TEETOTAL_PLACE)) begin(*self, Tag::word, lock, TEETOTAL_PLACE);
  *object = 0;
  return 0;
}
int pthread_spin_destroy(pthread_spinlock_t* object) {
  void* lock = const_cast<int*>(object);
  if (Thread* self = controlled(lock, TEETOTAL_PLACE)) mark_of(object) = end(*self, Tag::word, lock, TEETOTAL_PLACE);
  return 0;
}
int pthread_spin_lock(pthread_spinlock_t* object) {
  if (Thread* self = controlled(const_cast<int*>(object), TEETOTAL_PLACE))
    spin_lock(*self, const_cast<int*>(object), TEETOTAL_PLACE);
  return 0;
}
int pthread_spin_trylock(pthread_spinlock_t* object) {
  Thread* self = controlled(const_cast<int*>(object), TEETOTAL_PLACE);
  return self == nullptr || spin_trylock(*self, const_cast<int*>(object), TEETOTAL_PLACE) ? 0 : EBUSY;
}
int pthread_spin_unlock(pthread_spinlock_t* object) {
  if (Thread* self = controlled(const_cast<int*>(object), TEETOTAL_PLACE)) {
    use(*self, object, "unlocks a spinlock", TEETOTAL_PLACE);
    spin_unlock(*self, const_cast<int*>(object), TEETOTAL_PLACE);
  }
  return 0;
}

int pthread_rwlock_init(pthread_rwlock_t* object, const pthread_rwlockattr_t* attributes) {
  if (Thread* self = controlled(object, TEETOTAL_PLACE)) begin(*self, Tag::rwlock, object, TEETOTAL_PLACE);
  *object = PTHREAD_RWLOCK_INITIALIZER;
  int preference = PTHREAD_RWLOCK_DEFAULT_NP;
  if (attributes != nullptr) pthread_rwlockattr_getkind_np(attributes, &preference);
  object->__data.__flags = static_cast<unsigned>(preference);
  return 0;
}
int pthread_rwlock_destroy(pthread_rwlock_t* object) {
  if (Thread* self = controlled(object, TEETOTAL_PLACE))
    mark_of(object) = end(*self, Tag::rwlock, object, TEETOTAL_PLACE);
  return 0;
}
int pthread_rwlock_rdlock(pthread_rwlock_t* object) {
  Thread* self = controlled(object, TEETOTAL_PLACE);
  return self == nullptr ? 0 : read_lock(*self, object, TEETOTAL_PLACE);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* object) {
  Thread* self = controlled(object, TEETOTAL_PLACE);
  return self == nullptr ? 0 : write_lock(*self, object, TEETOTAL_PLACE);
}
int pthread_rwlock_tryrdlock(pthread_rwlock_t* object) {
  Thread* self = controlled(object, TEETOTAL_PLACE);
  return self == nullptr ? 0 : read_trylock(*self, object, TEETOTAL_PLACE);
}
int pthread_rwlock_trywrlock(pthread_rwlock_t* object) {
  Thread* self = controlled(object, TEETOTAL_PLACE);
  return self == nullptr ? 0 : write_trylock(*self, object, TEETOTAL_PLACE);
}
int pthread_rwlock_timedrdlock(pthread_rwlock_t* object, const timespec* limit) {
  Thread* self = controlled(object, TEETOTAL_PLACE);
  return self == nullptr ? 0 : read_timedlock(*self, object, limit, TEETOTAL_PLACE);
}
int pthread_rwlock_timedwrlock(pthread_rwlock_t* object, const timespec* limit) {
  Thread* self = controlled(object, TEETOTAL_PLACE);
  return self == nullptr ? 0 : write_timedlock(*self, object, limit, TEETOTAL_PLACE);
}
int pthread_rwlock_clockrdlock(pthread_rwlock_t* object, clockid_t, const timespec* limit) {
  Thread* self = controlled(object, TEETOTAL_PLACE);
  return self == nullptr ? 0 : read_timedlock(*self, object, limit, TEETOTAL_PLACE);
}
int pthread_rwlock_clockwrlock(pthread_rwlock_t* object, clockid_t, const timespec* limit) {
  Thread* self = controlled(object, TEETOTAL_PLACE);
  return self == nullptr ? 0 : write_timedlock(*self, object, limit, TEETOTAL_PLACE);
}
int pthread_rwlock_unlock(pthread_rwlock_t* object) {
  if (Thread* self = controlled(object, TEETOTAL_PLACE)) rw_unlock(*self, object, TEETOTAL_PLACE);
  return 0;
}

int pthread_once(pthread_once_t* object, void (*routine)()) {
  Thread* self = controlled(object, TEETOTAL_PLACE);
  if (self == nullptr) return real().once(object, routine);
  run_once(*self, object, routine, TEETOTAL_PLACE);
  return 0;
}
}
