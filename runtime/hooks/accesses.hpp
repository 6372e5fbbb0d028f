// What the hooks of accesses to memory share.
#pragma once

#include "imports.hpp"
#include "lifetimes.hpp"
#include "object_bytes.hpp"
#include "unwritten.hpp"

namespace teetotal::runtime {

// Whether an address belongs to the C library. hooks_libc.cpp.
bool of_library(std::uintptr_t address);
bool library_between(std::uintptr_t begin, std::uintptr_t end);

// Copies memory part by part, from or to memory of our own: hooks_copies.cpp.
void copy(void* to, const void* from, std::size_t size, std::uintptr_t place);
void read_parts(Thread& self, char* own, const void* from, std::size_t size, std::uintptr_t place);
void write_parts(Thread& self, void* to, const char* own, std::size_t size, std::uintptr_t place);
// Whether it lies in this executable: a hook's own code.
bool of_executable(std::uintptr_t address);

// Whether nobody else can see the address.
[[gnu::always_inline]] inline bool hidden(Thread& self, std::uintptr_t address, std::uintptr_t place,
                                          std::size_t size) {
  if (memory.in_object(address) || in_heap(address)) return false;
  const std::uint32_t owner = stack_owner(address);
  if (owner < kMaxThreads) {
    if (owner != self.number) {
      touch_stack(address, size);
      return false;
    }
    if (touched_by_others(address, size, owner)) return false;
    if (address < reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) + kFrameHead ||
        self.stack.gone.contains(address)) [[unlikely]]
      use_after_return(self, address, place);
    return true;
  }
  if (address - self.tls < self.tls_size) return self.locals_private;
  return outside(self, address, place);
}

// The same, asked by what is no hook itself: some frames of ours may lie between it and the program's.
inline bool hidden_from_call(Thread& self, std::uintptr_t address, std::uintptr_t place, std::size_t size) {
  if (!hidden(self, address, place, size)) return false;
  if (stack_owner(address) < kMaxThreads)
    check_owner(self, address, place, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  return true;
}

[[gnu::noinline, gnu::cold]] inline void bad_heap_access(Thread& self, std::uintptr_t address, std::uintptr_t place) {
  check_owner(self, address, place, 0);
  fail(self, Failure::overflow, "", place);
}

// Whether the memory at an address is there, now that the operation is done. `tag`: of an object, or any of data.
[[gnu::always_inline]] inline void check_memory(Thread& self, std::uintptr_t address, std::size_t size,
                                                std::uintptr_t place, Tag tag = Tag::byte) {
  if (memory.in_object(address)) return;
  if (process.ending != 0) [[unlikely]]
    check_ending(self, address, tag, place);
  if (in_heap(address)) {
    if (!Memory::in_use(address, size)) [[unlikely]]
      bad_heap_access(self, address, place);
  } else {
    check_owner(self, address, place, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  }
}

[[gnu::always_inline]] inline void operate(Thread& self, Kind kind, Writes writes, std::uintptr_t address, Tag tag,
                                           std::uintptr_t place, Wide expected = 0, bool plain = false,
                                           bool part = false, bool single = false, Order order = Order::na,
                                           Order failure = Order::na) {
  if (!process.unwatched()) {
    if (kind == Kind::st && object_bytes.may_meet(address)) [[unlikely]]
      if (object_bytes.store(self, address, size_of(tag), place)) return;
    self.operation.kind = kind;
    self.operation.writes = writes;
    self.operation.tag = tag;
    self.operation.waiting = Waiting::none;
    self.operation.verb = Verb::none;
    self.operation.needs = Needs::nothing;
    self.operation.part = part;
    self.operation.plain = plain;
    self.operation.order = order;
    self.operation.failure = failure;
    self.single = single;
    self.operation.enabler = -1;
    self.operation.address = address;
    self.operation.place = place;
    self.operation.expected = expected;
    self.operation.enabled = nullptr;
    visible(self);
  } else if (follows_rounds && kind != Kind::st) {
    note_read(self, address, size_of(tag));
  }
  check_memory(self, address, size_of(tag), place, tag);
  if (kind != Kind::st && object_bytes.may_meet(address)) [[unlikely]]
    object_bytes.load(address, size_of(tag), place);
}

// The running code is about to write `size` bytes at `to`, or nothing that matters (0), with what it reads at `from`,
// or somewhere else (0), and without any hook between. hooks_copies.cpp.
void announce(Thread& self, std::uintptr_t to, std::uintptr_t from, std::size_t size, std::uintptr_t place,
              Announced by);

// Names a look at the clock, but for those that decide nothing: hooks_clock.cpp.
void look_at_clock(const char* function, std::uintptr_t place);

constexpr Tag tag_for(std::size_t size) {
  return size == 1 ? Tag::byte : size == 2 ? Tag::half : size == 4 ? Tag::word : size == 8 ? Tag::oct : Tag::vector;
}

// A load that is about to be done, of an object that may lie anywhere (__tsan_unaligned_read…): whether it sees
// anything but what fresh memory is filled with.
template <typename T>
void look_for_unwritten(Thread& self, const volatile T* target, std::uintptr_t place) {
  struct [[gnu::packed]] Anywhere {
    T value;
  };
  const auto address = reinterpret_cast<std::uintptr_t>(target);
  if (reinterpret_cast<const volatile Anywhere*>(target)->value == static_cast<T>(unwritten.pattern)) [[unlikely]]
    if (in_heap(address) || stack_owner(address) < kMaxThreads) suspect_unwritten(self, address, place);
}

inline void look_for_unwritten(Thread& self, const void* pointer, Tag tag, std::uintptr_t place) {
  switch (tag) {
    case Tag::byte:
      return look_for_unwritten(self, static_cast<const std::uint8_t*>(pointer), place);
    case Tag::half:
      return look_for_unwritten(self, static_cast<const std::uint16_t*>(pointer), place);
    case Tag::word:
      return look_for_unwritten(self, static_cast<const std::uint32_t*>(pointer), place);
    case Tag::oct:
      return look_for_unwritten(self, static_cast<const std::uint64_t*>(pointer), place);
    default:  // 16 bytes are copied, not looked at
      return;
  }
}

}  // namespace teetotal::runtime
