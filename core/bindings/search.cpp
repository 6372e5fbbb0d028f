// Searches over the SC executions of a program.
#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "execution.hpp"
#include "module.hpp"
#include "search/classes.hpp"
#include "search/interleavings.hpp"
#include "search/monitoring.hpp"
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
         std::uint32_t depth, std::uint64_t seed, std::uint64_t keep, double seconds, std::size_t megabytes) {
        Budget budget(seconds);
        Execution execution(program, semantics, skip_waiting ? Waiting::skip : Waiting::count);
        Collector collector(keep, budget);
        const SearchResult result = run({std::move(strategy), count, depth, seed, megabytes}, execution, collector);
        return nb::make_tuple(result, std::move(collector.schedules), budget.interrupted());
      },
      nb::arg("program"), nb::arg("semantics"), nb::arg("skip_waiting"), nb::arg("strategy"), nb::arg("count"),
      nb::arg("depth"), nb::arg("seed"), nb::arg("keep"), nb::arg("seconds"), nb::arg("megabytes"),
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
         std::size_t megabytes, nb::object watcher, bool release_sequence_c11) {
        Budget budget(seconds, std::move(watcher));
        Execution execution(program, semantics, skip_waiting ? Waiting::skip : Waiting::count);
        const monitors::Options options{.semantics = semantics, .release_sequence_c11 = release_sequence_c11};
        Monitoring monitoring(execution, names, options, [&](std::uint64_t executions, double explored) {
          return budget.spent(executions, explored);
        });
        const SearchResult result = run({std::move(strategy), count, depth, seed, megabytes}, execution, monitoring);
        using Triple = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
        std::vector<std::tuple<std::uint32_t, Triple, std::vector<std::uint32_t>, bool>> findings;
        for (Finding& finding : monitoring.findings)
          findings.emplace_back(finding.monitor,
                                Triple{finding.report.delayed, finding.report.previous, finding.report.deciding},
                                std::move(finding.schedule), (finding.report.models & monitors::Report::race) != 0);
        std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> cuts;
        for (const Cut& cut : execution.cuts()) cuts.emplace_back(cut.thread, cut.first, cut.last, cut.rounds);
        return nb::make_tuple(result, std::move(findings), std::move(cuts), budget.interrupted());
      },
      nb::arg("program"), nb::arg("semantics"), nb::arg("skip_waiting"), nb::arg("strategy"), nb::arg("count"),
      nb::arg("depth"), nb::arg("seed"), nb::arg("monitors"), nb::arg("seconds"), nb::arg("megabytes"),
      nb::arg("watcher").none(), nb::arg("release_sequence_c11") = false,
      "The search's counts, the first report of each distinct violation (which monitor; delayed, previous, deciding "
      "event; schedule; whether it is a data race), the loops that were cut (thread, first and last instruction, "
      "rounds), and whether the user "
      "interrupted it.");

  nb::exception<MixedMutex>(m, "MixedMutex");
}

}  // namespace teetotal
