// Model threads as fibers: a stack and a thread pointer each, switched by hand.
//
// A switch saves what a call must preserve (rbx, rbp, r12-r15 and the stack pointer) and sets FS, so that thread-local
// variables, errno and C++ exceptions are those of the model thread. The thread pointer is that of a real thread that
// was started once and sleeps for ever: only the C library knows how to lay one out.
//
// All stacks lie in one reserved range at a fixed address, one after the other, each above pages that fault. So the
// owner of an address on a stack is a division, and addresses are the same in every execution and every process.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace teetotal::runtime {

inline constexpr std::uintptr_t kStacks = 0x7000'0000'0000;
inline constexpr std::size_t kStackSize = std::size_t{8} << 20;  // as Linux gives
inline constexpr std::size_t kStackStride = kStackSize + 4096;   // no power of two: stacks would share cache lines
inline constexpr std::uint32_t kMaxThreads = 64;

inline std::uintptr_t stack_top(std::uint32_t thread) { return kStacks + (thread + std::size_t{1}) * kStackStride; }

// The thread on whose stack an address lies (also in the pages below it), or kMaxThreads.
inline std::uint32_t stack_owner(std::uintptr_t address) {
  const std::uintptr_t offset = address - kStacks;
  return offset < kMaxThreads * kStackStride ? static_cast<std::uint32_t>(offset / kStackStride) : kMaxThreads;
}

// Whether an address on a stack, or below it, is below.
inline bool below_stack(std::uintptr_t address) {
  return (address - kStacks) % kStackStride < kStackStride - kStackSize;
}

// Reserves the stacks and finds out how FS can be set. Once, before anything else here.
void prepare_fibers();

pthread_t first_thread();  // the one on whose stack the explorer runs

// The thread pointer of a sleeping thread of our own; one for each model thread, made on demand.
std::uintptr_t thread_pointer(std::uint32_t thread);

// The scheduler's thread pointer: it runs with that of the model thread that ran last. Setting FS costs as much as the
// rest of a switch, and the scheduler needs no thread-local variables of its own: those that the C library and the C++
// library use on its behalf are in order again whenever it switches.
inline constexpr std::uintptr_t kAny = 0;

// Where a fiber that was left keeps its frame pointer, in words from its stack pointer.
inline constexpr std::size_t kSavedFrame = 5;

struct Fiber {
  void* stack_pointer = nullptr;
  std::uintptr_t thread_pointer = kAny;
};

// Makes `fiber` start `entry` on the stack of model thread `number` at the next switch to it. `entry` never returns.
void prepare(Fiber& fiber, std::uint32_t number, void (*entry)());

// Leaves `from` and goes on where `to` was left.
void switch_fiber(Fiber& from, const Fiber& to);

// The same, but where to go on is for `choose` to say. It runs on the stack of `over`, a fiber that was left: nothing
// of what it does, which differs with the way that led here, is left on that of `from`.
void switch_by(Fiber& from, const Fiber& over, const Fiber& (*choose)());

// Goes on where `to` was left; what runs now is given up (out of a signal handler, for instance).
[[noreturn]] void abandon_to(const Fiber& to);

std::uintptr_t current_thread_pointer();

}  // namespace teetotal::runtime
