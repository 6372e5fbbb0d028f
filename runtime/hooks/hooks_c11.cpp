// <threads.h>: the C library's versions go past the pthread functions' names, so these go to what ours are made of.
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <cstdint>

#include "accesses.hpp"
#include "synchronisation.hpp"
#include "touching.hpp"

using namespace teetotal::runtime;  // NOLINT: the hooks below are the whole file

namespace {

int result_of(int error) {
  switch (error) {
    case 0:
      return thrd_success;
    case EBUSY:
      return thrd_busy;
    case ETIMEDOUT:
      return thrd_timedout;
    case ENOMEM:
      return thrd_nomem;
    default:
      return thrd_error;
  }
}

pthread_mutex_t* posix(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* posix(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }

struct Start {
  thrd_start_t routine;
  void* argument;
};

void* run(void* given) {
  const Start start = *static_cast<Start*>(given);
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(start.routine(start.argument)));
}

}  // namespace

extern "C" {

int thrd_create(thrd_t* thread, thrd_start_t routine, void* argument) {
  Thread* self = process.current;
  if (self == nullptr) return thrd_error;
  auto* start = static_cast<Start*>(memory.allocate(self->number, sizeof(Start), 0, TEETOTAL_PLACE));
  *start = {routine, argument};
  Touch(TEETOTAL_PLACE).put(thread, handle_of(next_thread(*self)));  // before it runs
  create_thread(*self, run, start, false, TEETOTAL_PLACE);
  return thrd_success;
}
int thrd_join(thrd_t thread, int* result) {
  Thread* self = process.current;
  void* returned = nullptr;
  const int error = self == nullptr ? ESRCH : join(*self, thread, result != nullptr, returned, TEETOTAL_PLACE);
  if (error == 0 && result != nullptr)
    Touch(TEETOTAL_PLACE).put(result, static_cast<int>(reinterpret_cast<std::intptr_t>(returned)));
  return result_of(error);
}
int thrd_detach(thrd_t thread) { return result_of(pthread_detach(thread)); }
void thrd_exit(int result) { pthread_exit(reinterpret_cast<void*>(static_cast<std::intptr_t>(result))); }
thrd_t thrd_current() { return pthread_self(); }
int same_thread(thrd_t, thrd_t) asm("thrd_equal");  // which the header may define inline
int same_thread(thrd_t a, thrd_t b) { return a == b; }
void thrd_yield() {}

int mtx_init(mtx_t* mutex, int type) {
  mutex_init(posix(mutex), (type & mtx_recursive) != 0 ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL,
             TEETOTAL_PLACE);
  return thrd_success;
}
void mtx_destroy(mtx_t* mutex) { mutex_destroy(posix(mutex), TEETOTAL_PLACE); }
#define WITH(object, ...)                            \
  Thread* self = controlled(object, TEETOTAL_PLACE); \
  return self == nullptr ? thrd_error : result_of(__VA_ARGS__)
int mtx_lock(mtx_t* mutex) { WITH(mutex, mutex_lock(*self, posix(mutex), TEETOTAL_PLACE)); }
int mtx_trylock(mtx_t* mutex) { WITH(mutex, mutex_trylock(*self, posix(mutex), TEETOTAL_PLACE)); }
int mtx_timedlock(mtx_t* mutex, const timespec* limit) {
  WITH(mutex, mutex_timedlock(*self, posix(mutex), limit, TEETOTAL_PLACE));
}
int mtx_unlock(mtx_t* mutex) { WITH(mutex, mutex_unlock(*self, posix(mutex), TEETOTAL_PLACE)); }

int cnd_init(cnd_t* condition) {
  condition_init(posix(condition), TEETOTAL_PLACE);
  return thrd_success;
}
void cnd_destroy(cnd_t* condition) { condition_destroy(posix(condition), TEETOTAL_PLACE); }
int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  WITH(condition, condition_wait(*self, posix(condition), posix(mutex), nullptr, TEETOTAL_PLACE));
}
int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* limit) {
  WITH(condition, condition_wait(*self, posix(condition), posix(mutex), limit, TEETOTAL_PLACE));
}
int cnd_signal(cnd_t* condition) { WITH(condition, (signal(*self, condition, 1, TEETOTAL_PLACE), 0)); }
int cnd_broadcast(cnd_t* condition) { WITH(condition, (signal(*self, condition, SIZE_MAX, TEETOTAL_PLACE), 0)); }
#undef WITH

void call_once(once_flag* flag, void (*routine)()) {
  if (Thread* self = controlled(flag, TEETOTAL_PLACE))
    run_once(*self, reinterpret_cast<int*>(flag), routine, TEETOTAL_PLACE);
}

int tss_create(tss_t* key, tss_dtor_t destructor) { return result_of(pthread_key_create(key, destructor)); }
void tss_delete(tss_t key) { pthread_key_delete(key); }
void* tss_get(tss_t key) { return pthread_getspecific(key); }
int tss_set(tss_t key, void* value) { return result_of(pthread_setspecific(key, value)); }
}
