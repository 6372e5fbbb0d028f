#include "local_state.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "accesses.hpp"
#include "hash.hpp"
#include "lifetimes.hpp"

namespace teetotal::runtime {

LocalStates local_states;

namespace {

constexpr std::uintptr_t kWord = sizeof(std::uint64_t);

std::uint64_t word_at(std::uintptr_t address, std::size_t size = kWord) {
  std::uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), size);
  return value + 0x9E37;
}

std::uint64_t hash_range(std::uint64_t hash, std::uintptr_t begin, std::uintptr_t end) {
  for (; begin < end; begin += kWord) hash = mix(hash, word_at(begin, std::min(end - begin, kWord)));
  return hash;
}

// A part of a stack, without what others may look at.
std::uint64_t hash_stack(std::uint64_t hash, std::uintptr_t begin, std::uintptr_t end) {
  for (; begin < end; begin += kWord)
    if (!touched_by_others(begin, kWord)) hash = mix(hash, word_at(begin));
  return hash;
}

// Frames of our own, without the program's registers.
std::uint64_t hash_own(std::uint64_t hash, std::uintptr_t begin, const Unwound& at) {
  for (; begin < at.end; begin += kWord)
    if (std::ranges::find(at.slots, begin) == at.slots.end()) hash = mix(hash, word_at(begin));
  return hash;
}

// A hook that keeps all registers (hooks_assembly.cpp) has them right below its frame, and vectors where it calls what
// does its work. What lies between and what that left on the stack is no part of what the thread is.
constexpr std::uintptr_t kVectors = 2816, kRegisters = 17 * kWord;

bool keeps_all(std::uintptr_t frame, const Unwound& at, std::uintptr_t place) {
  return frame % kWord == 0 && frame - at.end - kVectors - kRegisters < 64 &&
         *reinterpret_cast<const std::uintptr_t*>(frame + kWord) == place;
}

void leave_thunk(std::uintptr_t frame, Unwound& at) {
  constexpr std::uintptr_t kRedZone = 128;
  at.place = *reinterpret_cast<const std::uintptr_t*>(frame + kWord);
  at.end = frame + 3 * kWord + kRedZone;  // with rdi
  at.slots = {frame - 14 * kWord, frame - 5 * kWord, frame - 4 * kWord, frame - 3 * kWord, frame - 2 * kWord, frame};
}

}  // namespace

void LocalStates::read(const std::string& file, std::uintptr_t base) {
  std::ifstream line(file);
  std::uintptr_t begin = 0, size = 0;
  line >> std::hex >> begin >> size;
  for (std::uintptr_t at = base + begin; at < base + begin + size;) {
    const auto* entry = reinterpret_cast<const Entry*>(at);
    entries_.emplace(at + static_cast<std::uintptr_t>(std::intptr_t{entry->place}), entry);
    at += sizeof(Entry) + entry->slots().size_bytes();
  }
}

// Whether some call of the program's on its stack lies on a way round on which nothing is stored for sure, or nothing
// is known of it.
bool LocalStates::may_wait(const Thread& thread) const {
  const auto marked = [&](std::uintptr_t place) {
    if (!process.memory.in_object(place)) return false;
    const Entry* entry = at(place);
    return entry == nullptr || (entry->flags & kMayWait) != 0;
  };
  if (marked(thread.operation.place)) return true;
  struct Frame {
    const Frame* caller;
    std::uintptr_t returns_to;
  };
  const std::uintptr_t top = stack_top(thread.number);
  const auto* frame = static_cast<const Frame*>(static_cast<void* const*>(thread.fiber.stack_pointer)[kSavedFrame]);
  for (;;) {
    const auto address = reinterpret_cast<std::uintptr_t>(frame);
    if (address % kWord != 0 || address >= top - sizeof(Frame) || address < top - kStackSize) return false;
    if (marked(frame->returns_to)) return true;
    if (frame->caller <= frame) return false;
    frame = frame->caller;
  }
}

LocalState LocalStates::of(const Thread& thread) const {
  const Operation& operation = thread.operation;
  std::uint64_t hash = mix(mix(mix(thread.nondet, thread.random), thread.clock), thread.changes);
  const auto add = [&](std::uint64_t word) { hash = mix(hash, word + 0x9E37); };
  const auto add_wide = [&](Wide value) {
    add(static_cast<std::uint64_t>(value));
    add(static_cast<std::uint64_t>(value >> 64U));
  };
  add(operation.place);
  add(operation.address);
  add(static_cast<std::uint64_t>(operation.kind) << 16U | static_cast<std::uint64_t>(operation.writes) << 8U |
      static_cast<std::uint64_t>(operation.tag));
  if (operation.writes > Writes::always) add_wide(operation.expected);
  if (operation.kind == Kind::rmw) add_wide(operation.operand);
  if (thread.tls != 0 && thread.locals_private) hash = hash_range(hash, thread.tls, thread.tls + thread.tls_size);
  if (thread.error != nullptr) add(static_cast<std::uint64_t>(*thread.error));
  add(reinterpret_cast<std::uintptr_t>(thread.at_end));
  for (const auto& [key, value] : thread.specific) {
    add(key);
    add(reinterpret_cast<std::uintptr_t>(value));
  }

  const std::uintptr_t top = stack_top(thread.number);
  Unwound at = unwound(thread.fiber);
  const auto begin = reinterpret_cast<std::uintptr_t>(thread.fiber.stack_pointer);
  std::uint32_t frames = 0;
  while (of_executable(at.place) && go_up(at)) ++frames;
  // The hook itself, and what it may call to switch.
  const bool single = operation.single && at.place == operation.place && frames <= 2;
  bool exact = single;
  if (const std::uintptr_t frame = at.value(kRbp); of_executable(at.place) && keeps_all(frame, at, operation.place)) {
    hash = hash_range(hash_range(hash, at.end, at.end + kVectors), frame - kRegisters, frame);
    leave_thunk(frame, at);
  } else if (!single) {
    hash = hash_own(hash, begin, at);
  }
  std::array<std::uintptr_t, kKept> registers{};
  for (std::size_t which = 0; which < kKept; ++which) registers[which] = at.value(static_cast<Kept>(which));
  std::uintptr_t low = at.end, place = at.place;
  for (;;) {
    add(place);
    const Entry* entry = this->at(place);
    const std::uintptr_t frame = registers[kRbp];
    if (entry == nullptr || frame < low || frame >= top - 2 * kWord) {
      for (const std::uintptr_t value : registers) add(value);
      // What calls the program first leaves its frame as it is.
      return {hash_stack(hash, low, top) | 1U, exact && !process.memory.in_object(place)};
    }
    for (std::uint32_t which = 0; which < kRbp; ++which)
      if ((entry->flags >> which & 1U) != 0) add(registers[which]);
    if ((entry->flags & kWhole) != 0) {
      hash = hash_stack(hash, low, frame);
      exact = false;
    }
    for (const auto& [offset, size] : entry->slots()) {
      const std::uintptr_t slot = frame + static_cast<std::uintptr_t>(std::intptr_t{offset});
      hash = hash_range(hash, slot, slot + size);
    }
    // Numbers of registers as in programs/c/machine.py: rbx is 3, and r12 to r15 are themselves.
    std::uintptr_t copy = frame;
    for (std::uint32_t saved = entry->saved; saved != 0; saved >>= 4U) {
      copy -= kWord;
      const std::uint32_t number = saved & 15U;
      registers[number == 3 ? std::size_t{kRbx} : kR12 + std::size_t{number} - 12] = word_at(copy) - 0x9E37;
    }
    place = *reinterpret_cast<const std::uintptr_t*>(frame + kWord);
    registers[kRbp] = *reinterpret_cast<const std::uintptr_t*>(frame);
    low = frame + 2 * kWord;
  }
}

}  // namespace teetotal::runtime
