// What monitors ask of the system whose execution they see: what an operation would come to, had it read another write.
#pragma once

#include <cstddef>
#include <cstdint>

namespace teetotal {

class Oracle {
 public:
  virtual ~Oracle() = default;

  // Whether step `index` of a thread, a conditional rmw, or its next operation where that is the number of steps, would
  // write if it read what step `source` wrote; -1: the initial value.
  virtual bool would_write_from(std::uint32_t thread, std::size_t index, std::ptrdiff_t source) const = 0;
};

}  // namespace teetotal
