// Monitors over every execution of a search, and the first schedule that leads to each distinct violation.
//
// Fences of the program may be marks: places where one could stand. Those that are to be fences are so to the monitors,
// the others are nothing to them and no steps of the schedules that are told; and the overtakings that there are where
// none is a fence are kept (overtakings/keeper.hpp).
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "monitors/watch.hpp"
#include "overtakings/keeper.hpp"
#include "search/system.hpp"

namespace teetotal {

struct Finding {
  std::uint32_t monitor;                // its position among the names given
  monitors::Report report;              // events are numbered as the steps of the schedule
  std::vector<std::uint32_t> schedule;  // the threads in order, up to the deciding event
};

// Of which mark a fence at this location is, from 1 on (0: it is none); and of each mark, what it is to monitors:
// Kind::fence where that is nothing. `most`: bytes to keep.
struct MarkedFences {
  std::vector<std::uint32_t> at;
  std::vector<Kind> kinds;
  std::uint64_t most = 0;
};

class Monitoring final : public Visitor {
 public:
  using Stop = std::function<bool(std::uint64_t executions, double explored)>;

  // `stop` is asked now and then, and told how many executions there were and how much of the search is done; the
  // search ends when it says so.
  Monitoring(const System& system, const std::vector<std::string>& names, monitors::Options options, Stop stop,
             MarkedFences marks = {})
      : system_(system), stop_(std::move(stop)), marks_(std::move(marks)) {
    options.older = system.skips_waiting() ? &system : nullptr;
    options.values = &system;
    watch_ = monitors::Watch(names, options);
    if (watch_.listens() && marks_.at.empty()) hearsay = &hearsay_;
    if (!marks_.at.empty())
      keeper.emplace(names, options, marks_.most, [](std::uint32_t location) { return location; });
  }

  bool visit(std::span<const Event> execution, std::size_t shared) override {
    const monitors::Hearsay* heard = hearsay_.noted ? &hearsay_ : nullptr;
    if (system_.skips_waiting() && (keeper || watch_.asks_what_waits(heard))) system_.find_waiting(waiting_);
    if (keeper) {
      marked_.assign(execution.begin(), execution.end());
      for (Event& event : marked_) mark(event);
      keeper->see(marked_, shared, waiting_);
      for (Event& event : marked_)
        if (is_mark(event)) event.kind = marks_.kinds[event.address - 1];
      execution = marked_;
    }
    watch_.see(execution, shared, waiting_, heard,
               [&](std::uint32_t number, const monitors::Report& report, bool fresh) {
                 if (fresh) keep(number, report, execution);
               });
    constexpr std::uint64_t kPoll = 1024;
    return executions++ % kPoll != 0 || !stop_(executions, explored);
  }

  std::vector<Finding> findings;
  std::uint64_t executions = 0;
  std::optional<overtakings::Keeper> keeper;  // where there are marks

 private:
  void keep(std::uint32_t number, const monitors::Report& report, std::span<const Event> execution) {
    Finding finding{number, report, {}};
    const std::span<const Event> before = execution.first(static_cast<std::size_t>(report.deciding));
    for (const Event& event : before)
      if (!is_mark(event)) finding.schedule.push_back(event.thread);
    if (keeper) {
      const auto step_of = [&](std::uint64_t event) {
        return static_cast<std::uint64_t>(std::ranges::count_if(execution.first(event), std::not_fn(is_mark)));
      };
      std::uint64_t previous = report.previous;  // which may be a mark: then the thread's step before that
      while (previous > 0 && (is_mark(execution[previous]) || execution[previous].thread != report.thread)) --previous;
      finding.report.delayed = step_of(report.delayed);
      finding.report.previous = step_of(previous);
      finding.report.deciding = finding.schedule.size();
    }
    finding.schedule.push_back(report.thread);  // which may not have done it
    findings.push_back(std::move(finding));
  }

  void mark(Event& event) const {
    if (!is_fence(event.kind)) return;
    const std::uint32_t number = event.location < marks_.at.size() ? marks_.at[event.location] : 0;
    if (number != 0) event.kind = Kind::fence;
    event.address = number;
  }
  static bool is_mark(const Event& event) { return event.kind == Kind::fence && event.address != 0; }

  const System& system_;
  std::vector<Event> waiting_;
  monitors::Watch watch_;
  monitors::Hearsay hearsay_;
  Stop stop_;
  MarkedFences marks_;
  std::vector<Event> marked_;
};

}  // namespace teetotal
