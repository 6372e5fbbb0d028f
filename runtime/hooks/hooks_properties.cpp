// What may be asked and said of a thread, a mutex or an attribute and changes nothing that can be explored: names,
// processors, priorities, cancellation that never comes. The answers depend on the program alone. The C library's own
// versions would take a handle of ours for the address of a thread.
//
// And what cannot be explored, refused by name; the others of the C library, which only fill in what the caller gives
// them (attributes), are left to it: tests/system/test_c_interfaces.py has all of them.
#include <pthread.h>
#include <sched.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "imports.hpp"
#include "real.hpp"
#include "symmetry.hpp"
#include "synchronisation.hpp"

using namespace teetotal::runtime;  // NOLINT: the hooks below are the whole file

namespace {

// The thread that a handle is of, for somebody who asks about it.
Thread& thread_for(pthread_t handle, std::uintptr_t place) {
  Thread& thread = thread_of(*process.current, handle, "asks about", place);
  tell_apart(thread);
  return thread;
}

// The same, for somebody who sets a property of the thread, or asks for it.
Thread& thread_used(pthread_t handle, bool sets, const char* call, std::uintptr_t place) {
  Thread& thread = thread_for(handle, place);
  unordered_call(thread.properties.change().users, sets, call, place);
  return thread;
}

}  // namespace

extern "C" {

int pthread_setname_np(pthread_t handle, const char* name) {
  if (process.current == nullptr) return ESRCH;
  Thread& thread = thread_used(handle, true, "pthread_setname_np", TEETOTAL_PLACE);
  const std::size_t length = std::strlen(name);
  if (length >= thread.properties->name.size()) return ERANGE;
  std::memcpy(thread.properties.change().name.data(), name, length + 1);
  return 0;
}
int pthread_getname_np(pthread_t handle, char* name, std::size_t size) {
  if (process.current == nullptr) return ESRCH;
  const Thread& thread = thread_used(handle, false, "pthread_getname_np", TEETOTAL_PLACE);
  const std::size_t needed = std::strlen(thread.properties->name.data()) + 1;
  if (size < needed) return ERANGE;
  std::memcpy(name, thread.properties->name.data(), needed);
  return 0;
}

int pthread_setaffinity_np(pthread_t handle, std::size_t size, const cpu_set_t* set) {
  if (process.current == nullptr) return ESRCH;
  Thread& thread = thread_used(handle, true, "pthread_setaffinity_np", TEETOTAL_PLACE);
  std::uint64_t& processors = thread.properties.change().processors;
  processors = 0;
  std::memcpy(&processors, set, std::min(size, sizeof processors));
  return processors != 0 ? 0 : EINVAL;
}
int pthread_getaffinity_np(pthread_t handle, std::size_t size, cpu_set_t* set) {
  if (process.current == nullptr) return ESRCH;
  const Thread& thread = thread_used(handle, false, "pthread_getaffinity_np", TEETOTAL_PLACE);
  get_nprocs();  // which notes that the program asks for them
  std::memset(set, 0, size);
  std::memcpy(set, &thread.properties->processors, std::min(size, sizeof thread.properties->processors));
  return 0;
}

int pthread_setschedparam(pthread_t handle, int policy, const sched_param* parameters) {
  if (process.current == nullptr) return ESRCH;
  Thread& thread = thread_used(handle, true, "pthread_setschedparam", TEETOTAL_PLACE);
  thread.properties.change().policy = policy;
  thread.properties.change().priority = parameters->sched_priority;
  return 0;
}
int pthread_getschedparam(pthread_t handle, int* policy, sched_param* parameters) {
  if (process.current == nullptr) return ESRCH;
  const Thread& thread = thread_used(handle, false, "pthread_getschedparam", TEETOTAL_PLACE);
  *policy = thread.properties->policy;
  parameters->sched_priority = thread.properties->priority;
  return 0;
}
int pthread_setschedprio(pthread_t handle, int priority) {
  if (process.current == nullptr) return ESRCH;
  Thread& thread = thread_used(handle, true, "pthread_setschedprio", TEETOTAL_PLACE);
  thread.properties.change().priority = priority;
  return 0;
}
int pthread_getcpuclockid(pthread_t handle, clockid_t* clock) {
  if (process.current == nullptr) return ESRCH;
  thread_for(handle, TEETOTAL_PLACE);
  *clock = CLOCK_THREAD_CPUTIME_ID;  // every clock is the thread's own here
  return 0;
}
int pthread_getattr_np(pthread_t handle, pthread_attr_t* attributes) {
  // The explorer asks for itself (its sanitizer does): it runs on the first thread's stack, whatever its pointer says.
  if (process.current == nullptr) return real().getattr(first_thread(), attributes);
  const Thread& thread = thread_for(handle, TEETOTAL_PLACE);
  pthread_attr_init(attributes);
  pthread_attr_setdetachstate(attributes, thread.detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
  return pthread_attr_setstack(attributes, reinterpret_cast<void*>(stack_top(thread.number) - kStackSize), kStackSize);
}

// How large a stack is that nobody has said it of depends on who runs the program (`ulimit -s`).
int pthread_attr_getstacksize(const pthread_attr_t* attributes, std::size_t* size) {
  const int failure = real().attr_getstacksize(attributes, size);
  pthread_attr_t fresh;
  std::size_t usual = 0;
  static bool told = false;
  if (process.current == nullptr || failure != 0 || told || pthread_attr_init(&fresh) != 0) return failure;
  real().attr_getstacksize(&fresh, &usual);
  pthread_attr_destroy(&fresh);
  if (*size != usual) return 0;
  told = true;
  remarks.note("the program asks how large stacks are that it does not say it of: it is told " +
               std::to_string(usual >> 10U) + " KB, and the answer is about that size");
  return 0;
}

// Nobody is ever cancelled: pthread_cancel is refused.
int pthread_setcancelstate(int state, int* old) {
  if (state != PTHREAD_CANCEL_ENABLE && state != PTHREAD_CANCEL_DISABLE) return EINVAL;
  if (process.current == nullptr) return 0;
  if (old != nullptr) *old = process.current->properties->cancel_state;
  process.current->properties.change().cancel_state = state;
  return 0;
}
int pthread_setcanceltype(int type, int* old) {
  if (type != PTHREAD_CANCEL_DEFERRED && type != PTHREAD_CANCEL_ASYNCHRONOUS) return EINVAL;
  if (process.current == nullptr) return 0;
  if (old != nullptr) *old = process.current->properties->cancel_type;
  process.current->properties.change().cancel_type = type;
  return 0;
}
void pthread_testcancel() {}

int pthread_atfork(void (*)(), void (*)(), void (*)()) { return 0; }  // fork is refused

// No mutex has a ceiling, and none survives its holder: pthread_mutex_init refuses them. So glibc would say:
int pthread_mutex_getprioceiling(const pthread_mutex_t*, int*) { return EINVAL; }
int pthread_mutex_setprioceiling(pthread_mutex_t*, int, int*) { return EINVAL; }
int pthread_mutex_consistent(pthread_mutex_t*) { return EINVAL; }
}

// -- what is refused --------------------------------------------------------------------------------------------------

namespace {

[[noreturn]] void refuse(const char* name, std::uintptr_t place) {
  if (process.current == nullptr) _exit(70);
  fail(*process.current, Failure::unsupported, name, place);
}

}  // namespace

#define REFUSED(name)                                                \
  extern "C" [[noreturn]] void teetotal_refused_##name() asm(#name); \
  void teetotal_refused_##name() { refuse(#name, TEETOTAL_PLACE); }
#include "refused.def"
