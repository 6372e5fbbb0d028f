// Searches over the SC executions of a program.
#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>

#include "execution.hpp"
#include "module.hpp"
#include "search/classes.hpp"
#include "search/interleavings.hpp"
#include "search/monitoring.hpp"
#include "search/optimal.hpp"
#include "search/random.hpp"
#include "search/strategy.hpp"

namespace nb = nanobind;

namespace teetotal {

namespace {

// Keeps the schedule (the threads in order) of every execution, up to a limit, for tests and for small programs.
class Collector final : public Visitor {
 public:
  Collector(std::uint64_t limit, Budget& budget) : limit_(limit), budget_(budget) {}
  bool visit(std::span<const Event> execution, std::size_t) override {
    if (schedules.size() < limit_) {
      std::vector<std::uint32_t> schedule;
      for (const Event& event : execution) schedule.push_back(event.thread);
      schedules.push_back(std::move(schedule));
    }
    return visited_++ % 1024 != 0 || !budget_.spent();
  }
  std::vector<std::vector<std::uint32_t>> schedules;

 private:
  std::uint64_t limit_;
  std::uint64_t visited_ = 0;
  Budget& budget_;
};

SearchResult run(const Strategy& strategy, System& system, Visitor& visitor) {
  nb::gil_scoped_release release;
  return search(strategy, system, visitor);
}

using Triple = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
using Told = std::tuple<std::uint32_t, Triple, std::vector<std::uint32_t>, bool>;

Triple places(const Finding& finding) {
  const monitors::Report& report = finding.report;
  return {report.delayed_location, report.previous_location, report.deciding_location};
}

// The marks of a program: see MarkedFences.
using Marked = std::tuple<std::vector<std::uint32_t>, std::vector<int>, std::uint64_t>;

MarkedFences marked(const Marked& told) {
  const auto& [at, numbers, most] = told;
  MarkedFences marks{at, {}, most};
  for (const int number : numbers) marks.kinds.push_back(static_cast<Kind>(number));
  return marks;
}

// What was kept, and whether that is all.
std::pair<nb::bytes, bool> kept(Monitoring& monitoring) {
  if (!monitoring.keeper) return {nb::bytes("", 0), true};
  const std::string bytes = monitoring.keeper->take();
  return {nb::bytes(bytes.data(), bytes.size()), !monitoring.keeper->full()};
}

Told told(Finding& finding) {
  const monitors::Report& report = finding.report;
  return {finding.monitor, Triple{report.delayed, report.previous, report.deciding}, std::move(finding.schedule),
          (report.models & monitors::Report::race) != 0};
}

auto told(const Execution& execution) {
  std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> cuts;
  for (const Cut& cut : execution.cuts()) cuts.emplace_back(cut.thread, cut.first, cut.last, cut.rounds);
  return cuts;
}

// Set by a handler of signals, which Budget::spent lets run now and then.
std::atomic<bool> asked_to_pause = false;

// So many executions of a part, and then a pause.
class Slice final : public Visitor {
 public:
  Slice(Monitoring& watching, std::uint64_t most) : watching_(watching), most_(most) { hearsay = watching.hearsay; }
  bool visit(std::span<const Event> execution, std::size_t shared) override {
    watching_.explored = explored;
    const bool more = watching_.visit(execution, shared);
    pause = !more || watching_.executions >= most_ || asked_to_pause;
    return true;
  }

 private:
  Monitoring& watching_;
  std::uint64_t most_;
};

}  // namespace

void bind_search(nb::module_& m) {
  nb::class_<SearchResult>(m, "SearchResult")
      .def_ro("executions", &SearchResult::executions)
      .def_ro("blocked", &SearchResult::blocked)
      .def_ro("cut", &SearchResult::cut)
      .def_ro("vain", &SearchResult::vain)
      .def_ro("redundant", &SearchResult::redundant)
      .def_ro("complete", &SearchResult::complete)
      .def_ro("full", &SearchResult::full)
      .def_ro("endless", &SearchResult::endless)
      .def_ro("bounded", &SearchResult::bounded);

  m.def(
      "search",
      [](const Program& program, Semantics semantics, bool skip_waiting, std::string strategy, std::uint64_t count,
         std::uint32_t depth, std::uint64_t seed, std::uint64_t keep, double seconds, std::size_t megabytes,
         std::vector<std::int32_t> twins) {
        Budget budget(seconds);
        Execution execution(program, semantics, skip_waiting ? Waiting::skip : Waiting::count, std::move(twins));
        Collector collector(keep, budget);
        const SearchResult result = run({std::move(strategy), count, depth, seed, megabytes}, execution, collector);
        return nb::make_tuple(result, std::move(collector.schedules), budget.interrupted());
      },
      nb::arg("program"), nb::arg("semantics"), nb::arg("skip_waiting"), nb::arg("strategy"), nb::arg("count"),
      nb::arg("depth"), nb::arg("seed"), nb::arg("keep"), nb::arg("seconds"), nb::arg("megabytes"),
      nb::arg("twins") = std::vector<std::int32_t>{},
      "The search's counts, the first `keep` schedules, and whether the user interrupted it.");

  m.def(
      "count_classes",
      [](const Program& program, Semantics semantics, bool skip_waiting, std::uint64_t most) {
        Execution execution(program, semantics, skip_waiting ? Waiting::skip : Waiting::count);
        ClassCounter counter(most);
        SearchResult result;
        {
          nb::gil_scoped_release release;
          result = all_interleavings(execution, counter);
        }
        return nb::make_tuple(counter.classes(), result.executions);
      },
      nb::arg("program"), nb::arg("semantics"), nb::arg("skip_waiting"), nb::arg("most"),
      "How many classes there are among all interleavings, and how many interleavings (at most `most` are looked at).");

  m.def(
      "monitored_search",
      [](const Program& program, Semantics semantics, bool skip_waiting, std::string strategy, std::uint64_t count,
         std::uint32_t depth, std::uint64_t seed, const std::vector<std::string>& names, double seconds,
         std::size_t megabytes, nb::object watcher, bool release_sequence_c11, std::vector<std::int32_t> twins,
         const Marked& marks, bool screened) {
        Budget budget(seconds, std::move(watcher));
        Execution execution(program, semantics, skip_waiting ? Waiting::skip : Waiting::count, std::move(twins));
        const monitors::Options options{
            .semantics = semantics, .screened = screened, .release_sequence_c11 = release_sequence_c11};
        Monitoring monitoring(
            execution, names, options,
            [&](std::uint64_t executions, double explored) { return budget.spent(executions, explored); },
            marked(marks));
        const SearchResult result = run({std::move(strategy), count, depth, seed, megabytes}, execution, monitoring);
        std::vector<std::pair<Triple, Told>> findings;
        for (Finding& finding : monitoring.findings) findings.emplace_back(places(finding), told(finding));
        return nb::make_tuple(result, std::move(findings), told(execution), budget.interrupted(), kept(monitoring));
      },
      nb::arg("program"), nb::arg("semantics"), nb::arg("skip_waiting"), nb::arg("strategy"), nb::arg("count"),
      nb::arg("depth"), nb::arg("seed"), nb::arg("monitors"), nb::arg("seconds"), nb::arg("megabytes"),
      nb::arg("watcher").none(), nb::arg("release_sequence_c11") = false,
      nb::arg("twins") = std::vector<std::int32_t>{}, nb::arg("marks") = Marked{}, nb::arg("screened") = true,
      "The search's counts, the first report of each distinct violation (its places; which monitor; delayed, previous, "
      "deciding event; schedule; whether it is a data race), the loops that were cut (thread, first and last "
      "instruction, rounds), whether the user interrupted it, and, of a program with marks, what was kept of its "
      "overtakings, and whether that is all. `screened`: exact monitors see only what could give a report; it makes no "
      "difference.");

  m.def(
      "monitored_part",
      [](const Program& program, Semantics semantics, bool skip_waiting, std::string strategy, std::uint32_t depth,
         std::uint64_t seed, const std::vector<std::string>& names, bool release_sequence_c11, const std::string& part,
         double seconds, std::uint64_t most, std::size_t megabytes, std::vector<std::int32_t> twins,
         const Marked& marks) {
        asked_to_pause = false;
        Budget budget(seconds);
        Execution execution(program, semantics, skip_waiting ? Waiting::skip : Waiting::count, std::move(twins));
        const monitors::Options options{.semantics = semantics, .release_sequence_c11 = release_sequence_c11};
        Monitoring monitoring(
            execution, names, options, [&](std::uint64_t, double) { return budget.spent(); }, marked(marks));
        Slice slice(monitoring, most);
        SearchResult result;
        std::string left, asks;
        if (strategy == "all") {
          OptimalSearch search(execution, slice, megabytes);
          {
            nb::gil_scoped_release release;
            result = search.run(part_from(part, execution));
          }
          left = to_text(search.rest(), execution);
          asks = to_text(search.asks(), execution);
        } else {
          const WalksPart given = walks_from(part);
          const auto [from, until] = given.walks;
          result = run({std::move(strategy), until, depth, seed, megabytes, ~0U, from}, execution, slice);
          left = to_text(given, result.executions);
        }
        std::vector<std::pair<Triple, Told>> findings;
        for (Finding& finding : monitoring.findings) findings.emplace_back(places(finding), told(finding));
        std::vector<int> uses;
        for (const Execution::Use use : execution.uses()) uses.push_back(static_cast<int>(use));
        return nb::make_tuple(result, std::move(findings), told(execution), std::move(uses), budget.interrupted(),
                              std::move(left), std::move(asks), kept(monitoring));
      },
      nb::arg("program"), nb::arg("semantics"), nb::arg("skip_waiting"), nb::arg("strategy"), nb::arg("depth"),
      nb::arg("seed"), nb::arg("monitors"), nb::arg("release_sequence_c11"), nb::arg("part"), nb::arg("seconds"),
      nb::arg("most"), nb::arg("megabytes"), nb::arg("twins") = std::vector<std::int32_t>{},
      nb::arg("marks") = Marked{},
      "As monitored_search, of a part of all, random or pct, for so many seconds and executions: the counts, the "
      "reports with their places, the loops that were cut, how locations were used, whether the user interrupted it, "
      "what is left, what it asks of those above, and what was kept.");

  m.def(
      "pause_part", [] { asked_to_pause = true; }, "Whoever explores a part here stops soon, and tells what is left.");

  nb::exception<MixedMutex>(m, "MixedMutex");
}

}  // namespace teetotal
