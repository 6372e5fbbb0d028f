#include "survival.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>

namespace teetotal::runtime {

Survival survival;

namespace {

constexpr int kTookDown = 4;  // the exit status where nothing can be done about a death

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

void Survival::begin() {
  void* shared = mmap(nullptr, sizeof(Journal), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared != MAP_FAILED) journal_ = new (shared) Journal;
}

double Survival::processor_seconds() const {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return earlier_seconds_ + seconds(used.ru_utime) + seconds(used.ru_stime);
}

void Survival::double_up() {
  if (journal_ == nullptr) begin();
  if (journal_ == nullptr) return;  // no memory to share: the search goes on as it is
  const double so_far = processor_seconds();
  suspect_ = kNone;
  for (;;) {
    journal_->steps = steps_;
    // Not the C library's fork: it would take the memory of the sleeping threads, which are no more in the child, for
    // its own, and their thread-local variables are in use.
    const long child = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (child < 0) return;
    if (child == 0) break;
    int status = 0;
    while (waitpid(static_cast<pid_t>(child), &status, 0) < 0 && errno == EINTR) {
    }
    if (journal_->finished) _exit(WEXITSTATUS(status));
    learn(status);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const itimerval every_second{{1, 0}, {1, 0}};
  setitimer(ITIMER_REAL, &every_second, nullptr);  // timers are not inherited
  earlier_seconds_ = so_far;
  forked_ = Clock::now();
  passed_ = false;
  find_next_death();
}

// A child died at the step that the journal tells. Only where another one dies there too was it the program: the first
// may have been killed by somebody else. Where it is no step of the child's own, where somebody wants all to end, or
// where too many died, the same death for this process.
void Survival::learn(int status) {
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const bool asked = signal == SIGPIPE || signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
  if (!asked && journal_->steps != suspect_ && journal_->suspicions < kMostDeaths) {
    suspect_ = journal_->steps;
    ++journal_->suspicions;
    return;
  }
  if (!asked && journal_->steps == suspect_ && suspect_ > steps_ && journal_->deaths < kMostDeaths) {
    journal_->death[journal_->deaths++] = {journal_->steps, status};
    return;
  }
  if (signal != 0) {
    std::signal(signal, SIG_DFL);
    syscall(SYS_kill, getpid(), signal);
  }
  _exit(kTookDown);
}

void Survival::find_next_death() {
  next_death_ = 0;
  for (std::uint32_t i = 0; i < journal_->deaths; ++i) {
    const Death& death = journal_->death[i];
    if (death.step <= steps_ || (next_death_ != 0 && death.step >= next_death_)) continue;
    next_death_ = death.step;
    next_status_ = death.status;
  }
}

void Survival::consider() {
  if (journal_ == nullptr) return;
  if (passed_) {
    double_up();
  } else if (Clock::now() - forked_ > pause_) {
    pause_ *= 2;
    double_up();
  }
}

std::string Survival::message() const {
  const std::string how = WIFSIGNALED(survived_status_)
                              ? std::string("SIG") + sigabbrev_np(WTERMSIG(survived_status_))
                              : "exit status " + std::to_string(WEXITSTATUS(survived_status_));
  return "takes the process down (" + how + ") after its step";
}

void Survival::finish(int status) {
  if (journal_ != nullptr) journal_->finished = true;
  _exit(status);
}

}  // namespace teetotal::runtime
