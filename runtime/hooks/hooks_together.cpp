// std::lock(a, b, …), and so std::scoped_lock: all of several mutexes, and none while one of them is not to be had.
//
// The library takes the first and tries the others; where one is held it gives back what it has and begins with that
// one. Two threads can go on like that for ever, and nobody else sees anything of it, unless somebody tries to take one
// of the mutexes, too. So here a try that would fail waits: each execution that this leaves is one of the program's,
// and each state of the program is reached by one of these (docs/explanation/waiting.md). What differs is an end in
// which somebody waits for a further mutex: whether nobody could go on is asked with what he has given back.
//
//   waits for a further mutex    TakenTogether, `taken` of `count`
//   held for good                not among those that some thread has so far of those that it takes together
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <span>

#include "synchronisation.hpp"

namespace teetotal::runtime {

Together locking_together;

bool Together::take(void* const* mutexes, std::uint32_t count) {
  if (!allowed) return false;
  const std::span all(mutexes, count);
  if (std::ranges::any_of(all, [&](void* one) { return tried_.holds(one); })) return false;
  if (!process.alone)
    for (const void* one : all) taken_.add(one);
  return true;
}

namespace {

std::span<void* const> taken_by(const Thread& thread) {
  if (thread.state != State::parked) return {};
  return {thread.together.mutexes, thread.together.taken};
}

bool held_for_good(void* mutex) {
  if (lets_lock(static_cast<std::uint32_t>(word(mutex)))) return false;
  const Thread& holder = process.threads[static_cast<std::uint32_t>(word(mutex)) - 1];
  return std::ranges::find(taken_by(holder), mutex) == taken_by(holder).end();
}

bool ordinary(std::span<pthread_mutex_t* const> all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((all[i]->__data.__kind & 3) != PTHREAD_MUTEX_NORMAL) return false;
    if (std::ranges::find(all.subspan(i + 1), all[i]) != all.end()) return false;
  }
  return true;
}

bool lock_together(Thread& self, std::span<pthread_mutex_t* const> all, std::uintptr_t place) {
  auto* const mutexes = reinterpret_cast<void* const*>(all.data());
  const auto count = static_cast<std::uint32_t>(all.size());
  if (!ordinary(all) || !locking_together.take(mutexes, count)) return false;
  self.together = {mutexes, count, 0};
  for (pthread_mutex_t* one : all) {
    mutex_lock(self, one, place);
    ++self.together.taken;
  }
  self.together = {};
  return true;
}

}  // namespace

bool goes_on_if_given_back(const Thread& thread) {
  if (thread.state != State::parked) return false;
  if (thread.together.count != 0)
    return std::ranges::none_of(std::span(thread.together.mutexes, thread.together.count), held_for_good);
  const Operation& operation = thread.operation;
  return operation.waiting == Waiting::lock && operation.tag == Tag::mutex &&
         !held_for_good(reinterpret_cast<void*>(operation.address));
}

}  // namespace teetotal::runtime

using namespace teetotal::runtime;  // NOLINT: the hooks below are the whole rest of the file

extern "C" {

// For runtime/instrumented/locking.cpp, whose array lies on the stack of the thread that calls. False: it has to try.
bool teetotal_lock_together(pthread_mutex_t* const* mutexes, std::size_t count) {
  Thread* self = controlled(mutexes[0], TEETOTAL_PLACE);
  return self == nullptr || lock_together(*self, {mutexes, count}, TEETOTAL_PLACE);
}

// What a program is loaded with, before it is bound to those of that file.
void __teetotal_lock_2() { std::abort(); }
void __teetotal_lock_3() { std::abort(); }
void __teetotal_lock_4() { std::abort(); }
void __teetotal_lock_owners_2() { std::abort(); }
void __teetotal_lock_owners_3() { std::abort(); }
void __teetotal_lock_owners_4() { std::abort(); }
}
