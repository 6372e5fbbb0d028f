#include "copies.hpp"

#include <cstddef>

namespace teetotal::native {
namespace {

constexpr std::uintptr_t kFarthest = 96;

// The bytes of an operand: what follows the opcode, without an immediate number.
std::size_t operand_bytes(const std::uint8_t* at) {
  const unsigned mode = at[0] >> 6U, base = at[0] & 7U;
  if (mode == 3) return 1;
  const bool scaled = base == 4;
  const bool far = mode == 2 || (mode == 0 && (base == 5 || (scaled && (at[1] & 7U) == 5)));
  return 1 + (scaled ? 1U : 0U) + (far ? 4U : mode == 1 ? 1U : 0U);
}

// The bytes of an instruction that computes an address or a number in a register; 0 for any other.
std::size_t harmless(const std::uint8_t* at) {
  const std::size_t prefix = (at[0] & 0xf0U) == 0x40 ? 1 : 0;  // REX
  const bool wide = prefix != 0 && (at[0] & 8U) != 0;
  const std::uint8_t* code = at + prefix;
  const bool of_registers = code[1] >> 6U == 3;
  switch (code[0]) {
    case 0x8b:  // mov to a register
    case 0x8d:  // lea
    case 0x63:  // movslq
    case 0x03:  // add to a register
    case 0x2b:  // sub
      return prefix + 1 + operand_bytes(code + 1);
    case 0x89:  // mov, add, sub, xor from a register
    case 0x01:
    case 0x29:
    case 0x31:
      return of_registers ? prefix + 2 : 0;
    case 0x83:  // add, sub, and with a number
    case 0xc1:  // shifts
      return of_registers ? prefix + 3 : 0;
    case 0x81:
      return of_registers ? prefix + 6 : 0;
    case 0x98:  // cltq
    case 0x90:
      return prefix + 1;
    case 0xb8:
    case 0xb9:
    case 0xba:
    case 0xbb:
    case 0xbc:
    case 0xbd:
    case 0xbe:
    case 0xbf:  // a number
      return prefix + (wide ? 9 : 5);
    default:
      return 0;
  }
}

}  // namespace

bool writes_nothing(std::uintptr_t from, std::uintptr_t next) {
  if (next <= from || next - from > kFarthest) return false;
  const auto* at = reinterpret_cast<const std::uint8_t*>(from);
  const auto* end = reinterpret_cast<const std::uint8_t*>(next);
  while (at < end) {
    if (at + 5 == end && at[0] == 0xe8) return true;                   // the call
    if (at + 6 == end && at[0] == 0xff && at[1] == 0x15) return true;  // through the table of the linker
    const std::size_t size = harmless(at);
    if (size == 0) return false;
    at += size;
  }
  return false;
}

}  // namespace teetotal::native
