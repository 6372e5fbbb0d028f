// Condition variables and what is like them, for others beside hooks_conditions.cpp.
#pragma once

#include <cstdint>

namespace teetotal::runtime {

struct Conditions {
  std::uint32_t idle_wakes = 0;  // how often a thread may wake up on one for no reason
};

inline Conditions conditions;

// How a thread waits, or has come to go on.
struct Wait {
  const void* with = nullptr;    // the mutex of the condition variable
  const void* bucket = nullptr;  // the futex that it is busy with: others wait
  std::int32_t since = -1;       // the step at which it began
  std::int32_t woken_by = -1;    // the step that ends its waiting at a barrier
  std::uint32_t signals = 0;     // those since it began that may still wake it
  std::uint32_t idle_wakes = 0;
};

// The threads that wait on an object and could be woken now, a bit each; and how many wait at all.
std::uint64_t signalled(std::uintptr_t object);
std::uint32_t waiting_on(std::uintptr_t object);

}  // namespace teetotal::runtime
