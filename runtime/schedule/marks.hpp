// Bytes of the object whose loads are none of the program's: they mark where something begins and ends.
#pragma once

#include <cstddef>
#include <cstdint>

#include "operation.hpp"

namespace teetotal::runtime {

struct Marks {
  std::uintptr_t begin = 0;
  std::size_t count = 0;

  bool contains(const Operation& operation) const { return operation.address - begin < count; }
};

inline Marks marks;

// A fence, or a mark: neither reads nor writes anything that another thread could change.
inline bool passes_by(const Operation& operation) { return is_fence(operation.kind) || marks.contains(operation); }

}  // namespace teetotal::runtime
