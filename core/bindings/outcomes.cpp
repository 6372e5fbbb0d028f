#include "outcomes.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "module.hpp"

namespace nb = nanobind;

namespace teetotal {

void bind_outcomes(nb::module_& m) {
  nb::class_<Outcomes>(m, "Outcomes")
      .def(
          "__init__",
          [](Outcomes* self, const Program& program, int model, Semantics semantics,
             const std::vector<std::pair<std::int32_t, std::uint32_t>>& observed) {
            std::vector<Observable> what;
            for (const auto& [thread, index] : observed) what.push_back({thread, index});
            new (self) Outcomes(program, static_cast<Model>(model), semantics, std::move(what));
          },
          nb::keep_alive<1, 2>())
      .def(
          "explore",
          [](Outcomes& self, std::uint64_t max_states, std::uint64_t max_bytes, double seconds, nb::object watcher) {
            Budget budget(seconds, std::move(watcher));
            {
              nb::gil_scoped_release release;
              self.explore(max_states, max_bytes, [&] { return budget.spent(self.states()); });
            }
            return budget.interrupted();
          },
          nb::arg("max_states"), nb::arg("max_bytes"), nb::arg("seconds"), nb::arg("watcher").none(),
          "True where the user interrupted it.")
      .def_prop_ro("complete", &Outcomes::complete)
      .def_prop_ro("full", &Outcomes::full)
      .def_prop_ro("states", &Outcomes::states)
      .def_prop_ro("cut", &Outcomes::cut)
      .def_prop_ro("deadlock", &Outcomes::deadlock)
      .def_prop_ro("livelock", &Outcomes::livelock)
      .def_prop_ro("evaluated", &Outcomes::evaluated)
      .def_prop_ro("outcomes",
                   [](const Outcomes& self) {
                     std::vector<std::pair<std::vector<Value>, std::uint32_t>> all;
                     for (const Outcome& outcome : self.outcomes()) all.emplace_back(outcome.values, outcome.state);
                     return all;
                   })
      .def_prop_ro("failures",
                   [](const Outcomes& self) {
                     std::vector<std::tuple<std::uint32_t, std::uint32_t, bool, std::uint32_t>> all;
                     for (const Failure& f : self.failures())
                       all.emplace_back(f.thread, f.instruction, f.status == Status::wild, f.state);
                     return all;
                   })
      .def("schedule", [](const Outcomes& self, std::uint32_t state) {
        std::vector<std::pair<std::uint32_t, std::int32_t>> steps;
        for (const ScheduleStep& step : self.schedule(state)) steps.emplace_back(step.thread, step.address);
        return steps;
      });
}

}  // namespace teetotal
