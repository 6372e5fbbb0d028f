// teetotal._core.Overtakings: core/overtakings, asked from Python.
#include "overtakings/overtakings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "module.hpp"

namespace nb = nanobind;

namespace teetotal {

namespace {

using overtakings::Fences;
using overtakings::Overtaking;
using overtakings::Overtakings;
using Places = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

// One byte a mark: the number of its kind.
Fences fences(const nb::bytes& kinds) {
  Fences found;
  for (const char kind : std::string_view(kinds.c_str(), kinds.size())) {
    found.push_back(static_cast<Kind>(kind));
    if (!is_fence(found.back())) throw std::invalid_argument("a mark is a fence, or nothing");
  }
  return found;
}

}  // namespace

void bind_overtakings(nb::module_& m) {
  nb::class_<Overtaking>(m, "Overtaking", "An event of an SC execution that overtakes a store, with its past.")
      .def(
          "models", [](const Overtaking& self, const nb::bytes& kinds) { return self.models(fences(kinds)); },
          nb::arg("fences"), "Under which models it is possible with these fences: 1 TSO, 2 PSO, or both together.")
      .def_prop_ro("marks", &Overtaking::marks, "The marks that are passed on the way to it.");

  nb::class_<Overtakings>(m, "Overtakings", "What keepers kept of a search (core/overtakings), asked with fences.")
      .def(
          "__init__",
          [](Overtakings* self, bool tso, bool pso, Semantics semantics, bool skips_waiting,
             const std::vector<nb::bytes>& pieces) {
            std::vector<std::string> kept;
            for (const nb::bytes& piece : pieces) kept.emplace_back(piece.c_str(), piece.size());
            new (self) Overtakings({tso, pso, semantics, skips_waiting}, std::move(kept));
          },
          nb::arg("tso"), nb::arg("pso"), nb::arg("semantics"), nb::arg("skip_waiting"), nb::arg("pieces"))
      .def(
          "still",
          [](const Overtakings& self, const nb::bytes& kinds) {
            const Fences given = fences(kinds);
            std::vector<std::tuple<std::uint32_t, Places, Overtaking>> found;
            nb::gil_scoped_release release;
            for (auto& [model, overtaking] : self.still(given)) {
              const auto [delayed, previous, deciding] = overtaking.places();
              found.emplace_back(model, Places{delayed, previous, deciding}, std::move(overtaking));
            }
            return found;
          },
          nb::arg("fences"),
          "Of those that these fences leave, the first of each model and places: the model; the places of the delayed "
          "store, of what comes before the deciding event, and of that; the overtaking.")
      .def_prop_ro("bytes", &Overtakings::bytes);
}

}  // namespace teetotal
