// Reports grouped by place: the same three instructions are the same violation, told once with a count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "report.hpp"

namespace teetotal::monitors {

struct Counted {
  Report first;
  std::uint64_t count = 0;
};

// The triple (delayed, previous, deciding) of the technical report UCB/EECS-2010-31; the pairs (delayed, deciding) of
// the TACAS paper follow from it. Memory grows with the program, not with the execution.
class Distinct {
 public:
  // Whether it is the first of its kind.
  bool add(const Report& report) {
    const auto [place, fresh] = places_.try_emplace(Key{report}, groups_.size());
    if (fresh) groups_.push_back({report, 0});
    ++groups_[place->second].count;
    return fresh;
  }

  // In the order in which they were first seen.
  const std::vector<Counted>& groups() const { return groups_; }

 private:
  struct Key {
    std::uint32_t delayed, previous, deciding;
    explicit Key(const Report& r)
        : delayed(r.delayed_location), previous(r.previous_location), deciding(r.deciding_location) {}
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t h = key.delayed;
      for (const std::uint32_t part : {key.previous, key.deciding}) {
        h = (h ^ (h >> 29)) * 0x9E3779B97F4A7C15ull + part;
      }
      return static_cast<std::size_t>(h ^ (h >> 32));
    }
  };

  std::unordered_map<Key, std::size_t, Hash> places_;
  std::vector<Counted> groups_;
};

}  // namespace teetotal::monitors
