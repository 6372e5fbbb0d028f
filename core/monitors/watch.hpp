// Monitors over the executions of a search, one after the other: each looks only at the events beyond the prefix that
// an execution shares with the one before.
//
// Of these the last ones need not be seen where they decide nothing, since nothing comes after them: most executions
// end with ends of threads. The exact monitors for TSO and PSO can leave out more (docs/explanation/monitors.md, Lemma
// 7): an event overtakes nothing if its thread has accessed the location since the last write to it.
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
      auto news = std::make_unique<News>(*told_[number], *told_[other]);
      options.wanted = options.all ? nullptr : news.get();
      auto monitor = make_monitor(number == other ? std::string_view(name) : kExactBoth, options);
      monitors_.push_back({std::move(monitor), std::move(news), number, other, exact});
      notes_stores_ = notes_stores_ || !exact;
    }
  }

  // Tells each report that is new since the execution before: tell(which of the names, report, whether it is the first
  // at its place). `waiting` is what threads stand before that wait at the end: where they wait for a value, that is
  // asked about too, and the deciding event of such a report is one behind the last. Reports that say no more than
  // those before them, of this execution and at these places, may be left out.
  template <class Tell>
  void see(std::span<const Event> execution, std::size_t shared, std::span<const Event> waiting, Tell tell) {
    if (monitors_.empty()) return;
    for (const auto& told : told_)
      while (!told->deciding.empty() && told->deciding.back() >= shared) told->deciding.pop_back();
    if (notes_stores_)
      for (const Event& event : execution.subspan(std::min(shared, execution.size())))
        if (event.kind == Kind::st) note_store(event.address);
    for (const Watching& watching : monitors_) {
      Monitor& monitor = *watching.monitor;
      if (monitor.events() > shared) monitor.undo(shared);
      reports_.clear();
      asked_.clear();
      for (const Event& event : waiting)
        if (!watching.exact || may_overtake(execution, event)) asked_.push_back(event);
      const std::size_t end = last_that_counts(execution, shared, watching.exact);
      const auto seen = static_cast<std::size_t>(monitor.events());
      if (seen < end) monitor.observe(execution.subspan(seen, end - seen), reports_);
      for (const Event& event : asked_) monitor.arrive(event, execution.size(), reports_);
      for (const Report& report : reports_) {
        const auto [first, second] = std::pair(watching.first, watching.second);
        if (first == second || (report.models & Report::tso) != 0) tell(first, report, told_[first]->add(report));
        if (first != second && (report.models & Report::pso) != 0) tell(second, report, told_[second]->add(report));
      }
    }
  }

  // Whether there is a report of the latest execution, by this one of the names.
  bool reports(std::uint32_t name) const { return !told_[name]->deciding.empty(); }

 private:
  // Of one of the names: what was reported before, and at which events of the execution at hand.
  struct Told {
    Distinct distinct;
    std::vector<std::uint64_t> deciding;

    bool add(const Report& report) {
      deciding.push_back(report.deciding);
      return distinct.add(report);
    }
    bool knows(const Report& report) const { return !deciding.empty() && distinct.contains(report); }
  };

  class News final : public Wanted {
   public:
    News(const Told& first, const Told& second) : first_(first), second_(second) {}

    bool wants(const Report& report) const override {
      if (&first_ == &second_) return !first_.knows(report);
      return ((report.models & Report::tso) != 0 && !first_.knows(report)) ||
             ((report.models & Report::pso) != 0 && !second_.knows(report));
    }

   private:
    const Told &first_, &second_;
  };

  struct Watching {
    std::unique_ptr<Monitor> monitor;
    std::unique_ptr<News> news;
    std::uint32_t first, second;  // the names that it goes by: for TSO, for PSO
    bool exact;                   // for TSO, for PSO, or both
  };

  void note_store(std::uint32_t address) {
    if (address >= stored_.size()) stored_.resize(address + std::size_t{1});
    stored_[address] = true;
  }
  // Fences, locks, and an unlock where no plain store ever was: only a store can be overtaken.
  bool decides_nothing(std::span<const Event> before, const Event& event, bool exact) const {
    if (is_fence(event.kind) || event.kind == Kind::lock) return true;
    if (exact) return !may_overtake(before, event);
    return event.kind == Kind::unlock && (event.address >= stored_.size() || !stored_[event.address]);
  }

  // Whether the last write of its location is another's, and its thread has not accessed it since.
  static bool may_overtake(std::span<const Event> before, const Event& event) {
    for (auto it = before.rbegin(); it != before.rend(); ++it) {
      if (it->address != event.address || is_fence(it->kind)) continue;
      if (it->thread == event.thread) return false;
      if (it->writes) return true;
    }
    return false;
  }

  // How many events must be seen. What a thread stands before that waits depends on its past alone: on its last event.
  std::size_t last_that_counts(std::span<const Event> execution, std::size_t shared, bool exact) const {
    if (!exact && !asked_.empty()) return execution.size();
    std::size_t end = execution.size();
    for (; end > shared; --end) {
      const Event& event = execution[end - 1];
      if (std::ranges::any_of(asked_, [&](const Event& e) { return e.thread == event.thread; })) break;
      if (!decides_nothing(execution.first(end - 1), event, exact)) break;
    }
    return end;
  }

  std::vector<Watching> monitors_;
  std::vector<std::unique_ptr<Told>> told_;  // by name
  std::vector<Report> reports_;
  std::vector<Event> asked_;
  bool notes_stores_ = false;  // some monitor is none of the exact ones
  std::vector<bool> stored_;   // addresses that some execution stores to
};

}  // namespace teetotal::monitors
