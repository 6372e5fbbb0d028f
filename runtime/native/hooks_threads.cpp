// Threads: from where one is created to where it begins, and from its end to where somebody joins it, is an rmw of both
// on "thread N".
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>

#include "real.hpp"
#include "recorder.hpp"

using namespace teetotal::native;  // NOLINT: the hooks are the whole file

namespace {

struct Start {
  void* (*function)(void*);
  void* argument;
  std::uint32_t number;
};

// Whose number a handle is.
class Numbers {
 public:
  void set(pthread_t handle, std::uint32_t number) {
    const Held held(lock_);
    for (std::size_t step = 0; step < kSize; ++step) {
      Entry& entry = entries_[(hash(handle) + step) % kSize];
      if (entry.number != 0 && entry.handle != handle) continue;
      entry = {handle, number};
      return;
    }
  }
  std::uint32_t get(pthread_t handle) {
    const Held held(lock_);
    for (std::size_t step = 0; step < kSize; ++step) {
      const Entry& entry = entries_[(hash(handle) + step) % kSize];
      if (entry.number == 0) return 0;
      if (entry.handle == handle) return entry.number;
    }
    return 0;
  }

 private:
  struct Entry {
    pthread_t handle;
    std::uint32_t number;
  };
  struct Held {
    explicit Held(std::atomic_flag& flag) : flag_(flag) {
      while (flag_.test_and_set(std::memory_order_acquire)) {
      }
    }
    ~Held() { flag_.clear(std::memory_order_release); }
    std::atomic_flag& flag_;
  };
  static constexpr std::size_t kSize = 1 << 15;
  static std::size_t hash(pthread_t handle) { return handle >> 12U ^ handle >> 6U; }
  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
  Entry entries_[kSize] = {};
};

Numbers numbers;
pthread_key_t end_key;
thread_local std::uint32_t own_number = 0;
thread_local int rounds_left = PTHREAD_DESTRUCTOR_ITERATIONS - 1;

// Called for as long as there are destructors of the program's own to call.
void end(void*) {
  if (--rounds_left > 0) {
    pthread_setspecific(end_key, &end_key);
    return;
  }
  if (Hook hook; hook) {
    hook.thread(own_number, 0);
    hook.step_aside();
  }
  end_thread();
}

[[gnu::constructor]] void make_key() { pthread_key_create(&end_key, end); }

void* begin(void* given) {
  const Start start = *static_cast<Start*>(given);
  own_number = start.number;
  begin_thread(start.number);
  numbers.set(pthread_self(), start.number);
  pthread_setspecific(end_key, &end_key);
  pthread_attr_t attributes;
  if (recording_now() && pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* stack = nullptr;
    std::size_t size = 0;
    pthread_attr_getstack(&attributes, &stack, &size);
    pthread_attr_destroy(&attributes);
    if (Hook hook; hook) hook.block(stack, size, 0);
  }
  if (Hook hook; hook) hook.thread(start.number, 0);
  free(given);
  return start.function(start.argument);
}

void joined(pthread_t handle, std::uintptr_t place) {
  const std::uint32_t number = numbers.get(handle);
  if (Hook hook; hook && number != 0) hook.thread(number, place);
}

int create(pthread_t* handle, const pthread_attr_t* attributes, void* (*function)(void*), void* argument,
           std::uintptr_t place) {
  static Real<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)> real("pthread_create");
  attach();
  const std::uint32_t number = new_number();
  auto* start = static_cast<Start*>(malloc(sizeof(Start)));
  if (start == nullptr) return EAGAIN;
  *start = {function, argument, number};
  if (Hook hook; hook) hook.thread(number, place);
  const int problem = real(handle, attributes, begin, start);
  if (problem != 0)
    free(start);
  else
    numbers.set(*handle, number);
  return problem;
}

}  // namespace

extern "C" {

TEETOTAL_EXPORT int pthread_create(pthread_t* handle, const pthread_attr_t* attributes, void* (*function)(void*),
                                   void* argument) {
  return create(handle, attributes, function, argument, TEETOTAL_PLACE);
}

TEETOTAL_EXPORT int pthread_join(pthread_t handle, void** result) {
  static Real<int(pthread_t, void**)> real("pthread_join");
  step_aside();
  const int problem = real(handle, result);
  if (problem == 0) joined(handle, TEETOTAL_PLACE);
  return problem;
}

TEETOTAL_EXPORT int pthread_tryjoin_np(pthread_t handle, void** result) {
  static Real<int(pthread_t, void**)> real("pthread_tryjoin_np");
  const int problem = real(handle, result);
  if (problem == 0) joined(handle, TEETOTAL_PLACE);
  return problem;
}

TEETOTAL_EXPORT int pthread_timedjoin_np(pthread_t handle, void** result, const timespec* until) {
  static Real<int(pthread_t, void**, const timespec*)> real("pthread_timedjoin_np");
  step_aside();
  const int problem = real(handle, result, until);
  if (problem == 0) joined(handle, TEETOTAL_PLACE);
  return problem;
}

TEETOTAL_EXPORT int pthread_clockjoin_np(pthread_t handle, void** result, clockid_t clock, const timespec* until) {
  static Real<int(pthread_t, void**, clockid_t, const timespec*)> real("pthread_clockjoin_np");
  step_aside();
  const int problem = real(handle, result, clock, until);
  if (problem == 0) joined(handle, TEETOTAL_PLACE);
  return problem;
}

// glibc's own go to functions that nobody can stand before. A thread's result is an int there.
TEETOTAL_EXPORT int thrd_create(thrd_t* handle, thrd_start_t function, void* argument) {
  const auto same = reinterpret_cast<void* (*)(void*)>(reinterpret_cast<void*>(function));
  const int problem = create(handle, nullptr, same, argument, TEETOTAL_PLACE);
  return problem == 0 ? thrd_success : problem == EAGAIN ? thrd_nomem : thrd_error;
}

TEETOTAL_EXPORT int thrd_join(thrd_t handle, int* result) {
  step_aside();
  void* found = nullptr;
  static Real<int(pthread_t, void**)> real("pthread_join");
  if (real(handle, &found) != 0) return thrd_error;
  joined(handle, TEETOTAL_PLACE);
  if (result != nullptr) *result = static_cast<int>(reinterpret_cast<std::intptr_t>(found));
  return thrd_success;
}
}
