#include "calls.hpp"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <sstream>
#include <utility>
#include <vector>

#include "accesses.hpp"
#include "call_names.hpp"
#include "channel.hpp"
#include "newer_names.hpp"
#include "signals.hpp"

namespace teetotal::runtime {

// Arguments of a function call become those of a system call. The filter knows where this one returns to, and another,
// which goes on elsewhere, whatever the stack may be then: the C library starts threads by it.
extern "C" {
extern char teetotal_kernel_returns[], teetotal_kernel_goes[], teetotal_kernel_gone[];
[[gnu::used]] std::uintptr_t teetotal_kernel_target = 0;
}
asm(R"(
.text
.globl teetotal_kernel
.type teetotal_kernel, @function
teetotal_kernel:
  movq %rdi, %rax
  movq %rsi, %rdi
  movq %rdx, %rsi
  movq %rcx, %rdx
  movq %r8, %r10
  movq %r9, %r8
  movq 8(%rsp), %r9
  syscall
teetotal_kernel_returns:
  ret
teetotal_kernel_goes:
  syscall
teetotal_kernel_gone:
  jmpq *teetotal_kernel_target(%rip)
.size teetotal_kernel, .-teetotal_kernel
)");

namespace {

int own_business = 0;
std::uintptr_t call_place = 0;
std::uint64_t calls = 0;

// What tells a program nothing about others and changes nothing that they can see; memory of the C library's own.
constexpr int kSilent[] = {
    SYS_brk,          SYS_exit,
    SYS_exit_group,   SYS_rt_sigreturn,
    SYS_getpid,       SYS_gettid,
    SYS_getppid,      SYS_getuid,
    SYS_geteuid,      SYS_getgid,
    SYS_getegid,      SYS_getpgrp,
    SYS_sched_yield,  SYS_uname,
    SYS_getcwd,       SYS_clock_gettime,
    SYS_clock_getres, SYS_gettimeofday,
    SYS_time,         SYS_times,
    SYS_getrusage,    SYS_sched_getaffinity,
};
// Those as well, on the standard streams.
constexpr int kSilentOnStreams[] = {SYS_write, SYS_writev, SYS_newfstatat, SYS_fstat, SYS_lseek, SYS_ioctl};
constexpr std::uint32_t kStreams = 3;
constexpr long kNewest = 0x40000000;  // from here on: those of x32

constexpr int kRefused[] = {
    SYS_fork,
    SYS_vfork,
    SYS_clone,
    SYS_clone3,
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_seccomp,
    SYS_process_vm_writev,
    SYS_process_vm_readv,
    SYS_setsid,
    SYS_setpgid,
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_chroot,
    SYS_pivot_root,
    SYS_reboot,
    SYS_bpf,
    SYS_io_uring_setup,
    SYS_userfaultfd,
    SYS_perf_event_open,
    SYS_pidfd_open,
    SYS_pidfd_send_signal,
    SYS_pidfd_getfd,
    SYS_setitimer,
    SYS_timer_create,
    SYS_modify_ldt,
    SYS_arch_prctl,
    SYS_personality,
    SYS_process_madvise,
    SYS_io_setup,
    SYS_vhangup,
    SYS_sched_setscheduler,
    SYS_sched_setattr,
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setgroups,
    SYS_capset,
};

template <std::size_t size>
bool among(const int (&list)[size], long number) {
  return std::ranges::find(list, static_cast<int>(number)) != std::end(list);
}

struct Call {
  long number;
  long argument[6];

  long run() const {
    return kernel(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
  }
  std::uintptr_t address(int which) const { return static_cast<std::uintptr_t>(argument[which]); }
};

bool is_stop(long signal) { return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU; }

// Memory that the explorer needs as it is.
bool is_ours(std::uintptr_t begin, std::size_t size) {
  const std::uintptr_t end = size > ~begin ? ~std::uintptr_t{0} : begin + std::max<std::size_t>(size, 1);
  const auto meets = [&](std::uintptr_t from, std::uintptr_t to) { return begin < to && from < end; };
  return meets(kHeap, kHeap + kMaxThreads * kHeapStride) ||
         meets(kShadow, kShadow + kMaxThreads * kHeapStride / kGrain) ||
         meets(kStacks, kStacks + kMaxThreads * kStackStride) || channel.overlaps(begin, end) ||
         library_between(begin, end);
}

// Why the program may not do that; empty: it may.
std::string refusal(const Call& call) {
  const long first = call.argument[0], second = call.argument[1];
  const auto named = [&] { return "the system call " + call_name(call.number); };
  if (among(kRefused, call.number)) return named();
  switch (call.number) {
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_sigqueueinfo:
    case SYS_rt_tgsigqueueinfo: {
      const bool thread = call.number == SYS_tgkill || call.number == SYS_rt_tgsigqueueinfo;
      const long signal = thread ? call.argument[2] : second;
      if (first != kernel(SYS_getpid) && signal != 0) return "a signal to another process (" + named() + ")";
      return is_stop(signal) ? "a signal that stops the process (" + named() + ")" : "";
    }
    case SYS_setrlimit:
      return named();
    case SYS_prlimit64:
      return call.argument[2] != 0 ? named() : "";
    case SYS_prctl:
      return first != PR_SET_NAME && first != PR_GET_NAME ? named() : "";
    case SYS_alarm:
      return first != 0 ? named() : "";
    case SYS_mmap:
      return is_ours(call.address(0), call.address(1)) ? named() + " over memory that is not its own" : "";
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_pkey_mprotect:
    case SYS_madvise:
    case SYS_remap_file_pages:
      return is_ours(call.address(0), call.address(1)) ? named() + " on memory that is not its own" : "";
    case SYS_mremap: {
      const bool fixed = (call.argument[3] & MREMAP_FIXED) != 0;
      const bool ours =
          is_ours(call.address(0), call.address(1)) || (fixed && is_ours(call.address(4), call.address(2)));
      return ours ? named() + " on memory that is not its own" : "";
    }
    default:
      return "";
  }
}

// Calls that the C library makes on its own behalf all the time, and those that must not reach what we rely on.
// Whether the call is done with; `result`: what it answers.
bool quiet(const Call& call, long& result, std::string& name) {
  switch (call.number) {
    case SYS_mmap:
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_madvise:
    case SYS_mremap:
    case SYS_prctl:
    case SYS_prlimit64:
    case SYS_set_robust_list:
    case SYS_rseq:
      result = call.run();
      return true;
    case SYS_futex:  // waking does nothing: no two threads run at a time
      if ((call.argument[1] & FUTEX_CMD_MASK) != FUTEX_WAKE) return false;
      result = 0;
      return true;
    case SYS_alarm:  // of 0: there is none to be taken back
      result = 0;
      return true;
    case SYS_rt_sigprocmask: {
      Call milder = call;
      std::uint64_t set = 0;
      if (call.argument[1] != 0 && call.argument[3] == sizeof set) {
        set = *reinterpret_cast<const std::uint64_t*>(call.argument[1]);
        if (call.argument[0] != SIG_UNBLOCK) set &= ~reserved_signals();
        milder.argument[1] = word_of(&set);
      }
      result = milder.run();
      return true;
    }
    case SYS_rt_sigaction:
      if (call.argument[1] != 0 && call.argument[0] > 0 && call.argument[0] <= 64 &&
          (reserved_signals() >> (call.argument[0] - 1) & 1U) != 0) {
        name = "a handler for signal " + std::to_string(call.argument[0]);
        result = 0;
        return false;
      }
      result = call.run();
      return true;
    case SYS_sigaltstack:
      name = "a stack for signals";
      result = 0;
      return false;
    default:
      return false;
  }
}

// What it is that the program is kept away from, where that is why a call failed; else empty. A folder with another
// owner, who has no name among the program's users, cannot be copied to where the program may write (EOVERFLOW).
std::string kept_from(const Call& call, long result) {
  const std::string named = " (the system call " + call_name(call.number) + "; --trust lets it)";
  if (kept_away.files && (result == -EROFS || result == -EOVERFLOW))
    return "a file that it may not write here, being isolated" + named;
  if (kept_away.network && (result == -ENETUNREACH || result == -EADDRNOTAVAIL))
    return "a network that it does not have here, being isolated" + named;
  return "";
}

// Does what the program asks for, or fails. `usual`: as processes of this machine's do.
long answered(Thread& self, const Call& call, bool usual) {
  if (const std::string why = usual ? refusal(call) : "a system call of another kind"; !why.empty()) {
    if (self.range.size != 0) take_back(self);
    fail(self, Failure::unsupported, why, told_place(self));
  }
  long result = -ENOSYS;
  std::string name;
  if (call.number == SYS_membarrier) {  // a fence in all threads at once: as on a kernel that has none, also for
                                        // the libraries that ask for it when they are loaded
    remarks.unseen.insert({"the system call membarrier, which is told to be missing", told_place(self)});
  } else if (!program.loaded) {  // the dynamic linker
    result = call.run();
  } else if (!quiet(call, result, name)) {
    call_place = told_place(self);
    remarks.unseen.insert({name.empty() ? "the system call " + call_name(call.number) : name, call_place});
    if (name.empty()) {
      channel.pulse().call = ++calls << kCallBits | (static_cast<std::uint64_t>(call.number) + 1);
      result = call.run();
      channel.pulse().call = 0;
    }
    if (const std::string what = kept_from(call, result); !what.empty()) {
      const std::uintptr_t place = std::exchange(call_place, 0);
      if (self.range.size != 0) take_back(self);
      fail(self, Failure::unsupported, what, place);
    }
    call_place = 0;
  }
  return result;
}

}  // namespace

OwnBusiness::OwnBusiness() { ++own_business; }
OwnBusiness::~OwnBusiness() { --own_business; }

KeptAway kept_away;

std::uintptr_t place_of_call() { return call_place; }

std::string call_name(long number) {
  const bool newer = number >= kNewer;
  std::istringstream names(newer ? kNewerNames : kNames);
  std::string name;
  for (long i = newer ? kNewer : 0; i <= number && names >> name; ++i) {
  }
  return names ? name : "number " + std::to_string(number);
}

std::uintptr_t told_place(const Thread& self) {
  std::uintptr_t place = 0;
  _Unwind_Backtrace(
      [](_Unwind_Context* frame, void* found) {
        const auto at = static_cast<std::uintptr_t>(_Unwind_GetIP(frame));
        if (!memory.in_object(at)) return _URC_NO_REASON;
        constexpr int kFramePointer = 6;
        const auto base = static_cast<std::uintptr_t>(_Unwind_GetGR(frame, kFramePointer));
        *static_cast<std::uintptr_t*>(found) = callers.teller(at, reinterpret_cast<const void*>(base));
        return _URC_END_OF_STACK;
      },
      &place);
  return place != 0 ? place : self.operation.told_place();
}

long call_of_program(long number, const long* arguments) {
  Call call{number, {}};
  std::copy_n(arguments, std::size(call.argument), call.argument);
  Thread* self = process.current;
  return self == nullptr || among(kSilent, number) ? call.run() : answered(*self, call, number < kNewest);
}

void on_call(int, siginfo_t* info, void* context) {
  auto& machine = *static_cast<ucontext_t*>(context);
  auto& registers = machine.uc_mcontext.gregs;
  const Call call{registers[REG_RAX],
                  {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX], registers[REG_R10], registers[REG_R8],
                   registers[REG_R9]}};
  const int before = errno;
  Thread* self = process.current;
  if (self == nullptr || own_business != 0) {
    if (call.number == SYS_clone || call.number == SYS_clone3) {
      teetotal_kernel_target = static_cast<std::uintptr_t>(registers[REG_RIP]);
      registers[REG_RIP] = reinterpret_cast<std::intptr_t>(teetotal_kernel_goes);
    } else {
      registers[REG_RAX] = call.run();
    }
    errno = before;
    return;
  }
  registers[REG_RAX] = answered(*self, call, info->si_arch == AUDIT_ARCH_X86_64 && call.number < kNewest);
  errno = before;
}

bool filter_calls() {
  constexpr std::uint32_t kNumber = offsetof(seccomp_data, nr), kArch = offsetof(seccomp_data, arch),
                          kPlace = offsetof(seccomp_data, instruction_pointer), kFirst = offsetof(seccomp_data, args),
                          kFourth = kFirst + 3 * 8;
  std::vector<sock_filter> code;
  const auto load = [&](std::uint32_t what) { code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, what)); };
  const auto answer = [&](std::uint32_t what) { code.push_back(BPF_STMT(BPF_RET | BPF_K, what)); };
  const auto skip_unless = [&](std::uint16_t how, std::uint64_t value, std::uint8_t skipped) {
    code.push_back(
        BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | how | BPF_K), static_cast<std::uint32_t>(value), 0, skipped));
  };
  load(kArch);
  skip_unless(BPF_JEQ, AUDIT_ARCH_X86_64, 1);
  code.push_back(BPF_STMT(BPF_JMP | BPF_JA, 1));
  answer(SECCOMP_RET_TRAP);
  for (const char* own : {&teetotal_kernel_returns[0], &teetotal_kernel_gone[0]}) {
    const auto place = reinterpret_cast<std::uintptr_t>(own);
    load(kPlace);
    skip_unless(BPF_JEQ, place & 0xFFFFFFFFU, 3);
    load(kPlace + 4);
    skip_unless(BPF_JEQ, place >> 32, 1);
    answer(SECCOMP_RET_ALLOW);
  }
  load(kNumber);
  skip_unless(BPF_JEQ, SYS_mmap, 4);
  load(kFourth);
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_FIXED, 0, 1));
  answer(SECCOMP_RET_TRAP);
  answer(SECCOMP_RET_ALLOW);
  for (const int number : kSilent) {
    skip_unless(BPF_JEQ, static_cast<std::uint64_t>(number), 1);
    answer(SECCOMP_RET_ALLOW);
  }
  for (const int number : kSilentOnStreams) {
    skip_unless(BPF_JEQ, static_cast<std::uint64_t>(number), 4);
    load(kFirst);
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kStreams, 1, 0));
    answer(SECCOMP_RET_ALLOW);
    answer(SECCOMP_RET_TRAP);
  }
  answer(SECCOMP_RET_TRAP);
  const sock_fprog filter{static_cast<unsigned short>(code.size()), code.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  // The filter keeps no secrets from the program: without this, some kernels slow down every load behind a store.
  return kernel(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter) == 0 ||
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace teetotal::runtime
