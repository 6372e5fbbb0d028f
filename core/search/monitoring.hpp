// Monitors over every execution of a search: each looks only at the events beyond the prefix that the execution shares
// with the one before, and keeps the first schedule that leads to each distinct violation.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "monitors/monitor.hpp"
#include "search/system.hpp"

namespace teetotal {

struct Finding {
  std::uint32_t monitor;                // its position among the names given
  monitors::Report report;              // events are numbered within the execution
  std::vector<std::uint32_t> schedule;  // the threads in order, up to the deciding event
};

class Monitoring final : public Visitor {
 public:
  using Stop = std::function<bool(std::uint64_t executions, double explored)>;

  // `stop` is asked now and then, and told how many executions there were and how much of the search is done; the
  // search ends when it says so.
  Monitoring(const std::vector<std::string>& names, Semantics semantics, Stop stop) : stop_(std::move(stop)) {
    for (const std::string& name : names)
      monitors_.push_back(monitors::make_monitor(name, {.semantics = semantics, .undo = true}));
  }

  bool visit(std::span<const Event> execution, std::size_t shared) override {
    for (std::uint32_t number = 0; number < monitors_.size(); ++number) {
      monitors::Monitor& monitor = *monitors_[number];
      if (monitor.events() > shared) monitor.undo(shared);
      reports_.clear();
      monitor.observe(execution.subspan(static_cast<std::size_t>(monitor.events())), reports_);
      for (const monitors::Report& report : reports_) keep(number, report, execution);
    }
    constexpr std::uint64_t kPoll = 1024;
    return executions++ % kPoll != 0 || !stop_(executions, explored);
  }

  std::vector<Finding> findings;
  std::uint64_t executions = 0;

 private:
  void keep(std::uint32_t number, const monitors::Report& report, std::span<const Event> execution) {
    const auto place = std::tuple(number, report.delayed_location, report.previous_location, report.deciding_location);
    if (!seen_.insert(place).second) return;
    Finding finding{number, report, {}};
    for (const Event& event : execution.first(static_cast<std::size_t>(report.deciding) + 1))
      finding.schedule.push_back(event.thread);
    findings.push_back(std::move(finding));
  }

  std::vector<std::unique_ptr<monitors::Monitor>> monitors_;
  std::vector<monitors::Report> reports_;
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> seen_;
  Stop stop_;
};

}  // namespace teetotal
