// Monitors over every execution of a search, and the first schedule that leads to each distinct violation.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "monitors/watch.hpp"
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
  Monitoring(const System& system, const std::vector<std::string>& names, monitors::Options options, Stop stop)
      : system_(system), stop_(std::move(stop)) {
    options.older = system.skips_waiting() ? &system : nullptr;
    options.values = &system;
    watch_ = monitors::Watch(names, options);
  }

  bool visit(std::span<const Event> execution, std::size_t shared) override {
    if (system_.skips_waiting()) system_.find_waiting(waiting_);
    watch_.see(execution, shared, waiting_, [&](std::uint32_t number, const monitors::Report& report, bool fresh) {
      if (fresh) keep(number, report, execution);
    });
    constexpr std::uint64_t kPoll = 1024;
    return executions++ % kPoll != 0 || !stop_(executions, explored);
  }

  std::vector<Finding> findings;
  std::uint64_t executions = 0;

 private:
  void keep(std::uint32_t number, const monitors::Report& report, std::span<const Event> execution) {
    Finding finding{number, report, {}};
    for (const Event& event : execution.first(static_cast<std::size_t>(report.deciding)))
      finding.schedule.push_back(event.thread);
    finding.schedule.push_back(report.thread);  // which may not have done it
    findings.push_back(std::move(finding));
  }

  const System& system_;
  std::vector<Event> waiting_;
  monitors::Watch watch_;
  Stop stop_;
};

}  // namespace teetotal
