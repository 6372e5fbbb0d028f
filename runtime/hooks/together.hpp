// std::lock of several mutexes, which hooks_together.cpp takes one after the other without ever giving one back.
#pragma once

#include <array>
#include <cstdint>

#include "operation.hpp"

namespace teetotal::runtime {

// Of a thread that is about it: the mutexes in their order, and how many it has by now.
struct TakenTogether {
  void* const* mutexes = nullptr;
  std::uint32_t count = 0, taken = 0;
};

class Together {
 public:
  bool allowed = true;  // otherwise threads try, and give back, as the library has it

  // Whether these may be taken one after the other: nobody else only tries to take one of them.
  bool take(void* const* mutexes, std::uint32_t count);

  // Somebody tries: what others hold for a moment only is seen. Whether the search has gone by the opposite so far.
  bool note_trying(const void* mutex) { return tried_.add(mutex) && (tried_.full() ? used() : taken_.holds(mutex)); }

  bool used() const { return taken_.count != 0; }

 private:
  // Of any execution. Threads look into it, whose stacks should not tell whether they were the first to do so: hence no
  // container that calls others.
  struct Mutexes {
    std::array<const void*, 64> all{};
    std::uint32_t count = 0;

    bool full() const { return count == all.size(); }  // then it may be any
    bool holds(const void* mutex) const {
      for (std::uint32_t i = 0; i < count; ++i)
        if (all[i] == mutex) return true;
      return full();
    }
    bool add(const void* mutex) {
      if (holds(mutex)) return false;
      all[count++] = mutex;
      return true;
    }
  };
  Mutexes taken_, tried_;
};

extern Together locking_together;

// Whether a thread that stands before a mutex would go on if all who wait for a further one gave back what they have.
bool goes_on_if_given_back(const Thread& thread);

}  // namespace teetotal::runtime
