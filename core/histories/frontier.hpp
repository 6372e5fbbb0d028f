// How far each chain has been executed, and the plain search over frontiers.
//
// Biswas, Enea, "On the Complexity of Checking Transactional Consistency" (OOPSLA 2019), as the tool DBCOP does it:
// depth first over frontiers, none of them twice, which is polynomial for a fixed number of threads. Given base rows
// (chains, static edges and reads_from) this is `dbcop`, given saturated rows `wsc+dbcop`. Deviation: it works on
// chains, so it decides TSO and PSO too.
#pragma once

#include "histories/saturation.hpp"

namespace teetotal::histories {

using Frontier = std::vector<std::uint32_t>;

struct FrontierHash {
  std::size_t operator()(const Frontier& frontier) const {
    std::uint64_t hash = 0;
    for (const std::uint32_t count : frontier) hash = (hash ^ count) * 0x9e3779b97f4a7c15ULL, hash ^= hash >> 32;
    return static_cast<std::size_t>(hash);
  }
};

struct Decision {
  bool consistent = false;
  std::vector<Node> order;  // a witness, if consistent
  std::size_t choices = 0, conflicts = 0;
};

// The saturation must have run without contradiction. Throws OutOfBudget.
Decision search_frontiers(const Saturation& saturation, const Budget& budget);

}  // namespace teetotal::histories
