// The symbolic engines: core/symbolic/.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <tuple>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "module.hpp"
#include "symbolic/accelerate.hpp"
#include "symbolic/aside.hpp"
#include "symbolic/bounded.hpp"
#include "symbolic/concretise.hpp"
#include "symbolic/graph.hpp"
#include "symbolic/robust.hpp"
#include "symbolic/saturate.hpp"

namespace nb = nanobind;

namespace teetotal::symbolic {
namespace {

// A Python object with expand, after_load, outcomes, still_read, renamed and ghosts_hold.
class PythonSource final : public Source {
 public:
  explicit PythonSource(nb::object source) : source_(std::move(source)) {}
  ~PythonSource() override {
    nb::gil_scoped_acquire held;
    source_.reset();
  }

  ControlState expand(Process p, Control q) override {
    nb::gil_scoped_acquire held;
    using Row = std::tuple<int, Location, Value, Control, int, std::vector<Location>>;
    auto [rows, labels, failed] =
        nb::cast<std::tuple<std::vector<Row>, std::uint64_t, bool>>(source_.attr("expand")(p, q));
    ControlState state;
    state.labels = labels;
    state.failed = failed;
    for (auto& [kind, location, value, target, fence, footprint] : rows)
      state.actions.push_back({static_cast<Action::Kind>(kind), location, value, target, fence, std::move(footprint)});
    return state;
  }

  Control after_load(Process p, Control q, Value value) override {
    nb::gil_scoped_acquire held;
    return nb::cast<Control>(source_.attr("after_load")(p, q, value));
  }

  std::vector<Outcome> outcomes(Process p, Control q, const std::vector<Value>& values) override {
    nb::gil_scoped_acquire held;
    std::vector<Outcome> result;
    for (auto& [writes, target] :
         nb::cast<std::vector<std::pair<Writes, Control>>>(source_.attr("outcomes")(p, q, values)))
      result.push_back({std::move(writes), target});
    return result;
  }

  std::vector<Location> still_read(Process p, Control q) override {
    nb::gil_scoped_acquire held;
    return nb::cast<std::vector<Location>>(source_.attr("still_read")(p, q));
  }

  Control renamed(std::uint32_t renaming, Process p, Control q) override {
    nb::gil_scoped_acquire held;
    return nb::cast<Control>(source_.attr("renamed")(renaming, p, q));
  }

  bool ghosts_hold(std::uint32_t bad, const Memory& m) override {
    nb::gil_scoped_acquire held;
    return nb::cast<bool>(source_.attr("ghosts_hold")(bad, m));
  }

 private:
  nb::object source_;
};

// Calls a Python function every 64 reports, or sooner where these take long, and lets Ctrl-C through. What it raises
// ends the run.
class PythonProgress final : public Progress {
 public:
  explicit PythonProgress(nb::object call) : call_(std::move(call)) {}
  ~PythonProgress() override {
    nb::gil_scoped_acquire held;
    call_.reset();
  }
  void report(std::uint64_t states) override {
    if (states != 0) last_ = states;
    auto now = std::chrono::steady_clock::now();
    if ((++count_ & 0x3f) != 0 && now - called_ < std::chrono::milliseconds(20)) return;
    called_ = now;
    nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!call_.is_none()) call_(last_, 0.0);
  }

 private:
  nb::object call_;
  std::uint64_t count_ = 0;
  std::chrono::steady_clock::time_point called_ = std::chrono::steady_clock::now();
  std::uint64_t last_ = 0;
};

// commits?, process, target of a move, location of a commit, writes of an atomic step
using StepRow = std::tuple<bool, Process, Control, Location, Writes>;

std::vector<StepRow> rows(const std::vector<Step>& schedule) {
  std::vector<StepRow> result;
  for (const Step& step : schedule)
    result.emplace_back(step.kind == Step::Kind::commit, step.process, step.target, step.location, step.writes);
  return result;
}

bool satisfies(Graph& graph, std::optional<Process> failed, std::uint32_t bad, Process p, Control q) {
  const ControlState& state = graph.state(p, q);
  if (failed) return *failed != p || state.failed;
  const Bad& wanted = graph.system().bad[bad];
  return (state.labels & wanted.must[p]) == wanted.must[p] && (state.labels & wanted.must_not[p]) == 0;
}

// exchanged processes, locations, values
using RenamingRow =
    std::tuple<std::pair<Process, Process>, std::vector<Location>, std::vector<std::pair<Value, Value>>>;

nb::dict saturate(Graph& graph, int model, std::vector<bool> fences, bool joining, unsigned blur,
                  std::uint64_t max_work, bool certificate, std::vector<RenamingRow> renamings, nb::object progress) {
  PythonProgress reports(std::move(progress));
  graph.configure(static_cast<Model>(model), std::move(fences));
  const bool verdict_only = joining && !certificate;
  SaturateOptions options{joining, verdict_only, verdict_only, blur, max_work, {}};
  if (verdict_only)
    for (auto& [exchanged, locations, values] : renamings)
      options.renamings.push_back({exchanged, std::move(locations), std::move(values)});
  const auto made = freed_aside<Saturation>(graph, std::move(options), &reports);
  Saturation& engine = *made;
  Saturation::Answer answer{};
  std::optional<std::vector<Step>> schedule;
  {
    nb::gil_scoped_release released;
    answer = engine.run();
    if (answer == Saturation::Answer::bad && !joining) {
      std::vector<Happening> path;
      for (std::uint32_t i = static_cast<std::uint32_t>(engine.states().size()) - 1; i != 0;
           i = engine.states()[i].parent)
        path.push_back(engine.states()[i].by);
      std::reverse(path.begin(), path.end());
      auto goal = [&](Process p, Control q) {
        return satisfies(graph, engine.failed_process(), engine.bad_case(), p, q);
      };
      schedule = concretise(graph, engine.automata().alphabet, path, goal, &reports);
    }
  }
  nb::dict result;
  std::uint64_t kept = 0;
  for (const auto& state : engine.states()) kept += !state.superseded;
  result["answer"] = answer == Saturation::Answer::safe  ? "safe"
                     : answer == Saturation::Answer::bad ? "bad"
                                                         : "gave up";
  result["states"] = kept;
  result["automata"] = engine.automata().size();
  if (schedule) result["schedule"] = rows(*schedule);
  if (certificate && answer == Saturation::Answer::safe) {
    nb::list letters, automata, memories, states;
    const Alphabet& alphabet = engine.automata().alphabet;
    for (Letter a = 1; a < alphabet.size(); ++a)
      letters.append(nb::make_tuple(alphabet.location(a), alphabet.value(a)));
    std::map<Language, std::size_t> numbers;
    std::map<std::uint32_t, std::size_t> memory_numbers;
    for (const auto& state : engine.states()) {
      if (state.superseded) continue;
      nb::list parts;
      for (Language k : state.parts) {
        auto [found, fresh] = numbers.try_emplace(k, numbers.size());
        if (fresh) {
          nb::list nodes;
          for (const auto& node : engine.automata()[k].nodes) nodes.append(nb::make_tuple(node.edges, node.finals));
          automata.append(nodes);
        }
        parts.append(found->second);
      }
      auto [memory, fresh] = memory_numbers.try_emplace(state.memory, memory_numbers.size());
      if (fresh) memories.append(nb::cast(engine.memory(state.memory)));
      states.append(nb::make_tuple(memory->second, parts));
    }
    result["letters"] = letters;
    result["languages"] = automata;
    result["memories"] = memories;
    result["reached"] = states;
  }
  return result;
}

nb::dict bounded(Graph& graph, int model, std::vector<bool> fences, std::size_t capacity, nb::object progress) {
  PythonProgress reports(std::move(progress));
  graph.configure(static_cast<Model>(model), std::move(fences));
  BoundedResult found;
  {
    nb::gil_scoped_release released;
    found = explore_bounded(graph, capacity, &reports);
  }
  nb::dict result;
  result["answer"] = found.bad ? "bad" : found.cut ? "cut" : "safe";
  result["states"] = found.states;
  if (found.bad) result["schedule"] = rows(found.schedule);
  return result;
}

nb::dict accelerate(Graph& graph, int model, std::vector<bool> fences, nb::object progress) {
  PythonProgress reports(std::move(progress));
  graph.configure(static_cast<Model>(model), std::move(fences));
  AccelerateResult found;
  {
    nb::gil_scoped_release released;
    found = explore_accelerated(graph, &reports);
  }
  nb::dict result;
  result["answer"] = !found.bad ? "safe" : found.schedule ? "bad" : "unconfirmed";
  result["states"] = found.states;
  result["accelerations"] = found.accelerations;
  if (found.schedule) result["schedule"] = rows(*found.schedule);
  return result;
}

nb::dict robust(Graph& graph, int model, std::vector<bool> fences, nb::object progress) {
  PythonProgress reports(std::move(progress));
  graph.configure(static_cast<Model>(model), std::move(fences));
  RobustResult found;
  {
    nb::gil_scoped_release released;
    found = check_robust(graph, &reports);
  }
  nb::dict result;
  result["answer"] = found.robust ? "safe" : "bad";
  result["states"] = found.states;
  if (!found.robust) result["schedule"] = rows(found.schedule);
  return result;
}

}  // namespace

void bind_symbolic(nb::module_& m) {
  nb::class_<Graph>(m, "ControlGraph")
      .def("__init__", [](Graph* self, nb::object source, std::vector<Control> start, Memory memory, Location buffered,
                          std::vector<std::vector<Location>> loads, std::vector<std::vector<Location>> touches,
                          std::vector<std::vector<Location>> stores,
                          std::vector<std::tuple<std::vector<std::uint64_t>, std::vector<std::uint64_t>, bool>> bad,
                          bool address_needs, std::vector<Process> alike) {
        System system{std::move(start),   std::move(memory), buffered, std::move(loads),
                      std::move(touches), std::move(stores), {},       address_needs,
                      std::move(alike)};
        for (auto& [must, must_not, ghosts] : bad) system.bad.push_back({std::move(must), std::move(must_not), ghosts});
        new (self) Graph(std::move(system), std::make_unique<PythonSource>(std::move(source)));
      });
  m.def("verify_saturate", &saturate);
  m.def("verify_bounded", &bounded);
  m.def("verify_robust", &robust);
  m.def("verify_accelerate", &accelerate);
  m.def(
      "give_back_memory",
      [](double seconds) {
        nb::gil_scoped_release released;
        if (!all_freed(seconds)) return;
#ifdef __GLIBC__
        malloc_trim(0);
#endif
      },
      nb::arg("seconds"),
      "What engines leave is freed, if that takes no longer, and is no part of this process any more.");
}

}  // namespace teetotal::symbolic
