#include "graph.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "module.hpp"

namespace nb = nanobind;

namespace teetotal {

namespace {

template <typename T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <typename T>
std::span<const T> view(const Column<T>& column, std::size_t size) {
  if (column.shape(0) != size) throw nb::value_error("the columns of a trace have one length");
  return {column.data(), size};
}

// The array owns what the vector held.
template <typename T>
Array<T> to_array(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array<T>(kept->data(), {kept->size()}, owner);
}

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
  Graph(Column<std::int32_t> thread, Column<std::uint8_t> kind, Column<std::int32_t> address, Column<bool> wrote,
        Column<std::int64_t> src, Column<std::int64_t> co, std::int32_t threads, std::int32_t addresses)
      : columns{thread, kind, address, wrote, src, co}, relations(make(threads, addresses)) {}

  graph::Relations make(std::int32_t threads, std::int32_t addresses) const {
    const auto& [thread, kind, address, wrote, src, co] = columns;
    const std::size_t n = thread.shape(0);
    const graph::Columns views{{thread.data(), n}, view(kind, n), view(address, n), view(wrote, n),
                               view(src, n),       view(co, n),   threads,          addresses};
    nb::gil_scoped_release unlocked;
    return graph::Relations(views);
  }

  std::tuple<Column<std::int32_t>, Column<std::uint8_t>, Column<std::int32_t>, Column<bool>, Column<std::int64_t>,
             Column<std::int64_t>>
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
        [](Column<std::uint8_t> kind, Column<std::int32_t> address, Column<bool> wrote, std::int32_t addresses) {
          const std::size_t n = kind.shape(0);
          const auto addresses_of = view(address, n);
          const auto wrote_of = view(wrote, n);
          std::vector<std::int64_t> src(n), co(n);
          {
            nb::gil_scoped_release unlocked;
            graph::order_of_sc({kind.data(), n}, addresses_of, wrote_of, addresses, src, co);
          }
          return nb::make_tuple(to_array(std::move(src)), to_array(std::move(co)));
        });

  m.def("positions_in_thread", [](Column<std::int32_t> thread, std::int32_t threads) {
    std::vector<std::int64_t> index(thread.shape(0));
    {
      nb::gil_scoped_release unlocked;
      graph::positions_in_thread({thread.data(), thread.shape(0)}, threads, index);
    }
    return to_array(std::move(index));
  });

  nb::class_<Graph>(m, "Graph", "Happens-before of a trace's columns.")
      .def(nb::init<Column<std::int32_t>, Column<std::uint8_t>, Column<std::int32_t>, Column<bool>,
                    Column<std::int64_t>, Column<std::int64_t>, std::int32_t, std::int32_t>())
      .def("edges",
           [](const Graph& self, bool with_po) {
             graph::Edges edges;
             {
               nb::gil_scoped_release unlocked;
               edges = graph::edges(self.relations, with_po, poll_signals);
             }
             return nb::make_tuple(to_array(std::move(edges.offsets)), to_array(std::move(edges.targets)),
                                   to_array(std::move(edges.reasons)));
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
             return to_array(std::move(component));
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
