// teetotal._core.Monitor: core/monitors over columns of events.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "columns.hpp"
#include "module.hpp"
#include "monitors/distinct.hpp"
#include "monitors/monitor.hpp"

namespace nb = nanobind;

namespace teetotal {
namespace {

using monitors::Report;

using Words = Input<std::uint32_t>;
using Bytes = Input<std::uint8_t>;
using Found =
    std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t, bool>;

constexpr std::size_t chunk = 1 << 11;      // events: small enough for the nearest cache
constexpr std::size_t between_polls = 256;  // chunks

Found as_tuple(const Report& r) {
  const bool race = (r.models & Report::race) != 0;
  return {r.delayed, r.previous, r.deciding, r.delayed_location, r.previous_location, r.deciding_location, race};
}

void check(const std::uint8_t* numbers, std::size_t count, std::uint8_t most, const char* what) {
  std::uint8_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, numbers[i]);
  if (largest > most)
    throw std::invalid_argument("no " + std::string(what) + " has the number " + std::to_string(largest));
}
void check_kinds(const std::uint8_t* kinds, std::size_t count) {
  check(kinds, count, static_cast<std::uint8_t>(Kind::fence), "kind of event");
}
void check_orders(const std::uint8_t* orders, std::size_t count) {
  check(orders, count, static_cast<std::uint8_t>(Order::seq_cst), "order");
}

// Whether it writes is known from the kind, except for an atomic operation. The order of one that wrote nothing is that
// for failure.
Event make_event(std::uint32_t thread, std::uint8_t number, std::uint8_t wrote, std::uint32_t address,
                 std::uint32_t location, std::uint8_t order) {
  const Kind kind = static_cast<Kind>(number);
  const bool writes = (kind == Kind::st) | (is_atomic(kind) & (wrote != 0));
  const auto failure = static_cast<std::uint8_t>(kind == Kind::rmw && !writes ? order : 0);
  return Event{thread, kind, writes, static_cast<Order>(order), failure, address, location};
}

// What older values lead to, by a function of (question, thread, index, before), where a program would answer.
class Answers final : public monitors::OlderValues {
 public:
  explicit Answers(nb::object function) : function_(std::move(function)) {}

  bool would_write(std::uint32_t thread, std::size_t index, std::size_t before) const override {
    return nb::cast<bool>(function_("would_write", thread, index, before));
  }
  bool waits(std::size_t index) const override { return nb::cast<bool>(function_("waits", 0, index, 0)); }
  bool possible(std::uint32_t thread, std::size_t index, std::size_t before) const override {
    return nb::cast<bool>(function_("possible", thread, index, before));
  }

 private:
  nb::object function_;
};

class PyMonitor {
 public:
  PyMonitor(const std::string& name, bool rmw_flushes_all, bool unlock_is_fence, std::size_t threads, bool undo,
            nb::object older)
      : answers_(older.is_none() ? nullptr : std::make_unique<Answers>(older)),
        monitor_(monitors::make_monitor(
            name, {.semantics = {.rmw_flushes_all = rmw_flushes_all, .unlock_is_fence = unlock_is_fence},
                   .threads = threads,
                   .undo = undo,
                   .older = answers_.get()})) {}

  nb::object arrive(std::uint32_t thread, std::uint8_t kind, bool writes, std::uint32_t address,
                    std::uint32_t location) {
    check_kinds(&kind, 1);
    std::vector<Report> reports;
    monitor_->arrive(make_event(thread, kind, writes, address, location, 0), monitor_->events(), reports);
    return reports.empty() ? nb::none() : nb::cast(as_tuple(reports.front()));
  }

  nb::object step(std::uint32_t thread, std::uint8_t kind, bool writes, std::uint32_t address, std::uint32_t location) {
    check_kinds(&kind, 1);
    const auto found = monitor_->observe(make_event(thread, kind, writes, address, location, 0));
    return found ? nb::cast(as_tuple(*found)) : nb::none();
  }

  std::vector<Found> observe(Words thread, Bytes kind, Bytes writes, Words address, Words location, Bytes order) {
    std::vector<Found> all;
    feed(thread, kind, writes, address, location, order, [&](const Report& r) { all.push_back(as_tuple(r)); });
    return all;
  }

  std::uint64_t summarise(Words thread, Bytes kind, Bytes writes, Words address, Words location, Bytes order) {
    std::uint64_t count = 0;
    feed(thread, kind, writes, address, location, order, [&](const Report& r) {
      distinct_.add(r);
      ++count;
    });
    return count;
  }

  std::vector<std::tuple<std::uint64_t, Found>> distinct(std::size_t since) const {
    std::vector<std::tuple<std::uint64_t, Found>> groups;
    for (std::size_t i = since; i < distinct_.groups().size(); ++i) {
      groups.emplace_back(distinct_.groups()[i].count, as_tuple(distinct_.groups()[i].first));
    }
    return groups;
  }

  void undo(std::uint64_t count) {
    monitor_->undo(monitor_->events() - count);  // more than there are wraps around to more than there are
  }

  std::uint64_t events() const { return monitor_->events(); }
  std::size_t bytes() const { return monitor_->bytes(); }

 private:
  template <class Sink>
  void feed(const Words& thread, const Bytes& kind, const Bytes& writes, const Words& address, const Words& location,
            const Bytes& order, Sink sink) {
    const std::size_t size = thread.size();
    const bool ordered = order.size() != 0;  // or else no event has one
    if (kind.size() != size || writes.size() != size || address.size() != size || location.size() != size ||
        (ordered && order.size() != size)) {
      throw std::invalid_argument("the columns differ in length");
    }
    nb::gil_scoped_release free;
    std::vector<Event> events;
    std::vector<Report> reports;
    for (std::size_t from = 0, chunks = 1; from < size; from += chunk, ++chunks) {
      const std::size_t count = std::min(size - from, chunk);
      check_kinds(kind.data() + from, count);
      if (ordered) check_orders(order.data() + from, count);
      events.resize(count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = from + i;
        events[i] = make_event(thread.data()[at], kind.data()[at], writes.data()[at], address.data()[at],
                               location.data()[at], ordered ? order.data()[at] : std::uint8_t{0});
      }
      reports.clear();
      monitor_->observe(events, reports);
      for (const Report& report : reports) sink(report);
      if (chunks % between_polls == 0) {
        nb::gil_scoped_acquire hold;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
      }
    }
  }

  std::unique_ptr<Answers> answers_;
  std::unique_ptr<monitors::Monitor> monitor_;
  monitors::Distinct distinct_;
};

}  // namespace

void bind_monitors(nb::module_& m) {
  nb::class_<PyMonitor>(m, "Monitor",
                        "A monitor over the events of an SC execution; see teetotal.engines.executions.monitors.")
      .def(nb::init<const std::string&, bool, bool, std::size_t, bool, nb::object>(), nb::arg("name"), nb::kw_only(),
           nb::arg("rmw_flushes_all") = true, nb::arg("unlock_is_fence") = true, nb::arg("threads") = 0,
           nb::arg("undo") = false, nb::arg("older") = nb::none())
      .def("step", &PyMonitor::step, nb::arg("thread"), nb::arg("kind"), nb::arg("writes"), nb::arg("address"),
           nb::arg("location"), "One event; what it gives, or None.")
      .def("arrive", &PyMonitor::arrive, nb::arg("thread"), nb::arg("kind"), nb::arg("writes"), nb::arg("address"),
           nb::arg("location"), "What a thread stands before and does not do: what that gives, or None.")
      .def("observe", &PyMonitor::observe, nb::arg("thread"), nb::arg("kind"), nb::arg("writes"), nb::arg("address"),
           nb::arg("location"), nb::arg("order"), "Columns of events; every report. The last may be empty.")
      .def("summarise", &PyMonitor::summarise, nb::arg("thread"), nb::arg("kind"), nb::arg("writes"),
           nb::arg("address"), nb::arg("location"), nb::arg("order"),
           "Columns of events; how many reports, kept by place: see distinct.")
      .def("distinct", &PyMonitor::distinct, nb::arg("since") = 0,
           "(count, first report) for each triple of places summarised so far, but for the first `since`.")
      .def("undo", &PyMonitor::undo, nb::arg("count") = 1)
      .def_prop_ro("events", &PyMonitor::events)
      .def_prop_ro("bytes", &PyMonitor::bytes);
}

}  // namespace teetotal
