// What libraries keep for themselves: no snapshot has it.
#pragma once

#include <cstdint>

namespace teetotal::runtime {

struct Libraries {
  std::uint64_t changes = 0;  // how often something may have changed that is a library's own: memory, or what it keeps
};

inline Libraries libraries;

// What is allocated or freed in its time belongs to no moment of an execution: snapshots before it are still good.
class Lasting {
 public:
  Lasting() = default;
  ~Lasting() { libraries.changes = changes_; }
  Lasting(const Lasting&) = delete;
  Lasting& operator=(const Lasting&) = delete;

 private:
  std::uint64_t changes_ = libraries.changes;
};

}  // namespace teetotal::runtime
