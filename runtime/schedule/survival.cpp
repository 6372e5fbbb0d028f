#include "survival.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>

#include "calls.hpp"
#include "signals.hpp"

namespace teetotal::runtime {

Survival survival;

namespace {

constexpr int kTookDown = 4;  // the exit status where nothing can be done about a death

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// A copy of the explorer, as it was at a fork.
class Copy final : public Guardian {
 public:
  int wait(pid_t explorer) override {
    int status = 0;
    Pauses pauses;
    while (kernel(SYS_wait4, explorer, &status, WUNTRACED, nullptr) == -EINTR || pauses.explain(status)) {
    }
    return status;
  }
  void again() override {}
  void end(int status) override {
    if (WIFSIGNALED(status) && !channel.pulse().finished) {  // the same death
      struct sigaction action{};
      action.sa_handler = SIG_DFL;
      sigaction(WTERMSIG(status), &action, nullptr);
      kernel(SYS_kill, getpid(), WTERMSIG(status));
    }
    _exit(channel.pulse().finished ? WEXITSTATUS(status) : kTookDown);
  }
};

}  // namespace

double Survival::processor_seconds() const {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return earlier_seconds_ + seconds(used.ru_utime) + seconds(used.ru_stime);
}

bool Survival::double_up() {
  Copy copy;
  return double_up(copy);
}

bool Survival::double_up(Guardian& guardian) {
  if (!channel.is_open()) return false;
  if (journal_ == nullptr) {
    void* shared = mmap(nullptr, sizeof(Journal), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return false;
    journal_ = new (shared) Journal;
  }
  const double so_far = processor_seconds();
  Pulse& pulse = channel.pulse();
  suspect_ = kNone;
  for (;;) {
    pulse.steps = steps_;
    const pid_t parent = getpid();
    // Not the C library's fork: it would take the memory of the sleeping threads, which are no more in the child, for
    // its own, and their thread-local variables are in use.
    kernel(SYS_mprotect, journal_, sizeof(Journal), PROT_READ);  // for the child
    const long child = kernel(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (child == 0) {
      kernel(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(kTookDown);
      break;
    }
    kernel(SYS_mprotect, journal_, sizeof(Journal), PROT_READ | PROT_WRITE);
    if (child < 0) return false;
    const int status = guardian.wait(static_cast<pid_t>(child));
    if (WIFSTOPPED(status)) {
      int ignored = 0;
      kernel(SYS_kill, child, SIGKILL);
      kernel(SYS_wait4, child, &ignored, 0, nullptr);
    }
    if (pulse.finished || !learn(status)) guardian.end(status);
    guardian.again();
  }
  pulse.explorer = getpid();
  earlier_seconds_ = so_far;
  forked_ = Clock::now();
  passed_ = false;
  find_next_death();
  return true;
}

// A child died at the step that the pulse tells. Only where another one dies there too was it the program: the first
// may have been killed by somebody else. False where it is no step of the child's own, where somebody wants all to end,
// or where too many died.
bool Survival::learn(int status) {
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGPIPE || signal == SIGINT || signal == SIGTERM || signal == SIGHUP) return false;
  const Pulse& pulse = channel.pulse();
  const std::uint64_t step = pulse.steps;
  if (step != suspect_ && journal_->suspicions < kMostDeaths) {
    suspect_ = step;
    ++journal_->suspicions;
    return true;
  }
  if (step != suspect_ || suspect_ <= steps_ || journal_->deaths >= kMostDeaths) return false;
  journal_->death[journal_->deaths++] = {step, status, channel.notices().asked, (pulse.beats & 1U) != 0};
  return true;
}

void Survival::find_next_death() {
  next_death_ = 0;
  for (std::uint32_t i = 0; i < journal_->deaths; ++i) {
    const Death& death = journal_->death[i];
    if (death.step <= steps_ || (next_death_ != 0 && death.step >= next_death_)) continue;
    next_death_ = death.step;
    next_ = death;
  }
}

void Survival::consider() {
  if (passed_) {
    double_up();
  } else if (Clock::now() - forked_ > pause_) {
    pause_ *= 2;
    double_up();
  }
}

Failure Survival::failure() const {
  switch (survived_.asked) {
    case Reason::hang:
      return Failure::hang;
    case Reason::waits:
      return Failure::waits;
    case Reason::too_large:
      return Failure::too_large;
    default:
      break;
  }
  if (survived_.in_program) return Failure::crash;
  return WIFSIGNALED(survived_.status) && WTERMSIG(survived_.status) == SIGKILL ? Failure::too_large
                                                                                : Failure::corruption;
}

std::string Survival::message() const {
  switch (failure()) {
    case Failure::hang:
      return "runs on without an operation that others can see";
    case Failure::waits:
      return "waits for something outside of the program";
    case Failure::too_large:
      return "needs more memory than it may have";
    case Failure::corruption:
      return "overwrites the explorer's memory";
    default:
      break;
  }
  const int status = survived_.status;
  if (WIFSTOPPED(status)) return "stops the process (" + signal_name(WSTOPSIG(status)) + ')';
  const std::string how =
      WIFSIGNALED(status) ? signal_name(WTERMSIG(status)) : "exit status " + std::to_string(WEXITSTATUS(status));
  return "takes the process down (" + how + ") after its step";
}

void Survival::finish(int status) {
  channel.pulse().finished = true;
  _exit(status);
}

}  // namespace teetotal::runtime
