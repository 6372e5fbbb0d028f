// Searches over the SC executions of a program.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "execution.hpp"
#include "module.hpp"
#include "search/interleavings.hpp"
#include "search/optimal.hpp"

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
    return ++visited_ % 1024 != 0 || !budget_.spent();
  }
  std::vector<std::vector<std::uint32_t>> schedules;

 private:
  std::uint64_t limit_;
  std::uint64_t visited_ = 0;
  Budget& budget_;
};

}  // namespace

void bind_search(nb::module_& m) {
  nb::class_<SearchResult>(m, "SearchResult")
      .def_ro("executions", &SearchResult::executions)
      .def_ro("blocked", &SearchResult::blocked)
      .def_ro("cut", &SearchResult::cut)
      .def_ro("redundant", &SearchResult::redundant)
      .def_ro("complete", &SearchResult::complete);

  m.def(
      "search",
      [](const Program& program, Semantics semantics, bool reduced, std::optional<std::uint32_t> preemptions,
         std::uint64_t keep, double seconds) {
        Budget budget(seconds);
        Execution execution(program, semantics);
        Collector collector(keep, budget);
        SearchResult result;
        {
          nb::gil_scoped_release release;
          result = reduced ? OptimalSearch(execution, collector).run()
                           : all_interleavings(execution, collector, preemptions);
        }
        return nb::make_tuple(result, collector.schedules, budget.interrupted());
      },
      nb::arg("program"), nb::arg("semantics"), nb::arg("reduced"), nb::arg("preemptions").none(), nb::arg("keep"),
      nb::arg("seconds"),
      "The searches' counts, the first `keep` schedules, and whether the user interrupted it.");

  nb::exception<MixedMutex>(m, "MixedMutex");
}

}  // namespace teetotal
