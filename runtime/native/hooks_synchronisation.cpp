// Locks and what else threads wait for. Who takes one is recorded after it has really been taken, who gives one back
// before that: so no two have it in what is recorded. What glibc does on x86 decides what is a fence.
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "real.hpp"
#include "recorder.hpp"

using namespace teetotal::native;  // NOLINT: the hooks are the whole file

namespace {

constexpr const char* kCondVersion = "GLIBC_2.3.2";

void record(Kind kind, const void* object, std::uintptr_t place, bool writes = true) {
  if (Hook hook; hook) hook.synchronise(kind, object, place, writes);
}

// Only the outermost lock of a recursive mutex counts, and no unlock that is refused.
bool outermost(const pthread_mutex_t* mutex) { return mutex->__data.__count <= 1; }
bool will_unlock(const pthread_mutex_t* mutex) {
  const int kind = mutex->__data.__kind & 3;
  const bool owned = kind != PTHREAD_MUTEX_RECURSIVE && kind != PTHREAD_MUTEX_ERRORCHECK;
  return outermost(mutex) && (owned || mutex->__data.__owner == gettid());
}

void locked(const pthread_mutex_t* mutex, int problem, std::uintptr_t place) {
  if ((problem == 0 || problem == EOWNERDEAD) && outermost(mutex)) record(Kind::lock, mutex, place);
}

template <typename Call>
int try_lock(pthread_mutex_t* mutex, std::uintptr_t place, Call call) {
  Hook hook;
  const int problem = call();
  if (!hook) return problem;
  if (problem == EBUSY)
    hook.synchronise(Kind::rmw, mutex, place, false);
  else if ((problem == 0 || problem == EOWNERDEAD) && outermost(mutex))
    hook.synchronise(Kind::lock, mutex, place);
  return problem;
}

// The one that may block: outside the turn.
template <typename Call>
int lock(pthread_mutex_t* mutex, std::uintptr_t place, Call call) {
  step_aside();
  const int problem = call();
  locked(mutex, problem, place);
  return problem;
}

void unlocks(const pthread_mutex_t* mutex, std::uintptr_t place) {
  if (will_unlock(mutex)) record(Kind::unlock, mutex, place);
}

template <typename Call>
int wait(pthread_mutex_t* mutex, std::uintptr_t place, Call call) {
  unlocks(mutex, place);
  step_aside();
  const int problem = call();
  record(Kind::lock, mutex, place);  // also when the time is over
  return problem;
}

// Takes something that others give back, by an rmw.
template <typename Call>
int acquire(const void* object, std::uintptr_t place, Call call) {
  step_aside();
  const int problem = call();
  if (problem == 0) record(Kind::rmw, object, place);
  return problem;
}

// glibc does nothing where nobody waits.
void signals(const pthread_cond_t* condition, std::uintptr_t place) {
  if (condition->__data.__wrefs >> 3U != 0) record(Kind::rmw, condition, place);
}

// What is done once is done before anybody can find it done.
struct Once {
  pthread_once_t* control;
  void (*function)();
  std::uintptr_t place;
};
thread_local Once being_done;
void do_once() {
  const Once once = being_done;
  record(Kind::rmw, once.control, once.place);
  once.function();
  record(Kind::rmw, once.control, once.place);
}

pthread_mutex_t* mutex_of(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
int errno_of(int result) { return result == thrd_success ? 0 : result == thrd_busy ? EBUSY : EINVAL; }

}  // namespace

#define REAL(result, name, ...) static Real<result(__VA_ARGS__)> real(#name)
#define REAL_CONDITION(name, ...) static Real<int(__VA_ARGS__)> real(#name, nullptr, kCondVersion)
#define EXPORT(name) TEETOTAL_EXPORT int name

extern "C" {

// -- mutexes ----------------------------------------------------------------------------------------------------------

EXPORT(pthread_mutex_lock)(pthread_mutex_t* mutex) {
  REAL(int, pthread_mutex_lock, pthread_mutex_t*);
  return lock(mutex, TEETOTAL_PLACE, [&] { return real(mutex); });
}
EXPORT(pthread_mutex_trylock)(pthread_mutex_t* mutex) {
  REAL(int, pthread_mutex_trylock, pthread_mutex_t*);
  return try_lock(mutex, TEETOTAL_PLACE, [&] { return real(mutex); });
}
EXPORT(pthread_mutex_timedlock)(pthread_mutex_t* mutex, const timespec* until) {
  REAL(int, pthread_mutex_timedlock, pthread_mutex_t*, const timespec*);
  return lock(mutex, TEETOTAL_PLACE, [&] { return real(mutex, until); });
}
EXPORT(pthread_mutex_clocklock)(pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  REAL(int, pthread_mutex_clocklock, pthread_mutex_t*, clockid_t, const timespec*);
  return lock(mutex, TEETOTAL_PLACE, [&] { return real(mutex, clock, until); });
}
EXPORT(pthread_mutex_unlock)(pthread_mutex_t* mutex) {
  REAL(int, pthread_mutex_unlock, pthread_mutex_t*);
  unlocks(mutex, TEETOTAL_PLACE);
  return real(mutex);
}
EXPORT(mtx_lock)(mtx_t* mutex) {
  REAL(int, mtx_lock, mtx_t*);
  step_aside();
  const int result = real(mutex);
  locked(mutex_of(mutex), errno_of(result), TEETOTAL_PLACE);
  return result;
}
EXPORT(mtx_timedlock)(mtx_t* mutex, const timespec* until) {
  REAL(int, mtx_timedlock, mtx_t*, const timespec*);
  step_aside();
  const int result = real(mutex, until);
  locked(mutex_of(mutex), errno_of(result), TEETOTAL_PLACE);
  return result;
}
EXPORT(mtx_trylock)(mtx_t* mutex) {
  REAL(int, mtx_trylock, mtx_t*);
  int result = thrd_error;
  try_lock(mutex_of(mutex), TEETOTAL_PLACE, [&] { return errno_of(result = real(mutex)); });
  return result;
}
EXPORT(mtx_unlock)(mtx_t* mutex) {
  REAL(int, mtx_unlock, mtx_t*);
  unlocks(mutex_of(mutex), TEETOTAL_PLACE);
  return real(mutex);
}

// -- spin locks: one is given back by a plain store -------------------------------------------------------------------

EXPORT(pthread_spin_lock)(pthread_spinlock_t* lock) {
  REAL(int, pthread_spin_lock, pthread_spinlock_t*);
  return acquire(const_cast<int*>(lock), TEETOTAL_PLACE, [&] { return real(lock); });
}
EXPORT(pthread_spin_trylock)(pthread_spinlock_t* lock) {
  REAL(int, pthread_spin_trylock, pthread_spinlock_t*);
  Hook hook;
  const int problem = real(lock);
  if (hook) hook.synchronise(Kind::rmw, const_cast<int*>(lock), TEETOTAL_PLACE);
  return problem;
}
EXPORT(pthread_spin_unlock)(pthread_spinlock_t* lock) {
  REAL(int, pthread_spin_unlock, pthread_spinlock_t*);
  record(Kind::st, const_cast<int*>(lock), TEETOTAL_PLACE);
  return real(lock);
}

// -- locks of readers and writers -------------------------------------------------------------------------------------

#define READERS_AND_WRITERS(name)                                     \
  EXPORT(name)(pthread_rwlock_t * lock) {                             \
    REAL(int, name, pthread_rwlock_t*);                               \
    return acquire(lock, TEETOTAL_PLACE, [&] { return real(lock); }); \
  }
#define READERS_AND_WRITERS_UNTIL(name)                                      \
  EXPORT(name)(pthread_rwlock_t * lock, const timespec* until) {             \
    REAL(int, name, pthread_rwlock_t*, const timespec*);                     \
    return acquire(lock, TEETOTAL_PLACE, [&] { return real(lock, until); }); \
  }
#define READERS_AND_WRITERS_BY_CLOCK(name)                                          \
  EXPORT(name)(pthread_rwlock_t * lock, clockid_t clock, const timespec* until) {   \
    REAL(int, name, pthread_rwlock_t*, clockid_t, const timespec*);                 \
    return acquire(lock, TEETOTAL_PLACE, [&] { return real(lock, clock, until); }); \
  }
READERS_AND_WRITERS(pthread_rwlock_rdlock)
READERS_AND_WRITERS(pthread_rwlock_wrlock)
READERS_AND_WRITERS(pthread_rwlock_tryrdlock)
READERS_AND_WRITERS(pthread_rwlock_trywrlock)
READERS_AND_WRITERS_UNTIL(pthread_rwlock_timedrdlock)
READERS_AND_WRITERS_UNTIL(pthread_rwlock_timedwrlock)
READERS_AND_WRITERS_BY_CLOCK(pthread_rwlock_clockrdlock)
READERS_AND_WRITERS_BY_CLOCK(pthread_rwlock_clockwrlock)
EXPORT(pthread_rwlock_unlock)(pthread_rwlock_t* lock) {
  REAL(int, pthread_rwlock_unlock, pthread_rwlock_t*);
  record(Kind::rmw, lock, TEETOTAL_PLACE);
  return real(lock);
}

// -- conditions -------------------------------------------------------------------------------------------------------

EXPORT(pthread_cond_wait)(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  REAL_CONDITION(pthread_cond_wait, pthread_cond_t*, pthread_mutex_t*);
  return wait(mutex, TEETOTAL_PLACE, [&] { return real(condition, mutex); });
}
EXPORT(pthread_cond_timedwait)(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  REAL_CONDITION(pthread_cond_timedwait, pthread_cond_t*, pthread_mutex_t*, const timespec*);
  return wait(mutex, TEETOTAL_PLACE, [&] { return real(condition, mutex, until); });
}
EXPORT(pthread_cond_clockwait)(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                               const timespec* until) {
  REAL(int, pthread_cond_clockwait, pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
  return wait(mutex, TEETOTAL_PLACE, [&] { return real(condition, mutex, clock, until); });
}
EXPORT(pthread_cond_signal)(pthread_cond_t* condition) {
  REAL_CONDITION(pthread_cond_signal, pthread_cond_t*);
  signals(condition, TEETOTAL_PLACE);
  return real(condition);
}
EXPORT(pthread_cond_broadcast)(pthread_cond_t* condition) {
  REAL_CONDITION(pthread_cond_broadcast, pthread_cond_t*);
  signals(condition, TEETOTAL_PLACE);
  return real(condition);
}
EXPORT(cnd_wait)(cnd_t* condition, mtx_t* mutex) {
  REAL(int, cnd_wait, cnd_t*, mtx_t*);
  return wait(mutex_of(mutex), TEETOTAL_PLACE, [&] { return real(condition, mutex); });
}
EXPORT(cnd_timedwait)(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  REAL(int, cnd_timedwait, cnd_t*, mtx_t*, const timespec*);
  return wait(mutex_of(mutex), TEETOTAL_PLACE, [&] { return real(condition, mutex, until); });
}

// -- semaphores, barriers, once ---------------------------------------------------------------------------------------

EXPORT(sem_wait)(sem_t* semaphore) {
  REAL(int, sem_wait, sem_t*);
  return acquire(semaphore, TEETOTAL_PLACE, [&] { return real(semaphore); });
}
EXPORT(sem_timedwait)(sem_t* semaphore, const timespec* until) {
  REAL(int, sem_timedwait, sem_t*, const timespec*);
  return acquire(semaphore, TEETOTAL_PLACE, [&] { return real(semaphore, until); });
}
EXPORT(sem_clockwait)(sem_t* semaphore, clockid_t clock, const timespec* until) {
  REAL(int, sem_clockwait, sem_t*, clockid_t, const timespec*);
  return acquire(semaphore, TEETOTAL_PLACE, [&] { return real(semaphore, clock, until); });
}
EXPORT(sem_trywait)(sem_t* semaphore) {
  REAL(int, sem_trywait, sem_t*);
  Hook hook;
  const int problem = real(semaphore);
  if (hook) hook.synchronise(problem == 0 ? Kind::rmw : Kind::ld, semaphore, TEETOTAL_PLACE);
  return problem;
}
EXPORT(sem_post)(sem_t* semaphore) {
  REAL(int, sem_post, sem_t*);
  record(Kind::rmw, semaphore, TEETOTAL_PLACE);
  return real(semaphore);
}
EXPORT(pthread_barrier_wait)(pthread_barrier_t* barrier) {
  REAL(int, pthread_barrier_wait, pthread_barrier_t*);
  record(Kind::rmw, barrier, TEETOTAL_PLACE);
  step_aside();
  const int result = real(barrier);
  record(Kind::rmw, barrier, TEETOTAL_PLACE);
  return result;
}
EXPORT(pthread_once)(pthread_once_t* once, void (*function)()) {
  REAL(int, pthread_once, pthread_once_t*, void (*)());
  being_done = {once, function, TEETOTAL_PLACE};
  step_aside();
  const int problem = real(once, do_once);
  record(Kind::ld, once, TEETOTAL_PLACE);
  return problem;
}
// Compiled code looks at the guard's first byte by itself.
EXPORT(__cxa_guard_acquire)(std::uint8_t* guard) {
  REAL(int, __cxa_guard_acquire, std::uint8_t*);
  step_aside();
  const int mine = real(guard);
  if (Hook hook; hook) {
    if (mine != 0)
      hook.synchronise(Kind::rmw, guard, TEETOTAL_PLACE);
    else
      hook.load(reinterpret_cast<std::uintptr_t>(guard), 1, TEETOTAL_PLACE);
  }
  return mine;
}
TEETOTAL_EXPORT void __cxa_guard_release(std::uint8_t* guard) {
  REAL(void, __cxa_guard_release, std::uint8_t*);
  if (Hook hook; hook) hook.change(reinterpret_cast<std::uintptr_t>(guard), 1, 0, 1, true, TEETOTAL_PLACE);
  real(guard);
}
TEETOTAL_EXPORT void __cxa_guard_abort(std::uint8_t* guard) {
  REAL(void, __cxa_guard_abort, std::uint8_t*);
  record(Kind::rmw, guard, TEETOTAL_PLACE);
  real(guard);
}
}
