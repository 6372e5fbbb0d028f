// What runs before main and after it: constructors, exit handlers, destructors. All of it is part of the execution.
//
// The C library, its source             here
//   csu/libc-start.c, call_init         run_initialisers: what the build took out of the dynamic section (elf.py)
//   stdlib/exit.c, __run_exit_handlers  leave: the thread's own destructors, then handlers, the latest first, also
//   those
//                                       that are registered meanwhile; the last of them runs the fini array
//   __exit_funcs_lock                   Process::exit_lock, held while the list is changed, not while a handler runs
//   nptl/pthread_create.c, start_thread leave_if_last: where main has left by pthread_exit, whoever ends last exits
//
// Lists lie in the program's own heap, so that they go back with it, and with snapshots. A lock that nobody can want is
// not taken: where threads register handlers, or the last of them exits, that is learnt, and the search begins again.
//
// The process ends with the last step of who calls exit. Other threads go on: the end comes when it comes, and what
// they do until then they also do before it. What waits for ever is then no deadlock.
#pragma once

#include "process.hpp"

namespace teetotal::runtime {

struct Handler {
  enum class Form : std::uint8_t { argument_first, status_first };  // __cxa_atexit, on_exit

  void (*function)();
  void* argument;
  Form form;
  Handler* next;
};

// Finds the program's arrays of functions.
void find_initialisers(const void* inside);
void run_initialisers(int count, char** arguments, char** environment);

// Puts a handler at the head of a list of the thread's own.
void push(Thread& self, Handler*& list, void (*function)(), void* argument, Handler::Form form);

// The same for a list that all threads share.
void register_handler(Thread& self, Handler*& list, void (*function)(), void* argument, Handler::Form form,
                      std::uintptr_t place);

void run_thread_destructors(Thread& self);

// exit, quick_exit, _exit.
[[noreturn]] void leave(Thread& self, int status, std::uintptr_t place);
[[noreturn]] void leave_quickly(Thread& self, int status, std::uintptr_t place);
[[noreturn]] void end_process(Thread& self, int status);

// At the end of a thread: exits where no other is left.
void leave_if_last(Thread& self);

}  // namespace teetotal::runtime
