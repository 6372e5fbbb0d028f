// POSIX threads: creating, ending, joining, and what is a thread's own. C++ threads come down to these.
#include <pthread.h>
#include <sched.h>

#include <cerrno>
#include <climits>

#include "real.hpp"
#include "synchronisation.hpp"

namespace teetotal::runtime {
namespace {

constexpr std::uintptr_t kHandles = 0x7ee7'0000;

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
  synchronise(self, Verb::join, Kind::lock, Tag::thread, other, place,
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
