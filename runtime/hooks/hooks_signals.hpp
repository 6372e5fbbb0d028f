// Signals, for the hooks beside hooks_signals.cpp.
#pragma once

#include <csignal>

#include "synchronisation.hpp"

namespace teetotal::runtime {

// What each signal does, in the program's own heap: nothing but what it does by default.
void place_signal_actions(Thread& self);

// The thread blocks these signals, and those that waited for others to be let through come.
void let_through(Thread& self, std::uint64_t blocked, std::uintptr_t place);

// abort: a handler may run, and may leave by a jump.
void raise_abort(Thread& self, std::uintptr_t place);

// SYS_kill, SYS_tkill, SYS_tgkill.
long send_by_system_call(Thread& self, long number, const long* arguments, std::uintptr_t place);

}  // namespace teetotal::runtime
