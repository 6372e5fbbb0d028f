// Exceptions, for the hooks beside hooks_exceptions.cpp.
#pragma once

#include <cstdint>
#include <string>

namespace teetotal::runtime {

// Finds out how this C++ library lays exceptions out. Once, before the program runs.
void try_exceptions();

// Whether an object lies in memory that the C++ library gave for what is thrown.
bool is_thrown(std::uintptr_t object);

struct Aborting {
  std::string why;  // an exception that nobody catches; empty: the program calls abort itself
  std::uintptr_t place = 0;
};

// Where a call of abort comes from, which returns here.
Aborting aborting_at(std::uintptr_t place);

}  // namespace teetotal::runtime
