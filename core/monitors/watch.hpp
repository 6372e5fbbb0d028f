// Monitors over the executions of a search, one after the other: each looks only at the events beyond the prefix that
// an execution shares with the one before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "distinct.hpp"
#include "monitor.hpp"

namespace teetotal::monitors {

class Watch {
 public:
  Watch() = default;

  // The exact monitors do their work together where both are wanted.
  Watch(std::span<const std::string> names, Options options) : distinct_(names.size()) {
    options.undo = true;
    const auto tso = std::ranges::find(names, "exact-tso"), pso = std::ranges::find(names, "exact-pso");
    const bool both = tso != names.end() && pso != names.end();
    for (std::uint32_t number = 0; number < names.size(); ++number) {
      const std::string& name = names[number];
      if (!both || (name != "exact-tso" && name != "exact-pso")) {
        monitors_.push_back({make_monitor(name, options), number, number});
      } else if (name == "exact-tso") {
        const auto other = static_cast<std::uint32_t>(pso - names.begin());
        monitors_.push_back({make_monitor(kExactBoth, options), number, other});
      }
    }
  }

  // Tells each report that is new since the execution before: tell(which of the names, report, whether it is the first
  // at its place). `waiting` is what threads stand before that wait at the end: where they wait for a value, that is
  // asked about too, and the deciding event of such a report is one behind the last.
  template <class Tell>
  void see(std::span<const Event> execution, std::size_t shared, std::span<const Event> waiting, Tell tell) {
    if (monitors_.empty()) return;
    for (const Event& event : execution.subspan(shared))
      if (event.kind == Kind::st) note_store(event.address);
    // What decides nothing need not be seen while nothing comes after it: the ends of threads, mostly.
    while (execution.size() > shared && waiting.empty() && decides_nothing(execution.back()))
      execution = execution.first(execution.size() - 1);
    for (const auto& [monitor, first, second] : monitors_) {
      if (monitor->events() > shared) monitor->undo(shared);
      reports_.clear();
      const auto seen = static_cast<std::size_t>(monitor->events());
      if (seen < execution.size()) monitor->observe(execution.subspan(seen), reports_);
      for (const Event& event : waiting) monitor->arrive(event, reports_);
      for (const Report& report : reports_) {
        if (first == second || (report.models & Report::tso) != 0) tell(first, report, distinct_[first].add(report));
        if (first != second && (report.models & Report::pso) != 0) tell(second, report, distinct_[second].add(report));
      }
    }
  }

 private:
  void note_store(std::uint32_t address) {
    if (address >= stored_.size()) stored_.resize(address + std::size_t{1});
    stored_[address] = true;
  }
  // Fences, locks, and an unlock where no plain store ever was: only a store can be overtaken.
  bool decides_nothing(const Event& event) const {
    return is_fence(event.kind) || event.kind == Kind::lock ||
           (event.kind == Kind::unlock && (event.address >= stored_.size() || !stored_[event.address]));
  }

  struct Watching {
    std::unique_ptr<Monitor> monitor;
    std::uint32_t first, second;  // the names that it goes by: for TSO, for PSO
  };
  std::vector<Watching> monitors_;
  std::vector<Distinct> distinct_;
  std::vector<Report> reports_;
  std::vector<bool> stored_;  // addresses that some execution stores to
};

}  // namespace teetotal::monitors
