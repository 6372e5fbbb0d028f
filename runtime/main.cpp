// teetotal-runtime: the program that user programs are loaded into. teetotal.programs.c.runtime starts it.
//
//   teetotal-runtime OBJECT FILE-DESCRIPTOR OPTION=VALUE… [-- ARGUMENT…]
//
// Answers go to the file descriptor as lines of JSON. Exit status: 0 the search ended as asked (also with findings), 2
// bad options, 3 the program could not be loaded or is not deterministic; 4 or a signal: the program took the explorer
// down where nothing could be done about it. Only with an answer that is an end does a status mean what it says.
#include <execinfo.h>
#include <fcntl.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "explorer.hpp"
#include "replay.hpp"
#include "survival.hpp"
#include "unwritten.hpp"

namespace teetotal::runtime {
namespace {

constexpr int kPatience = 5;  // seconds that a step may take

volatile std::uint64_t watched_progress = 0;
volatile int idle_ticks = 0;
volatile std::int32_t watched_step = -2;

// Where the program is: the instruction at hand, or, in a library, the last operation that it announced.
std::uintptr_t told_place(const Thread& self, const ucontext_t& machine) {
  const auto place = static_cast<std::uintptr_t>(machine.uc_mcontext.gregs[REG_RIP]);
  if (!process.memory.in_object(place)) return self.operation.told_place();
  return process.callers.teller(place + 1, reinterpret_cast<const void*>(machine.uc_mcontext.gregs[REG_RBP]));
}

void on_crash(int signal, siginfo_t* info, void* context) {
  Thread* self = process.current;
  if (self == nullptr) {
    std::signal(signal, SIG_DFL);
    return;  // ours: again, and die of it
  }
  const auto* machine = static_cast<ucontext_t*>(context);
  if (self->range_size != 0) take_back(*self);
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  char text[96];
  if (signal == SIGSEGV && stack_owner(address) == self->number && (address - kStacks) % kStackStride < 4096) {
    std::snprintf(text, sizeof text, "stack overflow");
  } else if (signal == SIGSEGV || signal == SIGBUS) {
    std::snprintf(text, sizeof text, "%s at address %#zx", signal == SIGSEGV ? "invalid access" : "bus error",
                  static_cast<std::size_t>(address));
  } else {
    std::snprintf(text, sizeof text, "%s",
                  signal == SIGFPE   ? "arithmetic error (division by zero?)"
                  : signal == SIGILL ? "illegal instruction"
                                     : "trap");
  }
  fail(*self, Failure::crash, text, told_place(*self, *machine));
}

void on_tick(int, siginfo_t*, void* context) {
  Thread* self = process.current;
  if (self == nullptr || process.step != watched_step || process.resumes != watched_progress) {
    watched_step = process.step;
    watched_progress = process.resumes;
    idle_ticks = 0;
    return;
  }
  idle_ticks = idle_ticks + 1;
  if (idle_ticks < kPatience) return;
  idle_ticks = 0;
  if (self->range_size != 0) take_back(*self);
  const auto* machine = static_cast<ucontext_t*>(context);
  fail(*self, Failure::hang, "runs on without an operation that others can see", told_place(*self, *machine));
}

void handle_signals() {
  static char stack[64 * 1024];
  const stack_t alternative{stack, 0, sizeof stack};
  sigaltstack(&alternative, nullptr);
  struct sigaction action{};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  action.sa_sigaction = on_crash;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigaction(signal, &action, nullptr);
  action.sa_sigaction = on_tick;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval every_second{{1, 0}, {1, 0}};
  setitimer(ITIMER_REAL, &every_second, nullptr);
}

// Addresses must be the same in every run, since programs compare and hash them. Where the kernel does not let us
// choose, they are the same at least in all executions of one run.
void fix_addresses(char** arguments) {
  constexpr unsigned long kAsk = 0xFFFFFFFF;
  const int now = personality(kAsk);
  if (now == -1 || (now & ADDR_NO_RANDOMIZE) != 0) return;
  if (personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) == -1) return;
  if ((personality(kAsk) & ADDR_NO_RANDOMIZE) != 0) syscall(SYS_execve, arguments[0], arguments, environ);
}

int saved_output = -1;

void redirect() {
  static char buffer[1 << 16];
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  saved_output = dup(1);
  dup2(nothing, 0);
  dup2(nothing, 1);
  dup2(nothing, 2);
  std::setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
}

void set(Request& request, const std::string& name, const std::string& value) {
  const auto number = [&] { return std::stoull(value); };
  if (name == "strategy")
    request.strategy.name = value;
  else if (name == "count")
    request.strategy.count = number();
  else if (name == "depth")
    request.strategy.depth = static_cast<std::uint32_t>(number());
  else if (name == "seed")
    request.strategy.seed = number();
  else if (name == "monitor")
    request.monitors.push_back(value);
  else if (name == "rmw")
    request.semantics.rmw_flushes_all = value == "all";
  else if (name == "mutex")
    request.semantics.unlock_is_fence = value == "fence";
  else if (name == "failed-cas")
    request.semantics.failed_cas_writes = value == "write";
  else if (name == "model")
    request.bounds.model = value == "tso" ? Model::tso : value == "pso" ? Model::pso : Model::sc;
  else if (name == "classes")
    request.classes = value == "1";
  else if (name == "schedule")
    request.replay = true, request.schedule = value;
  else if (name == "stop-at-last")
    request.stop_at_last = value == "1";
  else if (name == "stacks")
    process.shared_stacks = static_cast<std::uint32_t>(number());
  else if (name == "loop-bound")
    request.bounds.loop_bound = static_cast<std::uint32_t>(number());
  else if (name == "steps")
    request.bounds.steps = static_cast<std::uint32_t>(number());
  else if (name == "seconds")
    request.seconds = std::stod(value);
  else if (name == "library")
    request.library = value;
  else if (name == "memory")
    request.strategy.megabytes = number();
  else if (name == "executions")
    request.executions = number();
  else if (name == "nondet-low")
    process.nondet_low = std::stoll(value);
  else if (name == "nondet-high")
    process.nondet_high = std::stoll(value);
  else if (name == "snapshots")
    process.snapshots = number();
  else if (name == "spurious")
    request.idle_wakes = static_cast<std::uint32_t>(number());
  else if (name == "bit-fields")
    unwritten.bit_fields = value == "1";
  else if (name == "output")
    process.show_output = value == "1";
  else
    throw std::invalid_argument("no option is called " + name);
}

int run(int count, char** arguments) {
  if (count < 3) {
    std::fputs("teetotal-runtime is started by teetotal check\n", stderr);
    return 2;
  }
  Request request;
  request.object = arguments[1];
  const Output output(std::stoi(arguments[2]));
  int next = 3;
  for (; next < count && std::strcmp(arguments[next], "--") != 0; ++next) {
    const std::string option = arguments[next];
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos) throw std::invalid_argument("not an option: " + option);
    set(request, option.substr(0, equals), option.substr(equals + 1));
  }
  for (++next; next < count; ++next) process.arguments.emplace_back(arguments[next]);
  if (process.arguments.empty()) process.arguments.emplace_back("program");
  process.rmw_needs_marker = !request.semantics.rmw_flushes_all;
  process.post_needs_fence = !request.semantics.rmw_flushes_all && request.semantics.unlock_is_fence;
  process.unlock_needs_fence = !request.semantics.rmw_flushes_all && !request.semantics.unlock_is_fence;
  process.failed_cas_writes = request.semantics.failed_cas_writes;
  request.bounds.semantics = request.semantics;
  process.buffered = request.bounds.model != Model::sc;
  request.bounds.spinners_wake = request.strategy.name != "all";

  prepare_fibers();
  redirect();
  handle_signals();
  try {
    process.load(request.object);
  } catch (const std::runtime_error& error) {
    output.line(R"({"type":"error","what":"load","message":)" + Output::quoted(error.what()) + '}');
    return 3;
  }
  if (!request.library.empty()) process.callers.read(request.library, process.memory.object_begin());
  output.line(R"({"type":"loaded","base":)" + std::to_string(process.memory.object_begin()) + '}');
  try {
    if (request.replay) {
      if (!request.stop_at_last) survival.double_up();  // a debugger would follow the parent
      // What an exploration learns first about the layout of memory, a single execution must know too.
      const Output nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
      Request lesson = request;
      lesson.bounds.model = Model::sc;
      lesson.executions = 1000;
      process.buffered = false;
      Explorer(lesson, nowhere).run();
      process.cells.renumber();
      std::fflush(stdout);
      if (process.show_output) dup2(saved_output, 1);
      process.buffered = request.bounds.model != Model::sc;
      process.idle_wakes = request.idle_wakes;
      replay(request.bounds, request.schedule, request.stop_at_last, output);
      std::fflush(stdout);
      return 0;
    }
    survival.double_up();
    Explorer(request, output).run();
  } catch (const Nondeterministic& error) {
    output.line(R"({"type":"error","what":"nondeterministic",)" + Output::divergence(error) + '}');
    return 3;
  } catch (const std::invalid_argument&) {
    throw;
  } catch (const std::logic_error& error) {  // ours: not to be taken for a death of the program
    output.line(R"({"type":"error","what":"internal","message":)" + Output::quoted(error.what()) + '}');
    return 3;
  }
  return 0;
}

}  // namespace
}  // namespace teetotal::runtime

int main(int count, char** arguments) {
  teetotal::runtime::fix_addresses(arguments);
  int status = 2;
  try {
    status = teetotal::runtime::run(count, arguments);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "teetotal-runtime: %s\n", error.what());
  }
  teetotal::runtime::survival.finish(status);  // the program's own destructors do not run
}
