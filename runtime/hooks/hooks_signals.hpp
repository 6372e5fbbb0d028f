// Signals, for the hooks beside hooks_signals.cpp.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>

namespace teetotal::runtime {

struct Thread;

struct SignalsRecord {
  struct sigaction* actions = nullptr;  // by signal; null: all are as by default
  alignas(16) int lock = 0;             // held while what a signal does is looked up or changed
};

struct Signals : SignalsRecord {
  using Record = SignalsRecord;

  bool used = false;  // the program asks what signals do, or says it, in some execution
};

extern Signals signals;

struct SignalsOfThread {
  std::uint64_t blocked = 0, pending = 0;  // a bit each
  bool chosen = false;                     // it has said itself which ones it blocks
};

// What each signal does, in the program's own heap: nothing but what it does by default.
void place_signal_actions(Thread& self);

// The thread blocks these signals, and those that waited for others to be let through come.
void let_through(Thread& self, std::uint64_t blocked, std::uintptr_t place);

// abort: a handler may run, and may leave by a jump. Why, if more is known than that it was called.
void raise_abort(Thread& self, std::string why, std::uintptr_t place);

// SYS_kill, SYS_tkill, SYS_tgkill.
long send_by_system_call(Thread& self, long number, const long* arguments, std::uintptr_t place);

}  // namespace teetotal::runtime
