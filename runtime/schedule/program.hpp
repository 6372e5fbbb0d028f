// The program that was loaded, and how it begins.
#pragma once

#include <string>
#include <vector>

namespace teetotal::runtime {

struct Program {
  std::vector<std::string> arguments;
  int (*main)(int, char**, char**) = nullptr;
  bool loaded = false;
  bool tells_registers = false;  // it has hooks that keep all registers, on the thread's stack
  bool reads_clock = false;      // it, or a library of its own, may look how late it is
  bool show_output = false;

  // Loads it and finds main. Throws std::runtime_error.
  void load(const std::string& object);

  // The first thread stands before its constructors, then main.
  void begin() const;
};

extern Program program;

void thread_entry();  // where all other threads begin

// The C library makes a thread's share of thread-local variables when it first asks where they are. What that leaves on
// a stack would be there in the first execution alone: so it is done on none of the program's.
void make_thread_locals();

}  // namespace teetotal::runtime
