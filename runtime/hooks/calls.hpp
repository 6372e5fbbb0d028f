// The program's system calls, each by name. A filter of the kernel's (seccomp) lets pass what concerns nobody else; the
// rest becomes a signal, whose handler decides:
//
//   refused    what would hurt the explorer, the supervisor or others: signals to them, other processes, limits,
//   debugging,
//              mapping over memory that is not the program's. The thread fails as with anything that cannot be
//              explored.
//   kept away  what fails only because the program is isolated: what the program would do then, it does nowhere else.
//              The thread fails as above.
//   named      everything else. It is done, but no hook has followed it: no proof stands on it.
//
// The explorer's own calls go through `kernel`, whose instruction the filter knows.
#pragma once

#include <ucontext.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <type_traits>

namespace teetotal::runtime {

extern "C" long teetotal_kernel(long number, long a, long b, long c, long d, long e, long f);

template <typename T>
long word_of(T value) {
  if constexpr (std::is_pointer_v<T> || std::is_null_pointer_v<T>)
    return static_cast<long>(reinterpret_cast<std::intptr_t>(static_cast<const volatile void*>(value)));
  else
    return static_cast<long>(value);
}

// A system call of the explorer's own. As the kernel answers: an error is a small negative number.
template <typename... Arguments>
long kernel(long number, Arguments... arguments) {
  static_assert(sizeof...(Arguments) <= 6);
  const long all[6] = {word_of(arguments)...};
  return teetotal_kernel(number, all[0], all[1], all[2], all[3], all[4], all[5]);
}

// What the program is kept away from (isolation.hpp).
struct KeptAway {
  bool files = false, network = false;
};
extern KeptAway kept_away;

// From here on, in this process and those that it starts. False where the kernel knows no filters: then only what the
// program itself asks for is looked at, by `syscall` and by name (imports.txt), and nothing that libraries do.
bool filter_calls();

// One that the program makes by the C library's `syscall`: does it, or fails.
long call_of_program(long number, const long* arguments);

// What the kernel calls a system call.
std::string call_name(long number);

// A system call that the filter did not let pass: does it, or fails.
void on_call(int signal, siginfo_t* info, void* context);

// While the C library starts a thread on behalf of the explorer, its calls are ours.
struct OwnBusiness {
  OwnBusiness();
  ~OwnBusiness();
  OwnBusiness(const OwnBusiness&) = delete;
  OwnBusiness& operator=(const OwnBusiness&) = delete;
};

// Where the program is, called from a handler of a signal: the instruction at hand, or the call that led into a
// library, or else the last operation that the thread announced.
struct Thread;
std::uintptr_t told_place(const Thread& self);

// The place of the system call that the program is in; 0 where it is in none.
std::uintptr_t place_of_call();

}  // namespace teetotal::runtime
