// Signals that the explorer relies on: crashes of the program, system calls that the filter holds up, and the
// supervisor's wish to interrupt the program where it is.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>

namespace teetotal::runtime {

inline const int kWatchSignal = SIGRTMAX;

// A bit each, as the kernel counts them: no program may block or handle these.
std::uint64_t reserved_signals();

void handle_signals();

// SIGSEGV and the like; signals without a name of their own by their number.
std::string signal_name(int signal);

}  // namespace teetotal::runtime
