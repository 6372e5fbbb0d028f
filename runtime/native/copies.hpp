// For a struct that is assigned, gcc calls the hook of the store, then that of the load, and then copies. Elsewhere the
// store lies between the two hooks. The machine code between them tells.
#pragma once

#include <cstdint>

namespace teetotal::native {

// Whether what lies between where one hook returned to and the call of the next, which returns to `next`, is known to
// write no memory.
bool writes_nothing(std::uintptr_t from, std::uintptr_t next);

}  // namespace teetotal::native
