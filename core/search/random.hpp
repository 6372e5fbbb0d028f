// Sampling of SC executions: uniform random walks, and probabilistic concurrency testing. Deterministic for a seed.
//
//   Burckhardt, Kothari, Musuvathi, Nagarakatte: A randomized scheduler with probabilistic guarantees of finding bugs
//   (ASPLOS 2010)                                   here
//   n threads, priorities in random order           priority: a random number for each
//   d - 1 points of change among k steps            changes
//
// Where we deviate: the paper is given n and k. Threads may be created on the way, so there is no permutation of n to
// be drawn at the beginning: a thread draws its number when it appears, and so has any place among the others with the
// same probability. k is the length of the longest execution so far, of the first kMeasured; so the bound of 1/(n
// k^(d-1)) on the probability of finding a bug of depth d is not that of the first ones, when k is still too small, nor
// that of a program whose executions differ much in length.
//
// A walk depends on the seed and on its number alone (and k, on the first few), so others may do those of another
// range.
#pragma once

#include <string>
#include <string_view>

#include "search/system.hpp"

namespace teetotal {

struct Walks {
  std::uint64_t from = 0, until = 0;
};
inline constexpr std::uint64_t kMeasured = 64;

// A part of random walks as text (engines/executions/walks.py): its first range, which is its own, and behind that what
// is not for whoever does it. Throws std::invalid_argument where it is none.
struct WalksPart {
  Walks walks;
  std::string rest;
};
WalksPart walks_from(std::string_view part);
std::string to_text(const WalksPart& part, std::uint64_t walked);

SearchResult random_walks(System& system, Visitor& visitor, Walks walks, std::uint64_t seed);

SearchResult pct(System& system, Visitor& visitor, Walks walks, std::uint32_t depth, std::uint64_t seed);

}  // namespace teetotal
