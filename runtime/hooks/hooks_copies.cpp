// Copies and fills of memory, part by part.
//
// A call of memcpy and the like in the program comes here (imports.hpp). What the compiler copies or fills by itself it
// only announces: where it writes, where it reads, or (an assignment of a struct by gcc, which the build gives names of
// its own) both. Then it does everything at once, with no hook between. So the parts are loaded when it is announced,
// and put where it will look for them; at the next hook, before anybody else runs, what it has written is taken back,
// memory is as it was, and the parts are stored one by one.
#include <cstring>

#include "accesses.hpp"

namespace teetotal::runtime {
namespace {

// What lay where the running thread's compiler writes, and where it reads if something else was put there. Nobody else
// runs until the next hook.
std::vector<char> behind, beside;

// Memory for the parts while others run: on the thread's own stack, or in its heap.
class Parts {
 public:
  Parts(Thread& self, std::size_t size, std::uintptr_t place) : bytes_(small_) {
    if (size > sizeof small_) bytes_ = static_cast<char*>(memory.allocate(self.number, size, 0, place));
    if (bytes_ == nullptr) fail(self, Failure::unsupported, "a copy that is too large", place);
  }
  char* data() { return bytes_; }

 private:
  char small_[256];
  char* bytes_;
};

template <typename Visit>
void each_part(Thread& self, Kind kind, std::uintptr_t address, std::size_t size, std::uintptr_t place, Announced by,
               Visit visit) {
  const std::size_t most = rules.buffered ? std::size_t{1} << 15 : std::size_t{1} << 19;
  if (size > most)
    fail(self, Failure::unsupported,
         "a copy or fill of more than " + std::to_string(most >> 10) + " KB" +
             (rules.buffered ? " under --goal safe" : " beside other threads"),
         place);
  for (std::size_t offset = 0; offset < size;) {
    const Cells::Piece piece =
        by == Announced::whole ? Cells::Piece{address, tag_for(size)} : cells.piece(address + offset, address + size);
    const Writes writes = kind == Kind::st ? Writes::always : Writes::never;
    operate(self, kind, writes, piece.address, piece.tag, place, 0, by != Announced::whole, offset != 0);
    visit(offset, size_of(piece.tag));
    offset += size_of(piece.tag);
  }
}

void load(Thread& self, char* parts, std::uintptr_t from, std::size_t size, std::uintptr_t place,
          Announced by = Announced::compiler) {
  each_part(self, Kind::ld, from, size, place, by, [&](std::size_t offset, std::size_t count) {
    std::memcpy(parts + offset, reinterpret_cast<const char*>(from) + offset, count);
  });
}

void store(Thread& self, std::uintptr_t to, const char* parts, std::size_t size, std::uintptr_t place,
           Announced by = Announced::compiler) {
  each_part(self, Kind::st, to, size, place, by, [&](std::size_t offset, std::size_t count) {
    std::memcpy(reinterpret_cast<char*>(to) + offset, parts + offset, count);
  });
}

void check_range(Thread& self, std::uintptr_t address, std::size_t size, std::uintptr_t place) {
  check_memory(self, address, 1, place);
  check_memory(self, address + size - 1, 1, place);
}

// Whether a call is what the compiler has just announced.
bool announced(const Thread& self, std::uintptr_t to, std::uintptr_t from, std::size_t size) {
  return self.range.size == size && size != 0 && self.range.by == Announced::compiler &&
         (self.range.to == 0 || self.range.to == to) && (self.range.from == 0 || self.range.from == from);
}

}  // namespace

void read_parts(Thread& self, char* own, const void* from, std::size_t size, std::uintptr_t place) {
  const auto source = reinterpret_cast<std::uintptr_t>(from);
  if (size == 0) return;
  if (process.unwatched() || hidden(self, source, place, size)) {
    check_range(self, source, size, place);
    if (follows_rounds) note_read(self, source, size);
    std::memcpy(own, from, size);
  } else {
    load(self, own, source, size, place);
  }
}

void write_parts(Thread& self, void* to, const char* own, std::size_t size, std::uintptr_t place) {
  const auto target = reinterpret_cast<std::uintptr_t>(to);
  if (size == 0) return;
  if (process.unwatched() || hidden(self, target, place, size)) {
    check_range(self, target, size, place);
    std::memcpy(to, own, size);
  } else {
    store(self, target, own, size, place);
  }
}

void copy(void* to, const void* from, std::size_t size, std::uintptr_t place) {
  Thread* self = process.current;
  const auto target = reinterpret_cast<std::uintptr_t>(to), source = reinterpret_cast<std::uintptr_t>(from);
  if (self == nullptr || size == 0 || announced(*self, target, source, size)) {
    std::memmove(to, from, size);
    return;
  }
  if (process.unwatched() || (hidden(*self, target, place, size) && hidden(*self, source, place, size))) {
    check_range(*self, target, size, place);
    check_range(*self, source, size, place);
    if (follows_rounds) note_read(*self, source, size);
    std::memmove(to, from, size);
    return;
  }
  Parts parts(*self, size, place);
  read_parts(*self, parts.data(), from, size, place);
  write_parts(*self, to, parts.data(), size, place);
}

namespace {

void fill(void* to, int value, std::size_t size, std::uintptr_t place) {
  Thread* self = process.current;
  const auto target = reinterpret_cast<std::uintptr_t>(to);
  const bool own = self == nullptr || size == 0 || (self->range.from == 0 && announced(*self, target, 0, size));
  if (own || process.unwatched() || hidden(*self, target, place, size)) {
    if (!own) check_range(*self, target, size, place);
    std::memset(to, value, size);
    return;
  }
  each_part(*self, Kind::st, target, size, place, Announced::compiler,
            [&](std::size_t offset, std::size_t count) { std::memset(static_cast<char*>(to) + offset, value, count); });
}

void put_back(std::uintptr_t address, const std::vector<char>& bytes) {
  if (address == 0 || bytes.empty()) return;
  if (std::memcmp(reinterpret_cast<const void*>(address), bytes.data(), bytes.size()) != 0)
    std::memcpy(reinterpret_cast<void*>(address), bytes.data(), bytes.size());
}

}  // namespace

void announce(Thread& self, std::uintptr_t to, std::uintptr_t from, std::size_t size, std::uintptr_t place,
              Announced by) {
  if (self.range.size != 0) settle(self);
  self.operation.place = place;  // should there be nothing to look at
  if (process.unwatched()) {
    for (const std::uintptr_t range : {to, from})
      if (range != 0) check_range(self, range, size, place);
    if (follows_rounds && from != 0) note_read(self, from, size);
    return;
  }
  if (to != 0 && hidden_from_call(self, to, place, size)) to = 0;
  if (from != 0 && hidden_from_call(self, from, place, size)) from = 0;
  if (to == 0 && from == 0) return;
  if (from != 0) {
    Parts parts(self, size, place);
    load(self, parts.data(), from, size, place, by);
    auto* bytes = reinterpret_cast<char*>(from);
    beside.clear();
    if (to != 0) behind.assign(reinterpret_cast<char*>(to), reinterpret_cast<char*>(to) + size);
    if (std::memcmp(bytes, parts.data(), size) != 0) {  // otherwise it may be constant, or a frame that is left before
      beside.assign(bytes, bytes + size);               // the next hook, and then another's
      std::memcpy(bytes, parts.data(), size);
    }
  } else {
    behind.assign(reinterpret_cast<char*>(to), reinterpret_cast<char*>(to) + size);
  }
  self.range.to = to;
  self.range.from = from;
  self.range.size = size;
  // When it is settled, another function may be running.
  self.range.place = callers.empty() ? place : callers.teller(place, __builtin_frame_address(0));
  self.range.by = by;
  self.operation.place = place;
  self.range.caller = caller_of(self, __builtin_frame_address(0));
  teetotal_frames_watched |= kCopy;
}

void take_back(Thread& self) {
  put_back(self.range.from, beside);
  put_back(self.range.to, behind);
  self.range.size = 0;
  teetotal_frames_watched &= static_cast<std::uint8_t>(~kCopy);
}

void settle_before_end(Thread& self, std::uintptr_t below) {
  for (std::uintptr_t* const range : {&self.range.to, &self.range.from})  // what dies is not put back, nor stored
    if (stack_owner(*range) == self.number && *range < below) *range = 0;
  settle(self);
}

void settle(Thread& self) {
  const Operation next = self.operation;  // of the hook that is about to wait
  const std::uintptr_t to = self.range.to, place = self.range.place;
  const std::size_t size = self.range.size;
  const Announced by = self.range.by;
  if (to == 0) return take_back(self);
  Parts parts(self, size, place);
  std::memcpy(parts.data(), reinterpret_cast<const void*>(to), size);
  take_back(self);
  self.range.settles_for = self.range.caller;
  store(self, to, parts.data(), size, place, by);
  self.range.settles_for = 0;
  self.operation = next;
}

}  // namespace teetotal::runtime

using namespace teetotal;           // NOLINT: the hooks below are the whole rest of the file
using namespace teetotal::runtime;  // NOLINT

extern "C" {

void __tsan_write_range(void* to, unsigned long size) {
  if (process.current != nullptr && size != 0)
    announce(*process.current, reinterpret_cast<std::uintptr_t>(to), 0, size, TEETOTAL_PLACE, Announced::compiler);
}
void __tsan_read_range(void* from, unsigned long size) {
  if (process.current != nullptr && size != 0)
    announce(*process.current, 0, reinterpret_cast<std::uintptr_t>(from), size, TEETOTAL_PLACE, Announced::compiler);
}
// The build gives these names to hooks that announce both sides of an assignment, the first before the second.
void teetotal_copy_to(void* to, unsigned long) {
  if (process.current == nullptr) return;
  if (process.current->range.size != 0) settle(*process.current);
  process.current->range.to = reinterpret_cast<std::uintptr_t>(to);
}
void teetotal_copy_from(void* from, unsigned long size) {
  if (process.current != nullptr && size != 0)
    announce(*process.current, process.current->range.to, reinterpret_cast<std::uintptr_t>(from), size, TEETOTAL_PLACE,
             Announced::compiler);
}

// Calls of the program: see imports.hpp.
void* teetotal_memcpy(void* to, const void* from, std::size_t size) {
  copy(to, from, size, TEETOTAL_PLACE);
  return to;
}
void* teetotal_memmove(void* to, const void* from, std::size_t size) {
  copy(to, from, size, TEETOTAL_PLACE);
  return to;
}
void* teetotal_memset(void* to, int value, std::size_t size) {
  fill(to, value, size, TEETOTAL_PLACE);
  return to;
}
void* teetotal_mempcpy(void* to, const void* from, std::size_t size) {
  copy(to, from, size, TEETOTAL_PLACE);
  return static_cast<char*>(to) + size;
}
void teetotal_bcopy(const void* from, void* to, std::size_t size) { copy(to, from, size, TEETOTAL_PLACE); }
void teetotal_bzero(void* to, std::size_t size) { fill(to, 0, size, TEETOTAL_PLACE); }
wchar_t* teetotal_wmemmove(wchar_t* to, const wchar_t* from, std::size_t count) {
  copy(to, from, count * sizeof(wchar_t), TEETOTAL_PLACE);
  return to;
}
void* __tsan_memcpy(void* to, const void* from, std::size_t size) {
  copy(to, from, size, TEETOTAL_PLACE);
  return to;
}
void* __tsan_memmove(void* to, const void* from, std::size_t size) {
  copy(to, from, size, TEETOTAL_PLACE);
  return to;
}
void* __tsan_memset(void* to, int value, std::size_t size) {
  fill(to, value, size, TEETOTAL_PLACE);
  return to;
}
}
