// Loads of the bytes of objects that threads synchronise on: `mutex.__data.__lock`, a copy of a struct with one in it.
//
// What the C library keeps there is not what we keep, and an operation on an object conflicts with no access to its
// bytes. So a load of them is named, and nothing is proved. Stores are how objects begin.
//
// Objects are remembered from one execution to the next, since the load may come first in each of them: where something
// was loaded that turns out to be a part of an object, the search begins again. Memory of the heap may be given out for
// something else in another execution, and is told apart by who asked for it. Stacks are left out: later frames lie
// where objects did.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>

#include "cells.hpp"

namespace teetotal::runtime {

class ObjectBytes {
 public:
  // An operation on an object.
  void use(std::uintptr_t object, Tag tag);

  // Data is loaded: whether that must be looked at. Nearly always not.
  bool may_meet(std::uintptr_t address) {
    const std::size_t line = line_of(address);
    loaded_[line] = true;
    return objects_at_[line];
  }
  void load(std::uintptr_t address, std::size_t size, std::uintptr_t place) const;

 private:
  static constexpr std::size_t kLines = 4096;
  static std::size_t line_of(std::uintptr_t address) { return (address >> 3) % kLines; }

  struct Object {
    std::uintptr_t begin;
    std::uintptr_t asked_for;  // where its block of the heap was
    Tag tag;

    auto operator<=>(const Object&) const = default;
  };
  std::set<Object> objects_;
  std::array<bool, kLines> loaded_{}, objects_at_{};  // in some line like this one
};

extern ObjectBytes object_bytes;

}  // namespace teetotal::runtime
