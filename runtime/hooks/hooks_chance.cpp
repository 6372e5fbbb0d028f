// Chance, and what the machine says of itself: the same in every execution and on every machine.
//
// Numbers by chance are a sequence of the thread's own that begins anew with each execution, so that they do not depend
// on the schedule. One sequence is explored; that is noted. Those of a state that the caller keeps (rand_r, erand48)
// are no chance, and the C library's.
#include <sched.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "endings.hpp"
#include "hooks_signals.hpp"
#include "imports.hpp"
#include "newer_names.hpp"
#include "real.hpp"
#include "symmetry.hpp"

namespace teetotal::runtime {
namespace {

constexpr pid_t kProcess = 4242;
constexpr int kProcessors = 2;

// What sysconf is asked for and other machines, or users, have another answer to. The others are those of Linux on
// x86-64.
bool depends_on_machine(int name) {
  switch (name) {
    case _SC_PHYS_PAGES:
    case _SC_AVPHYS_PAGES:
    case _SC_OPEN_MAX:
    case _SC_CHILD_MAX:
    case _SC_ARG_MAX:
    case _SC_SIGQUEUE_MAX:
    case kMinimalSignalStack:
    case kSignalStack:
      return true;
    default:
      return name >= _SC_LEVEL1_ICACHE_SIZE && name <= _SC_LEVEL4_CACHE_LINESIZE;
  }
}

std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

std::uint64_t drawn() {
  if (process.current == nullptr) return 0;
  static bool told = false;
  if (!std::exchange(told, true)) remarks.note("the program draws numbers by chance: one sequence of them is explored");
  return next_random(process.current->asked.random);
}

long drawn_31() { return static_cast<long>(drawn() & RAND_MAX); }

// As the C library: a fraction with 48 bits.
double fraction_of(std::uint64_t bits) { return static_cast<double>(bits >> 16) / static_cast<double>(1ULL << 48); }

void fill_by_chance(void* to, std::size_t size) {
  auto* bytes = static_cast<unsigned char*>(to);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(drawn() >> 24);
}

pid_t number_of(const Thread& thread) {
  tell_apart(thread);
  return kProcess + static_cast<pid_t>(thread.number);
}

void say(char (&to)[_UTSNAME_LENGTH], const char* text) { std::strncpy(to, text, sizeof to); }

}  // namespace

std::optional<long> answered_here(Thread& self, long number, const long* arguments, std::uintptr_t place) {
  switch (number) {
    case SYS_exit_group:
      end_process(self, static_cast<int>(arguments[0]));
    case SYS_getpid:
      return kProcess;
    case SYS_gettid:
      return number_of(self);
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
      return send_by_system_call(self, number, arguments, place);
    case SYS_rt_sigaction:
    case SYS_rt_sigprocmask:
    case SYS_rt_sigtimedwait:
    case SYS_rt_sigsuspend:
    case SYS_rt_sigqueueinfo:
    case SYS_alarm:
    case SYS_setitimer:
    case SYS_timer_create:
      fail(self, Failure::unsupported, "a system call that is about signals", place);
    case SYS_getppid:
      return 1;
    case SYS_getrandom:
      fill_by_chance(reinterpret_cast<void*>(arguments[0]), static_cast<std::size_t>(arguments[1]));
      return arguments[1];
    default:
      return std::nullopt;
  }
}

}  // namespace teetotal::runtime

using namespace teetotal;           // NOLINT: the hooks below are the whole rest of the file
using namespace teetotal::runtime;  // NOLINT

extern "C" {

// -- chance -----------------------------------------------------------------------------------------------------------

int rand() { return static_cast<int>(drawn_31()); }
void srand(unsigned seed) {
  if (process.current != nullptr) process.current->asked.random = seed;
}
long random() { return drawn_31(); }
void srandom(unsigned seed) { srand(seed); }
char* initstate(unsigned seed, char* state, std::size_t) {
  srand(seed);
  return state;
}
char* setstate(char* state) { return state; }

double drand48() { return fraction_of(drawn()); }
long lrand48() { return drawn_31(); }
long mrand48() { return static_cast<std::int32_t>(drawn()); }
void srand48(long seed) { srand(static_cast<unsigned>(seed)); }
unsigned short* seed48(unsigned short state[3]) {
  static unsigned short before[3];
  srand(state[0] | static_cast<unsigned>(state[1]) << 16);
  return before;
}
void lcong48(unsigned short parameters[7]) { seed48(parameters); }

ssize_t getrandom(void* to, std::size_t size, unsigned) {
  fill_by_chance(to, size);
  return static_cast<ssize_t>(size);
}
int getentropy(void* to, std::size_t size) {
  if (size > 256) {
    errno = EIO;
    return -1;
  }
  fill_by_chance(to, size);
  return 0;
}
std::uint32_t arc4random() { return static_cast<std::uint32_t>(drawn()); }
std::uint32_t arc4random_uniform(std::uint32_t bound) { return bound < 2 ? 0 : arc4random() % bound; }
void arc4random_buf(void* to, std::size_t size) { fill_by_chance(to, size); }

// std::random_device: it would ask the processor.
void random_device_begin(void*, const void*) asm(
    "_ZNSt13random_device7_M_initERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE");
void random_device_end(void*) asm("_ZNSt13random_device7_M_finiEv");
unsigned random_device_value(void*) asm("_ZNSt13random_device9_M_getvalEv");
double random_device_entropy(const void*) asm("_ZNKSt13random_device13_M_getentropyEv");
void random_device_begin(void*, const void*) {}
void random_device_end(void*) {}
unsigned random_device_value(void*) { return static_cast<unsigned>(drawn()); }
double random_device_entropy(const void*) { return 0; }

// -- the machine ------------------------------------------------------------------------------------------------------

pid_t getpid() { return process.current == nullptr ? static_cast<pid_t>(syscall(SYS_getpid)) : kProcess; }
pid_t gettid() {
  return process.current == nullptr ? static_cast<pid_t>(syscall(SYS_gettid)) : number_of(*process.current);
}
pid_t getppid() { return process.current == nullptr ? static_cast<pid_t>(syscall(SYS_getppid)) : 1; }
int sched_getcpu() { return process.current == nullptr ? 0 : (number_of(*process.current) - kProcess) % kProcessors; }
int getcpu(unsigned* processor, unsigned* node) {
  if (processor != nullptr) *processor = static_cast<unsigned>(sched_getcpu());
  if (node != nullptr) *node = 0;
  return 0;
}
int get_nprocs() {
  static bool told = false;
  if (process.current != nullptr && !std::exchange(told, true))
    remarks.note("the program asks how many processors there are: it is told " + std::to_string(kProcessors) +
                 ", and the answer is about that number");
  return kProcessors;
}
int get_nprocs_conf() { return get_nprocs(); }
long sysconf(int name) {
  if (process.current == nullptr) return real().sysconf(name);
  if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) return get_nprocs();
  if (depends_on_machine(name)) unseen_call("what sysconf says of this machine", TEETOTAL_PLACE);
  return real().sysconf(name);
}
int uname(utsname* name) {
  *name = {};
  say(name->sysname, "Linux");
  say(name->nodename, "localhost");
  say(name->release, "6.1.0");
  say(name->version, "#1");
  say(name->machine, "x86_64");
  return 0;
}
int gethostname(char* name, std::size_t size) {
  std::strncpy(name, "localhost", size);
  return 0;
}
int getrusage(int who, rusage* used) {
  if (process.current == nullptr) return static_cast<int>(syscall(SYS_getrusage, who, used));
  *used = {};
  const std::uint64_t ticks = ++process.current->asked.clock;
  used->ru_utime = {static_cast<time_t>(ticks / 1'000'000), static_cast<suseconds_t>(ticks % 1'000'000)};
  return 0;
}
clock_t times(tms* used) {
  if (process.current == nullptr) return 0;
  const auto ticks = static_cast<clock_t>(++process.current->asked.clock);
  if (used != nullptr) *used = {.tms_utime = ticks, .tms_stime = 0, .tms_cutime = 0, .tms_cstime = 0};
  return ticks;
}
}
