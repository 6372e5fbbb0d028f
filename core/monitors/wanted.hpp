// Which reports are wanted. To find out what an older value leads to is dear, and in vain where the report would say
// nothing that is not known: at places that were told before and, where executions with reports are counted, in one
// that has a report already.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "distinct.hpp"
#include "report.hpp"

namespace teetotal::monitors {

// Of one monitor, by its name: what was reported before, and at which events of the execution at hand.
class Told {
 public:
  // Whether it is the first at its places.
  bool add(const Report& report) {
    deciding_.push_back(report.deciding);
    return distinct_.add(report);
  }

  // The next execution shares so many events with the one at hand.
  void go_back(std::size_t shared) {
    while (!deciding_.empty() && deciding_.back() >= shared) deciding_.pop_back();
  }

  bool reports() const { return !deciding_.empty(); }
  bool knows_places(const Report& report) const { return distinct_.contains(report); }

 private:
  Distinct distinct_;
  std::vector<std::uint64_t> deciding_;
};

// What one monitor is to report that goes by two names, one for each model, or by one name twice. Most of what it finds
// is at places that were told, and of these there are few: those that were asked about last lie in a small table.
class Wanted {
 public:
  // `count`: each execution that has a report must show one, so that it can be counted.
  Wanted(const Told& tso, const Told& pso, bool count) : tso_(tso), pso_(pso), count_(count) {}

  // The models of which it is known at once that a report at these places makes no difference.
  std::uint32_t known(std::uint32_t delayed, std::uint32_t previous, std::uint32_t deciding) const {
    const std::size_t at = place_of(delayed, previous, deciding);
    const Known& known = known_[at].is(delayed, previous, deciding) ? known_[at] : known_[at ^ 1U];
    return known.is(delayed, previous, deciding) && !count_ ? known.models : 0;
  }

  bool knows(std::uint32_t delayed, std::uint32_t previous, std::uint32_t deciding, std::uint32_t models) const {
    return (models & ~known(delayed, previous, deciding)) == 0;
  }

  bool knows(const Report& report) const {
    return knows(report.delayed_location, report.previous_location, report.deciding_location, report.models);
  }

  // False: it makes no difference whether it is made.
  bool wants(const Report& report) {
    const std::uint32_t delayed = report.delayed_location, previous = report.previous_location,
                        deciding = report.deciding_location;
    if (knows(report)) return false;
    if ((report.models & Report::tso) != 0 && !knows(tso_, report)) return true;
    if ((report.models & ~Report::tso) != 0 && !knows(pso_, report)) return true;
    const std::size_t at = place_of(delayed, previous, deciding);
    Known &known = known_[at], &other = known_[at ^ 1U];
    if (!known.is(delayed, previous, deciding)) std::swap(known, other);
    if (!known.is(delayed, previous, deciding)) known = {delayed, previous, deciding, 0};
    known.models |= report.models;
    return false;
  }

 private:
  struct Known {
    std::uint32_t delayed = 0, previous = 0, deciding = 0, models = 0;

    bool is(std::uint32_t d, std::uint32_t p, std::uint32_t e) const {
      return ((delayed ^ d) | (previous ^ p) | (deciding ^ e)) == 0;
    }
  };
  // Some programs have dozens of these, and two in one place would drive each other out at every other event: each has
  // a second place beside its own, to which the one asked about before it goes.
  static constexpr std::size_t kKnown = 512;

  static std::size_t place_of(std::uint32_t delayed, std::uint32_t previous, std::uint32_t deciding) {
    return (delayed * 0x9E3779B1u + previous * 0x85EBCA77u + deciding * 0xC2B2AE3Du) / (0xFFFFFFFFu / kKnown + 1);
  }
  bool knows(const Told& told, const Report& report) const {
    return (!count_ || told.reports()) && told.knows_places(report);
  }

  const Told &tso_, &pso_;
  bool count_;
  alignas(2 * sizeof(Known)) std::array<Known, kKnown> known_;
};

}  // namespace teetotal::monitors
