// Loads and stores of the bytes of objects that threads synchronise on: `mutex.__data.__lock`, a copy of a struct with
// one in it, `mutex = PTHREAD_MUTEX_INITIALIZER`.
//
// What the C library keeps there is not what we keep, and an operation on an object conflicts with no access to its
// bytes. So a load of them is named, and nothing is proved. Stores are how objects begin: that of the first bytes is
// one to the object, as if it were initialised by a call, and those of the others belong to it.
//
// Objects are remembered from one execution to the next, since the access may come first in each of them: where
// something was accessed that turns out to be a part of an object, the search begins again. Memory of the heap may be
// given out for something else in another execution, and is told apart by who asked for it. Stacks are left out: later
// frames lie where objects did.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>

#include "cells.hpp"

namespace teetotal::runtime {

struct Thread;

class ObjectBytes {
 public:
  // An operation on an object.
  void use(std::uintptr_t object, Tag tag);

  // Data is accessed: whether that must be looked at. Nearly always not.
  bool may_meet(std::uintptr_t address) {
    const std::size_t line = line_of(address);
    accessed_[line] = true;
    return objects_at_[line];
  }
  void load(std::uintptr_t address, std::size_t size, std::uintptr_t place) const;
  // Whether all that is stored belongs to an object. Then that has been done, as far as it is an event.
  bool store(Thread& self, std::uintptr_t address, std::size_t size, std::uintptr_t place) const;

 private:
  static constexpr std::size_t kLines = 4096;
  static std::size_t line_of(std::uintptr_t address) { return (address >> 3) % kLines; }

  struct Object {
    std::uintptr_t begin;
    std::uintptr_t asked_for;  // where its block of the heap was
    Tag tag;

    auto operator<=>(const Object&) const = default;
  };
  const Object* met_by(std::uintptr_t address, std::size_t size) const;

  std::set<Object> objects_;
  std::array<bool, kLines> accessed_{}, objects_at_{};  // in some line like this one
};

extern ObjectBytes object_bytes;

}  // namespace teetotal::runtime
