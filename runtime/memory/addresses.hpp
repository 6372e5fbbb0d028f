// Addresses that a program takes for numbers: see programs/c/addresses.py.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "process.hpp"

namespace teetotal::runtime {

inline constexpr std::uintptr_t kHandles = 0x7ee7'0000;  // pthread_t of the first thread; each has its own number

// Whether a value may be an address of the program's, or the handle of a thread.
inline bool may_be_address(std::uintptr_t value) {
  return in_heap(value) || stack_owner(value) < kMaxThreads || memory.in_object(value) ||
         value - kHandles < kMaxThreads;
}

class Addresses {
 public:
  // The program's variables: lines with their begin and end, hexadecimal, relative to where the object lies, sorted.
  void read(const std::string& file, std::uintptr_t base);

  void compared(std::uintptr_t one, std::uintptr_t other, std::uintptr_t place) const;
  void compared_objects(std::uintptr_t place) const;  // of different objects, for sure
  void hashed(std::uintptr_t value, std::uintptr_t place) const;
  // Found different from what an atomic object holds: the same memory might have been given out again by then.
  void expected(std::uintptr_t value, std::uintptr_t place) const;
  void differs(std::uintptr_t value, std::uintptr_t other, std::uintptr_t place) const;  // from another address
  void written(std::uintptr_t value, std::uintptr_t place) const;                        // as digits
  void masked(std::uintptr_t value, std::uintptr_t mask, std::uintptr_t place) const;

 private:
  struct Range {
    std::uintptr_t begin, end;
  };
  bool of_one_object(std::uintptr_t one, std::uintptr_t other) const;

  std::vector<Range> variables_;
};

extern Addresses addresses;

}  // namespace teetotal::runtime
