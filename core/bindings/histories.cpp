// teetotal._core: histories, their readers, saturation, search and witnesses.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "histories/candidates.hpp"
#include "histories/ccm.hpp"
#include "histories/cycles.hpp"
#include "histories/decide.hpp"
#include "histories/mapped.hpp"
#include "histories/proof.hpp"
#include "histories/readers.hpp"
#include "histories/values.hpp"
#include "histories/witness.hpp"
#include "module.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace teetotal {
namespace {

using namespace histories;
template <typename T>
using Column = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <typename T>
using Given = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T>
Column<T> view(std::vector<T>& column, nb::handle owner) {
  return Column<T>(column.data(), {column.size()}, owner);
}

template <typename T>
Column<T> give(std::vector<T> column) {
  auto* kept = new std::vector<T>(std::move(column));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Column<T>(kept->data(), {kept->size()}, owner);
}

template <typename T>
std::vector<T> taken(const Given<T>& column) {
  return std::vector<T>(column.data(), column.data() + column.size());
}

// A budget that ends at the deadline, or when Python has a signal to handle; looked at twenty times a second.
histories::Budget make_budget(std::optional<double> seconds) {
  histories::Budget budget;
  const auto now = std::chrono::steady_clock::now();
  if (seconds && *seconds < 1e8)
    budget.deadline =
        now + std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(*seconds));
  budget.interrupted = [next = now]() mutable {
    const auto at = std::chrono::steady_clock::now();
    if (at < next) return false;
    next = at + std::chrono::milliseconds(50);
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return false;
  };
  return budget;
}

nb::object fault_type;

template <typename Function>
auto with_faults(Function&& function) {
  try {
    return function();
  } catch (const HistoryFault& fault) {
    nb::object arguments = nb::make_tuple(fault.line, nb::str(fault.what()));
    PyErr_SetObject(fault_type.ptr(), arguments.ptr());
    throw nb::python_error();
  }
}

std::vector<History> read_file(const std::string& path, const std::string& format, bool split) {
  return with_faults([&] {
    nb::gil_scoped_release release;
    const MappedFile file(path);
    return read_histories(file.text(), format, {split});
  });
}

History make_history(const std::string& name, const Given<std::uint32_t>& thread, const Given<std::uint8_t>& kind,
                     const Given<std::uint32_t>& address, const Given<std::int64_t>& value,
                     const Given<std::int64_t>& read, const Given<std::uint8_t>& flags,
                     const Given<std::uint32_t>& line, std::vector<std::string> threads,
                     std::vector<std::string> addresses,
                     const std::vector<std::pair<std::uint32_t, std::int64_t>>& initial,
                     const std::vector<std::pair<std::uint32_t, std::int64_t>>& final) {
  const std::size_t n = thread.size();
  if (kind.size() != n || address.size() != n || value.size() != n || flags.size() != n || line.size() != n ||
      (read.size() != n && read.size() != 0))
    throw nb::value_error("columns of different lengths");
  History history;
  history.name = name;
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

using EdgeTuple = std::tuple<std::int64_t, std::int64_t, std::int64_t, int>;

// A history under a model, saturated as far as asked: what the engines in teetotal/histories/ work with.
class Checker {
 public:
  Checker(std::shared_ptr<History> history, const Given<std::uint32_t>& source, const Given<std::uint32_t>& final,
          int model, bool rmw_all, const std::string& rules)
      : history_(std::move(history)), problem_{history_.get(), taken(source), taken(final)} {
    if (problem_.source.size() != history_->size() || problem_.final.size() != history_->addresses.size())
      throw nb::value_error("columns of different lengths");
    for (const Op op : problem_.source)
      if (op == ambiguous_source || (is_operation(op) && op >= history_->size()))
        throw nb::value_error("a source that is no write");
    if (rules != "saturated" && rules != "base") throw nb::value_error("rules are saturated or base");
    nb::gil_scoped_release release;
    graph_ = make_chains(problem_, static_cast<Model>(model), rmw_all);
    Saturation::Rules which;
    which.read_rule = which.write_rule = rules == "saturated";
    saturation_ = std::make_unique<Saturation>(graph_, budget_, which);
  }

  // "consistent" (so far), "inconsistent" or "unknown"
  std::string saturate(std::optional<double> seconds) {
    budget_ = make_budget(seconds);
    nb::gil_scoped_release release;
    return guarded([&] { return saturation_->run() ? "consistent" : "inconsistent"; });
  }

  // The same under the assumption that each first write is before the second; taken back afterwards.
  std::string saturate_assuming(const std::vector<std::pair<Op, Op>>& pairs, std::optional<double> seconds) {
    budget_ = make_budget(seconds);
    nb::gil_scoped_release release;
    depths_.push_back(saturation_->marks());
    saturation_->mark();
    return guarded([&] {
      for (const auto& [a, b] : pairs)
        if (!saturation_->add(graph_.node[a], graph_.node[b], nothing, Reason::assumed)) return "inconsistent";
      return saturation_->run() ? "consistent" : "inconsistent";
    });
  }
  void take_back() {
    if (depths_.empty()) throw nb::value_error("nothing to take back");
    while (saturation_->marks() > depths_.back()) saturation_->undo();
    depths_.pop_back();
  }

  std::pair<std::string, nb::object> decide(const std::string& engine, std::optional<double> seconds,
                                            std::optional<std::size_t> most_conflicts) {
    budget_ = make_budget(seconds);
    if (most_conflicts) budget_.conflicts = *most_conflicts;
    Decision decision;
    std::string status;
    {
      nb::gil_scoped_release release;
      status = guarded([&] {
        decision =
            engine == "frontier" ? search_frontiers(*saturation_, budget_) : histories::decide(*saturation_, budget_);
        return decision.consistent ? "consistent" : "inconsistent";
      });
    }
    choices = decision.choices;
    conflicts = decision.conflicts;
    if (!decision.consistent) return {status, nb::none()};
    for (Node& node : decision.order) node = graph_.op[node];
    return {status, nb::cast(give(std::move(decision.order)))};
  }

  bool before(Op a, Op b) const { return saturation_->before(node(a), node(b)); }

  // (lemmas, cycle): each lemma an edge and the path that forces it
  std::pair<std::vector<std::pair<EdgeTuple, std::vector<EdgeTuple>>>, std::vector<EdgeTuple>> proof() const {
    const Proof proof = prove(*saturation_);
    std::vector<std::pair<EdgeTuple, std::vector<EdgeTuple>>> lemmas;
    for (const Lemma& lemma : proof.lemmas) lemmas.emplace_back(tuple(lemma.claim), tuples(lemma.path));
    return {std::move(lemmas), tuples(proof.cycle)};
  }

  std::vector<EdgeTuple> edges() const {
    std::vector<EdgeTuple> result;
    for (const Saturation::Link& link : saturation_->links())
      result.push_back(tuple({link.from, link.to, link.why, link.reason}));
    return result;
  }

  // Pairs of writes of one address, as columns (first, second): those that the rows order, and those still open.
  std::pair<Column<Op>, Column<Op>> pairs(bool ordered) const {
    std::vector<Op> first, second;
    std::vector<std::vector<Node>> by_address(history_->addresses.size());
    for (Node o = 0; o < graph_.size; ++o)
      if (graph_.role[o] & ChainGraph::writes) by_address[graph_.address[o]].push_back(o);
    for (const auto& writes : by_address)
      for (std::size_t i = 0; i < writes.size(); ++i)
        for (std::size_t j = i + 1; j < writes.size(); ++j) {
          const bool forwards = saturation_->before(writes[i], writes[j]);
          const bool backwards = !forwards && saturation_->before(writes[j], writes[i]);
          if ((forwards || backwards) != ordered) continue;
          first.push_back(graph_.op[backwards ? writes[j] : writes[i]]);
          second.push_back(graph_.op[backwards ? writes[i] : writes[j]]);
        }
    return {give(std::move(first)), give(std::move(second))};
  }

  // What is a fact before any search: (from, to) of the chains, of the static edges and of reading from others.
  std::pair<Column<Op>, Column<Op>> base_edges() const {
    std::vector<Op> from, to;
    const auto add = [&](Node a, Node b) {
      from.push_back(graph_.op[a]);
      to.push_back(graph_.op[b]);
    };
    for (Node o = 0; o < graph_.size; ++o) {
      if (graph_.has_next(o)) add(o, graph_.next(o));
      if (graph_.role[o] & ChainGraph::external) add(graph_.source[o], o);
    }
    for (const Edge& edge : graph_.edges) add(edge.from, edge.to);
    return {give(std::move(from)), give(std::move(to))};
  }

  // Which of these (read, source) pairs are possible as far as the rows tell.
  Column<std::uint8_t> plausible(const Given<std::uint32_t>& reads, const Given<std::uint32_t>& sources) const {
    if (reads.size() != sources.size()) throw nb::value_error("columns of different lengths");
    const Candidates candidates(problem_, *saturation_);
    std::vector<std::uint8_t> result(reads.size());
    for (std::size_t i = 0; i < reads.size(); ++i) {
      node(reads.data()[i]);
      if (is_operation(sources.data()[i])) node(sources.data()[i]);
      result[i] = candidates.plausible(reads.data()[i], sources.data()[i]);
    }
    return give(std::move(result));
  }

  // CCM (of an SC checker): "consistent", "inconsistent" or "unknown", and its store order if asked for
  std::tuple<std::string, Column<Op>, Column<Op>> ccm(bool list_pairs, std::optional<double> seconds) {
    budget_ = make_budget(seconds);
    std::vector<Op> first, second;
    std::string status;
    {
      nb::gil_scoped_release release;
      status = guarded([&] {
        const CausalMemory result = check_ccm(graph_, budget_, list_pairs);
        for (const auto& [a, b] : result.store_order) {
          first.push_back(graph_.op[a]);
          second.push_back(graph_.op[b]);
        }
        return result.consistent ? "consistent" : "inconsistent";
      });
    }
    return {status, give(std::move(first)), give(std::move(second))};
  }

  std::size_t choices = 0, conflicts = 0;
  std::size_t visits() const { return saturation_->visits(); }
  std::size_t chains() const { return graph_.chains; }
  bool impossible() const { return graph_.impossible; }

 private:
  template <typename Function>
  std::string guarded(Function&& function) {
    try {
      return function();
    } catch (const OutOfBudget&) {
      return "unknown";
    }
  }
  Node node(Op op) const {
    if (op >= graph_.size) throw nb::index_error("no such operation");
    return graph_.node[op];
  }
  std::int64_t op(Node node) const { return is_operation(node) ? std::int64_t{graph_.op[node]} : -1; }
  EdgeTuple tuple(const Edge& edge) const {
    return {op(edge.from), op(edge.to), op(edge.why), static_cast<int>(edge.reason)};
  }
  std::vector<EdgeTuple> tuples(const std::vector<Edge>& edges) const {
    std::vector<EdgeTuple> result;
    for (const Edge& edge : edges) result.push_back(tuple(edge));
    return result;
  }

  std::shared_ptr<History> history_;
  Problem problem_;
  histories::Budget budget_;
  ChainGraph graph_;
  std::unique_ptr<Saturation> saturation_;
  std::vector<std::size_t> depths_;  // marks before each assumption
};

}  // namespace

void bind_histories(nb::module_& m) {
  fault_type = nb::steal(PyErr_NewException("teetotal._core.HistoryFault", PyExc_ValueError, nullptr));
  m.attr("HistoryFault") = fault_type;

  nb::class_<History>(m, "HistoryColumns")
      .def_ro("name", &History::name)
      .def_ro("threads", &History::threads)
      .def_ro("addresses", &History::addresses)
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
  m.def("read_history_file", &read_file, "path"_a, "format"_a, "split_transactions"_a = false);
  m.def(
      "read_history_text",
      [](nb::bytes text, const std::string& format, bool split) {
        return with_faults([&] { return read_histories({text.c_str(), text.size()}, format, {split}); });
      },
      "text"_a, "format"_a, "split_transactions"_a = false);
  m.def("detect_history_format", [](nb::bytes beginning) -> std::optional<std::string> {
    const auto format = detect_format({beginning.c_str(), beginning.size()});
    return format ? std::optional<std::string>(*format) : std::nullopt;
  });

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

  nb::class_<Checker>(m, "HistoryChecker")
      .def("__init__",
           [](Checker* self, nb::handle history, const Given<std::uint32_t>& source, const Given<std::uint32_t>& final,
              int model, bool rmw_all, const std::string& rules) {
             auto* columns = &nb::cast<History&>(history);
             std::shared_ptr<History> shared(columns, [kept = nb::borrow(history)](History*) mutable {
               nb::gil_scoped_acquire gil;
               kept.reset();
             });
             new (self) Checker(std::move(shared), source, final, model, rmw_all, rules);
           })
      .def("saturate", &Checker::saturate, "seconds"_a.none())
      .def("saturate_assuming", &Checker::saturate_assuming, "pairs"_a, "seconds"_a.none())
      .def("take_back", &Checker::take_back)
      .def("decide", &Checker::decide, "engine"_a, "seconds"_a.none(), "conflicts"_a.none() = nb::none())
      .def("before", &Checker::before)
      .def("proof", &Checker::proof)
      .def("edges", &Checker::edges)
      .def("pairs", &Checker::pairs, "ordered"_a)
      .def("base_edges", &Checker::base_edges)
      .def("plausible", &Checker::plausible)
      .def("ccm", &Checker::ccm, "list_pairs"_a, "seconds"_a.none())
      .def_ro("choices", &Checker::choices)
      .def_ro("conflicts", &Checker::conflicts)
      .def_prop_ro("visits", &Checker::visits)
      .def_prop_ro("chains", &Checker::chains)
      .def_prop_ro("impossible", &Checker::impossible);

  m.def(
      "refute_witness",
      [](const History& history, const Given<std::uint64_t>& steps, int model, bool rmw_all) {
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
  m.def("short_cycles", [](std::uint32_t nodes, const Given<std::uint32_t>& from, const Given<std::uint32_t>& to,
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
  m.def("schedule_of_order", [](const History& history, const Given<std::uint32_t>& order, int model) {
    return give(schedule(history, {order.data(), order.size()}, static_cast<Model>(model)));
  });
}

}  // namespace teetotal
