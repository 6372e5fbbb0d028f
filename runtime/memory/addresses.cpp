#include "addresses.hpp"

#include <algorithm>
#include <fstream>
#include <ios>
#include <iterator>

namespace teetotal::runtime {

Addresses addresses;

namespace {

void name(const char* what, std::uintptr_t place) {
  if (!callers.empty()) place = callers.teller(place, __builtin_frame_address(0));
  remarks.unseen.insert({what, place});
}

// The block of the heap that an address lies in, or that ends there.
Block block_of(std::uintptr_t address) {
  const Block block = memory.block(address);
  return block.address != 0 ? block : memory.block(address - 1);
}

}  // namespace

void Addresses::read(const std::string& file, std::uintptr_t base) {
  std::ifstream lines(file);
  lines >> std::hex;
  for (Range range{}; lines >> range.begin >> range.end;) variables_.push_back({base + range.begin, base + range.end});
}

// What lies on one stack has the order that the compiler gave it.
bool Addresses::of_one_object(std::uintptr_t one, std::uintptr_t other) const {
  if (in_heap(one) && in_heap(other)) {
    const Block block = block_of(std::max(one, other));
    return block.address != 0 && std::min(one, other) >= block.address;
  }
  if (stack_owner(one) < kMaxThreads) return stack_owner(one) == stack_owner(other);
  if (!memory.in_object(one) || !memory.in_object(other)) return one == other;
  const auto next = std::ranges::upper_bound(variables_, std::min(one, other), {}, &Range::begin);
  if (next == variables_.begin()) return true;  // constants without a name
  const Range& variable = *std::prev(next);
  return std::max(one, other) <= variable.end || std::min(one, other) >= variable.end;
}

void Addresses::compared(std::uintptr_t one, std::uintptr_t other, std::uintptr_t place) const {
  if (!of_one_object(one, other)) compared_objects(place);
}

void Addresses::compared_objects(std::uintptr_t place) const {
  name("which of two objects has the lower address, or how far they are apart,", place);
}

void Addresses::hashed(std::uintptr_t value, std::uintptr_t place) const {
  if (may_be_address(value)) name("the bits of an address", place);
}

void Addresses::written(std::uintptr_t value, std::uintptr_t place) const {
  if (process.current != nullptr && may_be_address(value)) name("the digits of an address", place);
}

void Addresses::expected(std::uintptr_t value, std::uintptr_t place) const {
  if (memory.block(value).freed) name("a comparison with the address of memory that was freed", place);
}

// A thread is given memory from low addresses to high ones: what lies lower was there before.
void Addresses::differs(std::uintptr_t value, std::uintptr_t other, std::uintptr_t place) const {
  const bool of_one_thread = (value - kHeap) / kHeapStride == (other - kHeap) / kHeapStride;
  if (!of_one_thread || other > value) expected(value, place);
}

// The last four bits of what malloc gives are zero, and what is left of an address may be that of the same object.
void Addresses::masked(std::uintptr_t value, std::uintptr_t mask, std::uintptr_t place) const {
  constexpr std::uintptr_t kAligned = 15;
  if (!may_be_address(value) || mask <= kAligned || ~mask <= kAligned) return;
  const std::uintptr_t rest = value & mask;
  if (!may_be_address(rest) || !of_one_object(value, rest)) name("the bits of an address", place);
}

}  // namespace teetotal::runtime
