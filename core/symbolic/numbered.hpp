// Things by number: equal ones have equal numbers, so that they are kept once and compared at once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "symbolic/graph.hpp"

namespace teetotal::symbolic {

inline std::size_t combine(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
}

struct SequenceHash {
  template <class Sequence>
  std::size_t operator()(const Sequence& sequence) const {
    std::size_t h = sequence.size();
    for (const auto& item : sequence) h = combine(h, static_cast<std::size_t>(item));
    return h;
  }
};

template <class T, class Hash = SequenceHash>
class Numbered {
 public:
  std::uint32_t operator()(const T& thing) {
    auto [found, fresh] = numbers_.try_emplace(thing, static_cast<std::uint32_t>(things_.size()));
    if (fresh) things_.push_back(&found->first);
    return found->second;
  }
  const T& operator[](std::uint32_t number) const { return *things_[number]; }  // stays where it is
  std::size_t size() const { return things_.size(); }

 private:
  std::unordered_map<T, std::uint32_t, Hash> numbers_;
  std::vector<const T*> things_;
};

// What of each memory a process's steps depend on: memories that look alike to it have one view.
class Views {
 public:
  explicit Views(std::vector<Location> locations) : locations_(std::move(locations)) {}

  std::uint32_t operator()(std::uint32_t memory, const Memory& m) {
    if (memory >= by_memory_.size()) by_memory_.resize(memory + 1, unknown);
    if (by_memory_[memory] == unknown) {
      std::vector<Value> values;
      for (Location x : locations_) values.push_back(m[static_cast<std::size_t>(x)]);
      by_memory_[memory] = numbers_(values);
    }
    return by_memory_[memory];
  }
  const std::vector<Location>& locations() const { return locations_; }

 private:
  static constexpr std::uint32_t unknown = ~std::uint32_t{0};
  std::vector<Location> locations_;  // sorted
  Numbered<std::vector<Value>> numbers_;
  std::vector<std::uint32_t> by_memory_;
};

}  // namespace teetotal::symbolic
