// Objects that threads synchronise on: where they keep their state, who uses them, how they begin and end.
//
// An object keeps its state in words of its own memory, so that it goes back with the rest. One that was destroyed
// carries a mark there, which is also the number of who destroyed it, and where: `objects.ended_by` has these, each
// once.
//
// To initialise or to destroy an object is a plain store to it: the C library does no more. It goes wrong where the
// object is in use, or was destroyed before. What it comes upon is asked when the store reaches memory: at once, or
// where there are buffers when it is committed. So it is one event of the search, which conflicts with every use of the
// object, and issuing it conflicts with nothing. A store that goes wrong changes nothing: whoever holds a lock goes on
// to do so.
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include <cstring>
#include <optional>

#include "object_bytes.hpp"
#include "process.hpp"

namespace teetotal::runtime {

constexpr int kGone = 0x5D1E'0000;  // and who destroyed it, in the lower half
constexpr bool gone(int mark) { return (mark & ~0xFFFF) == kGone; }

// A lock that is taken, and by whom.
struct Held {
  const void* object = nullptr;
  std::uint32_t thread = 0;
  bool left = false;  // it was given back by a store that has not reached memory
};

struct ObjectsRecord {
  Seldom<std::array<Held, 8>> held;  // mutexes and spinlocks; null: free
};

struct Objects : ObjectsRecord {
  using Record = ObjectsRecord;

  std::vector<End> ended_by;  // of objects and blocks, each once: their marks are numbers of these
};

extern Objects objects;

// Where an object keeps the mark of its end.
inline int& mark_of(pthread_mutex_t* mutex) { return mutex->__data.__lock; }
inline int& mark_of(pthread_spinlock_t* lock) { return const_cast<int&>(*lock); }
inline int& mark_of(pthread_rwlock_t* lock) { return reinterpret_cast<int*>(lock)[5]; }  // padding
inline int& mark_of(pthread_cond_t* condition) { return *reinterpret_cast<int*>(condition); }
inline int& mark_of(pthread_barrier_t* barrier) { return *reinterpret_cast<int*>(barrier); }
inline int& mark_of(sem_t* semaphore) { return reinterpret_cast<int*>(semaphore)[2]; }

// What an object is, where it is more than a word of data. (Guards, futexes and OpenMP's locks are words.)
constexpr Tag tag_of(const pthread_mutex_t*) { return Tag::mutex; }
constexpr Tag tag_of(const pthread_spinlock_t*) { return Tag::word; }
constexpr Tag tag_of(const pthread_rwlock_t*) { return Tag::rwlock; }
constexpr Tag tag_of(const pthread_cond_t*) { return Tag::condition; }
constexpr Tag tag_of(const pthread_barrier_t*) { return Tag::barrier; }
constexpr Tag tag_of(const sem_t*) { return Tag::semaphore; }

// Whether what is stored now reaches memory at once.
inline bool stores_at_once() { return !rules.buffered || process.alone; }

// What a store to memory writes: the bytes of a cell, or those words of an object that its beginning or its end sets.
Wide contents(const Operation& operation);
void put_more(const Operation& operation, Wide value);  // what is larger than a word of the processor
inline void put(const Operation& operation, Wide value) {
  const auto to = [&]<typename T>(T narrow) {
    std::memcpy(reinterpret_cast<void*>(operation.address), &narrow, sizeof narrow);
  };
  switch (operation.tag) {
    case Tag::byte:
      return to(static_cast<std::uint8_t>(value));
    case Tag::half:
      return to(static_cast<std::uint16_t>(value));
    case Tag::word:
      return to(static_cast<std::uint32_t>(value));
    case Tag::oct:
      return to(static_cast<std::uint64_t>(value));
    default:
      return put_more(operation, value);
  }
}

void check_usable(Thread& self, int mark, bool initialised, const std::string& does, std::uintptr_t place);

// Fails if the object was destroyed, or holds what no initialisation leaves there. `does`: "locks a mutex".
template <typename Object>
void use(Thread& self, Object* object, const char* does, std::uintptr_t place, bool initialised = true) {
  if (is_object(tag_of(object))) object_bytes.use(reinterpret_cast<std::uintptr_t>(object), tag_of(object));
  const int mark = mark_of(object);
  if (gone(mark) || !initialised) [[unlikely]]
    check_usable(self, mark, initialised, does, place);
}
void use(Thread& self, pthread_mutex_t* mutex, const char* does, std::uintptr_t place);

// An object begins, or ends. Behind these the caller writes what the object is then, or the mark that is given.
void begin(Thread& self, Tag tag, const void* object, std::uintptr_t place);
int end(Thread& self, Tag tag, const void* object, std::uintptr_t place);

// A store has reached memory, or is about to: what is wrong with it, and what follows from it for the object.
std::optional<Fault> fault_of_store(const Operation& operation);
void note_stored(const Operation& operation);

// The mark of what this thread destroys here.
int mark_end(const Thread& self, std::uintptr_t place);

// A lock is taken, and given back: by a store that may not have reached memory yet.
void note_held(const Thread& self, const void* object);
void note_released(const void* object, bool in_memory = true);

// Memory ends: nobody may hold a lock in it, or wait there. `does`: "frees memory".
void check_unused(Thread& self, std::uintptr_t begin, std::uintptr_t end, const char* does, std::uintptr_t place);

}  // namespace teetotal::runtime
