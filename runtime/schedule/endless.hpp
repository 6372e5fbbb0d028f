// Loops that seem to have no end, as far as executions so far have shown, by the numbers of their locations.
//
// Only these are bounded; all others run to their ends. Which loop it is that a thread does not leave is not known from
// its steps alone: of the locations that it keeps coming back to, one that it visits least often belongs to the
// outermost of the loops that it is in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace teetotal::runtime {

class Endless {
 public:
  static constexpr std::uint32_t kIdle = 100;  // rounds in which a thread sees what it saw in the one before

  bool bounds_visits() const { return !bounded_.empty(); }
  bool bounds_visits_of(std::uint32_t location) const { return contains(bounded_, location); }
  bool idles(std::uint32_t location) const { return contains(idle_, location); }

  // What a thread came to lately goes on for ever. False: there is nothing to bound.
  bool learn_visits(std::span<const std::uint32_t> lately) {
    std::map<std::uint32_t, std::uint32_t> visits;
    for (const std::uint32_t location : lately) ++visits[location];
    const auto unlikely = [](const auto& entry) { return entry.second < kOften; };
    if (!std::ranges::all_of(visits, unlikely)) std::erase_if(visits, unlikely);
    const auto least = std::ranges::min_element(visits, {}, [](const auto& entry) { return entry.second; });
    return least != visits.end() && add(bounded_, least->first);
  }

  // These are the locations of a round.
  void learn_idle(std::span<const std::uint32_t> round) {
    for (const std::uint32_t location : round) add(idle_, location);
  }

 private:
  static constexpr std::uint32_t kOften = 10;  // of what a thread keeps coming back to

  using Locations = std::vector<bool>;

  static bool contains(const Locations& locations, std::uint32_t location) {
    return location < locations.size() && locations[location];
  }
  static bool add(Locations& locations, std::uint32_t location) {
    if (locations.size() <= location) locations.resize(location + std::size_t{1});
    const bool fresh = !locations[location];
    locations[location] = true;
    return fresh;
  }

  Locations bounded_, idle_;
};

}  // namespace teetotal::runtime
