#include "unwinding.hpp"

#include <cstring>
#include <unordered_map>
#include <vector>

namespace teetotal::runtime {

namespace {

struct Bases {
  void* text;
  void* data;
  void* function;
};
extern "C" const void* _Unwind_Find_FDE(void* place, Bases* bases);

constexpr std::uint64_t kFramePointer = 6, kStackPointer = 7;  // as DWARF numbers them

std::optional<Kept> kept(std::uint64_t number) {
  switch (number) {
    case 3:
      return kRbx;
    case kFramePointer:
      return kRbp;
    case 12:
    case 13:
    case 14:
    case 15:
      return static_cast<Kept>(kR12 + (number - 12));
    default:
      return std::nullopt;
  }
}

// How to find the caller's frame and registers, at some place of a function.
struct Row {
  bool by_frame_pointer = false;  // rather than by the stack pointer
  std::int64_t offset = 8;
  std::array<std::int64_t, kKept> saved{};  // from the end of the frame; 0: not saved
};

class Reader {
 public:
  explicit Reader(const std::uint8_t* at) : at_(at) {}

  template <typename T>
  T take() {
    T value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::uint64_t number() {  // ULEB128
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = take<std::uint8_t>();
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if ((byte & 0x80U) == 0) return value;
    }
  }
  std::int64_t signed_number() {  // SLEB128
    std::uint64_t value = 0;
    for (unsigned shift = 0;;) {
      const auto byte = take<std::uint8_t>();
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      shift += 7;
      if ((byte & 0x80U) != 0) continue;
      if ((byte & 0x40U) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(value);
    }
  }
  void skip(std::size_t bytes) { at_ += bytes; }
  const std::uint8_t* at() const { return at_; }

 private:
  const std::uint8_t* at_;
};

struct Program {  // what is written about a function
  std::uint64_t code_factor = 1;
  std::int64_t data_factor = 1;
  std::uintptr_t begin = 0;
  Row first;  // as it is when a function begins
};

// Follows what was written up to a place; false where it is not understood.
bool follow(Reader reader, const std::uint8_t* end, const Program& program, std::uintptr_t place, Row& row) {
  std::uintptr_t at = program.begin;
  std::vector<Row> remembered;
  const auto save = [&](std::uint64_t number, std::int64_t offset) {
    if (const auto which = kept(number)) row.saved[*which] = offset * program.data_factor;
  };
  const auto restore = [&](std::uint64_t number) {
    if (const auto which = kept(number)) row.saved[*which] = program.first.saved[*which];
  };
  const auto base = [&](std::uint64_t number) {
    row.by_frame_pointer = number == kFramePointer;
    return number == kFramePointer || number == kStackPointer;
  };
  while (reader.at() < end && at <= place) {
    const auto code = reader.take<std::uint8_t>();
    const std::uint64_t low = code & 0x3FU;
    switch (code >> 6U) {
      case 1:
        at += low * program.code_factor;
        continue;
      case 2:
        save(low, static_cast<std::int64_t>(reader.number()));
        continue;
      case 3:
        restore(low);
        continue;
      default:
        break;
    }
    switch (code) {
      case 0x00:  // nothing
        break;
      case 0x02:  // advance
        at += reader.take<std::uint8_t>() * program.code_factor;
        break;
      case 0x03:
        at += reader.take<std::uint16_t>() * program.code_factor;
        break;
      case 0x04:
        at += reader.take<std::uint32_t>() * program.code_factor;
        break;
      case 0x06:
        restore(reader.number());
        break;
      case 0x0A:
        remembered.push_back(row);
        break;
      case 0x0B:
        if (remembered.empty()) return false;
        row = remembered.back();
        remembered.pop_back();
        break;
      case 0x0C:  // the end of the frame, by register and offset, by register, by offset
        if (!base(reader.number())) return false;
        row.offset = static_cast<std::int64_t>(reader.number());
        break;
      case 0x0D:
        if (!base(reader.number())) return false;
        break;
      case 0x0E:
        row.offset = static_cast<std::int64_t>(reader.number());
        break;
      case 0x2E:  // how much was pushed for a call
        reader.number();
        break;
      default:
        return false;
    }
  }
  return true;
}

std::optional<Row> look_up(std::uintptr_t place) {
  Bases bases{};
  const auto* told = static_cast<const std::uint8_t*>(_Unwind_Find_FDE(reinterpret_cast<void*>(place), &bases));
  if (told == nullptr) return std::nullopt;
  Reader own(told);
  const auto own_length = own.take<std::uint32_t>();
  const std::uint8_t* own_end = own.at() + own_length;
  const std::uint8_t* shared = own.at() - own.take<std::int32_t>();
  Reader common(shared);
  const auto length = common.take<std::uint32_t>();
  const std::uint8_t* end = common.at() + length;
  common.skip(sizeof(std::uint32_t));
  const auto version = common.take<std::uint8_t>();
  const auto* augmentation = reinterpret_cast<const char*>(common.at());
  common.skip(std::strlen(augmentation) + 1);
  Program program;
  program.code_factor = common.number();
  program.data_factor = common.signed_number();
  if (version == 1)
    common.skip(1);
  else
    common.number();
  constexpr std::uint8_t kHalf = 0x03, kSize = 0x07;
  std::size_t pointer = sizeof(void*);
  if (augmentation[0] != 'z') return std::nullopt;
  const std::uint64_t more = common.number();
  const std::uint8_t* instructions = common.at() + more;
  for (const char* letter = augmentation + 1; *letter != 0; ++letter) {
    const auto encoding = *letter == 'S' || *letter == 'B' ? std::uint8_t{0} : common.take<std::uint8_t>();
    const std::size_t size = (encoding & kSize) == kHalf ? sizeof(std::uint32_t) : sizeof(void*);
    if (*letter == 'R') pointer = size;
    if (*letter == 'P') common.skip(size);
    if (*letter == 'S') return std::nullopt;  // a signal's frame
  }
  program.begin = reinterpret_cast<std::uintptr_t>(bases.function);
  own.skip(2 * pointer);
  const std::uint64_t own_more = own.number();
  own.skip(own_more);
  Row row;
  if (!follow(Reader(instructions), end, program, ~std::uintptr_t{0}, row)) return std::nullopt;
  program.first = row;
  if (!follow(own, own_end, program, place, row)) return std::nullopt;
  return row;
}

}  // namespace

Unwound unwound(const Fiber& fiber) {
  // As switch_by leaves it: r15, r14, r13, r12, rbx, rbp, and where to go on.
  constexpr std::array<std::size_t, kKept> kPushed{4, 3, 2, 1, 0, 5};
  constexpr std::size_t kReturn = 6;
  const auto* stack = static_cast<const std::uintptr_t*>(fiber.stack_pointer);
  Unwound result{.place = stack[kReturn], .end = reinterpret_cast<std::uintptr_t>(stack + kReturn + 1)};
  for (std::size_t which = 0; which < kKept; ++which)
    result.slots[which] = reinterpret_cast<std::uintptr_t>(stack + kPushed[which]);
  return result;
}

bool go_up(Unwound& at) {
  static std::unordered_map<std::uintptr_t, std::optional<Row>> known;
  auto found = known.find(at.place);
  if (found == known.end()) found = known.emplace(at.place, look_up(at.place - 1)).first;
  if (!found->second) return false;
  const Row& row = *found->second;
  const std::uintptr_t base = row.by_frame_pointer ? at.value(kRbp) : at.end;
  const std::uintptr_t end = base + static_cast<std::uintptr_t>(row.offset);
  if (end <= at.end - sizeof(void*) || end % sizeof(void*) != 0) return false;
  for (std::size_t which = 0; which < kKept; ++which)
    if (row.saved[which] != 0) at.slots[which] = end + static_cast<std::uintptr_t>(row.saved[which]);
  at.place = reinterpret_cast<const std::uintptr_t*>(end)[-1];
  at.end = end;
  return true;
}

}  // namespace teetotal::runtime
