// When memory and objects end, and what uses them afterwards.
//
// - Frames: the build puts a call of teetotal_frame_ends where a frame ends that others may know of (programs/c/
//   frames.py). What its thread still has in a store buffer for it never reaches memory (system.hpp), and what the
//   compiler copies there is not waited for. A use of a stack below its thread's live frames, or after the thread's
//   end, is a use after return; so is that of the thread-local variables of a thread that has ended.
// - Objects that threads synchronise on: one that was destroyed carries a mark in its own bytes, so that it goes back
//   with the rest. The mark is also the number of who destroyed it, and where: `Ends` keeps these, each once.
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include "process.hpp"

namespace teetotal::runtime {

// Fails, and tells where the other half of it was done.
[[noreturn]] void fail_since(Thread& self, Failure failure, std::string message, std::uintptr_t place,
                             const std::string& done, const End& end);

// Whether an address on a stack belongs to no frame that still runs. `frame`: that of the hook that asks, on its stack.
bool on_dead_stack(const Thread& self, std::uintptr_t address, std::uintptr_t frame);

// A use of memory that is neither a variable's nor of the heap: fails where that memory's time is over.
void check_owner(Thread& self, std::uintptr_t address, std::uintptr_t place, std::uintptr_t frame);

// A thread's own stack: what `hidden` found below the hook that asks.
[[noreturn]] void use_after_return(Thread& self, std::uintptr_t address, std::uintptr_t place);
// A store of the thread reaches memory now, as the scheduler sees it: whether that memory is over, and then it fails.
bool fails_at_commit(Thread& self, std::uintptr_t address, std::uintptr_t place);

// What other threads look at on a stack becomes visible where its owner looks at it, too, in grains of 16 bytes.
void touch_stack(std::uintptr_t address, std::size_t size);
bool touched_by_others(std::uintptr_t address, std::size_t size);
void touch_grain(std::uint32_t grain);

// The end of memory that others may look at is an event for each of its cells: a read as far as the machine goes, which
// is done at once and flushes nothing, but one that conflicts with reads, too. So the search looks for accesses in
// every order with it. By the time a thread stands before it the memory is over: nothing can keep the thread from going
// on.
void end_life(Thread& self, std::uintptr_t begin, std::uintptr_t end, Verb verb, std::uintptr_t place);
void end_frames(Thread& self, std::uintptr_t below, std::uintptr_t place);  // all of its stack below an address
void end_all(Thread& self);  // a thread's stack and thread-local variables

// The cells of stacks that have such events, as numbers, for replays to know them from the beginning.
std::vector<std::uint64_t> ended_cells();
bool know_ended_cell(std::uint64_t told);  // false: it is a grain

// The process ends with the thread's frames alive, those of the program that still run.
void keep_frames(Thread& self);

// Whether memory has ended without an event for this address, since that was not known: the search must begin again.
bool ended_unnoticed(std::uintptr_t address);

// Whether an address that belongs to no region of the program is nobody else's business.
bool outside(Thread& self, std::uintptr_t address, std::uintptr_t place);

// -- objects ----------------------------------------------------------------------------------------------------------

constexpr int kGone = 0x5D1E'0000;  // and who destroyed it, in the lower half
constexpr bool gone(int mark) { return (mark & ~0xFFFF) == kGone; }

// Where an object keeps the mark of its end.
inline int& mark_of(pthread_mutex_t* mutex) { return mutex->__data.__lock; }
inline int& mark_of(pthread_spinlock_t* lock) { return const_cast<int&>(*lock); }
inline int& mark_of(pthread_rwlock_t* lock) { return reinterpret_cast<int*>(lock)[5]; }  // padding
inline int& mark_of(pthread_cond_t* condition) { return *reinterpret_cast<int*>(condition); }
inline int& mark_of(pthread_barrier_t* barrier) { return *reinterpret_cast<int*>(barrier); }
inline int& mark_of(sem_t* semaphore) { return reinterpret_cast<int*>(semaphore)[2]; }

void check_usable(Thread& self, int mark, bool initialised, const std::string& does, std::uintptr_t place);

// Fails if the object was destroyed, or holds what no initialisation leaves there. `does`: "locks a mutex".
template <typename Object>
void use(Thread& self, Object* object, const char* does, std::uintptr_t place, bool initialised = true) {
  const int mark = mark_of(object);
  if (gone(mark) || !initialised) [[unlikely]]
    check_usable(self, mark, initialised, does, place);
}

// An object begins, or ends: a store to it, for others that use it. Fails where it is in use. `in_use` says by whom.
using Users = std::string (*)(const void* object);
void begin(Thread& self, Tag tag, const void* object, const char* name, Users in_use, std::uintptr_t place);
int end(Thread& self, Tag tag, const void* object, const int& mark, const char* name, Users in_use,
        std::uintptr_t place);

// The mark of what this thread destroys here.
int mark_end(const Thread& self, std::uintptr_t place);

// A lock is taken, and given back.
void note_held(const Thread& self, const void* object);
void note_released(const void* object);

// Who holds a lock ("T1 holds"), or waits at an object ("T1 waits on"); empty: nobody.
std::string held_by(const void* object);
std::string waited_on_by(const void* object);

// Memory ends: nobody may hold a lock in it, or wait there. `does`: "frees memory".
void check_unused(Thread& self, std::uintptr_t begin, std::uintptr_t end, const char* does, std::uintptr_t place);

}  // namespace teetotal::runtime
