// Parts of searches, given away and merged.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>

#include "module.hpp"
#include "search/merging.hpp"

namespace nb = nanobind;

namespace teetotal {

void bind_parts(nb::module_& m) {
  nb::class_<PartState>(m, "PartState")
      .def_ro("finished", &PartState::finished)
      .def_ro("next", &PartState::next)
      .def_ro("open", &PartState::open)
      .def_ro("explored", &PartState::explored);

  m.def("whole_search", &whole_search, "The part that is all of a search.");
  m.def("state_of_part", &state_of_part, nb::arg("part"));
  m.def(
      "give_parts",
      [](const std::string& part, std::size_t most, std::uint32_t number) {
        Given given = give_parts(part, most, number);
        return std::pair{std::move(given.left), std::move(given.parts)};
      },
      nb::arg("part"), nb::arg("most"), nb::arg("number"), "What is left, and the parts, numbered from `number` on.");
  m.def("take_back", &take_back, nb::arg("part"), nb::arg("numbers"));
  m.def("marks_of_part", &marks_of_part, nb::arg("part"), "The numbers of those that were given away.");
  m.def("merge_part", &merge_part, nb::arg("part"), nb::arg("merged"), nb::arg("asks"),
        "The part with its next leaf explored, and what it asks of those above; None: it has to be explored again.");
}

}  // namespace teetotal
