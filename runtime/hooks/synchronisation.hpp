// What the hooks of things that threads synchronise on share.
//
// An object keeps its state in the first word of its own memory, so that it goes back with the rest:
//   mutex, spinlock   0, 1 + the owner's number, or the mark of its end         semaphore   its value
//   rwlock            0, -1 (a writer), or how many read   once        0, 1 running, 2 done
//
// Each call is as strong as the C library makes it on x86-64 (glibc 2.36), and no stronger: what takes or gives an
// object is a locked instruction there, which is a fence; what finds that there is nothing to do, or that it cannot be
// done, is often a load alone. docs/reference/synchronisation.md has the list, benchmarks/bench_strengths.py asks the
// processor.
#pragma once

#include <pthread.h>

#include <ctime>
#include <optional>

#include "accesses.hpp"

namespace teetotal::runtime {

inline int& word(void* object) { return *static_cast<int*>(object); }
inline const int& word(const Thread& thread) { return *reinterpret_cast<const int*>(thread.operation.address); }

// Of an object that is not the program's: a library's own affair, unless it is the program that asks.
// hooks_mutexes.cpp.
[[gnu::cold]] void note_foreign(const void* object, std::uintptr_t place);

// The thread that runs, if the object is the program's; otherwise null.
inline Thread* controlled(const void* object, std::uintptr_t place) {
  if (process.current == nullptr) return nullptr;
  if (of_program(object)) return process.current;
  note_foreign(object, place);
  return nullptr;
}

// Whether a mutex can be locked, by its word. One that is neither free nor held by a thread was destroyed, or never
// initialised: whoever locks it fails.
inline bool lets_lock(std::uint32_t word) { return word - 1 >= kMaxThreads; }

// A mutex, or a spinlock: hooks_mutexes.cpp.
inline bool holds(const Thread& thread, void* mutex) { return word(mutex) == static_cast<int>(thread.number) + 1; }
void lock(Thread& self, void* mutex, std::uintptr_t place);
void unlock(Thread& self, void* mutex, std::uintptr_t place);

// What the functions of POSIX and of C11 share; the place is that of the call.
enum class Patience : std::uint8_t { none, limited };  // of what fails: a try is a look; a wait exchanges first
bool try_lock(Thread& self, void* mutex, Patience patience, std::uintptr_t place);
void mutex_init(pthread_mutex_t* mutex, int kind, std::uintptr_t place);
void mutex_destroy(pthread_mutex_t* mutex, std::uintptr_t place);
void condition_init(pthread_cond_t* condition, std::uintptr_t place);
void condition_destroy(pthread_cond_t* condition, std::uintptr_t place);
int mutex_lock(Thread& self, pthread_mutex_t* mutex, std::uintptr_t place);
int mutex_trylock(Thread& self, pthread_mutex_t* mutex, std::uintptr_t place, Patience patience = Patience::none);
int mutex_timedlock(Thread& self, pthread_mutex_t* mutex, const timespec* limit, std::uintptr_t place);
int mutex_unlock(Thread& self, pthread_mutex_t* mutex, std::uintptr_t place);
void run_once(Thread& self, int* state, void (*routine)(), std::uintptr_t place);
int condition_wait(Thread& self, pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* limit,
                   std::uintptr_t place);
std::uint32_t signal(Thread& self, const void* object, std::size_t most, std::uintptr_t place, bool locked = false);
struct Barrier {
  int unused;
  unsigned needed, arrived;
  int serial;  // whether somebody was told that he is PTHREAD_BARRIER_SERIAL_THREAD
};
int barrier_wait(Thread& self, Barrier* barrier, std::uintptr_t place);
// `asks`: the caller looks at what the thread returned.
int join(Thread& self, pthread_t handle, bool asks, void*& returned, std::uintptr_t place);
pthread_t handle_of(std::uint32_t number);
// Fails where there is none: `does` says what for ("joins").
Thread& thread_of(Thread& self, pthread_t handle, const char* does, std::uintptr_t place);

// Reads data of the program as its own atomic load would: hooks_access.cpp. An order that acquires is acq_rel, as of
// everything that only looks (core/event.hpp).
void look_at(const void* data, Tag tag, Order order, std::uintptr_t place);

// What waits with a limit gives up whenever it is scheduled before it gets what it waits for: then it is that late for
// the thread, and the answer is ETIMEDOUT. hooks_libc.cpp.
int out_of_time(Thread& self, const timespec* limit);

// The limit, read as the C library does.
inline timespec read_limit(const timespec* limit, std::uintptr_t place) {
  timespec read;
  read_parts(*process.current, reinterpret_cast<char*>(&read), limit, sizeof read, place);
  constexpr long kSecond = 1'000'000'000;
  if (read.tv_nsec < 0 || read.tv_nsec >= kSecond)
    remarks.unseen.insert({"a wait whose limit has more nanoseconds than a second, or less than none", place});
  return read;
}

// System calls that are not the kernel's to answer: hooks_chance.cpp.
std::optional<long> answered_here(Thread& self, long number, const long* arguments, std::uintptr_t place);

// Visits the threads that wait on an object for others to wake them.
template <typename Visit>
void each_waiting(const void* object, Visit visit) {
  for (std::uint32_t number = 0; number < process.count; ++number) {
    Thread& thread = process.threads[number];
    if (thread.state == State::parked && thread.waits_on == object) visit(thread);
  }
}

}  // namespace teetotal::runtime
