// The searches by the names that teetotal.answers.strategies.Strategy gives them.
#pragma once

#include <cstdint>
#include <string>

#include "search/system.hpp"

namespace teetotal {

struct Strategy {
  std::string name = "all";
  std::uint64_t count = 0;
  std::uint32_t depth = 0;
  std::uint64_t seed = 0;
  std::size_t megabytes;          // for what is yet to be explored
  std::uint32_t preempted = ~0U;  // see Preemptions::kinds
  std::uint64_t from = 0;         // of random walks: the number of the first
};

// Throws std::invalid_argument where no strategy is called so.
SearchResult search(const Strategy& strategy, System& system, Visitor& visitor);

}  // namespace teetotal
