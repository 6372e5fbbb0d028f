// What programs that were seen through LLVM's IR say of themselves: where their functions begin and end, which of their
// locals others may know, and what is live where they may wait. See rounds.hpp.
#include <algorithm>
#include <cstdarg>
#include <cstring>

#include "accesses.hpp"
#include "addresses.hpp"
#include "hash_memory.hpp"
#include "local_state.hpp"
#include "rounds.hpp"
#include "unwritten.hpp"

namespace teetotal::runtime {

namespace {

// Without what other threads look at: that is memory like any other.
std::uint64_t hash_own_memory(std::uint64_t hash, std::uintptr_t begin, std::uintptr_t end, std::uint32_t owner) {
  if (!touched_by_others(begin, end - begin, owner)) return hash_range(hash, begin, end);
  while (begin < end) {
    const std::uintptr_t grain_end = std::min(end, begin - begin % kGrainSize + kGrainSize);
    if (!touched_by_others(begin, grain_end - begin, owner)) hash = mix(hash, word_at(begin, grain_end - begin));
    begin = grain_end;
  }
  return hash;
}

std::uint64_t hash_frames(std::uint64_t hash, Thread& self) {
  self.rounds.blind = false;
  const std::uintptr_t top = stack_top(self.number);
  auto below = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  for (FrameRecord* frame = self.rounds.frames; frame != nullptr; frame = frame->caller) {
    const auto at = reinterpret_cast<std::uintptr_t>(frame);
    if (at <= below || at >= top) {  // left by a way that nobody told of
      self.rounds.blind = true;
      return hash;
    }
    below = at;
    self.rounds.blind = self.rounds.blind || frame->blind != 0;
    for (const auto& [begin, size] : frame->slots())
      if (size != 0) hash = hash_own_memory(mix(hash, begin), begin, begin + size, self.number);
  }
  return hash;
}

void fill_fresh(std::uintptr_t begin, std::size_t size) {
  std::memset(reinterpret_cast<void*>(begin), unwritten.fill, size);
}

}  // namespace

void note_seen(Thread& self) {
  const Operation& operation = self.operation;
  std::uint64_t& path = self.rounds.path;
  path = mix(mix(path, operation.place),
             static_cast<std::uint64_t>(operation.kind) << 8U | static_cast<std::uint64_t>(operation.verb));
  if (is_fence(operation.kind)) return;
  path = mix(mix(path, operation.address), self.wait.signals);
  if (operation.kind == Kind::st || operation.kind == Kind::unlock) return;  // it shows its thread nothing
  if (!readable(operation.address) && is_data(operation.tag)) return;
  const Wide seen = seen_by(operation);
  path = mix(mix(path, static_cast<std::uint64_t>(seen)), static_cast<std::uint64_t>(seen >> 64U));
  if (operation.verb == Verb::join)
    path = mix(path, reinterpret_cast<std::uintptr_t>(reinterpret_cast<const Thread*>(operation.address)->result));
}

void note_read(Thread& self, std::uintptr_t address, std::size_t size) {
  if (readable(address) && readable(address + size - 1))
    self.rounds.path = hash_range(mix(self.rounds.path, address), address, address + size);
}

void note_memory(Thread& self) {
  constexpr std::size_t kMost = std::size_t{1} << 22;
  std::vector<Region> regions;
  memory.written(regions, process.count);
  std::size_t size = 0;
  for (const auto& region : regions) size += region.size;
  std::uint64_t& path = self.rounds.path;
  if (size > kMost)
    path = mix(path, static_cast<std::uint64_t>(process.step));  // it is where it was in no other execution
  else
    for (const auto& region : regions) path = hash_range(path, region.begin, region.begin + region.size);
}

void begin_path(Thread& created) {
  created.rounds = {};
  created.rounds.path =
      mix(reinterpret_cast<std::uintptr_t>(created.routine), reinterpret_cast<std::uintptr_t>(created.argument));
}

}  // namespace teetotal::runtime

using namespace teetotal::runtime;  // NOLINT: the hooks below are the whole rest of the file

extern "C" {

void teetotal_frame_ended(std::uintptr_t below, std::uintptr_t place);
void teetotal_parameter_area_begun(std::uintptr_t end);
void teetotal_parameter_area_ended(std::uintptr_t below, std::uintptr_t parameters, std::uintptr_t place);

// A function begins that has to be followed: its base.
std::uint64_t teetotal_function_begins(FrameRecord* frame, std::uint64_t count) {
  Thread* self = process.current;
  *frame = {.caller = self == nullptr ? nullptr : self->rounds.frames, .blind = 0, .count = count};
  std::ranges::fill(frame->slots(), FrameRecord::Slot{});
  if (self == nullptr) return 0;
  self->rounds.frames = frame;
  return (self->rounds.path & ~std::uint64_t{1}) | self->rounds.looping;
}

// It is about to return. `base`: where its caller's frame pointer lies, and beyond that where it returns to.
void teetotal_function_ends(FrameRecord* frame, std::uintptr_t base) {
  Thread* self = process.current;
  if (self == nullptr) return;
  if (teetotal_frames_watched != 0) {
    const std::uintptr_t parameters = base + 2 * kWord;
    std::uintptr_t below = base + kWord;
    for (const auto& [begin, size] : frame->slots())  // what was given by value lies beyond
      if (size != 0 && begin >= parameters) below = std::max(below, begin + (size + kWord - 1) / kWord * kWord);
    const auto kept = self->stack.gone;
    self->stack.gone = {stack_top(self->number) - kStackSize, below};
    teetotal_parameter_area_ended(below, std::min(parameters, below), TEETOTAL_PLACE);
    self->stack.gone = kept;
  }
  self->rounds.frames = frame->caller;
}

// Control has come back to a function over others that have not returned.
void teetotal_back(FrameRecord* frame, std::uint64_t base) {
  Thread* self = process.current;
  if (self == nullptr) return;
  self->rounds.frames = frame;
  self->rounds.looping = (base & 1U) != 0;
}

// Nobody looks at what the call that comes next returns.
void teetotal_result_unused() {
  if (Thread* self = process.current) self->rounds.unused = true;
}

// No way leads back any more to where it may wait, in this function.
void teetotal_left(std::uint64_t base) {
  if (Thread* self = process.current) self->rounds.looping = (base & 1U) != 0;
}

// A local whose address others may know begins to live, with nothing written.
void teetotal_local_begins(FrameRecord* frame, std::uint64_t number, std::uintptr_t begin, std::uint64_t size) {
  frame->slots()[number] = {begin, size};
  fill_fresh(begin, size);
}

// One that has been written: a parameter given by value, at the end of the caller's frame.
void teetotal_local_given(FrameRecord* frame, std::uint64_t number, std::uintptr_t begin, std::uint64_t size) {
  frame->slots()[number] = {begin, size};
  teetotal_parameter_area_begun(begin + (size + kWord - 1) / kWord * kWord);
}

// One of a size that was not known before. There may be several of one name: then nobody knows all of them.
void teetotal_local_grown(FrameRecord* frame, std::uint64_t number, std::uintptr_t begin, std::uint64_t size) {
  if (frame->slots()[number].size != 0 && frame->slots()[number].begin != begin) frame->blind = 1;
  frame->slots()[number] = {begin, size};
  fill_fresh(begin, size);
}

void teetotal_local_ends(FrameRecord* frame, std::uint64_t number) { frame->slots()[number] = {}; }

void teetotal_fresh(std::uintptr_t begin, std::uint64_t size) { fill_fresh(begin, size); }

// An access of so many bytes to a local that nobody else knows, or to what lies beside it in its frame.
void teetotal_stays_inside(std::uintptr_t address, std::uint64_t size, std::uintptr_t begin, std::uint64_t whole) {
  if (address - begin <= whole && size <= whole - (address - begin)) return;
  if (Thread* self = process.current)
    fail(*self, Failure::crash, "uses memory beyond a local variable", TEETOTAL_PLACE);
}

// What the program does with numbers that may be addresses: addresses.hpp.
void teetotal_addresses_ordered() {
  if (process.current != nullptr) addresses.compared_objects(TEETOTAL_PLACE);
}
void teetotal_address_hashed(std::uint64_t value) {
  if (process.current != nullptr && may_be_address(value)) addresses.hashed(value, TEETOTAL_PLACE);
}

// Instructions of the processor.
void teetotal_mfence() {
  if (Thread* self = process.current) mfence(*self, TEETOTAL_PLACE);
}
void teetotal_sfence() {
  if (Thread* self = process.current) sfence(*self, TEETOTAL_PLACE);
}

// A load of a local that nobody else knows: it may see what was never written. `half`: it could be the first half of a
// store to a bit-field.
void teetotal_look_at_own(const std::uint8_t* bytes, std::uint64_t size, int half) {
  if (process.current == nullptr || (half != 0 && unwritten.bit_fields)) return;
  if (!std::all_of(bytes, bytes + size, [](auto byte) { return byte == unwritten.fill; })) return;
  weigh_unwritten(reinterpret_cast<std::uintptr_t>(bytes), TEETOTAL_PLACE);
}

// A point: so many words, and so many addresses with sizes of memory, are all that is live in the function.
void teetotal_round(std::uint64_t base, int words, int ranges, ...) {
  Thread* self = process.current;
  if (self == nullptr || process.alone) return;
  std::uint64_t hash = teetotal::mix(base, TEETOTAL_PLACE);
  std::va_list given;
  va_start(given, ranges);
  for (int i = 0; i < words; ++i) hash = teetotal::mix(hash, va_arg(given, std::uint64_t) + 1);
  for (int i = 0; i < ranges; ++i) {
    const auto begin = va_arg(given, std::uintptr_t);
    hash = hash_range(hash, begin, begin + va_arg(given, std::uint64_t));
  }
  va_end(given);
  if (self->tls != 0 && self->locals_private) hash = hash_range(hash, self->tls, self->tls + self->tls_size);
  self->rounds.path = hash_frames(hash, *self);
  self->rounds.looping = true;
}
}
