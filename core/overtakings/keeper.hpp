// Keeps, of the executions of a search, those in which something is overtaken where no mark is a fence.
//
// It watches beside those who tell (search/monitoring.hpp, Explorer), and wants all reports: also those that say
// nothing new now, since they may be the ones that are left with other fences. An execution is kept if it has a report
// that the one before it had not, and only as far as its last report goes. Nothing is lost by that: a report is about
// what comes before its deciding event, and with fewer marks that are fences there is no other
// (docs/explanation/monitors.md, Theorem 8). What a thread stands before that waits at the end is asked about in each
// execution; it is kept once while the executions share the thread's last event.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kept.hpp"
#include "monitors/watch.hpp"

namespace teetotal::overtakings {

class Keeper {
 public:
  using PlaceOf = std::function<std::uint64_t(std::uint32_t location)>;

  // `most`: bytes, after which no more is kept. `place_of` tells what a location is called for those who read it.
  Keeper(const std::vector<std::string>& names, monitors::Options options, std::uint64_t most, PlaceOf place_of)
      : place_of_(std::move(place_of)), most_(most) {
    options.all = true;
    watch_ = monitors::Watch(names, options);
  }

  // As monitors::Watch::see; marks are among the events (kept.hpp).
  void see(std::span<const Event> execution, std::size_t shared, std::span<const Event> waiting) {
    if (full_) return;
    shared_ = std::min(shared_, shared);
    std::erase_if(arrived_, [&](const Arrived& known) { return known.last >= shared; });
    found_.clear();
    std::size_t end = 0;
    watch_.see(execution, shared, waiting, nullptr, [&](std::uint32_t, const monitors::Report& report, bool) {
      if (!found_.empty() && same(found_.back(), report, execution.size())) return;  // by the other name
      Kept kept{.deciding = static_cast<std::size_t>(report.deciding),
                .delayed = static_cast<std::size_t>(report.delayed),
                .models = report.models,
                .waits = report.deciding >= execution.size(),
                .next = {},
                .places = {place_of_(report.delayed_location), place_of_(report.previous_location),
                           place_of_(report.deciding_location)}};
      if (kept.waits) {
        kept.next = *std::ranges::find(waiting, report.thread, &Event::thread);
        const Arrived arrived{report.thread, static_cast<std::size_t>(report.previous)};
        if (std::ranges::find(arrived_, arrived) != arrived_.end()) return;
        arrived_.push_back(arrived);
      }
      end = std::max(end, static_cast<std::size_t>(kept.waits ? report.previous : report.deciding) + 1);
      found_.push_back(kept);
    });
    if (!found_.empty()) keep(execution, end);
  }

  // What was kept since this was asked last, and how much that is.
  std::string take() { return std::exchange(writer_.bytes, {}); }
  std::size_t size() const { return writer_.bytes.size(); }

  // Whether something was left out: it would have been too much.
  bool full() const { return full_; }

 private:
  struct Arrived {
    std::uint32_t thread;
    std::size_t last;  // its last event
    bool operator==(const Arrived&) const = default;
  };

  static bool same(const Kept& kept, const monitors::Report& report, std::size_t events) {
    return kept.waits == (report.deciding >= events) && kept.deciding == report.deciding &&
           kept.delayed == report.delayed && (!kept.waits || kept.next.thread == report.thread);
  }

  void keep(std::span<const Event> execution, std::size_t end) {
    const std::size_t from = std::min(shared_, length_);
    end = std::max(end, from);
    const std::size_t before = writer_.bytes.size();
    writer_.execution(from, execution.subspan(from, end - from), found_);
    kept_ += writer_.bytes.size() - before;
    length_ = end;
    shared_ = std::numeric_limits<std::size_t>::max();
    if (kept_ <= most_) return;
    full_ = true;
    writer_.bytes.resize(before);
  }

  monitors::Watch watch_;
  PlaceOf place_of_;
  std::uint64_t most_, kept_ = 0;
  Writer writer_;
  std::vector<Kept> found_;
  std::vector<Arrived> arrived_;
  std::size_t length_ = 0;  // of the latest that was kept
  std::size_t shared_ = 0;  // what the executions since then share with it
  bool full_ = false;
};

}  // namespace teetotal::overtakings
