// Ways for a program to end, and what it wants to be done then: see endings.hpp.
#include <sys/syscall.h>
#include <unistd.h>

#include <iostream>

#include "endings.hpp"

namespace teetotal::runtime {
namespace {

// The streams of the C++ library are there before the program, and stay.
const std::ios_base::Init streams;

// Of a library, not of the program: it outlives executions, and so does what it registers.
bool registers_for_program(const void* function, const void* object) {
  const auto inside = [](const void* pointer) { return memory.in_object(reinterpret_cast<std::uintptr_t>(pointer)); };
  return process.current != nullptr && (inside(function) || inside(object));
}

template <typename Function>
auto untyped(Function function) {
  return reinterpret_cast<void (*)()>(function);
}

}  // namespace
}  // namespace teetotal::runtime

using namespace teetotal;           // NOLINT: the hooks below are the whole rest of the file
using namespace teetotal::runtime;  // NOLINT

extern "C" {

void _exit(int status) {
  if (process.current != nullptr) end_process(*process.current, status);
  for (;;) syscall(SYS_exit_group, status);
}
void _Exit(int status) { _exit(status); }
void exit(int status) {
  if (process.current == nullptr) _exit(status);
  leave(*process.current, status, TEETOTAL_PLACE);
}
void quick_exit(int status) {
  if (process.current == nullptr) _exit(status);
  leave_quickly(*process.current, status, TEETOTAL_PLACE);
}

// atexit and at_quick_exit themselves are linked into the program, and come down to these.
int __cxa_atexit(void (*function)(void*), void* argument, void* object) {
  if (registers_for_program(reinterpret_cast<void*>(function), object))
    register_handler(*process.current, endings.at_exit, untyped(function), argument, Handler::Form::argument_first,
                     TEETOTAL_PLACE);
  return 0;
}
int __cxa_at_quick_exit(void (*function)(void*), void* object) {
  if (registers_for_program(reinterpret_cast<void*>(function), object))
    register_handler(*process.current, endings.at_quick_exit, untyped(function), nullptr, Handler::Form::argument_first,
                     TEETOTAL_PLACE);
  return 0;
}
int on_exit(void (*function)(int, void*), void* argument) {
  if (registers_for_program(reinterpret_cast<void*>(function), nullptr))
    register_handler(*process.current, endings.at_exit, untyped(function), argument, Handler::Form::status_first,
                     TEETOTAL_PLACE);
  return 0;
}
void __cxa_finalize(void*) {}  // the finaliser of the object calls it: by then its handlers have run

int __cxa_thread_atexit(void (*function)(void*), void* object, void*) {
  if (process.current != nullptr)
    push(*process.current, process.current->at_end, untyped(function), object, Handler::Form::argument_first);
  return 0;
}
int __cxa_thread_atexit_impl(void (*function)(void*), void* object, void* library) {
  return __cxa_thread_atexit(function, object, library);
}
}
