// Reports grouped by place: the same three instructions are the same violation, told once with a count.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../open_table.hpp"
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
    places_.make_room(groups_.size(),
                      [&](const Place& place) { return hash_of(triple(groups_[place.group - 1].first)); });
    const auto wanted = triple(report);
    const auto same = [&](const Place& place) { return triple(groups_[place.group - 1].first) == wanted; };
    Place& place = places_.at(hash_of(wanted), same);
    const bool fresh = place.free();
    if (fresh) {
      groups_.push_back({report, 0});
      place.group = static_cast<std::uint32_t>(groups_.size());
    }
    ++groups_[place.group - 1].count;
    return fresh;
  }

  bool contains(const Report& report) const {
    const auto wanted = triple(report);
    const auto same = [&](const Place& place) { return triple(groups_[place.group - 1].first) == wanted; };
    return !places_.at(hash_of(wanted), same).free();
  }

  // In the order in which they were first seen.
  const std::vector<Counted>& groups() const { return groups_; }

 private:
  using Triple = std::array<std::uint32_t, 3>;
  struct Place {
    std::uint32_t group = 0;  // 1 + its number

    bool free() const { return group == 0; }
  };

  static Triple triple(const Report& report) {
    return {report.delayed_location, report.previous_location, report.deciding_location};
  }
  static std::uint64_t hash_of(const Triple& triple) {
    std::uint64_t hash = 0;
    for (const std::uint32_t part : triple) hash = (hash ^ (hash >> 29)) * 0x9E3779B97F4A7C15ull + part;
    return hash ^ (hash >> 32);
  }

  std::vector<Counted> groups_;
  OpenTable<Place, 75> places_;  // asked for every report of every execution of a search
};

}  // namespace teetotal::monitors
