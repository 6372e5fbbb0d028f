// What hooks_properties.cpp keeps of a thread.
#pragma once

#include <array>
#include <csignal>
#include <cstdint>

#include "users.hpp"

namespace teetotal::runtime {

// What it was told and nothing depends on.
struct Properties {
  std::array<char, 16> name{"program"};
  std::uint64_t processors = 3;
  int policy = 0, priority = 0, cancel_state = 0, cancel_type = 0;
  stack_t alternative{nullptr, SS_DISABLE, 0};
  Users users;
};

}  // namespace teetotal::runtime
