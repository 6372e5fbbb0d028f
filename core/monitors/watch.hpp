// Monitors over the executions of a search, one after the other: each looks only at the events beyond the prefix that
// an execution shares with the one before. Of these the last ones need not be seen where they decide nothing, since
// nothing comes after them: most executions end with ends of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "monitor.hpp"
#include "wanted.hpp"

namespace teetotal::monitors {

class Watch {
 public:
  Watch() = default;

  // The exact monitors do their work together where both are wanted.
  Watch(std::span<const std::string> names, Options options) {
    options.undo = true;
    for (std::size_t number = 0; number < names.size(); ++number) told_.push_back(std::make_unique<Told>());
    const auto tso = std::ranges::find(names, "exact-tso"), pso = std::ranges::find(names, "exact-pso");
    const bool both = tso != names.end() && pso != names.end();
    for (std::uint32_t number = 0; number < names.size(); ++number) {
      const std::string& name = names[number];
      const bool exact = name == "exact-tso" || name == "exact-pso";
      if (both && name == "exact-pso") continue;
      const auto other = both && exact ? static_cast<std::uint32_t>(pso - names.begin()) : number;
      auto wanted = std::make_unique<Wanted>(*told_[number], *told_[other], options.count);
      options.wanted = options.all ? nullptr : wanted.get();
      auto monitor = make_monitor(number == other ? std::string_view(name) : kExactBoth, options);
      monitors_.push_back({std::move(monitor), std::move(wanted), number, other});
    }
  }

  // Tells each report that is new since the execution before: tell(which of the names, report, whether it is the first
  // at its place). `waiting` is what threads stand before that wait at the end: where they wait for a value, that is
  // asked about too, and the deciding event of such a report is one behind the last. Reports at places that were
  // told before may be left out, but for one in each execution where these are counted.
  template <class Tell>
  void see(std::span<const Event> execution, std::size_t shared, std::span<const Event> waiting, Tell tell) {
    for (const auto& told : told_) told->go_back(shared);
    for (const Watching& watching : monitors_) {
      reports_.clear();
      watching.monitor->see(execution, shared, waiting, reports_);
      for (const Report& report : reports_) {
        const auto [first, second] = std::pair(watching.first, watching.second);
        if (first == second || (report.models & Report::tso) != 0) tell(first, report, told_[first]->add(report));
        if (first != second && (report.models & Report::pso) != 0) tell(second, report, told_[second]->add(report));
      }
    }
  }

  // Whether there is a report of the latest execution, by this one of the names: where that is counted.
  bool reports(std::uint32_t name) const { return told_[name]->reports(); }

 private:
  struct Watching {
    std::unique_ptr<Monitor> monitor;
    std::unique_ptr<Wanted> wanted;
    std::uint32_t first, second;  // the names that it goes by: for TSO, for PSO
  };

  std::vector<Watching> monitors_;
  std::vector<std::unique_ptr<Told>> told_;  // by name
  std::vector<Report> reports_;
};

}  // namespace teetotal::monitors
