#include "fiber.hpp"

#include <asm/prctl.h>
#include <dlfcn.h>
#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string>

#include "calls.hpp"
#include "program.hpp"
#include "real.hpp"
#include "reserving.hpp"

namespace teetotal::runtime {

namespace {

std::array<std::uintptr_t, kMaxThreads> pointers{};

// The C library's own pthread_create: the address sanitizer's, which may lie before it, would ask for the stack of the
// new thread and be told of one of the program's.
decltype(&pthread_create) start_thread = nullptr;

pthread_t first = 0;
bool stacks_open = true;

std::string why_none(int error) {
  const std::string why = std::strerror(error);
  if (error == EAGAIN) return why + ": raise the limit on processes (ulimit -u, or pids.max of the container)";
  if (error == EPERM) return why + ": its filter refuses the system call clone3, as that of docker before 20.10.10";
  return why;
}

// What a thread tells of itself, and that it did.
struct Told {
  std::uintptr_t pointer = 0;
  std::atomic<std::uint32_t> told{0};
};

// Tells its thread pointer and sleeps: it lends its thread-local variables to a model thread.
void* sleep_for_ever(void* argument) {
  sigset_t all;
  sigfillset(&all);
  real().thread_sigmask(SIG_SETMASK, &all, nullptr);
  auto& [pointer, told] = *static_cast<Told*>(argument);
  make_thread_locals();
  pointer = current_thread_pointer();
  told.store(1);
  kernel(SYS_futex, &told, FUTEX_WAKE_PRIVATE, 1);
  for (;;) kernel(SYS_pause);
}

extern "C" {
[[noreturn]] void teetotal_restore(void* to);
void teetotal_enter();
}

asm(R"(
.text
.globl teetotal_restore
.type teetotal_restore, @function
teetotal_restore:
  movq %rdi, %rsp
)" TEETOTAL_ENTER_FIBER("%") R"(
.size teetotal_restore, .-teetotal_restore
.globl teetotal_enter
.type teetotal_enter, @function
teetotal_enter:
  .cfi_startproc
  .cfi_undefined rip
  xorl %ebp, %ebp
  call *%rbx
  ud2
  .cfi_endproc
.size teetotal_enter, .-teetotal_enter
)");

}  // namespace

namespace thread_pointers {

bool fast = false;
std::uintptr_t now = 0;

void set_slowly(std::uintptr_t pointer) { kernel(SYS_arch_prctl, ARCH_SET_FS, pointer); }

}  // namespace thread_pointers

void* teetotal_chosen(const Fiber& (*choose)()) {
  const Fiber& to = choose();
  set_thread_pointer(to.thread_pointer);
  return to.stack_pointer;
}

std::uintptr_t current_thread_pointer() {
  std::uintptr_t pointer = 0;
  asm volatile("movq %%fs:0, %0" : "=r"(pointer));  // the first word of a thread's block points to itself
  return pointer;
}

void prepare_fibers() {
  // One fiber runs at a time. With an arena for each, the C library's malloc, which the explorer itself needs in hooks,
  // would count the processors at the ninth, in a file: a system call that would be taken for the program's.
  mallopt(M_ARENA_MAX, 1);
  first = real().thread_self();
  void* library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  start_thread = reinterpret_cast<decltype(start_thread)>(dlsym(library, "pthread_create"));
  constexpr unsigned long kFsgsbase = 1UL << 1;
  thread_pointers::fast = (getauxval(AT_HWCAP2) & kFsgsbase) != 0;
  stacks_open = reserve(kStacks, kMaxThreads * kStackStride);
  for (std::uint32_t thread = 0; thread < kMaxThreads; ++thread)
    mprotect(reinterpret_cast<void*>(kStacks + thread * kStackStride), kStackStride - kStackSize, PROT_NONE);
}

pthread_t first_thread() { return first; }

std::uintptr_t thread_pointer(std::uint32_t thread) {
  if (pointers[thread] == 0) {
    const OwnBusiness ours;
    Told by;
    pthread_t handle;
    if (!stacks_open && !open_up(stack_top(thread) - kStackSize, kStackSize))
      throw std::runtime_error("the system starts no thread: there is no memory for its stack");
    if (const int error = start_thread(&handle, nullptr, sleep_for_ever, &by); error != 0)
      throw std::runtime_error("the system starts no thread: " + why_none(error));
    while (by.told.load() == 0) kernel(SYS_futex, &by.told, FUTEX_WAIT_PRIVATE, 0, nullptr);
    pointers[thread] = by.pointer;
  }
  return pointers[thread];
}

void prepare(Fiber& fiber, std::uint32_t number, void (*entry)()) {
  const std::uintptr_t pointer = thread_pointer(number);  // has its stack now
  // As switch_fiber leaves a stack: six registers, then where to go on. rbx carries the entry.
  auto* top = reinterpret_cast<void**>(stack_top(number) - 64);
  *--top = reinterpret_cast<void*>(&teetotal_enter);
  *--top = nullptr;                         // rbp
  *--top = reinterpret_cast<void*>(entry);  // rbx
  for (int i = 0; i < 4; ++i) *--top = nullptr;
  fiber.stack_pointer = top;
  fiber.thread_pointer = pointer;
}

void abandon_to(const Fiber& to) {
  set_thread_pointer(to.thread_pointer);
  teetotal_restore(to.stack_pointer);
}

}  // namespace teetotal::runtime
