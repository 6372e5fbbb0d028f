#include "program.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "endings.hpp"
#include "given_stacks.hpp"
#include "hooks_signals.hpp"
#include "imports.hpp"
#include "keys.hpp"
#include "snapshots.hpp"

namespace teetotal::runtime {

Program program;

namespace {

struct TlsIndex {
  std::size_t module, offset;
};
extern "C" void* __tls_get_addr(TlsIndex*);

std::string wanted_object;
std::string load_error;

char* thread_locals(std::size_t module) {
  TlsIndex index{module, 0};
  return static_cast<char*>(__tls_get_addr(&index));
}

// The same in every execution, though most of it was found before: what calls leave on a stack may be part of a local
// state.
void adopt_thread_locals(Thread& self) {
  self.exceptions = abi::__cxa_get_globals();
  self.error = &errno;
  for (const Memory::Locals& of_library : memory.library_locals) {  // as at the beginning; no snapshot has them
    char* locals = thread_locals(of_library.module);
    std::memcpy(locals, of_library.image, of_library.image_size);
    std::memset(locals + of_library.image_size, 0, of_library.size - of_library.image_size);
  }
  if (memory.tls_size == 0) return;
  self.tls = reinterpret_cast<std::uintptr_t>(thread_locals(memory.tls_module));
  self.tls_size = memory.tls_size;
}

void load_entry() {
  void* object = dlopen(wanted_object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    load_error = dlerror();
  } else if (void* found = dlsym(object, "main"); found == nullptr) {
    load_error = "the program has no function main";
  } else {
    program.main = reinterpret_cast<decltype(program.main)>(found);
    try {
      imports.bind(found);
    } catch (const std::runtime_error& error) {
      load_error = error.what();
    }
  }
  program.loaded = true;
  abandon_to(process.scheduler);
}

char** given_arguments = nullptr;
char** given_environment = nullptr;  // empty

// The arguments of main lie in the program's own heap: it may look at them, and change them, like anything else.
void place_arguments() {
  const auto allocate = [](std::size_t size) { return static_cast<char*>(memory.allocate(0, size, 0, 0)); };
  given_arguments = reinterpret_cast<char**>(allocate((program.arguments.size() + 2) * sizeof(char*)));
  char** next = given_arguments;
  for (const std::string& argument : program.arguments) {
    *next = allocate(argument.size() + 1);
    std::memcpy(*next++, argument.c_str(), argument.size() + 1);
  }
  *next++ = nullptr;
  *next = nullptr;
  given_environment = next;
}

void main_entry() {
  Thread& self = *process.current;
  adopt_thread_locals(self);
  if (signals.used) place_signal_actions(self);
  const int count = static_cast<int>(program.arguments.size());
  run_initialisers(count, given_arguments, given_environment);
  leave(self, program.main(count, given_arguments, given_environment), 0);
}

}  // namespace

void make_thread_locals() {
  for (const Memory::Locals& of_library : memory.library_locals) thread_locals(of_library.module);
  if (memory.tls_size != 0) thread_locals(memory.tls_module);
}

void thread_entry() {
  Thread& self = *process.current;
  adopt_thread_locals(self);
  enter_given_stack(self);
  if (program.tells_registers) teetotal_wipe_registers();
  finish(self, self.routine(self.argument));
}

void Program::load(const std::string& object) {
  wanted_object = object;
  memory.prepare();
  Thread& first = process.threads[0];
  for (std::uint32_t number = 0; number < kMaxThreads; ++number) {
    process.threads[number].number = number;
    process.threads[number].stack_low = stack_top(number);
  }
  prepare(first.fiber, 0, load_entry);
  process.resume(first);
  if (first.failure != Failure::none)
    load_error =
        (first.failure == Failure::unsupported ? "a constructor uses " : "what runs then fails: ") + first.message;
  if (!load_error.empty()) throw std::runtime_error(load_error);
  memory.adopt_object(reinterpret_cast<const void*>(main));
  make_thread_locals();  // of the first thread, whose thread pointer the scheduler still runs with
  find_initialisers(reinterpret_cast<const void*>(main));
  if (!memory.library_locals.empty()) Snapshots::interval = 0;
  keys.keep(first);
  place_arguments();
  memory.keep_heap();
}

void Program::begin() const {
  environ = given_environment;
  process.threads[0].state = State::parked;
  prepare(process.threads[0].fiber, 0, main_entry);
}

}  // namespace teetotal::runtime
