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

// Of an address in the range of the stacks: whether it lies in the pages between two of them, which belong to none.
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

namespace thread_pointers {

extern bool fast;           // FSGSBASE: the processor lets us set FS without a system call
extern std::uintptr_t now;  // as far as it was set here
void set_slowly(std::uintptr_t pointer);

}  // namespace thread_pointers

inline void set_thread_pointer(std::uintptr_t pointer) {
  if (pointer == kAny || pointer == thread_pointers::now) return;
  thread_pointers::now = pointer;
  if (thread_pointers::fast) [[likely]] {
    asm volatile("wrfsbase %0" ::"r"(pointer) : "memory");
  } else {
    thread_pointers::set_slowly(pointer);
  }
}

// A switch is part of the code that switches, and jumps rather than returns: the processor foresees a return where the
// call was, and every function that is left on the other side of a switch is one more return that it foresees wrongly.
// What the stack holds then is as after a call: where to go on, then the registers that calls preserve.
// (`R` is how the assembler's text names a register.)
#define TEETOTAL_LEAVE_FIBER(R)                                                                                \
  "leaq 1f(" R "rip), " R "rax\n pushq " R "rax\n pushq " R "rbp\n pushq " R "rbx\n pushq " R "r12\n pushq " R \
  "r13\n pushq " R "r14\n pushq " R "r15\n movq " R "rsp, (" R "rdi)\n"
#define TEETOTAL_ENTER_FIBER(R)                                                                             \
  "popq " R "r15\n popq " R "r14\n popq " R "r13\n popq " R "r12\n popq " R "rbx\n popq " R "rbp\n popq " R \
  "rax\n jmp *" R "rax\n"
#define TEETOTAL_CALLS_MAY_CHANGE                                                                                     \
  "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",      \
      "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)", \
      "st(5)", "st(6)", "st(7)", "cc", "memory"

// Leaves `from` and goes on where `to` was left.
[[gnu::always_inline]] inline void switch_fiber(Fiber& from, const Fiber& to) {
  set_thread_pointer(to.thread_pointer);
  void** left = &from.stack_pointer;
  void* next = to.stack_pointer;
  asm volatile(TEETOTAL_LEAVE_FIBER("%%") "movq %%rsi, %%rsp\n" TEETOTAL_ENTER_FIBER("%%") "1:"
               : "+D"(left), "+S"(next)
               :
               : TEETOTAL_CALLS_MAY_CHANGE);
}

// What switch_by calls: the stack pointer to go on with.
extern "C" [[gnu::visibility("hidden")]] void* teetotal_chosen(const Fiber& (*choose)());

// The same, but where to go on is for `choose` to say. It runs on the stack of `over`, a fiber that was left: nothing
// of what it does, which differs with the way that led here, is left on that of `from`.
[[gnu::always_inline]] inline void switch_by(Fiber& from, const Fiber& over, const Fiber& (*choose)()) {
  void** left = &from.stack_pointer;
  void* stack = over.stack_pointer;
  asm volatile(TEETOTAL_LEAVE_FIBER("%%")  //
               "movq %%rsi, %%rsp\n"
               "andq $-16, %%rsp\n"
               "movq %2, %%rdi\n"
               "call teetotal_chosen\n"
               "movq %%rax, %%rsp\n"       //
               TEETOTAL_ENTER_FIBER("%%")  //
               "1:"
               : "+D"(left), "+S"(stack)
               : "r"(choose)
               : TEETOTAL_CALLS_MAY_CHANGE);
}

// Goes on where `to` was left; what runs now is given up (out of a signal handler, for instance).
[[noreturn]] void abandon_to(const Fiber& to);

std::uintptr_t current_thread_pointer();

}  // namespace teetotal::runtime
