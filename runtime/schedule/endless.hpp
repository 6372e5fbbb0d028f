// Loops that seem to have no end, as far as executions so far have shown, by the numbers of their sites.
//
// A site is an instruction and the calls that a thread is in when it comes there: what a function that such a loop
// calls does elsewhere is no part of the loop. Sites are made out only once some thread seems to go on for ever: the
// search begins again with that, and then with loops that are bounded.
//
// Only these are bounded; all others run to their ends. Which loop it is that a thread does not leave is not known from
// its steps alone: of the sites that it keeps coming back to, one that it visits least often belongs to the outermost
// of the loops that it is in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace teetotal::runtime {

class Endless {
 public:
  static constexpr std::uint32_t kIdle = 100;  // rounds in which a thread sees what it saw in the one before

  // Whether sites are made out. False of `follow`: they were before.
  bool follows() const { return follows_; }
  bool follow() { return !std::exchange(follows_, true); }

  // In the order in which threads came there.
  std::uint32_t site(std::uint64_t calls) {
    return sites_.try_emplace(calls, static_cast<std::uint32_t>(sites_.size())).first->second;
  }

  bool bounds_visits_of(std::uint32_t site) const { return contains(bounded_, site); }
  bool idles(std::uint32_t site) const { return contains(idle_, site); }

  // What a thread came to lately goes on for ever. False: there is nothing to bound.
  bool learn_visits(std::span<const std::uint32_t> lately) {
    std::map<std::uint32_t, std::uint32_t> visits;
    for (const std::uint32_t site : lately) ++visits[site];
    const auto unlikely = [](const auto& entry) { return entry.second < kOften; };
    if (!std::ranges::all_of(visits, unlikely)) std::erase_if(visits, unlikely);
    const auto least = std::ranges::min_element(visits, {}, [](const auto& entry) { return entry.second; });
    return least != visits.end() && add(bounded_, least->first);
  }

  // These are the sites of a round.
  void learn_idle(std::span<const std::uint32_t> round) {
    for (const std::uint32_t site : round) add(idle_, site);
  }

 private:
  static constexpr std::uint32_t kOften = 10;  // of what a thread keeps coming back to

  using Sites = std::vector<bool>;

  static bool contains(const Sites& sites, std::uint32_t site) { return site < sites.size() && sites[site]; }
  static bool add(Sites& sites, std::uint32_t site) {
    if (sites.size() <= site) sites.resize(site + std::size_t{1});
    const bool fresh = !sites[site];
    sites[site] = true;
    return fresh;
  }

  bool follows_ = false;
  std::unordered_map<std::uint64_t, std::uint32_t> sites_;
  Sites bounded_, idle_;
};

}  // namespace teetotal::runtime
