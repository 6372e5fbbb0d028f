// Reading the clock. What a program does with the time is its own affair, so a look at the clock is named and no proof
// stands on it: one clock of many is explored, which goes on with each look (hooks_libc.cpp).
//
// Those functions of the C++ library that wait with a limit look at it only to know that limit, and afterwards whether
// it has passed, which is explored either way: these are not named.
#include <poll.h>
#include <sys/select.h>
#include <sys/time.h>

#include <ctime>

#include "touching.hpp"

namespace teetotal::runtime {
void look_at_clock(const char* function, std::uintptr_t place) {
  if (process.current == nullptr) return;
  static std::map<std::uintptr_t, bool> known;  // by place: whether it is named
  const auto [entry, fresh] = known.try_emplace(place, true);
  if (fresh) entry->second = !callers.waits_with_limit(place);
  if (!entry->second) return;
  const std::uintptr_t told = callers.empty() ? place : callers.teller(place, __builtin_frame_address(0));
  remarks.unseen.insert({std::string("what the clock shows, by ") + function, told});
}

namespace {

timespec taken(Touch& touch, const timespec* from) { return {touch.get(&from->tv_sec), touch.get(&from->tv_nsec)}; }

void give(Touch& touch, timespec* to, const timespec& now) {
  touch.put(&to->tv_sec, now.tv_sec);
  touch.put(&to->tv_nsec, now.tv_nsec);
}

// What a clock shows whose only use is the limit of a wait. A wait with less than no, or more than all nanoseconds of a
// second fails at once. Whatever the program adds to them, and takes away where they are too many: if the limit is
// right for the least that a clock may show, and, in a second search, for the most, it is so for all between.
timespec for_limit() {
  unwritten.clocks = true;
  return unwritten.is_second() ? timespec{4'000'000'000, 999'999'999} : timespec{1'000'000'000, 0};
}

std::int64_t nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Who waits for no descriptor, but has a limit, only sleeps. Otherwise what comes depends on the outside.
void wait_outside(const char* function, std::uintptr_t place) {
  unseen_call(std::string(function) + " of libc.so.6", place);
  if (process.current != nullptr) fence_before_call(*process.current, place);
}

bool is_usual(const timespec& time) { return time.tv_sec >= 0 && time.tv_nsec >= 0 && time.tv_nsec < 1'000'000'000; }

int sleep_in_vain(const timespec& time) {
  nanosleep(&time, nullptr);
  return 0;
}

}  // namespace
}  // namespace teetotal::runtime

using namespace teetotal;           // NOLINT: the hooks below are the whole rest of the file
using namespace teetotal::runtime;  // NOLINT

#define LOOK(function)         \
  Touch touch(TEETOTAL_PLACE); \
  look_at_clock(function, touch.place())

extern "C" {
std::int64_t teetotal_steady_now() {
  LOOK("std::chrono::steady_clock::now");
  return nanoseconds();
}
std::int64_t teetotal_system_now() {
  LOOK("std::chrono::system_clock::now");
  return nanoseconds();
}
clock_t teetotal_clock() {
  LOOK("clock");
  return clock();
}
time_t teetotal_time(time_t* result) {
  LOOK("time");
  const time_t now = time(nullptr);
  if (result != nullptr) touch.put(result, now);
  return now;
}
int teetotal_clock_gettime(clockid_t clock, timespec* to) {
  LOOK("clock_gettime");
  timespec now{};
  const int done = clock_gettime(clock, &now);
  if (done == 0) give(touch, to, now);
  return done;
}
int teetotal_timespec_get(timespec* to, int base) {
  LOOK("timespec_get");
  timespec now{};
  if (base != TIME_UTC || clock_gettime(CLOCK_REALTIME, &now) != 0) return 0;
  give(touch, to, now);
  return base;
}
// Whose only use is the limit of a wait: see programs/c/deadlines.py. It stands still: no wait looks at it.
int teetotal_clock_gettime_for_limit(clockid_t, timespec* to) {
  Touch touch(TEETOTAL_PLACE);
  give(touch, to, for_limit());
  return 0;
}
int teetotal_timespec_get_for_limit(timespec* to, int base) {
  Touch touch(TEETOTAL_PLACE);
  if (base != TIME_UTC) return 0;
  give(touch, to, for_limit());
  return base;
}
int teetotal_gettimeofday(timeval* to, void*) {
  LOOK("gettimeofday");
  timeval now{};
  gettimeofday(&now, nullptr);
  touch.put(&to->tv_sec, now.tv_sec);
  touch.put(&to->tv_usec, now.tv_usec);
  return 0;
}
int teetotal_nanosleep(const timespec* time, timespec*) {
  Touch touch(TEETOTAL_PLACE);
  const timespec wanted = taken(touch, time);
  return nanosleep(&wanted, nullptr);
}
int teetotal_clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec*) {
  Touch touch(TEETOTAL_PLACE);
  const timespec wanted = taken(touch, time);
  return clock_nanosleep(clock, flags, &wanted, nullptr);
}
int teetotal_poll(pollfd* files, nfds_t count, int milliseconds) {
  if (process.current != nullptr && count == 0 && milliseconds >= 0)
    return sleep_in_vain({milliseconds / 1000, milliseconds % 1000 * 1'000'000L});
  wait_outside("poll", TEETOTAL_PLACE);
  return poll(files, count, milliseconds);
}
int teetotal_ppoll(pollfd* files, nfds_t count, const timespec* limit, const sigset_t* signals) {
  if (process.current != nullptr && count == 0 && limit != nullptr && signals == nullptr) {
    Touch touch(TEETOTAL_PLACE);
    if (const timespec time = taken(touch, limit); is_usual(time)) return sleep_in_vain(time);
  }
  wait_outside("ppoll", TEETOTAL_PLACE);
  return ppoll(files, count, limit, signals);
}
// What is left of the time is told where the limit was: nothing.
int teetotal_select(int count, fd_set* reads, fd_set* writes, fd_set* others, timeval* limit) {
  const bool none = count == 0 || (reads == nullptr && writes == nullptr && others == nullptr);
  if (process.current != nullptr && count >= 0 && none && limit != nullptr) {
    Touch touch(TEETOTAL_PLACE);
    const timeval wanted = {touch.get(&limit->tv_sec), touch.get(&limit->tv_usec)};
    if (const timespec time = {wanted.tv_sec, wanted.tv_usec * 1000}; is_usual(time)) {
      touch.put(&limit->tv_sec, time_t{0});
      touch.put(&limit->tv_usec, suseconds_t{0});
      return sleep_in_vain(time);
    }
  }
  wait_outside("select", TEETOTAL_PLACE);
  return select(count, reads, writes, others, limit);
}
int teetotal_pselect(int count, fd_set* reads, fd_set* writes, fd_set* others, const timespec* limit,
                     const sigset_t* signals) {
  const bool none = count == 0 || (reads == nullptr && writes == nullptr && others == nullptr);
  if (process.current != nullptr && count >= 0 && none && limit != nullptr && signals == nullptr) {
    Touch touch(TEETOTAL_PLACE);
    if (const timespec time = taken(touch, limit); is_usual(time)) return sleep_in_vain(time);
  }
  wait_outside("pselect", TEETOTAL_PLACE);
  return pselect(count, reads, writes, others, limit, signals);
}
}
