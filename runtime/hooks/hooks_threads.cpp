// POSIX threads: creating, ending, joining, and what is a thread's own. C++ threads come down to these.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <unwind.h>

#include <cerrno>
#include <climits>
#include <string_view>
#include <utility>

#include "accesses.hpp"
#include "addresses.hpp"
#include "keys.hpp"
#include "real.hpp"
#include "symmetry.hpp"
#include "synchronisation.hpp"
#include "touching.hpp"

namespace teetotal::runtime {

Keys keys;

namespace {

// -- threads ----------------------------------------------------------------------------------------------------------

std::uint64_t disputed = 0;  // bit of a thread: it is joined or detached more than once, in some execution

// Whether it was done before `self` came here, whatever others do: by itself, or where the thread was created.
bool done_before(const Thread& self, bool done, const End& by) {
  return done && (by.thread == self.number || by.place == 0);
}

// Of a step that has just been done. Joins are in order with others' joins; with those who detach the thread they are
// from the next search on.
void check_joinable(Thread& self, const Thread& other, const char* does, std::uintptr_t place) {
  if (!other.joined && !other.detached) return;
  const std::uint64_t bit = std::uint64_t{1} << other.number;
  if ((disputed & bit) == 0 && (other.detached || std::string_view(does) == "detaches")) {
    disputed |= bit;
    process.restart = true;
  }
  const std::string whom = std::string(does) + " T" + std::to_string(other.born) + ", which was ";
  if (other.joined) fail(self, {Failure::misuse, whom + "joined", "joined it", other.joined_by}, place);
  fail(self, {Failure::misuse, whom + "detached", "detached it", other.detached_by}, place);
}

// Before the step: only what does not depend on the order in which threads come here.
void check_before(Thread& self, const Thread& other, const char* does, std::uintptr_t place) {
  if (done_before(self, other.joined, other.joined_by) || done_before(self, other.detached, other.detached_by))
    check_joinable(self, other, does, place);
}

}  // namespace

namespace {

// Where the program has said what the thread is to run on. The stack of nobody ends at 0.
void give_stack(Thread& thread, const pthread_attr_t& attributes, std::uintptr_t place) {
  void* begin = nullptr;
  std::size_t size = 0;
  if (pthread_attr_getstack(&attributes, &begin, &size) != 0) return;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  if (address + size == 0 || !of_program(begin)) return;
  tell_apart(thread);
  thread.given = {address, address + size, place};
}

}  // namespace

pthread_t handle_of(std::uint32_t number) { return static_cast<pthread_t>(kHandles + number); }

Thread& thread_of(Thread& self, pthread_t handle, const char* does, std::uintptr_t place) {
  const std::uintptr_t number = static_cast<std::uintptr_t>(handle) - kHandles;
  if (number >= process.count)
    fail(self, Failure::misuse, std::string(does) + " a thread that nobody has created", place);
  return process.threads[number];
}

int join(Thread& self, pthread_t handle, bool asks, void*& returned, std::uintptr_t place) {
  Thread* other = &thread_of(self, handle, "joins", place);
  check_before(self, *other, "joins", place);
  if (other == &self) return EDEADLK;
  watch_join(self, *other, asks);
  self.waits_on = other;
  synchronise(self, Verb::join, Kind::lock, Tag::thread, other, place,
              {.enabled = [](const Thread& t) { return static_cast<const Thread*>(t.waits_on)->state == State::ended; },
               .waiting = Waiting::other});
  self.waits_on = nullptr;
  check_joinable(self, *other, "joins", place);
  other->joined = true;
  other->joined_by = {self.number, place};
  if (--process.unjoined == 0) process.alone = true;
  returned = other->result;
  return 0;
}

namespace {

int join(Thread& self, pthread_t handle, void** result, std::uintptr_t place) {
  void* returned = nullptr;
  const int error = join(self, handle, result != nullptr, returned, place);
  if (error == 0 && result != nullptr) {
    Touch(place).put(result, returned);
    mfence(self, place);  // the C library then gives the thread's memory back, by a locked instruction
  }
  return error;
}

// Looks whether the thread has ended: a load. With a limit, it has announced before that it waits, by a locked
// instruction.
int join_if_ended(Thread& self, pthread_t handle, void** result, const timespec* limit, std::uintptr_t place) {
  Thread* other = &thread_of(self, handle, "joins", place);
  if (other != &self || limit == nullptr) {  // it has not ended, and only who would wait for itself is told so
    check_before(self, *other, "joins", place);
    tell_apart(*other);
    synchronise(self, Verb::look, limit == nullptr ? Kind::ld : Kind::rmw, Tag::thread, other, place,
                {.writes = Writes::never});
    if (other->state != State::ended) {
      if (limit == nullptr) return EBUSY;
      const timespec until = read_limit(limit, place);
      return out_of_time(self, &until);
    }
  }
  return join(self, handle, result, place);
}

// -- pthread_exit -----------------------------------------------------------------------------------------------------
//
// As the C library does it: the stack is unwound, so that destructors run, and handlers that C code has pushed
// (pthread_cleanup_push) are jumped to when the frame that pushed them is reached; they come back to
// __pthread_unwind_next. At the end of the stack the thread ends.

_Unwind_Reason_Code at_frame(int, _Unwind_Action actions, _Unwind_Exception_Class, _Unwind_Exception*,
                             _Unwind_Context* context, void* thread) {
  Thread& self = *static_cast<Thread*>(thread);
  const bool top = (actions & _UA_END_OF_STACK) != 0;
  if (auto* handler = static_cast<__pthread_unwind_buf_t*>(self.cleanup);
      handler != nullptr && (top || _Unwind_GetCFA(context) > reinterpret_cast<std::uintptr_t>(handler)))
    siglongjmp(reinterpret_cast<__jmp_buf_tag*>(handler->__cancel_jmp_buf), 1);
  if (top) finish(self, self.result);
  return _URC_NO_REASON;
}

[[noreturn]] void unwind(Thread& self) {
  // It must outlive the frames: the program's own memory, which goes back with the rest.
  auto* exception = static_cast<_Unwind_Exception*>(
      memory.allocate(self.number, sizeof(_Unwind_Exception), alignof(_Unwind_Exception), 0));
  *exception = {};
  exception->exception_cleanup = [](_Unwind_Reason_Code, _Unwind_Exception*) {
    fail(*process.current, Failure::misuse, "catches the end of a thread and goes on",
         process.current->operation.place);
  };
  _Unwind_ForcedUnwind(exception, at_frame, &self);
  finish(self, self.result);  // it could not: code without unwind tables
}

// -- keys -------------------------------------------------------------------------------------------------------------

constexpr pthread_key_t kKeys = 0x10000;            // ours; below are those of the C library
constexpr pthread_key_t kAtThreadExit = kKeys - 1;  // the C++ library's own, which is always there
std::map<std::uint32_t, void (*)(void*)> key_destructors;

void check_key(Thread& self, pthread_key_t key, const char* does, std::uintptr_t place) {
  if (key - kKeys >= keys.count) fail(self, Failure::misuse, std::string(does) + " a key that nobody created", place);
  if (keys.deleted->test(key - kKeys))
    fail(self, Failure::misuse, std::string(does) + " a key that was deleted", place);
}

bool asked_by_program(std::uintptr_t place) { return memory.in_object(place) || of_executable(place); }

// A key of a library's own, and one that it never made, are the C library's affair.
bool of_c_library(pthread_key_t key, std::uintptr_t place) {
  return process.current == nullptr || key < kKeys || (key - kKeys >= keys.count && !asked_by_program(place));
}

int create_key(pthread_key_t* key, void (*destructor)(void*), std::uintptr_t place) {
  if (process.current == nullptr || !asked_by_program(place)) return runtime::real().key_create(key, destructor);
  if (keys.count == keys.deleted->size()) return EAGAIN;
  unordered_call(keys.numbering, true, "pthread_key_create", place);
  const pthread_key_t fresh = kKeys + keys.count++;
  key_destructors[fresh] = destructor;
  Touch(place).put(key, fresh);
  return 0;
}

}  // namespace

void Keys::keep(const Thread& first) {
  kept_count_ = count;
  kept_specific_ = first.specific;
}

void Keys::begin(Thread& first) {
  count = kept_count_;
  first.specific = kept_specific_;
}

void run_key_destructors(Thread& self) {
  for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS; ++round) {
    bool any = false;
    for (auto& [key, value] : self.specific) {
      const auto destructor = key_destructors.find(key);
      if (value == nullptr || destructor == key_destructors.end() || destructor->second == nullptr) continue;
      if (key >= kKeys && keys.deleted->test(key - kKeys)) continue;
      any = true;
      void* old = value;
      value = nullptr;
      destructor->second(old);
    }
    if (!any) return;
  }
}

void run_at_thread_exit(Thread& self) {
  const auto first = self.specific.find(kAtThreadExit);
  if (first == self.specific.end() || first->second == nullptr) return;
  key_destructors[kAtThreadExit](std::exchange(first->second, nullptr));
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
  const std::uint32_t number = next_thread(*self);
  Touch(TEETOTAL_PLACE).put(handle, handle_of(number));  // before it begins, as the C library does
  create_thread(*self, routine, argument, detached == PTHREAD_CREATE_DETACHED, TEETOTAL_PLACE);
  if (attributes != nullptr) give_stack(process.threads[number], *attributes, TEETOTAL_PLACE);
  return 0;
}
int pthread_join(pthread_t handle, void** result) {
  return process.current == nullptr ? ESRCH : join(*process.current, handle, result, TEETOTAL_PLACE);
}
int pthread_tryjoin_np(pthread_t handle, void** result) {
  if (process.current == nullptr) return ESRCH;
  return join_if_ended(*process.current, handle, result, nullptr, TEETOTAL_PLACE);
}
int pthread_timedjoin_np(pthread_t handle, void** result, const timespec* limit) {
  if (process.current == nullptr) return ESRCH;
  if (limit == nullptr) return join(*process.current, handle, result, TEETOTAL_PLACE);
  return join_if_ended(*process.current, handle, result, limit, TEETOTAL_PLACE);
}
int pthread_clockjoin_np(pthread_t handle, void** result, clockid_t, const timespec* limit) {
  if (process.current == nullptr) return ESRCH;
  if (limit == nullptr) return join(*process.current, handle, result, TEETOTAL_PLACE);
  return join_if_ended(*process.current, handle, result, limit, TEETOTAL_PLACE);
}
int pthread_detach(pthread_t handle) {
  if (process.current == nullptr) return ESRCH;
  Thread& self = *process.current;
  Thread* other = &thread_of(self, handle, "detaches", TEETOTAL_PLACE);
  check_before(self, *other, "detaches", TEETOTAL_PLACE);
  tell_apart(*other);
  // A locked instruction, on what nobody looks at who does nothing wrong. It is more than a fence to this thread.
  if ((disputed >> other->number & 1U) != 0)
    synchronise(self, Verb::detach, Kind::rmw, Tag::thread, other, TEETOTAL_PLACE);
  else
    fence_before_call(self, TEETOTAL_PLACE);
  check_joinable(self, *other, "detaches", TEETOTAL_PLACE);
  other->detached = true;
  other->detached_by = {self.number, TEETOTAL_PLACE};
  return 0;
}
void pthread_exit(void* result) {
  if (process.current == nullptr) _Exit(70);
  process.current->result = result;
  unwind(*process.current);
}
void __pthread_register_cancel(__pthread_unwind_buf_t* handler) {
  if (process.current == nullptr) return;
  handler->__pad[0] = process.current->cleanup;
  process.current->cleanup = handler;
}
void __pthread_unregister_cancel(__pthread_unwind_buf_t* handler) {
  if (process.current != nullptr) process.current->cleanup = handler->__pad[0];
}
void __pthread_register_cancel_defer(__pthread_unwind_buf_t* handler) { __pthread_register_cancel(handler); }
void __pthread_unregister_cancel_restore(__pthread_unwind_buf_t* handler) { __pthread_unregister_cancel(handler); }
void __pthread_unwind_next(__pthread_unwind_buf_t* handler) {
  if (process.current == nullptr) _Exit(70);
  process.current->cleanup = handler->__pad[0];
  unwind(*process.current);
}
pthread_t pthread_self() {
  if (process.current == nullptr) return real().thread_self();
  tell_apart(*process.current);
  return handle_of(process.current->number);
}
int same_pthread(pthread_t, pthread_t) asm("pthread_equal");  // which the header may define inline
int same_pthread(pthread_t a, pthread_t b) { return a == b; }
int sched_yield() { return 0; }

int pthread_key_create(pthread_key_t* key, void (*destructor)(void*)) {
  return create_key(key, destructor, TEETOTAL_PLACE);
}
int __pthread_key_create(pthread_key_t* key, void (*destructor)(void*)) {
  return create_key(key, destructor, TEETOTAL_PLACE);
}
int pthread_key_delete(pthread_key_t key) {
  if (of_c_library(key, TEETOTAL_PLACE)) return 0;
  check_key(*process.current, key, "deletes", TEETOTAL_PLACE);
  unordered_call("pthread_key_delete", TEETOTAL_PLACE);
  keys.deleted.change().set(key - kKeys);
  return 0;
}
// What the C++ library runs when a thread ends, as a list of its own making (runtime/instrumented/threads.cpp).
void* teetotal_at_thread_exit(void (*run)(void*), void* element) {
  key_destructors[kAtThreadExit] = run;
  return std::exchange(process.current->specific[kAtThreadExit], element);
}
void* pthread_getspecific(pthread_key_t key) {
  if (of_c_library(key, TEETOTAL_PLACE)) return real().getspecific(key);
  check_key(*process.current, key, "looks up", TEETOTAL_PLACE);
  const auto found = process.current->specific.find(key);
  return found == process.current->specific.end() ? nullptr : found->second;
}
int pthread_setspecific(pthread_key_t key, const void* value) {
  if (of_c_library(key, TEETOTAL_PLACE)) return real().setspecific(key, value);
  check_key(*process.current, key, "sets", TEETOTAL_PLACE);
  process.current->specific[key] = const_cast<void*>(value);
  return 0;
}
}
