// Sampling of SC executions: uniform random walks, and probabilistic concurrency testing. Deterministic for a seed.
//
//   Burckhardt, Kothari, Musuvathi, Nagarakatte: A randomized scheduler with probabilistic guarantees of finding bugs
//   (ASPLOS 2010)                                   here
//   n threads, priorities in random order           priority
//   d - 1 points of change among k steps            changes
//   k, the length of an execution                   the longest seen so far: the paper takes it as given
#pragma once

#include "search/system.hpp"

namespace teetotal {

SearchResult random_walks(System& system, Visitor& visitor, std::uint64_t count, std::uint64_t seed);

SearchResult pct(System& system, Visitor& visitor, std::uint64_t count, std::uint32_t depth, std::uint64_t seed);

}  // namespace teetotal
