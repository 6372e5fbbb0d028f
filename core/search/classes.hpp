// Mazurkiewicz classes by number, and counted by brute force over every interleaving: independent of the optimal
// search, and fast enough to test it on programs that are too large for teetotal.models.
#pragma once

#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hash.hpp"
#include "search/system.hpp"

namespace teetotal {

// The same number for executions of one class: with the same events, and the same order of those that conflict. A sum
// over events, each with all that it comes behind. `ordered(other, event, positions)` tells whether the order of two
// that conflict matters, where so many steps of each thread come before the later one.
template <class Ordered>
std::uint64_t class_of(std::span<const Event> execution, Ordered ordered) {
  constexpr std::uint64_t kSeed = 0x452821E638D01377ULL;
  std::vector<std::vector<std::pair<const Event*, std::uint64_t>>> earlier;  // accesses of each location
  std::vector<std::uint64_t> positions;                                      // of each thread
  std::uint64_t whole = 0;
  for (const Event& event : execution) {
    if (positions.size() <= event.thread) positions.resize(event.thread + 1, 0);
    const std::uint64_t name = mix(mix(kSeed, event.thread), ++positions[event.thread]);
    std::uint64_t behind = 0;
    if (!is_fence(event.kind)) {
      if (earlier.size() <= event.address) earlier.resize(event.address + 1);
      for (const auto& [other, told] : earlier[event.address])
        if (conflict(*other, event) && ordered(*other, event, positions)) behind += mix(kSeed, told);
      earlier[event.address].emplace_back(&event, name);
    }
    whole += mix(mix(mix(name, event.location), event.writes), behind);  // whatever the order of independent events
  }
  return whole;
}

class ClassCounter final : public Visitor {
 public:
  explicit ClassCounter(std::uint64_t most) : most_(most) {}

  bool visit(std::span<const Event> execution, std::size_t) override {
    classes_.insert(class_of(execution, [](const auto&...) { return true; }));
    return ++executions_ < most_;
  }

  std::uint64_t classes() const { return classes_.size(); }

 private:
  std::unordered_set<std::uint64_t> classes_;
  std::uint64_t most_;
  std::uint64_t executions_ = 0;
};

}  // namespace teetotal
