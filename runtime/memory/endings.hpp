// What runs before main and after it: constructors, exit handlers, destructors. All of it is part of the execution.
//
// The C library, its source             here
//   csu/libc-start.c, call_init         run_initialisers: what the build took out of the dynamic section (elf.py)
//   stdlib/exit.c, __run_exit_handlers  leave: the thread's own destructors, then handlers, the latest first, also
//   those
//                                       that are registered meanwhile; the last of them runs the fini array
//   __exit_funcs_lock                   Endings::lock, held while the list is changed, not while a handler runs
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

struct EndingsRecord {
  bool exited = false;         // main returned, or exit was called
  bool main_left = false;      // by pthread_exit
  bool finalised = false;      // the destructors of the object have been run, or are
  std::uint32_t living = 1;    // threads that have not ended, where that is counted (`last_exits`)
  std::uint32_t leaving = 0;   // 1 + the number of the thread that called exit last
  Handler* at_exit = nullptr;  // the latest first
  Handler* at_quick_exit = nullptr;
  alignas(16) int lock = 0;  // held while one of these lists is changed
};

struct Endings : EndingsRecord {
  using Record = EndingsRecord;

  bool late_handlers = false;  // they are registered beside other threads, in some execution
  bool last_exits = false;     // main leaves by pthread_exit, and there is something to run when the last one ends
};

extern Endings endings;

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
