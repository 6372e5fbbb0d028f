// Functions of the C++ library that read or write memory of the program, done by the library itself on copies.
//
// Their names are those of the library, after teetotal_: hence the names for the linker only.
#include <functional>
#include <ostream>
#include <string>
#include <unordered_map>

#include "addresses.hpp"
#include "touching.hpp"

namespace teetotal::runtime {
namespace {

using Policy = std::__detail::_Prime_rehash_policy;

// Works on a copy of the policy, and puts back what has changed.
template <typename Result, typename Work>
Result on_copy(Touch& touch, const Policy* policy, Work work) {
  Policy own;
  own._M_max_load_factor = touch.get(&policy->_M_max_load_factor);
  own._M_next_resize = touch.get(&policy->_M_next_resize);
  const std::size_t before = own._M_next_resize;
  const Result result = work(own);
  if (own._M_next_resize != before) touch.put(&policy->_M_next_resize, own._M_next_resize);
  return result;
}

}  // namespace

extern "C" {

std::size_t hash_bytes(const void*, std::size_t, std::size_t) asm("teetotal__ZSt11_Hash_bytesPKvmm");
std::size_t hash_bytes(const void* from, std::size_t size, std::size_t seed) {
  Touch touch(TEETOTAL_PLACE);
  Text<char> text(touch);
  read_bytes(touch, from, size, text);
  return std::_Hash_bytes(text.data(), size, seed);
}

std::size_t next_buckets(const Policy*,
                         std::size_t) asm("teetotal__ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm");
std::size_t next_buckets(const Policy* policy, std::size_t count) {
  Touch touch(TEETOTAL_PLACE);
  return on_copy<std::size_t>(touch, policy, [=](const Policy& own) { return own._M_next_bkt(count); });
}

struct Rehash {
  bool needed;
  std::size_t buckets;
};
Rehash need_rehash(const Policy*, std::size_t, std::size_t,
                   std::size_t) asm("teetotal__ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm");
Rehash need_rehash(const Policy* policy, std::size_t buckets, std::size_t elements, std::size_t more) {
  Touch touch(TEETOTAL_PLACE);
  return on_copy<Rehash>(touch, policy, [=](const Policy& own) {
    const auto [needed, wanted] = own._M_need_rehash(buckets, elements, more);
    return Rehash{needed, wanted};
  });
}

// What is printed. The stream itself is the library's affair: see `arguments` in imports.txt.
std::ostream* real_insert(std::ostream&, const char*, std::streamsize) asm(
    "_ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l");
std::ostream* print(std::ostream&, const char*, std::streamsize) asm(
    "teetotal__ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l");
std::ostream* print(std::ostream& stream, const char* from, std::streamsize size) {
  Touch touch(TEETOTAL_PLACE);
  imports.leave_to_library(&stream, "output to a stream that others may see", touch.place());
  Text<char> text(touch);
  read_bytes(touch, from, static_cast<std::size_t>(size), text);
  return real_insert(stream, text.data(), size);
}
std::ostream* real_write(std::ostream&, const char*, std::streamsize) asm("_ZNSo5writeEPKcl");
std::ostream* write_stream(std::ostream&, const char*, std::streamsize) asm("teetotal__ZNSo5writeEPKcl");
std::ostream* write_stream(std::ostream& stream, const char* from, std::streamsize size) {
  Touch touch(TEETOTAL_PLACE);
  imports.leave_to_library(&stream, "output to a stream that others may see", touch.place());
  Text<char> text(touch);
  read_bytes(touch, from, static_cast<std::size_t>(size), text);
  return real_write(stream, text.data(), size);
}

// Numbers that may be addresses, printed to where the program may look at their digits.
#define PRINTS_ADDRESS(name, type, symbol)                                                                   \
  std::ostream* real_##name(std::ostream&, type) asm(symbol);                                                \
  std::ostream* name(std::ostream&, type) asm("teetotal_" symbol);                                           \
  std::ostream* name(std::ostream& stream, type value) {                                                     \
    Touch touch(TEETOTAL_PLACE);                                                                             \
    imports.leave_to_library(&stream, "output to a stream that others may see", touch.place());              \
    if (of_program(&stream)) addresses.written((std::uintptr_t)value, touch.place()); /* NOLINT: any type */ \
    return real_##name(stream, value);                                                                       \
  }
PRINTS_ADDRESS(print_pointer, const void*, "_ZNSolsEPKv")
PRINTS_ADDRESS(print_long, long, "_ZNSolsEl")
PRINTS_ADDRESS(print_unsigned_long, unsigned long, "_ZNSolsEm")

void* __dynamic_cast(const void*, const void*, const void*, std::ptrdiff_t);
void* teetotal___dynamic_cast(const void* object, const void* from, const void* to, std::ptrdiff_t offset) {
  Touch touch(TEETOTAL_PLACE);
  touch.get(static_cast<void* const*>(object));  // its type
  return __dynamic_cast(object, from, to, offset);
}
}

}  // namespace teetotal::runtime
