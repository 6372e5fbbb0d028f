#include "graph.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <tuple>

#include "columns.hpp"
#include "module.hpp"

namespace nb = nanobind;

namespace teetotal {

namespace {

// Ctrl-C in a kernel that runs without the interpreter's lock.
void poll_signals() {
  nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

std::vector<std::tuple<graph::Node, graph::Node, int>> as_tuples(const std::vector<graph::Step>& steps) {
  std::vector<std::tuple<graph::Node, graph::Node, int>> result;
  for (const auto& step : steps) result.emplace_back(step.source, step.target, int(step.reason));
  return result;
}

// Keeps the columns alive as long as the relations that look at them.
struct Graph {
  Graph(Input<std::int32_t> thread, Input<std::uint8_t> kind, Input<std::int32_t> address, Input<bool> wrote,
        Input<std::int64_t> src, Input<std::int64_t> co, std::int32_t threads, std::int32_t addresses)
      : columns{thread, kind, address, wrote, src, co}, relations(make(threads, addresses)) {}

  graph::Relations make(std::int32_t threads, std::int32_t addresses) const {
    const auto& [thread, kind, address, wrote, src, co] = columns;
    const std::size_t n = thread.shape(0);
    const graph::Columns views{{thread.data(), n},
                               of_length(kind, n),
                               of_length(address, n),
                               of_length(wrote, n),
                               of_length(src, n),
                               of_length(co, n),
                               threads,
                               addresses};
    nb::gil_scoped_release unlocked;
    return graph::Relations(views);
  }

  std::tuple<Input<std::int32_t>, Input<std::uint8_t>, Input<std::int32_t>, Input<bool>, Input<std::int64_t>,
             Input<std::int64_t>>
      columns;
  graph::Relations relations;
};

}  // namespace

void bind_graph(nb::module_& m) {
  static nb::object malformed = nb::exception<graph::Malformed>(m, "MalformedError", PyExc_ValueError);
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const graph::Malformed& error) {
      PyErr_SetObject(malformed.ptr(), nb::make_tuple(error.event, error.what()).ptr());
    }
  });

  m.def("order_of_sc",
        [](Input<std::uint8_t> kind, Input<std::int32_t> address, Input<bool> wrote, std::int32_t addresses) {
          const std::size_t n = kind.shape(0);
          const auto addresses_of = of_length(address, n);
          const auto wrote_of = of_length(wrote, n);
          std::vector<std::int64_t> src(n), co(n);
          {
            nb::gil_scoped_release unlocked;
            graph::order_of_sc({kind.data(), n}, addresses_of, wrote_of, addresses, src, co);
          }
          return nb::make_tuple(give(std::move(src)), give(std::move(co)));
        });

  m.def("positions_in_thread", [](Input<std::int32_t> thread, std::int32_t threads) {
    std::vector<std::int64_t> index(thread.shape(0));
    {
      nb::gil_scoped_release unlocked;
      graph::positions_in_thread({thread.data(), thread.shape(0)}, threads, index);
    }
    return give(std::move(index));
  });

  nb::class_<Graph>(m, "Graph", "Happens-before of a trace's columns.")
      .def(nb::init<Input<std::int32_t>, Input<std::uint8_t>, Input<std::int32_t>, Input<bool>, Input<std::int64_t>,
                    Input<std::int64_t>, std::int32_t, std::int32_t>())
      .def("edges",
           [](const Graph& self, bool with_po) {
             graph::Edges edges;
             {
               nb::gil_scoped_release unlocked;
               edges = graph::edges(self.relations, with_po, poll_signals);
             }
             return nb::make_tuple(give(std::move(edges.offsets)), give(std::move(edges.targets)),
                                   give(std::move(edges.reasons)));
           })
      .def("is_acyclic",
           [](const Graph& self) {
             nb::gil_scoped_release unlocked;
             return graph::is_acyclic(self.relations, poll_signals);
           })
      .def("components",
           [](const Graph& self) {
             std::vector<graph::Node> component;
             {
               nb::gil_scoped_release unlocked;
               component = graph::components(self.relations, poll_signals);
             }
             return give(std::move(component));
           })
      .def("shortest_cycle",
           [](const Graph& self) {
             std::vector<graph::Step> steps;
             {
               nb::gil_scoped_release unlocked;
               steps = graph::shortest_cycle(self.relations, poll_signals);
             }
             return as_tuples(steps);
           })
      .def("shortest_path", [](const Graph& self, graph::Node from, graph::Node to) {
        const auto size = std::int64_t(self.relations.size());
        if (from < 0 || to < 0 || from >= size || to >= size) throw nb::index_error("not an event of the trace");
        std::vector<graph::Step> steps;
        {
          nb::gil_scoped_release unlocked;
          steps = graph::shortest_path(self.relations, from, to, poll_signals);
        }
        return as_tuples(steps);
      });
}

}  // namespace teetotal
