#include "local_state.hpp"

#include <cpuid.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "accesses.hpp"
#include "hash_memory.hpp"
#include "lifetimes.hpp"

namespace teetotal::runtime {

LocalStates local_states;

extern "C" std::uint32_t teetotal_vectors;  // hooks_assembly.cpp

namespace {

constexpr std::array<std::uint32_t, kRbp> kNumbers{3, 12, 13, 14, 15};  // of Kept, as programs/c/machine.py has them

// A part of a stack, without what others may look at.
std::uint64_t hash_stack(std::uint64_t hash, std::uintptr_t begin, std::uintptr_t end, std::uint32_t owner) {
  if (!touched_by_others(begin, end - begin, owner)) return hash_range(hash, begin, end);
  while (begin < end) {
    const std::uintptr_t grain_end = std::min(end, begin - begin % kGrainSize + kGrainSize);
    if (!touched_by_others(begin, grain_end - begin, owner)) hash = mix(hash, word_at(begin, grain_end - begin));
    begin = grain_end;
  }
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
constexpr std::uintptr_t kSaved = 2816, kRegisters = 17 * kWord;

// As the processor saves them: what controls arithmetic, the registers, and those kinds of longer ones that there are.
// Where these lie is the processor's to say: some leave room for kinds that they do not have. Between them nothing is
// written, so that what earlier calls left on the stack shows there.
struct Saved {
  std::uintptr_t begin = 0, end = 0;
};
std::array<Saved, 8> places_of_vectors() {
  std::array<Saved, 8> places;
  for (unsigned kind = 2; kind < places.size(); ++kind) {
    unsigned size = 0, begin = 0, c = 0, d = 0;
    if ((teetotal_vectors >> kind & 1U) != 0 && __get_cpuid_count(0xD, kind, &size, &begin, &c, &d) != 0)
      places[kind] = {.begin = begin, .end = std::uintptr_t{begin} + size};
  }
  return places;
}

std::uint64_t hash_vectors(std::uint64_t hash, std::uintptr_t area) {
  static const std::array<Saved, 8> kPlaces = places_of_vectors();
  hash = hash_range(hash_range(hash, area + 24, area + 28), area + 32, area + 416);
  for (const auto& [begin, end] : kPlaces)
    if (begin != end) hash = hash_range(hash, area + begin, area + end);
  return hash;
}

// Whether one of the places that a thread's calls return to is such a one: innermost first, by frame pointers.
template <typename Is>
bool any_call(const Thread& thread, Is is) {
  struct Frame {
    const Frame* caller;
    std::uintptr_t returns_to;
  };
  const std::uintptr_t top = stack_top(thread.number);
  const auto* frame = static_cast<const Frame*>(static_cast<void* const*>(thread.fiber.stack_pointer)[kSavedFrame]);
  for (;;) {
    const auto address = reinterpret_cast<std::uintptr_t>(frame);
    if (address % kWord != 0 || address >= top - sizeof(Frame) || address < top - kStackSize) return false;
    if (is(frame->returns_to)) return true;
    if (frame->caller <= frame) return false;
    frame = frame->caller;
  }
}

bool keeps_all(std::uintptr_t frame, const Unwound& at, std::uintptr_t place) {
  return frame % kWord == 0 && frame - at.end - kSaved - kRegisters < 64 &&
         *reinterpret_cast<const std::uintptr_t*>(frame + kWord) == place;
}

void leave_thunk(std::uintptr_t frame, Unwound& at) {
  constexpr std::uintptr_t kRedZone = 128;
  at.place = *reinterpret_cast<const std::uintptr_t*>(frame + kWord);
  at.end = frame + 3 * kWord + kRedZone;  // with rdi
  at.slots = {frame - 14 * kWord, frame - 5 * kWord, frame - 4 * kWord, frame - 3 * kWord, frame - 2 * kWord, frame};
}

}  // namespace

std::uint64_t where_in_calls(const Thread& thread) {
  std::array<std::uintptr_t, 64> places;  // further up it is told from no other
  std::size_t count = 0;
  std::uint64_t calls = mix(0, thread.operation.place);
  any_call(thread, [&](std::uintptr_t place) {
    if (!memory.in_object(place) || std::find(places.begin(), places.begin() + count, place) != places.begin() + count)
      return false;
    places[count++] = place;
    calls = mix(calls, place);
    return count == places.size();
  });
  return calls;
}

void LocalStates::read(const std::string& file, std::uintptr_t base) {
  base_ = base;
  std::ifstream line(file);
  std::uintptr_t begin = 0, size = 0;
  line >> std::hex >> begin >> size >> reads_errno_;
  for (std::uintptr_t at = base + begin; at < base + begin + size;) {
    const auto* entry = reinterpret_cast<const Entry*>(at);
    if ((entry->flags & kNobodyWaits) != 0) {
      nobody_waits_ = true;
      at += sizeof(Entry);
      continue;
    }
    const std::uintptr_t place = at + static_cast<std::uintptr_t>(std::intptr_t{entry->place});
    entries_.resize(std::max(entries_.size(), place - base + 1));
    entries_[place - base] = static_cast<std::uint32_t>(at - base);
    at += sizeof(Entry) + entry->slots().size_bytes();
  }
}

// Whether some call of the program's on its stack lies on a way round on which nothing is stored for sure, or nothing
// is known of it.
bool LocalStates::may_wait(const Thread& thread) const {
  const auto marked = [&](std::uintptr_t place) {
    if (const Entry* entry = at(place)) return (entry->flags & kMayWait) != 0;
    return memory.in_object(place);
  };
  return marked(thread.operation.place) || any_call(thread, marked);
}

// Of a program that says itself where its threads stand (rounds.hpp): that, and the operation.
LocalState LocalStates::on_its_way(const Thread& thread) const {
  if (!thread.rounds.looping || thread.rounds.blind) return {};
  return {mix(before_operation(thread), thread.rounds.path) | 1U, true};
}

// What a thread stands before, and what it has that others have no part in, but its stack.
std::uint64_t LocalStates::before_operation(const Thread& thread) const {
  const Operation& operation = thread.operation;
  std::uint64_t hash =
      mix(mix(mix(thread.asked.nondet, thread.asked.random), thread.asked.clock), thread.asked.changes);
  hash = mix(hash, thread.number);  // the next operation may be on its own stack
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
  if (thread.single && operation.kind == Kind::rmw) add_wide(thread.operand);
  if (thread.tls != 0 && thread.locals_private) hash = hash_range(hash, thread.tls, thread.tls + thread.tls_size);
  if (thread.error != nullptr && reads_errno_) add(static_cast<std::uint64_t>(*thread.error));
  add(reinterpret_cast<std::uintptr_t>(thread.at_end));
  for (const auto& [key, value] : thread.specific) {
    add(key);
    add(reinterpret_cast<std::uintptr_t>(value));
  }
  return hash;
}

LocalState LocalStates::of(const Thread& thread) const {
  const Operation& operation = thread.operation;
  std::uint64_t hash = before_operation(thread);
  const auto add = [&](std::uint64_t word) { hash = mix(hash, word + 0x9E37); };
  const std::uintptr_t top = stack_top(thread.number);
  Unwound at = unwound(thread.fiber);
  const auto begin = reinterpret_cast<std::uintptr_t>(thread.fiber.stack_pointer);
  std::uint32_t frames = 0;
  while (of_executable(at.place) && go_up(at)) ++frames;
  // The hook itself, and what it may call to switch.
  const bool single = at.place == operation.place && (operation.alone || (thread.single && frames <= 2));
  bool exact = single;
  if (const std::uintptr_t frame = at.value(kRbp); of_executable(at.place) && keeps_all(frame, at, operation.place)) {
    const std::uintptr_t vectors = at.end;
    leave_thunk(frame, at);
    const Entry* entry = this->at(at.place);
    exact = entry != nullptr && (entry->flags & (kVectors | kRemains)) == 0;
    if (entry == nullptr || (entry->flags & kVectors) != 0) hash = hash_vectors(hash, vectors);
    for (unsigned number = 0; number < kRegisters / kWord; ++number)
      if (entry == nullptr || entry->live(number)) add(word_at(frame - kRegisters + number * kWord));
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
      return {hash_stack(hash, low, top, thread.number) | 1U, exact && !memory.in_object(place)};
    }
    for (std::size_t which = 0; which < kRbp; ++which)
      if (entry->live(kNumbers[which])) add(registers[which]);
    if ((entry->flags & kWhole) != 0) {
      hash = hash_stack(hash, low, frame, thread.number);
      exact = false;
    }
    for (const Slot& one : entry->slots()) {
      const std::uintptr_t slot = frame + static_cast<std::uintptr_t>(std::intptr_t{one.offset});
      if (one.given_away != 0) {
        hash = hash_stack(hash, slot, slot + one.size, thread.number);
        exact = false;
      } else {
        hash = hash_range(hash, slot, slot + one.size);
      }
    }
    std::uintptr_t copy = frame;
    for (std::uint32_t saved = entry->saved; saved != 0; saved >>= 4U) {
      copy -= kWord;
      const auto which = std::ranges::find(kNumbers, saved & 15U) - kNumbers.begin();
      registers[static_cast<std::size_t>(which)] = *reinterpret_cast<const std::uintptr_t*>(copy);
    }
    place = *reinterpret_cast<const std::uintptr_t*>(frame + kWord);
    registers[kRbp] = *reinterpret_cast<const std::uintptr_t*>(frame);
    low = frame + 2 * kWord;
  }
}

}  // namespace teetotal::runtime
