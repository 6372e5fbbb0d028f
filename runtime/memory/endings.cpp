#include "endings.hpp"

#include <dlfcn.h>
#include <link.h>

#include <span>
#include <utility>

#include "lifetimes.hpp"
#include "synchronisation.hpp"

namespace teetotal::runtime {

Endings endings;

namespace {

using Initialiser = void (*)(int, char**, char**);
using Finaliser = void (*)();

constexpr ElfW(Sxword) kOurs = 0x6000'1000;  // added to a tag by elf.py

struct {
  Initialiser first = nullptr;  // DT_INIT
  std::span<const Initialiser> initialisers;
  std::span<const Finaliser> finalisers;
  Finaliser last = nullptr;  // DT_FINI
} found;

void run_finalisers() {
  for (std::size_t i = found.finalisers.size(); i-- > 0;) found.finalisers[i]();
  if (found.last != nullptr) found.last();
}

// Whether the program has something of its own to run when it ends. Each object has one finaliser of the compiler's.
bool something_to_run() { return endings.at_exit != nullptr || found.finalisers.size() > 1 || found.last != nullptr; }

// Runs the handlers of a list, the latest first.
void run(Thread& self, Handler*& list, int status, std::uintptr_t place) {
  const bool shared = list != nullptr || something_to_run() || endings.late_handlers;
  while (true) {
    if (shared) lock(self, &endings.lock, place);
    const Handler* handler = list;
    if (handler != nullptr) list = handler->next;
    if (shared) unlock(self, &endings.lock, place);
    if (handler == nullptr) return;
    if (handler->form == Handler::Form::status_first) {
      reinterpret_cast<void (*)(int, void*)>(handler->function)(status, handler->argument);
    } else {
      reinterpret_cast<void (*)(void*, int)>(handler->function)(handler->argument, status);
    }
  }
}

void learn(bool& fact) {
  if (fact) return;
  fact = true;
  process.restart = true;
}

void begin_to_leave(Thread& self) {
  const std::uint32_t me = self.number + 1;
  static bool told = false;
  if (endings.leaving != 0 && endings.leaving != me && !std::exchange(told, true))
    remarks.note("exit is called while another thread exits, which C leaves undefined: here they share the handlers");
  endings.leaving = me;
}

}  // namespace

void find_initialisers(const void* inside) {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(inside, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) return;
  const auto value_of = [&](ElfW(Sxword) tag) -> std::uintptr_t {
    for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == kOurs + tag) return entry->d_un.d_val;
    return 0;
  };
  const auto function = [&](ElfW(Sxword) tag) {
    const std::uintptr_t offset = value_of(tag);
    return offset == 0 ? 0 : map->l_addr + offset;
  };
  found.first = reinterpret_cast<Initialiser>(function(DT_INIT));
  found.last = reinterpret_cast<Finaliser>(function(DT_FINI));
  found.initialisers = {reinterpret_cast<const Initialiser*>(function(DT_INIT_ARRAY)),
                        value_of(DT_INIT_ARRAYSZ) / sizeof(Initialiser)};
  found.finalisers = {reinterpret_cast<const Finaliser*>(function(DT_FINI_ARRAY)),
                      value_of(DT_FINI_ARRAYSZ) / sizeof(Finaliser)};
}

void run_initialisers(int count, char** arguments, char** environment) {
  if (found.first != nullptr) found.first(count, arguments, environment);
  for (const Initialiser initialiser : found.initialisers) initialiser(count, arguments, environment);
}

void push(Thread& self, Handler*& list, void (*function)(), void* argument, Handler::Form form) {
  auto* handler = static_cast<Handler*>(memory.allocate(self.number, sizeof(Handler), 0, 0));
  if (handler == nullptr) fail(self, Failure::unsupported, "so many handlers for its end", 0);
  *handler = {function, argument, form, list};
  list = handler;
}

void register_handler(Thread& self, Handler*& list, void (*function)(), void* argument, Handler::Form form,
                      std::uintptr_t place) {
  if (!process.alone) learn(endings.late_handlers);
  lock(self, &endings.lock, place);
  push(self, list, function, argument, form);
  unlock(self, &endings.lock, place);
}

void run_thread_destructors(Thread& self) {
  while (self.at_end != nullptr) {
    const Handler* handler = self.at_end;
    self.at_end = handler->next;
    reinterpret_cast<void (*)(void*)>(handler->function)(handler->argument);
  }
}

void leave(Thread& self, int status, std::uintptr_t place) {
  begin_to_leave(self);
  run_below(self, __builtin_frame_address(0), [&] {
    run_thread_destructors(self);
    run_at_thread_exit(self);
    run(self, endings.at_exit, status, place);
    if (!endings.finalised) {  // by whoever finds no handler any more: the lock was just held
      endings.finalised = true;
      run_finalisers();
      run(self, endings.at_exit, status, place);
    }
  });
  end_process(self, status);
}

void leave_quickly(Thread& self, int status, std::uintptr_t place) {
  begin_to_leave(self);
  run(self, endings.at_quick_exit, status, place);
  end_process(self, status);
}

void end_process(Thread& self, int status) {
  static bool told[256];  // a note allocates, and then there are no snapshots
  if ((status & 0xFF) != 0 && !std::exchange(told[status & 0xFF], true))
    remarks.note("an execution ends with exit status " + std::to_string(status & 0xFF));
  endings.exited = true;
  keep_frames(self);
  stop(self, State::exited);
}

void leave_if_last(Thread& self) {
  if (self.number == 0) endings.main_left = true;
  if (process.alone) {
    if (endings.main_left) leave(self, 0, 0);
    return;
  }
  if (endings.main_left && something_to_run()) learn(endings.last_exits);
  if (!endings.last_exits) return;
  lock(self, &endings.lock, 0);
  const bool last = --endings.living == 0;
  unlock(self, &endings.lock, 0);
  if (last) leave(self, 0, 0);
}

}  // namespace teetotal::runtime
