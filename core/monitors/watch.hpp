// Monitors over the executions of a search, one after the other: each looks only at the events beyond the prefix that
// an execution shares with the one that it saw last. Of these the last ones need not be seen where they decide nothing,
// since nothing comes after them. Where the search tells what its events know by hearsay, that is most of what the
// exact monitors would look at (screen.hpp); otherwise it is what executions mostly end with, ends of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hearsay.hpp"
#include "monitor.hpp"
#include "screen.hpp"
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
    const auto number_of = [&](auto name) { return static_cast<std::uint32_t>(name - names.begin()); };
    for (std::uint32_t number = 0; number < names.size(); ++number) {
      const std::string& name = names[number];
      const bool exact = name == "exact-tso" || name == "exact-pso";
      if (both && name == "exact-pso") continue;
      Watching watching{.first = number, .second = both && exact ? number_of(pso) : number};
      watching.wanted = std::make_unique<Wanted>(*told_[watching.first], *told_[watching.second], options.count);
      options.wanted = options.all ? nullptr : watching.wanted.get();
      watching.monitor = make_monitor(both && exact ? kExactBoth : std::string_view(name), options);
      if (exact && options.screened && !options.all && !options.count) {
        const std::uint32_t models = both ? Report::tso | Report::pso : name == "exact-tso" ? Report::tso : Report::pso;
        watching.screen.emplace(options.semantics, models, options.older, *watching.wanted);
      }
      all_listen_ = all_listen_ && watching.screen;
      monitors_.push_back(std::move(watching));
    }
  }

  // Whether it is of use to know what events know by hearsay.
  bool listens() const {
    return std::ranges::any_of(monitors_, [](const Watching& watching) { return watching.screen.has_value(); });
  }

  // Whether somebody wants to know what threads wait before of an execution of which this is told.
  bool asks_what_waits(const Hearsay* hearsay) const {
    return !monitors_.empty() && !(all_listen_ && hearsay != nullptr);
  }

  // Tells each report that is new since the execution before: tell(which of the names, report, whether it is the first
  // at its place). `waiting` is, if it is asked for, what threads stand before that wait at the end: where they wait
  // for a value, that is asked about too, and the deciding event of such a report is one behind the last. Reports at
  // places that were told before may be left out, but for one in each execution where these are counted. `hearsay` is
  // that of the events as they are given, or null.
  template <class Tell>
  void see(std::span<const Event> execution, std::size_t shared, std::span<const Event> waiting, const Hearsay* hearsay,
           Tell tell) {
    shared_ = std::min(shared_, shared);
    if (all_listen_ && hearsay != nullptr && hearsay->silent()) return;
    for (const auto& told : told_) told->go_back(shared_);
    noted_ = std::min(noted_, shared_);
    bool shown = false;
    for (Watching& watching : monitors_) {
      watching.shared = std::min(watching.shared, shared_);
      reports_.clear();
      if (watching.screen) watching.screen->go_back(shared_);
      if (watching.screen && hearsay != nullptr) {
        const std::size_t needed = watching.screen->needed(execution, *hearsay, asked_);
        if (needed == 0) continue;
        watching.monitor->see(execution, watching.shared, needed, asked_, reports_);
      } else {
        const std::size_t end = end_of_decisive(execution, watching.shared, waiting);
        watching.monitor->see(execution, watching.shared, end, waiting, reports_);
      }
      watching.shared = execution.size();
      shown = true;
      for (const Report& report : reports_) {
        const auto [first, second] = std::pair(watching.first, watching.second);
        if (first == second || (report.models & Report::tso) != 0) tell(first, report, told_[first]->add(report));
        if (first != second && (report.models & Report::pso) != 0) tell(second, report, told_[second]->add(report));
      }
    }
    shared_ = execution.size();
    shown_ += shown;
  }

  // How many executions some monitor had to look at.
  std::uint64_t shown() const { return shown_; }

  // Whether there is a report of the latest execution, by this one of the names: where that is counted.
  bool reports(std::uint32_t name) const { return told_[name]->reports(); }

 private:
  struct Watching {
    std::uint32_t first, second;  // the names that it goes by: for TSO, for PSO
    std::unique_ptr<Monitor> monitor = nullptr;
    std::unique_ptr<Wanted> wanted = nullptr;
    std::optional<Screen> screen = std::nullopt;  // of the exact ones
    std::size_t shared = 0;                       // what the executions since the one that it saw last share with that
  };

  // Behind the last event that may decide something: it is no fence, and no lock or unlock where no plain store ever
  // was, since only a store can be overtaken.
  std::size_t end_of_decisive(std::span<const Event> execution, std::size_t shared, std::span<const Event> waiting) {
    for (; noted_ < execution.size(); ++noted_) {
      const Event& event = execution[noted_];
      if (event.kind != Kind::st) continue;
      if (event.address >= stored_.size()) stored_.resize(event.address + std::size_t{1});
      stored_[event.address] = true;
    }
    const auto decides_nothing = [&](const Event& event) {
      if (is_fence(event.kind)) return true;
      const bool mutex = event.kind == Kind::lock || event.kind == Kind::unlock;
      return mutex && (event.address >= stored_.size() || !stored_[event.address]);
    };
    std::size_t end = execution.size();
    if (waiting.empty())
      while (end > shared && decides_nothing(execution[end - 1])) --end;
    return end;
  }

  std::vector<Watching> monitors_;
  std::vector<std::unique_ptr<Told>> told_;  // by name
  bool all_listen_ = true;                   // all monitors are screened
  std::size_t shared_ = 0;  // what the executions since the one that was looked into last share with that
  std::vector<Report> reports_;
  std::vector<Event> asked_;
  std::uint64_t shown_ = 0;
  std::size_t noted_ = 0;     // how many events of the execution have been looked at for that:
  std::vector<bool> stored_;  // addresses that some execution stores to
};

}  // namespace teetotal::monitors
