// Signals: those that a thread sends to itself run their handler there and then; no other can be explored.
//
// What the program wants a signal to do is kept here and never told to the kernel: faults, the clock of the watchdog
// and the end of the explorer keep their meaning. A fault in the program is a crash; if it has a handler for that, it
// is not explored further. raise, pthread_kill to oneself, and kill where there is only one thread are calls of the
// handler; where the signal is blocked, it comes when it is let through. A signal for another thread or process, or one
// that comes at a time of its own, could run its handler between any two instructions: that is refused, or named where
// the program goes on without it.
#include "hooks_signals.hpp"

#include <pthread.h>
#include <setjmp.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstring>
#include <string>

#include "real.hpp"
#include "signals.hpp"
#include "synchronisation.hpp"

namespace teetotal::runtime {

Signals signals;

namespace {

constexpr int kSignals = 65;

std::uint64_t bit_of(int signal) { return std::uint64_t{1} << (signal - 1); }
bool is_signal(int signal) { return signal > 0 && signal < kSignals; }

std::uint64_t bits_of(const sigset_t& set) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &set, sizeof bits);
  return bits & ~(bit_of(SIGKILL) | bit_of(SIGSTOP));
}

// What the program wants a signal to do. That signals are used at all is learnt: the table must lie at the beginning of
// the heap, since addresses must not depend on who asks for it first.
struct sigaction& action_of(Thread& self, int signal) {
  if (signals.actions == nullptr) {
    signals.used = process.restart = true;
    place_signal_actions(self);
  }
  return signals.actions[signal];
}

bool ignored_by_default(int signal) {
  return signal == SIGCHLD || signal == SIGURG || signal == SIGWINCH || signal == SIGCONT;
}

int change(Thread& self, int signal, const struct sigaction* wanted, struct sigaction* old, std::uintptr_t place) {
  if (!is_signal(signal) || (wanted != nullptr && (signal == SIGKILL || signal == SIGSTOP))) {
    errno = EINVAL;
    return -1;
  }
  lock(self, &signals.lock, place);
  struct sigaction& action = action_of(self, signal);
  const struct sigaction before = action;
  if (wanted != nullptr) action = *wanted;
  unlock(self, &signals.lock, place);
  if (old != nullptr) *old = before;
  return 0;
}

// What the C library's signal() does.
sighandler_t change_handler(int signal, sighandler_t handler, int flags, std::uintptr_t place) {
  struct sigaction action{}, old{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  return change(*process.current, signal, &action, &old, place) == 0 ? old.sa_handler : SIG_ERR;
}

[[noreturn]] void not_explored(const char* what, std::uintptr_t place) {
  if (process.current == nullptr) _exit(70);
  fail(*process.current, Failure::unsupported, what, place);
}

// The program goes on without the signal.
void name_untimely(const char* what, std::uintptr_t place) {
  remarks.unseen.insert({std::string(what) + " (a signal that may come at any time)", place});
}

// A signal comes to the thread that runs.
void deliver(Thread& self, int signal, std::uintptr_t place, std::string why = {}) {
  if ((self.signals.blocked & bit_of(signal)) != 0) {
    self.signals.pending |= bit_of(signal);
    return;
  }
  struct sigaction action{};
  if (signal != SIGKILL && signal != SIGSTOP) change(self, signal, nullptr, &action, place);
  if (action.sa_handler == SIG_IGN) return;
  if (action.sa_handler == SIG_DFL) {
    if (ignored_by_default(signal)) return;
    if (signal == SIGABRT) fail(self, Failure::aborted, std::move(why), place);
    if (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)
      fail(self, Failure::unsupported, signal_name(signal), place);
    fail(self, Failure::crash, "is ended by " + signal_name(signal), place);
  }
  if ((static_cast<unsigned>(action.sa_flags) & SA_RESETHAND) != 0) {
    struct sigaction fresh{};
    change(self, signal, &fresh, nullptr, place);
  }
  const std::uint64_t blocked = self.signals.blocked;
  self.signals.blocked |= bits_of(action.sa_mask);
  if ((action.sa_flags & SA_NODEFER) == 0) self.signals.blocked |= bit_of(signal);
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    siginfo_t info{};
    ucontext_t context{};
    info.si_signo = signal;
    info.si_code = SI_TKILL;
    info.si_pid = getpid();
    action.sa_sigaction(signal, &info, &context);
  } else {
    action.sa_handler(signal);
  }
  let_through(self, blocked, place);
}

// One for the whole process: any thread that does not block it may get it.
int send_to_process(Thread& self, pid_t to, int signal, const char* what, std::uintptr_t place) {
  if (to != getpid()) fail(self, Failure::unsupported, std::string(what) + " to another process", place);
  if (signal == 0) return 0;
  if (!is_signal(signal)) {
    errno = EINVAL;
    return -1;
  }
  if (!process.alone && signal != SIGKILL)
    fail(self, Failure::unsupported, std::string(what) + ", which any thread may get,", place);
  deliver(self, signal, place);
  return 0;
}

}  // namespace

void place_signal_actions(Thread& self) {
  constexpr std::size_t kSize = kSignals * sizeof(struct sigaction);
  void* table = memory.allocate(self.number, kSize, 0, 0);
  if (table == nullptr) fail(self, Failure::unsupported, "signals without any memory left", 0);
  signals.actions = static_cast<struct sigaction*>(std::memset(table, 0, kSize));
}

void let_through(Thread& self, std::uint64_t blocked, std::uintptr_t place) {
  self.signals.blocked = blocked;
  while (const std::uint64_t now = self.signals.pending & ~self.signals.blocked) {
    self.signals.pending &= ~(now & -now);
    deliver(self, __builtin_ctzll(now) + 1, place);
  }
}

void raise_abort(Thread& self, std::string why, std::uintptr_t place) {
  self.signals.blocked &= ~bit_of(SIGABRT);
  deliver(self, SIGABRT, place, std::move(why));
}

long send_by_system_call(Thread& self, long number, const long* arguments, std::uintptr_t place) {
  const bool to_thread = number != SYS_kill;
  const long to = arguments[number == SYS_tgkill ? 1 : 0];
  const int signal = static_cast<int>(arguments[number == SYS_tgkill ? 2 : 1]);
  if (signal == SIGKILL && to == getpid()) {
    process.current = nullptr;  // nothing of this is survived by this process
    return syscall(SYS_kill, getpid(), SIGKILL);
  }
  if (!to_thread) return send_to_process(self, static_cast<pid_t>(to), signal, "kill", place);
  if (to != gettid()) fail(self, Failure::unsupported, "a signal to another thread", place);
  return raise(signal);
}

}  // namespace teetotal::runtime

using namespace teetotal;           // NOLINT: the hooks below are the whole rest of the file
using namespace teetotal::runtime;  // NOLINT

extern "C" {

int sigaction(int signal, const struct sigaction* wanted, struct sigaction* old) {
  if (process.current == nullptr) return real().sigaction(signal, wanted, old);
  return change(*process.current, signal, wanted, old, TEETOTAL_PLACE);
}
sighandler_t signal(int number, sighandler_t handler) {
  if (process.current == nullptr) return real().signal(number, handler);
  return change_handler(number, handler, SA_RESTART, TEETOTAL_PLACE);
}
sighandler_t bsd_signal(int number, sighandler_t handler) { return signal(number, handler); }
sighandler_t ssignal(int number, sighandler_t handler) { return signal(number, handler); }
sighandler_t sysv_signal(int number, sighandler_t handler) {
  if (process.current == nullptr) return SIG_ERR;
  return change_handler(number, handler, static_cast<int>(SA_RESETHAND | SA_NODEFER), TEETOTAL_PLACE);
}
sighandler_t __sysv_signal(int number, sighandler_t handler) { return sysv_signal(number, handler); }
int siginterrupt(int, int) { return 0; }

int raise(int signal) {
  Thread* self = process.current;
  if (self == nullptr) return static_cast<int>(syscall(SYS_tgkill, getpid(), gettid(), signal));
  if (signal == 0) return 0;
  if (!is_signal(signal)) {
    errno = EINVAL;
    return -1;
  }
  deliver(*self, signal, TEETOTAL_PLACE);
  return 0;
}
int kill(pid_t to, int signal) {
  if (process.current == nullptr) return static_cast<int>(syscall(SYS_kill, to, signal));
  return send_to_process(*process.current, to, signal, "kill", TEETOTAL_PLACE);
}
int killpg(pid_t, int) { not_explored("killpg", TEETOTAL_PLACE); }
int sigqueue(pid_t, int, sigval) { not_explored("sigqueue", TEETOTAL_PLACE); }
int pthread_kill(pthread_t to, int signal) {
  if (process.current == nullptr) return ESRCH;
  if (to == pthread_self()) return raise(signal) == 0 ? 0 : EINVAL;
  thread_of(*process.current, to, "asks about", TEETOTAL_PLACE);
  if (signal == 0) return 0;
  not_explored("pthread_kill to another thread", TEETOTAL_PLACE);
}
int pthread_sigqueue(pthread_t, int, const sigval) { not_explored("pthread_sigqueue", TEETOTAL_PLACE); }

// -- masks ------------------------------------------------------------------------------------------------------------

int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) {
  Thread* self = process.current;
  if (self == nullptr) return real().thread_sigmask(how, set, old);
  const std::uint64_t before = self->signals.blocked;
  if (set != nullptr) {
    const std::uint64_t given = bits_of(*set);
    self->signals.chosen = true;
    if (how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK) return EINVAL;
    let_through(*self,
                how == SIG_BLOCK     ? before | given
                : how == SIG_UNBLOCK ? before & ~given
                                     : given,
                TEETOTAL_PLACE);
  }
  if (old != nullptr) {
    *old = {};
    std::memcpy(old, &before, sizeof before);
  }
  return 0;
}
int sigprocmask(int how, const sigset_t* set, sigset_t* old) {
  const int result = pthread_sigmask(how, set, old);
  if (process.current == nullptr || result == 0) return result;
  errno = result;
  return -1;
}
int sigpending(sigset_t* set) {
  *set = {};
  if (process.current != nullptr) std::memcpy(set, &process.current->signals.pending, sizeof(std::uint64_t));
  return 0;
}
int sigaltstack(const stack_t* wanted, stack_t* old) {
  if (process.current == nullptr) return static_cast<int>(syscall(SYS_sigaltstack, wanted, old));
  const stack_t now = process.current->properties->alternative;
  if (wanted != nullptr) {
    const bool off = (wanted->ss_flags & SS_DISABLE) != 0;
    process.current->properties.change().alternative = off ? stack_t{nullptr, SS_DISABLE, 0} : *wanted;
  }
  if (old != nullptr) *old = now;
  return 0;  // handlers run on the stack of who raises
}

// A jump out of a handler lets its signal through again, where the mask was kept. Only the C library knows which it
// was: none, unless the program has said which signals it blocks.
void siglongjmp(__jmp_buf_tag* to, int value) {
  Thread* self = process.current;
  if (self != nullptr && to->__mask_was_saved != 0) {
    if (self->signals.chosen)
      fail(*self, Failure::unsupported, "a jump that restores which signals are blocked", TEETOTAL_PLACE);
    let_through(*self, 0, TEETOTAL_PLACE);
  }
  real().longjmp(to, value);
  __builtin_unreachable();
}
void longjmp(__jmp_buf_tag* to, int value) { siglongjmp(to, value); }
void _longjmp(__jmp_buf_tag* to, int value) { siglongjmp(to, value); }

// -- waiting for signals, and signals that come at a time of their own ------------------------------------------------

int sigwait(const sigset_t*, int*) { not_explored("sigwait", TEETOTAL_PLACE); }
int sigwaitinfo(const sigset_t*, siginfo_t*) { not_explored("sigwaitinfo", TEETOTAL_PLACE); }
int sigtimedwait(const sigset_t* set, siginfo_t* told, const timespec* limit) {
  if (process.current == nullptr)
    return static_cast<int>(syscall(SYS_rt_sigtimedwait, set, told, limit, sizeof(std::uint64_t)));
  not_explored("sigtimedwait", TEETOTAL_PLACE);
}
int sigsuspend(const sigset_t*) { not_explored("sigsuspend", TEETOTAL_PLACE); }

unsigned alarm(unsigned seconds) {
  if (process.current != nullptr && seconds != 0) name_untimely("alarm", TEETOTAL_PLACE);
  return 0;
}
useconds_t ualarm(useconds_t microseconds, useconds_t) {
  if (process.current != nullptr && microseconds != 0) name_untimely("ualarm", TEETOTAL_PLACE);
  return 0;
}
int setitimer(__itimer_which_t which, const itimerval* wanted, itimerval* old) noexcept {
  if (process.current == nullptr) return static_cast<int>(syscall(SYS_setitimer, which, wanted, old));
  if (wanted->it_value.tv_sec != 0 || wanted->it_value.tv_usec != 0) name_untimely("setitimer", TEETOTAL_PLACE);
  if (old != nullptr) *old = {};
  return 0;
}
sighandler_t sigset(int, sighandler_t) { not_explored("sigset", TEETOTAL_PLACE); }
int sigignore(int) { not_explored("sigignore", TEETOTAL_PLACE); }
int timer_create(clockid_t, sigevent*, timer_t*) { not_explored("timer_create", TEETOTAL_PLACE); }
int signalfd(int, const sigset_t*, int) { not_explored("signalfd", TEETOTAL_PLACE); }
}
