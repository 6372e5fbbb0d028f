#include "signals.hpp"

#include <sys/syscall.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>

#include "accesses.hpp"
#include "assertions.hpp"
#include "calls.hpp"
#include "channel.hpp"
#include "process.hpp"

namespace teetotal::runtime {

namespace {

// In the order of their numbers, from 1. sigabbrev_np knows them too, but not in every C library.
constexpr const char* kNames[] = {"HUP",  "INT",    "QUIT", "ILL",   "TRAP", "ABRT", "BUS",  "FPE",
                                  "KILL", "USR1",   "SEGV", "USR2",  "PIPE", "ALRM", "TERM", "STKFLT",
                                  "CHLD", "CONT",   "STOP", "TSTP",  "TTIN", "TTOU", "URG",  "XCPU",
                                  "XFSZ", "VTALRM", "PROF", "WINCH", "IO",   "PWR",  "SYS"};

constexpr int kQuestions = 30;
constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

// The instruction at hand, or the call of a hook; in a library, the last operation that was announced: the stack may be
// in ruins.
std::uintptr_t place_of_crash(const Thread& self, const ucontext_t& machine) {
  const auto place = static_cast<std::uintptr_t>(machine.uc_mcontext.gregs[REG_RIP]);
  const auto* frame = reinterpret_cast<const void*>(machine.uc_mcontext.gregs[REG_RBP]);
  if (memory.in_object(place)) return callers.teller(place + 1, frame);
  const std::uintptr_t caller = of_executable(place) ? callers.teller(place, frame) : place;
  return memory.in_object(caller) ? caller : self.operation.told_place();
}

// Whether a processor can address it at all: its upper bits are alike.
bool canonical(std::uintptr_t address) { return address + (std::uintptr_t{1} << 47) < std::uintptr_t{1} << 48; }

// What went wrong at an address. Of one that no program can have, the kernel does not tell which it was.
std::string invalid(const char* access, const Thread& self, const siginfo_t& info) {
  auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  if (info.si_code == SI_KERNEL) address = self.operation.address;
  char text[96];
  if (info.si_code == SI_KERNEL && canonical(address))
    return std::string(access) + " at an address that no program can have";
  std::snprintf(text, sizeof text, "%s at address %#zx", access, static_cast<std::size_t>(address));
  return text;
}

void on_crash(int signal, siginfo_t* info, void* context) {
  if (signal == SIGTRAP) {
    greg_t& at = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
    if (assertions.met(static_cast<std::uintptr_t>(at) - 1)) {
      --at;
      return;
    }
  }
  Thread* self = process.current;
  if (self == nullptr) {
    std::signal(signal, SIG_DFL);
    return;  // ours: again, and die of it
  }
  const auto* machine = static_cast<ucontext_t*>(context);
  if (self->range.size != 0) take_back(*self);
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  std::string text;
  if (signal == SIGSEGV && stack_owner(address) == self->number && below_stack(address))
    text = "stack overflow";
  else if (signal == SIGSEGV || signal == SIGBUS)
    text = invalid(signal == SIGSEGV ? "invalid access" : "bus error", *self, *info);
  else
    text = signal == SIGFPE   ? "arithmetic error (division by zero?)"
           : signal == SIGILL ? "illegal instruction"
                              : "trap";
  const std::uintptr_t place = place_of_crash(*self, *machine);
  if (signals.actions != nullptr && signals.actions[signal].sa_handler != SIG_DFL)
    fail(*self, Failure::unsupported, "a handler for its own fault (" + text + ")", place);
  fail(*self, Failure::crash, text, place);
}

void on_watch(int, siginfo_t*, void* context) {
  Thread* self = process.current;
  if (self == nullptr) return;  // it has gone on in the meantime
  const Reason why = channel.notices().asked.load();
  if (why == Reason::none) return;
  // Not in the midst of what we do on its behalf, if that can be helped: the supervisor asks again.
  static std::uint64_t beat = 0;
  static int asked = 0;
  if (const std::uint64_t now = channel.pulse().beats; now != beat) beat = now, asked = 0;
  const auto& machine = *static_cast<ucontext_t*>(context);
  const auto at = static_cast<std::uintptr_t>(machine.uc_mcontext.gregs[REG_RIP]);
  if (place_of_call() == 0 && !memory.in_object(at) && asked++ < kQuestions) return;
  if (self->range.size != 0) take_back(*self);
  const std::uintptr_t in_call = place_of_call();
  const std::uintptr_t place = in_call != 0 ? in_call : told_place(*self);
  const std::uint64_t call = channel.pulse().call.exchange(0) % (1U << kCallBits);
  if (why == Reason::too_large) fail(*self, Failure::too_large, "needs more memory than it may have", place);
  if (why == Reason::waits || call != 0) {
    const std::string what = call != 0 ? " (" + call_name(static_cast<long>(call - 1)) + ")" : "";
    fail(*self, Failure::waits, "waits for something outside of the program" + what, place);
  }
  fail(*self, Failure::hang, "runs on without an operation that others can see", place);
}

}  // namespace

std::string signal_name(int signal) {
  if (signal < 1 || static_cast<std::size_t>(signal) > std::size(kNames)) return "signal " + std::to_string(signal);
  return std::string("SIG") + kNames[signal - 1];
}

std::uint64_t reserved_signals() {
  std::uint64_t reserved = 0;
  const auto add = [&](int signal) { reserved |= std::uint64_t{1} << (signal - 1); };
  for (const int signal : kCrashes) add(signal);
  add(SIGSYS);
  add(kWatchSignal);
  return reserved;
}

void handle_signals() {
  static char stack[64 * 1024];
  const stack_t alternative{stack, 0, sizeof stack};
  sigaltstack(&alternative, nullptr);
  struct sigaction action{};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  action.sa_sigaction = on_crash;
  for (const int signal : kCrashes) sigaction(signal, &action, nullptr);
  action.sa_sigaction = on_call;
  sigaction(SIGSYS, &action, nullptr);
  action.sa_sigaction = on_watch;
  action.sa_flags |= SA_RESTART;
  sigaction(kWatchSignal, &action, nullptr);
}

}  // namespace teetotal::runtime
