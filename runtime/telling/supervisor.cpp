#include "supervisor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "calls.hpp"
#include "channel.hpp"
#include "signals.hpp"
#include "survival.hpp"

namespace teetotal::runtime {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr timespec kLook{0, 10'000'000};  // between two looks
constexpr timespec kNow{0, 0};
constexpr milliseconds kPatience{5000};                // a step may take
constexpr milliseconds kCallPatience{1000};            // a system call may take
constexpr milliseconds kForce{1000};                   // between a wish and force
constexpr milliseconds kStopping{300};                 // for a search to end by itself
constexpr milliseconds kLarge{100};                    // for a thread that is asked to stop to give memory back
constexpr std::size_t kSlack = std::size_t{50} << 20;  // what the explorer needs beside the search
constexpr rlim_t kLargestFile = rlim_t{64} << 20;      // that the program may write
constexpr int kTookDown = 4;

const char* name_of(Reason reason) {
  switch (reason) {
    case Reason::time:
      return "budget";
    case Reason::too_large:
      return "memory";
    default:
      return "interrupted";
  }
}

// Of a process: what lies in memory, in bytes; 0 where it is gone.
std::size_t resident(pid_t process) {
  const std::string name = "/proc/" + std::to_string(process) + "/statm";
  std::FILE* file = std::fopen(name.c_str(), "re");
  if (file == nullptr) return 0;
  std::size_t all = 0, pages = 0;
  const bool read = std::fscanf(file, "%zu %zu", &all, &pages) == 2;
  std::fclose(file);
  return read ? pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) : 0;
}

bool sleeps(pid_t process) {
  const std::string name = "/proc/" + std::to_string(process) + "/stat";
  std::FILE* file = std::fopen(name.c_str(), "re");
  if (file == nullptr) return false;
  char state = 0;
  const bool read = std::fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
  std::fclose(file);
  return read && (state == 'S' || state == 'D');
}

class Supervisor final : public Guardian {
 public:
  Supervisor(int file, const Limits& limits) : file_(file), limits_(limits) {
    fcntl(file_, F_SETFL, fcntl(file_, F_GETFL) | O_NONBLOCK);
    if (limits_.serves) fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_NONBLOCK);
    std::signal(SIGPIPE, SIG_IGN);
    sigemptyset(&heard_);
    sigaddset(&heard_, SIGCHLD);
    sigaddset(&heard_, kAnsweredSignal);
    sigaddset(&heard_, SIGUSR1);  // somebody waits for what is known by now; it may have come before us
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGTSTP}) {
      struct sigaction now{};
      sigaction(signal, nullptr, &now);
      if (now.sa_handler != SIG_IGN) sigaddset(&heard_, signal);
    }
    sigprocmask(SIG_BLOCK, &heard_, nullptr);
  }

  int wait(pid_t root) override {
    root_ = root;
    setpgid(root, root);  // it does the same: whoever comes first
    seen_explorer_ = 0;
    for (;;) {
      const bool idle = limits_.serves && !channel.busy() && line_.empty();
      if (idle) wait_for_request();
      const int signal = sigtimedwait(&heard_, nullptr, idle ? &kNow : &kLook);
      const bool asks_to_end = signal > 0 && signal != SIGCHLD && signal != kAnsweredSignal;
      if (signal == SIGTSTP)
        pause();
      else if (asks_to_end && !idle)
        stop(Reason::interrupted, limits_.serves && signal == SIGUSR1);
      else if (asks_to_end && signal != SIGUSR1)
        give_up();
      int status = 0;
      if (waitpid(root_, &status, WNOHANG | WUNTRACED) == root_) {
        if (pauses_.explain(status)) continue;
        if (killed_ != Reason::none) end(status);
        return status;
      }
      send();
      look();
      if (limits_.serves) receive();
    }
  }

  void again() override { channel.notices().asked = Reason::none; }

  void end(int status) override {
    kill(-root_, SIGKILL);
    while (send()) wait_for_reader();
    if (killed_ != Reason::none) {
      say(std::string(R"({"type":"stopped","reason":")") + name_of(killed_) + "\"}");
      _exit(0);
    }
    if (WIFSIGNALED(status) && !channel.pulse().finished) {  // as it died, so that whoever started us knows
      std::signal(WTERMSIG(status), SIG_DFL);
      sigset_t none;
      sigemptyset(&none);
      sigprocmask(SIG_SETMASK, &none, nullptr);
      raise(WTERMSIG(status));
    }
    _exit(WIFEXITED(status) && channel.pulse().finished ? WEXITSTATUS(status) : kTookDown);
  }

 private:
  // -- what is told ---------------------------------------------------------------------------------------------------

  // Passes on as much as the reader takes now; whether something is left.
  bool send() {
    try {
      for (;;) {
        if (line_.empty()) {
          const std::string_view record = channel.next();
          if (record.data() == nullptr) return false;
          line_ = record;
          line_ += '\n';
          channel.taken(record);
        }
        const ssize_t count = write(file_, line_.data(), line_.size());
        if (count < 0 && errno == EAGAIN) return true;
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) give_up();  // nobody listens any more
        line_.erase(0, static_cast<std::size_t>(count));
      }
    } catch (const Channel::Overwritten&) {
      kill(-root_, SIGKILL);
      line_.clear();
      say(R"({"type":"error","what":"overwritten","message":"the program overwrites the explorer's memory"})");
      _exit(3);
    }
  }

  void wait_for_reader() {
    pollfd ready{file_, POLLOUT, 0};
    poll(&ready, 1, -1);
  }

  // -- what is asked
  // ---------------------------------------------------------------------------------------------------

  void wait_for_request() {
    pollfd ready{0, POLLIN, 0};
    poll(&ready, 1, static_cast<int>(kLook.tv_nsec / 1'000'000));
  }

  // A request that is there whole goes to the explorer, once the one before it was answered.
  void receive() {
    if (channel.busy() || !line_.empty()) return;
    if (stopping_ == Reason::interrupted) {  // which was about what has been answered
      stopping_ = Reason::none;
      channel.notices().stop = Reason::none;
    }
    char some[1 << 16];
    for (;;) {
      const ssize_t count = read(0, some, sizeof some);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) break;
      if (count <= 0) give_up();  // nobody asks any more
      incoming_.append(some, static_cast<std::size_t>(count));
    }
    const std::size_t line = incoming_.find('\n');
    if (line == std::string::npos) return;
    const std::size_t size = std::stoull(incoming_);
    if (incoming_.size() - line - 1 < size) return;
    channel.ask(std::string_view(incoming_).substr(line + 1, size));
    incoming_.erase(0, line + 1 + size);
  }

  // Something of our own, behind what the explorer has told.
  void say(const std::string& text) {
    std::string rest = line_ + text + "\n";
    line_.clear();
    while (!rest.empty()) {
      wait_for_reader();
      const ssize_t count = write(file_, rest.data(), rest.size());
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (count <= 0) give_up();
      rest.erase(0, static_cast<std::size_t>(count));
    }
  }

  [[noreturn]] void give_up() {
    kill(-root_, SIGKILL);
    _exit(kTookDown);
  }

  // -- what is seen ---------------------------------------------------------------------------------------------------

  void look() {
    const Clock::time_point now = Clock::now();
    if (now - looked_ < std::chrono::nanoseconds(kLook.tv_nsec) / 2) return;
    looked_ = now;
    const std::chrono::duration<double> gone = now - started_;
    if (gone.count() > limits_.seconds) stop(Reason::time);
    if (stopping_ != Reason::none && !hurried_ && now - stopping_since_ > kStopping) {
      killed_ = stopping_;
      kill(-root_, SIGKILL);
      return;
    }
    Notices& notices = channel.notices();
    const Pulse& pulse = channel.pulse();
    const pid_t explorer = pulse.explorer;
    const std::uint64_t beat = pulse.beats, call = pulse.call;
    if (explorer != seen_explorer_ || beat != seen_beat_) {
      seen_explorer_ = explorer;
      seen_beat_ = beat;
      beat_since_ = call_since_ = now;
      notices.asked = Reason::none;
    }
    if (call != seen_call_) {
      seen_call_ = call;
      call_since_ = now;
    }
    if (explorer == 0 || getpgid(explorer) != root_) return;  // it is about to be one
    const bool in_program = (beat & 1U) != 0;
    const std::size_t most = (limits_.megabytes << 20) / 10 * 11 + kSlack;
    const bool large = limits_.megabytes != 0 && resident(explorer) > most;
    if (!large || explorer != large_explorer_) {
      large_explorer_ = explorer;
      large_beat_ = beat;
      large_since_ = now;
    }
    // Memory that grows step by step: to ask the thread that does the step is to ask too late each time.
    const bool grows = large && beat != large_beat_ && now - large_since_ > kLarge;
    if (grows || (large && !in_program)) stop(Reason::too_large);
    if (!in_program) return;
    Reason wish = Reason::none;
    if (large)
      wish = Reason::too_large;
    else if (call != 0 && now - call_since_ > kCallPatience)
      wish = Reason::waits;
    else if (now - beat_since_ > kPatience)
      wish = sleeps(explorer) ? Reason::waits : Reason::hang;
    if (wish == Reason::none) return;
    if (notices.asked == Reason::none) asked_since_ = now;
    notices.asked = wish;
    kill(explorer, now - asked_since_ > kForce ? SIGKILL : kWatchSignal);
  }

  // By the terminal, which does not know of the explorer: that is in a group of its own.
  void pause() {
    ++channel.notices().pauses;
    kill(-root_, SIGSTOP);
    sigset_t terminal;
    sigemptyset(&terminal);
    sigaddset(&terminal, SIGTSTP);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &terminal, nullptr);  // here we stop, unless nobody is there who could let us go on
    sigprocmask(SIG_BLOCK, &terminal, nullptr);
    kill(-root_, SIGCONT);
    beat_since_ = call_since_ = asked_since_ = Clock::now();
  }

  void stop(Reason reason, bool hurried = false) {
    if (stopping_ != Reason::none && (hurried || !hurried_)) return;
    hurried_ = hurried;
    stopping_ = reason;
    stopping_since_ = Clock::now();
    channel.notices().stop = reason;
  }

  int file_;
  Limits limits_;
  sigset_t heard_{};
  pid_t root_ = 0;
  Pauses pauses_;
  std::string line_;  // what is on its way
  std::string incoming_;
  Clock::time_point started_ = Clock::now(), looked_{}, beat_since_{}, call_since_{}, asked_since_{}, stopping_since_{},
                    large_since_{};
  pid_t seen_explorer_ = 0, large_explorer_ = 0;
  std::uint64_t seen_beat_ = 0, seen_call_ = 0, large_beat_ = 0;
  Reason stopping_ = Reason::none, killed_ = Reason::none;
  bool hurried_ = false;  // it is to tell what it has by now: whoever waits for that can wait
};

// By the kernel itself: setrlimit is a hook here, which does nothing.
void limit(int what, const rlimit& wanted) { kernel(SYS_prlimit64, 0, what, &wanted, nullptr); }

// In the explorer: nothing of what the supervisor has set up for itself.
void leave() {
  setpgid(0, 0);
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGTTOU, SIG_IGN);  // it may print to the terminal, which belongs to another group
  std::signal(SIGXFSZ, SIG_IGN);  // instead of an error
  limit(RLIMIT_CORE, {0, 0});
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

void limit_files() {
  rlimit files{};
  getrlimit(RLIMIT_FSIZE, &files);
  files.rlim_cur = std::min(files.rlim_cur, kLargestFile);
  limit(RLIMIT_FSIZE, files);
}

void supervise(int file, const Limits& limits) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  channel.open();
  Supervisor supervisor(file, limits);
  if (!survival.double_up(supervisor))
    throw std::runtime_error(
        "the system starts no process: raise the limit on processes (ulimit -u, or pids.max of the container)");
  leave();
}

}  // namespace teetotal::runtime
