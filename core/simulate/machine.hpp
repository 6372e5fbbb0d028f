// A multiprocessor, simulated event by event: processors with caches, a home for the lines, and a network between them.
#pragma once

#include <string>
#include <vector>

#include "simulate/processor.hpp"

namespace teetotal::simulate {

// What each processor's reads saw, in program order; nothing if the machine hangs, which only a mistake can make it do.
struct Run {
  std::vector<Word> results;
  bool hangs = false;
  std::uint64_t happenings = 0;
};

Run run(const std::vector<std::vector<Access>>& programs, std::uint32_t addresses, const Settings& settings,
        std::uint64_t seed);

}  // namespace teetotal::simulate
