// The first process. It never runs anything of the program: it starts the explorer, passes on what that tells, and
// watches from outside, by the pulse (channel.hpp) and by what the kernel knows:
//
//   the program runs on, or sleeps in a system call     it is interrupted there (kWatchSignal), and killed if it does
//   not heed the explorer is larger than --memory                the same; where the search itself is, that ends
//   --time is over, or a signal wants all to end        the search is told to stop, and killed if it does not
//   it is asked for another part of the search          the request is passed on (channel.hpp)
//   nobody will ask for more                            all ends
//   the explorer dies or stops                          another one is started, or the end is told: survival.hpp
//
// Nothing here depends on signals, timers or descriptors of the explorer.
#pragma once

#include <cstddef>

namespace teetotal::runtime {

struct Limits {
  double seconds = 1e18;
  std::size_t megabytes = 0;  // 0: none
  bool serves = false;  // standard input has requests, each behind its size in a line: the explorer stays for them
};

// Returns in the explorer alone. `file`: where its answers go. Throws std::runtime_error.
void supervise(int file, const Limits& limits);

// In the explorer, from here on: no file grows without end. Not before the program is loaded, since what is kept of a
// large one counts as a file.
void limit_files();

}  // namespace teetotal::runtime
