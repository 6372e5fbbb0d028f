// Counts Mazurkiewicz classes by brute force: over every interleaving, the distinct (po, src, co). Independent of the
// optimal search, and fast enough to test it on programs that are too large for teetotal.models.
#pragma once

#include <unordered_set>
#include <vector>

#include "hash.hpp"
#include "search/system.hpp"

namespace teetotal {

class ClassCounter final : public Visitor {
 public:
  explicit ClassCounter(std::uint64_t most) : most_(most) {}

  // A class is a set of events, each with the write that it follows: the one it saw, or the one it overwrote.
  bool visit(std::span<const Event> execution, std::size_t) override {
    std::vector<std::uint64_t> last;       // write to each location
    std::vector<std::uint64_t> positions;  // of each thread
    std::uint64_t whole = 0;
    for (const Event& event : execution) {
      if (positions.size() <= event.thread) positions.resize(event.thread + 1, 0);
      const std::uint64_t name = mix(mix(kSeed, event.thread), ++positions[event.thread]);
      std::uint64_t hash = mix(name, event.location);
      if (!is_fence(event.kind)) {
        if (last.size() <= event.address) last.resize(event.address + 1, 0);
        hash = mix(hash, last[event.address]);
        if (event.writes) last[event.address] = name;
      }
      whole += hash;  // whatever the order of independent events
    }
    classes_.insert(whole);
    return ++executions_ < most_;
  }

  std::uint64_t classes() const { return classes_.size(); }

 private:
  static constexpr std::uint64_t kSeed = 0x452821E638D01377ULL;
  std::unordered_set<std::uint64_t> classes_;
  std::uint64_t most_;
  std::uint64_t executions_ = 0;
};

}  // namespace teetotal
