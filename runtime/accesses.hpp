// What the hooks of accesses to memory share.
#pragma once

#include "process.hpp"

namespace teetotal::runtime {

// Whether an address belongs to the C library: its variables (stderr) are its own affair. hooks_libc.cpp.
bool of_library(std::uintptr_t address);
bool library_between(std::uintptr_t begin, std::uintptr_t end);

// Whether nobody else can see the address.
inline bool hidden(const Thread& self, std::uintptr_t address) {
  const std::uint32_t owner = stack_owner(address);
  if (owner < kMaxThreads) [[unlikely]] {
    if (owner == self.number) return self.stack_private;
    const std::uint32_t bit = 1U << (owner < 31 ? owner : 31);
    if ((process.shared_stacks & bit) == 0) {
      process.shared_stacks |= bit;
      process.restart = true;
    }
    return false;
  }
  if (address - self.tls < self.tls_size) return true;
  if (process.memory.in_object(address) || in_heap(address)) return false;
  constexpr std::uintptr_t kStaticBlock = 4096;  // where errno lies
  return self.fiber.thread_pointer - address < kStaticBlock || of_library(address);
}

[[gnu::noinline, gnu::cold]] inline void bad_heap_access(Thread& self, std::uintptr_t address, std::uintptr_t place) {
  const Block block = process.memory.block(address);
  if (block.freed) fail(self, Failure::freed, "", place);
  if (block.address == 0) fail(self, Failure::overflow, "", place);
}

inline void check_heap(Thread& self, std::uintptr_t address, std::uintptr_t place) {
  if (!in_heap(address)) return;
  const Grain grain = process.memory.grain(address);
  if (grain != Grain::first && grain != Grain::more) [[unlikely]]
    bad_heap_access(self, address, place);
}

[[gnu::always_inline]] inline void operate(Thread& self, Kind kind, Writes writes, std::uintptr_t address, Tag tag,
                                           std::uintptr_t place, Wide expected = 0, bool plain = false,
                                           bool part = false) {
  if (!process.alone) {
    self.operation.kind = kind;
    self.operation.writes = writes;
    self.operation.tag = tag;
    self.operation.waiting = Waiting::none;
    self.operation.verb = Verb::none;
    self.operation.part = part;
    self.operation.plain = plain;
    self.operation.cell = process.cells.number(address, tag);
    self.operation.enabler = -1;
    self.operation.address = address;
    self.operation.place = place;
    self.operation.expected = expected;
    self.operation.enabled = nullptr;
    visible(self);
  } else {
    ++process.progress;
  }
  check_heap(self, address, place);
}

}  // namespace teetotal::runtime
