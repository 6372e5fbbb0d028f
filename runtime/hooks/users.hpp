// Who has set and who has asked for something that is no memory, beside others.
#pragma once

#include <cstdint>

#include "fiber.hpp"

namespace teetotal::runtime {

// Threads, as bits. Where the order of two matters it is not explored, since neither is a step: whoever comes second is
// told so (imports.hpp, `unordered_call`).
struct Users {
  std::uint64_t setting = 0, asking = 0;
};
static_assert(kMaxThreads <= 64);

}  // namespace teetotal::runtime
