// How far a program is run: under which model, and where loops are cut that neither end nor wait.
#pragma once

#include <cstdint>

#include "operation.hpp"

namespace teetotal::runtime {

inline constexpr std::uint32_t kNoBound = ~0U;

struct Bounds {
  Model model = Model::sc;
  Semantics semantics;
  // Where the user gives none, only loops that seem to have no end are bounded (endless.hpp): after so many steps of
  // one thread, or so many idle rounds, the search begins again with that known.
  std::uint32_t loop_bound = kNoBound;  // visits of an instruction
  std::uint32_t idle_bound = kNoBound;  // rounds in which a thread sees what it saw in the one before, changing nothing
  std::uint32_t thread_steps = 10'000, idle_rounds = 1'000;
  std::uint32_t endless_visits = 10;  // of an instruction in such a loop
  std::uint32_t steps = 100'000;
  std::uint32_t look = 64;      // once in so many executions known steps are run too; 0: always
  bool waiting_counts = false;  // rounds that only wait are part of executions
  bool spinners_wake = false;   // for searches without reduction
};

// A loop that was not run to its end: how often it ran, and what its thread read last: where, what and from whom (none:
// 0, as where nobody wrote it).
struct Cut {
  std::uint32_t rounds = 0, thread = 0;
  std::uint64_t size = 0;
  std::uintptr_t read = 0, address = 0, writer = 0;
  Wide value = 0;
};

}  // namespace teetotal::runtime
