// teetotal._core: histories, their readers, sources and witnesses. history_checker.cpp has what decides.
#include "bindings/histories.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "histories/budget.hpp"
#include "histories/cycles.hpp"
#include "histories/mapped.hpp"
#include "histories/parts.hpp"
#include "histories/readers.hpp"
#include "histories/saturation.hpp"
#include "histories/values.hpp"
#include "histories/witness.hpp"
#include "module.hpp"
#include "spare_memory.hpp"

using namespace nanobind::literals;

namespace teetotal::histories {
namespace {

nb::object fault_type;

template <typename Function>
auto with_faults(Function&& function) {
  try {
    return function();
  } catch (const HistoryFault& fault) {
    nb::object arguments = nb::make_tuple(fault.line, nb::str(fault.what()));
    PyErr_SetObject(fault_type.ptr(), arguments.ptr());
    throw nb::python_error();
  } catch (const OutOfBudget&) {
    PyErr_SetString(PyExc_TimeoutError, "no time to read all of it");
    throw nb::python_error();
  }
}

std::vector<History> read_file(const std::string& path, const std::string& format, bool split,
                               std::optional<double> seconds) {
  return with_faults([&] {
    const histories::Budget budget = make_budget(seconds);
    nb::gil_scoped_release release;
    const MappedFile file(path);
    return read_histories(file.text(), format, {split, &budget});
  });
}

History make_history(const std::string& name, const Input<std::uint32_t>& thread, const Input<std::uint8_t>& kind,
                     const Input<std::uint32_t>& address, const Input<std::int64_t>& value,
                     const Input<std::int64_t>& read, const Input<std::uint8_t>& flags,
                     const Input<std::uint32_t>& line, std::vector<std::string> threads,
                     std::vector<std::string> addresses,
                     const std::vector<std::pair<std::uint32_t, std::int64_t>>& initial,
                     const std::vector<std::pair<std::uint32_t, std::int64_t>>& final, bool has_nil) {
  const std::size_t n = thread.size();
  if (kind.size() != n || address.size() != n || value.size() != n || flags.size() != n || line.size() != n ||
      (read.size() != n && read.size() != 0))
    throw nb::value_error("columns of different lengths");
  History history;
  history.name = name;
  history.nil = has_nil;
  history.thread = taken(thread);
  history.kind = taken(kind);
  history.address = taken(address);
  history.value = taken(value);
  history.read = taken(read);
  history.flags = taken(flags);
  history.line = taken(line);
  history.threads = std::move(threads);
  history.addresses = std::move(addresses);
  for (Op op = 0; op < n; ++op) {
    if (history.thread[op] >= history.threads.size()) throw nb::value_error("a thread without a name");
    if (history.kind[op] > static_cast<std::uint8_t>(Kind::sfence)) throw nb::value_error("no operation of a history");
    if (!is_fence(history.kind_of(op)) && history.address[op] >= history.addresses.size())
      throw nb::value_error("an address without a name");
    if (history.kind_of(op) == Kind::rmw && history.read.empty()) throw nb::value_error("an rmw without a read column");
  }
  for (const auto& [a, v] : initial) history.initial.push_back({a, v, 0});
  for (const auto& [a, v] : final) history.final.push_back({a, v, 0});
  for (const auto* bindings : {&history.initial, &history.final})
    for (const Binding& binding : *bindings)
      if (binding.address >= history.addresses.size()) throw nb::value_error("an address without a name");
  return history;
}

std::vector<std::tuple<std::uint32_t, std::int64_t, std::uint32_t>> bindings_of(const std::vector<Binding>& bindings) {
  std::vector<std::tuple<std::uint32_t, std::int64_t, std::uint32_t>> result;
  for (const Binding& binding : bindings) result.emplace_back(binding.address, binding.value, binding.line);
  return result;
}

}  // namespace

void bind_histories(nb::module_& m) {
  fault_type = nb::steal(PyErr_NewException("teetotal._core.HistoryFault", PyExc_ValueError, nullptr));
  m.attr("HistoryFault") = fault_type;

  nb::class_<History>(m, "HistoryColumns")
      .def_ro("name", &History::name)
      .def_ro("threads", &History::threads)
      .def_ro("addresses", &History::addresses)
      .def_ro("nil", &History::nil)
      .def_prop_ro("initial", [](const History& h) { return bindings_of(h.initial); })
      .def_prop_ro("final", [](const History& h) { return bindings_of(h.final); })
      .def_prop_ro("thread", [](nb::handle self) { return view(nb::cast<History&>(self).thread, self); })
      .def_prop_ro("kind", [](nb::handle self) { return view(nb::cast<History&>(self).kind, self); })
      .def_prop_ro("address", [](nb::handle self) { return view(nb::cast<History&>(self).address, self); })
      .def_prop_ro("value", [](nb::handle self) { return view(nb::cast<History&>(self).value, self); })
      .def_prop_ro("read", [](nb::handle self) { return view(nb::cast<History&>(self).read, self); })
      .def_prop_ro("flags", [](nb::handle self) { return view(nb::cast<History&>(self).flags, self); })
      .def_prop_ro("line", [](nb::handle self) { return view(nb::cast<History&>(self).line, self); })
      .def_prop_ro("begin", [](nb::handle self) { return view(nb::cast<History&>(self).begin, self); })
      .def_prop_ro("end", [](nb::handle self) { return view(nb::cast<History&>(self).end, self); })
      .def("__len__", &History::size);
  m.def("make_history", &make_history);
  m.def("affordable", &affordable);
  m.def(
      "spare_memory",
      [](const std::string& root) -> std::optional<std::size_t> {
        const std::size_t bytes = spare_memory(root);
        if (bytes == kUnknownMemory) return {};
        return bytes;
      },
      "root"_a = "/");
  m.def("memory_to_saturate",
        [](const History& history, int model) { return memory_to_saturate(history, static_cast<Model>(model)); });
  m.def("read_history_file", &read_file, "path"_a, "format"_a, "split_transactions"_a = false,
        "seconds"_a.none() = nb::none());
  m.def(
      "read_history_text",
      [](nb::bytes text, const std::string& format, bool split) {
        return with_faults([&] { return read_histories({text.c_str(), text.size()}, format, {split}); });
      },
      "text"_a, "format"_a, "split_transactions"_a = false);

  nb::class_<Parts>(m, "HistoryParts")
      .def(nb::init<const History&, std::size_t>(), "history"_a, "fewest"_a, nb::keep_alive<1, 2>(),
           nb::call_guard<nb::gil_scoped_release>())
      .def("__len__", &Parts::size)
      .def(
          "operations",
          [](const Parts& parts, std::size_t part) {
            if (part >= parts.size()) throw nb::index_error();
            const auto own = parts.operations(part);
            return give(std::vector<Op>(own.begin(), own.end()));
          },
          "part"_a)
      .def(
          "history",
          [](const Parts& parts, std::size_t part) {
            if (part >= parts.size()) throw nb::index_error();
            return parts.history(part);
          },
          "part"_a);

  nb::class_<Sources>(m, "HistorySources")
      .def_prop_ro("source", [](nb::handle self) { return view(nb::cast<Sources&>(self).of, self); })
      .def_prop_ro("final", [](nb::handle self) { return view(nb::cast<Sources&>(self).final, self); })
      .def_prop_ro("ambiguous", [](nb::handle self) { return view(nb::cast<Sources&>(self).ambiguous, self); })
      .def_prop_ro("first", [](nb::handle self) { return view(nb::cast<Sources&>(self).first, self); })
      .def_prop_ro("candidates", [](nb::handle self) { return view(nb::cast<Sources&>(self).candidates, self); })
      .def_prop_ro("final_ambiguous",
                   [](nb::handle self) { return view(nb::cast<Sources&>(self).final_ambiguous, self); })
      .def_prop_ro("final_first", [](nb::handle self) { return view(nb::cast<Sources&>(self).final_first, self); })
      .def_prop_ro("final_candidates",
                   [](nb::handle self) { return view(nb::cast<Sources&>(self).final_candidates, self); })
      .def_ro("unwritten", &Sources::unwritten)
      .def_ro("unwritten_final", &Sources::unwritten_final)
      .def_ro("duplicates", &Sources::duplicates);
  m.def(
      "resolve_sources", [](const History& history) { return resolve(history); },
      nb::call_guard<nb::gil_scoped_release>());

  m.def(
      "refute_witness",
      [](const History& history, const Input<std::uint64_t>& steps, int model, bool rmw_all) {
        return refute_witness(history, {steps.data(), steps.size()}, static_cast<Model>(model), rmw_all);
      },
      nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "search_values",
      [](const History& history, std::optional<double> seconds, std::size_t most_states) {
        const histories::Budget budget = make_budget(seconds);
        Decision decision;
        std::string status;
        {
          nb::gil_scoped_release release;
          try {
            decision = search_values(history, budget, most_states);
            status = decision.consistent ? "consistent" : "inconsistent";
          } catch (const OutOfBudget&) {
            status = "unknown";
          }
        }
        nb::object order = nb::none();
        if (decision.consistent) order = nb::cast(give(std::move(decision.order)));
        return nb::make_tuple(status, order, decision.choices, decision.conflicts);
      },
      "history"_a, "seconds"_a.none(), "most_states"_a);
  m.def("short_cycles", [](std::uint32_t nodes, const Input<std::uint32_t>& from, const Input<std::uint32_t>& to,
                           std::uint32_t per_component) {
    if (from.size() != to.size()) throw nb::value_error("columns of different lengths");
    for (std::size_t i = 0; i < from.size(); ++i)
      if (from.data()[i] >= nodes || to.data()[i] >= nodes) throw nb::value_error("an edge to no node");
    Cycles result;
    {
      nb::gil_scoped_release release;
      result = short_cycles(nodes, {from.data(), from.size()}, {to.data(), to.size()}, per_component);
    }
    return std::make_pair(std::move(result.cycles), give(std::move(result.order)));
  });
  m.def("schedule_of_order", [](const History& history, const Input<std::uint32_t>& order, int model) {
    return give(schedule(history, {order.data(), order.size()}, static_cast<Model>(model)));
  });
}

}  // namespace teetotal::histories
