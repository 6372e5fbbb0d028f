// teetotal-runtime: the program that user programs are loaded into. teetotal.engines.runtime.driver starts it.
//
//   teetotal-runtime OBJECT FILE-DESCRIPTOR OPTION=VALUE… [-- ARGUMENT…]
//
// Answers go to the file descriptor as lines of JSON. Exit status: 0 the search ended as asked (also with findings), 2
// bad options, 3 the program could not be loaded or is not deterministic, 5 there are no processes or no memory to
// start with; 4 or a signal: the program took the explorer down where nothing could be done about it. Only with an
// answer that is an end does a status mean what it says.
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "addresses.hpp"
#include "assertions.hpp"
#include "calls.hpp"
#include "channel.hpp"
#include "choices.hpp"
#include "conditions.hpp"
#include "exceptions.hpp"
#include "explorer.hpp"
#include "imports.hpp"
#include "isolation.hpp"
#include "lifetimes.hpp"
#include "local_state.hpp"
#include "newer_names.hpp"
#include "replay.hpp"
#include "reserving.hpp"
#include "signals.hpp"
#include "supervisor.hpp"
#include "survival.hpp"
#include "symmetry.hpp"
#include "unwritten.hpp"

namespace teetotal::runtime {
namespace {

constexpr std::uint64_t kOwnMegabytes = 256;  // that the program may write in all

// Addresses must be the same in every run, since programs compare and hash them. Where the kernel does not let us
// choose, they are the same at least in all executions of one run.
void fix_addresses(char** arguments) {
  constexpr unsigned long kAsk = 0xFFFFFFFF;
  const int now = personality(kAsk);
  if (now == -1 || (now & ADDR_NO_RANDOMIZE) != 0) return;
  if (personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) == -1) return;
  if ((personality(kAsk) & ADDR_NO_RANDOMIZE) != 0) syscall(SYS_execve, arguments[0], arguments, environ);
}

// What the sanitizers of a sanitized build write to, if they were told of a file. It is opened before this process can
// write to no file that others see.
int reports = -1;

#ifdef TEETOTAL_SANITIZE
void open_reports() {
  const char* given = std::getenv("UBSAN_OPTIONS");
  std::string path = given == nullptr ? "" : given;
  const std::size_t begin = path.find("log_path=");
  if (begin == std::string::npos) return;
  path = path.substr(path.find('=', begin) + 1);
  path = path.substr(0, path.find(':')) + ".runtime";
  reports = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

// gcc's two sanitizers have functions of the same names: each library's own is looked for; and one closes what the
// other writes to, so each has a descriptor. In a new process they would open a file of their own.
void let_sanitizers_tell() {
  if (reports < 0) return;
  for (const char* known : {"__asan_init", "__ubsan_handle_add_overflow"}) {
    Dl_info place{};
    dladdr(dlsym(RTLD_DEFAULT, known), &place);
    void* library = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    reinterpret_cast<void (*)(void*)>(dlsym(library, "__sanitizer_set_report_fd"))(
        reinterpret_cast<void*>(static_cast<std::intptr_t>(dup(reports))));
  }
}
#endif

// The program has no descriptors but those of the standard streams, which lead nowhere; and what it may write to later.
int saved_output = -1;

void redirect(int kept) {
  static char buffer[1 << 16];
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (program.show_output) saved_output = dup(1);
  dup2(nothing, 0);
  dup2(nothing, 1);
  dup2(nothing, 2);
  for (unsigned next = 3; next != 0;) {  // all others
    unsigned last = ~0U;
    for (const int spared : {saved_output, kept, reports})
      if (spared >= 0 && static_cast<unsigned>(spared) >= next) last = std::min(last, static_cast<unsigned>(spared));
    if (last != next) syscall(SYS_close_range, next, last == ~0U ? last : last - 1, 0);
    next = last == ~0U ? 0 : last + 1;
  }
  std::setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
}

// As Output::context tells it.
void know(const std::string& context) {
  const std::size_t chosen = std::min(context.find('n'), context.size());
  if (chosen < context.size()) choices.give(context.substr(chosen + 1));
  if (chosen == 0) return;
  std::istringstream words(context.substr(1, chosen - 1));
  std::uint64_t threads = 0;
  words >> std::hex >> threads;
  lifetimes.shared_stacks = static_cast<std::uint32_t>(threads);
  lifetimes.shared_locals = static_cast<std::uint32_t>(threads >> 32);
  if (lifetimes.shared_stacks != 0) teetotal_frames_watched |= kSharedStacks;
  for (std::uint64_t part = 0; words.ignore() && words >> part;)
    if (!know_ended_cell(part)) touch_grain(static_cast<std::uint32_t>(part));
  process.restart = false;
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file || text.empty()) throw std::invalid_argument("cannot read " + path);
  return text;
}

void set(Request& request, const std::string& name, const std::string& value) {
  const auto number = [&] { return std::stoull(value); };
  if (name == "strategy")
    request.strategy.name = value;
  else if (name == "count")
    request.strategy.count = number();
  else if (name == "depth")
    request.strategy.depth = static_cast<std::uint32_t>(number());
  else if (name == "preempted")
    request.strategy.preempted = static_cast<std::uint32_t>(number());
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
  else if (name == "tell-all")
    request.tell_all = value == "1";
  else if (name == "classes")
    request.classes = value == "1";
  else if (name == "screened")
    request.screened = value == "1";
  else if (name == "reporting")
    request.reporting = value == "1";
  else if (name == "release-sequence")
    request.release_sequence_c11 = value == "c11";
  else if (name == "marks")
    request.marks = number();
  else if (name == "mark-count")
    request.mark_count = number();
  else if (name == "mark-kinds")
    request.mark_kinds = value;
  else if (name == "keep")
    request.keep = number();
  else if (name == "schedule")
    request.replay = true, request.schedule = value;
  else if (name == "spinners")
    request.spinners_stop = value == "stop";
  else if (name == "shorten")
    request.shorten = std::stod(value);
  else if (name == "report")
    request.report = {number(), std::stoull(value.substr(value.find(',') + 1))};
  else if (name == "stop-at-last")
    request.stop_at_last = value == "1";
  else if (name == "context")
    know(value);
  else if (name == "loop-bound")
    request.bounds.loop_bound = static_cast<std::uint32_t>(number());
  else if (name == "endless-visits")
    request.bounds.endless_visits = static_cast<std::uint32_t>(number());
  else if (name == "steps")
    request.bounds.steps = static_cast<std::uint32_t>(number());
  else if (name == "seconds")
    request.seconds = std::stod(value);
  else if (name == "slice")
    request.slice = std::stod(value);
  else if (name == "most")
    request.most = number();
  else if (name == "part")
    request.part = contents_of(value);
  else if (name == "restarts")
    request.restarts = number();
  else if (name == "serve")
    request.serve = value == "1";
  else if (name == "live")
    request.live = value;
  else if (name == "assertions")
    request.assertions = value;
  else if (name == "idle-bound")
    request.bounds.idle_bound = static_cast<std::uint32_t>(number());
  else if (name == "waiting")
    request.bounds.waiting_counts = !(locking_together.allowed = value != "count");
  else if (name == "symmetry")
    symmetry.on = value == "on";
  else if (name == "library")
    request.library = value;
  else if (name == "variables")
    request.variables = value;
  else if (name == "memory")
    request.strategy.megabytes = number();
  else if (name == "executions")
    request.executions = number();
  else if (name == "nondet-low")
    choices.low = std::stoll(value);
  else if (name == "nondet-high")
    choices.high = std::stoll(value);
  else if (name == "snapshots")
    Snapshots::interval = number();
  else if (name == "look")
    request.bounds.look = static_cast<std::uint32_t>(number());
  else if (name == "spurious")
    request.idle_wakes = static_cast<std::uint32_t>(number());
  else if (name == "bit-fields")
    unwritten.bit_fields = value == "1";
  else if (name == "output")
    program.show_output = value == "1";
  else if (name == "rounds")
    follows_rounds = true, local_states.read_errno(value == "errno");
  else if (name == "own")
    request.own = value;
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
  const int file = std::stoi(arguments[2]);
  int next = 3;
  for (; next < count && std::strcmp(arguments[next], "--") != 0; ++next) {
    const std::string option = arguments[next];
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos) throw std::invalid_argument("not an option: " + option);
    set(request, option.substr(0, equals), option.substr(equals + 1));
  }
  for (++next; next < count; ++next) program.arguments.emplace_back(arguments[next]);
  if (program.arguments.empty()) program.arguments.emplace_back("program");
  rules.rmw_needs_marker = !request.semantics.rmw_flushes_all;
  rules.post_needs_fence = !request.semantics.rmw_flushes_all && request.semantics.unlock_is_fence;
  rules.unlock_needs_fence = !request.semantics.rmw_flushes_all && !request.semantics.unlock_is_fence;
  rules.failed_cas_writes = request.semantics.failed_cas_writes;
  request.bounds.semantics = request.semantics;
  rules.buffered = request.bounds.model != Model::sc;
  symmetry.on = symmetry.on && !rules.buffered && request.strategy.name == "all" && !request.replay;
  rules.halves = rules.buffered && !request.replay;  // a token has a step for the whole
  request.bounds.spinners_wake = request.strategy.name != "all" && !request.spinners_stop;

  const Isolation isolation = request.own.empty() ? Isolation{} : isolate(request.own, kOwnMegabytes, teetotal_kernel);
  kept_away = {.files = isolation.files, .network = isolation.network};

  // A debugger would follow the supervisor.
  const bool alone = request.replay && request.stop_at_last;
  try {
    check_machine();
    if (!alone) supervise(file, {request.seconds, request.strategy.megabytes, request.serve});
    prepare_fibers();
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 5;
  }
  const Output output(alone ? file : Output::kChannel);
  redirect(alone ? file : -1);
#ifdef TEETOTAL_SANITIZE
  let_sanitizers_tell();
#endif
  handle_signals();
  channel.protect();
  if (!alone && !filter_calls())
    remarks.note("this kernel filters no system calls (seccomp): what libraries ask of it is not looked at");
  try {
    const std::string here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    try_exceptions();
    imports.read(here + "/teetotal-imports.txt", here + "/teetotal-instrumented.so");
    program.load(request.object);
    if (!alone) limit_files();
  } catch (const std::runtime_error& error) {
    output.line(R"({"type":"error","what":"load","message":)" + Output::quoted(error.what()) + '}');
    return 3;
  }
  if (!request.library.empty()) callers.read(request.library, memory.object_begin());
  if (!request.variables.empty()) addresses.read(request.variables, memory.object_begin());
  if (!request.assertions.empty() && !request.replay) assertions.read(request.assertions, memory.object_begin());
  if (!request.live.empty()) local_states.read(request.live, memory.object_begin());
  output.line(R"({"type":"loaded","base":)" + std::to_string(memory.object_begin()) + R"(,"isolated":)" +
              (isolation.network && isolation.files ? "true" : "false") + '}');
  try {
    if (request.replay) {
      // What an exploration learns first about the layout of memory, a single execution must know too.
      const Output nowhere(Output::kNowhere);
      Request lesson = request;
      lesson.monitors.clear();
      lesson.bounds.model = Model::sc;
      lesson.executions = 1000;
      rules.buffered = false;
      Explorer(lesson, nowhere).run();
      cells.renumber();
      choices.forget();
      std::fflush(stdout);
      if (program.show_output) dup2(saved_output, 1);
      rules.buffered = request.bounds.model != Model::sc;
      conditions.idle_wakes = request.idle_wakes;
      replay(request, output);
      std::fflush(stdout);
      return 0;
    }
    Explorer explorer(request, output);
    if (request.serve)
      explorer.serve();
    else
      explorer.run();
  } catch (const Nondeterministic& error) {
    output.line(R"({"type":"error","what":"nondeterministic",)" + Output::divergence(error) + '}');
    return 3;
  } catch (const std::invalid_argument&) {
    throw;
  } catch (const std::logic_error& error) {  // ours: not to be taken for a death of the program
    // Unless it did what no hook has followed: threads may meet there, or it may have written anywhere. Or, with
    // buffers, it wrote into a frame that lies where another one lay.
    const bool unseen = !remarks.unseen.empty(), written = rules.buffered && lifetimes.ends_told;
    const char* what = unseen ? "astray" : written ? "overwritten" : "internal";
    output.line(std::string(R"({"type":"error","what":")") + what + R"(","message":)" + Output::quoted(error.what()) +
                ",\"unseen\":[" + Output::unseen() + "]}");
    return 3;
  }
  return 0;
}

}  // namespace
}  // namespace teetotal::runtime

int main(int count, char** arguments) {
  teetotal::runtime::fix_addresses(arguments);
#ifdef TEETOTAL_SANITIZE
  teetotal::runtime::open_reports();
#endif
  mallopt(M_ARENA_MAX, 1);  // one thread runs at a time; and for more the C library would ask the kernel for processors
  int status = 2;
  try {
    status = teetotal::runtime::run(count, arguments);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "teetotal-runtime: %s\n", error.what());
  }
  teetotal::runtime::survival.finish(status);  // the program's own destructors do not run
}
