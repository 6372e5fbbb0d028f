// Things by number: equal ones have equal numbers, so that they are kept once and compared at once.
#pragma once

#include <cstdint>
#include <deque>
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

// Results that depend on a number and on some of what memory holds: those locations that were asked for on the way. The
// same number asks for the same location first, and the same answers so far for the same one next.
template <class Result>
class Remembered {
 public:
  const Result* find(std::uint32_t number, const Memory& m) const {
    if (number >= roots_.size() || roots_[number] == kNone) return nullptr;
    std::uint32_t at = roots_[number];
    while (nodes_[at].asks >= 0) {
      const auto* next = nodes_[at].after(m[static_cast<std::size_t>(nodes_[at].asks)]);
      if (next == nullptr) return nullptr;
      at = *next;
    }
    return &results_[nodes_[at].result];
  }

  // `asked`: each location once, in the order of the first time.
  const Result& keep(std::uint32_t number, const std::vector<Location>& asked, const Memory& m, Result result) {
    results_.push_back(std::move(result));
    if (number >= roots_.size()) roots_.resize(number + std::size_t{1}, kNone);
    bool fresh = roots_[number] == kNone;
    if (fresh) {
      roots_[number] = static_cast<std::uint32_t>(nodes_.size());
      nodes_.emplace_back();
    }
    std::uint32_t at = roots_[number];
    for (Location x : asked) {
      if (!fresh && nodes_[at].asks != x) return results_.back();  // put differently: not to be found again
      nodes_[at].asks = x;
      const Value value = m[static_cast<std::size_t>(x)];
      const auto* next = nodes_[at].after(value);
      fresh = next == nullptr;
      if (fresh) {
        nodes_[at].answers.emplace_back(value, static_cast<std::uint32_t>(nodes_.size()));
        at = static_cast<std::uint32_t>(nodes_.size());
        nodes_.emplace_back();
      } else {
        at = *next;
      }
    }
    nodes_[at].result = results_.size() - 1;
    return results_.back();
  }

 private:
  struct Node {
    Location asks = -1;  // or it has a result
    std::size_t result = 0;
    std::vector<std::pair<Value, std::uint32_t>> answers;
    const std::uint32_t* after(Value value) const {
      for (const auto& answer : answers)
        if (answer.first == value) return &answer.second;
      return nullptr;
    }
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<std::uint32_t> roots_;  // by number
  std::vector<Node> nodes_;
  std::deque<Result> results_;  // stay where they are
};

// Which locations were asked for, in the order of the first time.
class Asked {
 public:
  explicit Asked(std::size_t locations) : seen_(locations) {}
  void operator()(Location x) {
    if (seen_[static_cast<std::size_t>(x)]) return;
    seen_[static_cast<std::size_t>(x)] = true;
    order_.push_back(x);
  }
  const std::vector<Location>& order() const { return order_; }

 private:
  std::vector<bool> seen_;
  std::vector<Location> order_;
};

}  // namespace teetotal::symbolic
