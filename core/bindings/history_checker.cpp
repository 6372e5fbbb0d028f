// teetotal._core.HistoryChecker: a history under a model, with saturation, search, proofs and CCM.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <tuple>

#include "bindings/histories.hpp"
#include "histories/candidates.hpp"
#include "histories/ccm.hpp"
#include "histories/decide.hpp"
#include "histories/extended.hpp"
#include "histories/proof.hpp"
#include "module.hpp"

using namespace nanobind::literals;

namespace teetotal::histories {
namespace {

using EdgeTuple = std::tuple<std::int64_t, std::int64_t, std::int64_t, int>;

// A history under a model, saturated as far as asked: what the engines in teetotal/histories/ work with.
class Checker {
 public:
  Checker(std::shared_ptr<History> history, const Input<std::uint32_t>& source, const Input<std::uint32_t>& final,
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

  // After saturate(): with a rule of the paper's section 4, "six" or "guess", as well
  std::string extend(const std::string& rule, std::optional<double> seconds) {
    if (rule != "six" && rule != "guess") throw nb::value_error("rules are six or guess");
    budget_ = make_budget(seconds);
    nb::gil_scoped_release release;
    return guarded([&] {
      return histories::extend(*saturation_, rule == "six" ? Rule::six : Rule::guess, budget_) ? "consistent"
                                                                                               : "inconsistent";
    });
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
  Column<std::uint8_t> plausible(const Input<std::uint32_t>& reads, const Input<std::uint32_t>& sources) const {
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

void bind_history_checker(nb::module_& m) {
  nb::class_<Checker>(m, "HistoryChecker")
      .def("__init__",
           [](Checker* self, nb::handle history, const Input<std::uint32_t>& source, const Input<std::uint32_t>& final,
              int model, bool rmw_all, const std::string& rules) {
             auto* columns = &nb::cast<History&>(history);
             std::shared_ptr<History> shared(columns, [kept = nb::borrow(history)](History*) mutable {
               nb::gil_scoped_acquire gil;
               kept.reset();
             });
             new (self) Checker(std::move(shared), source, final, model, rmw_all, rules);
           })
      .def("saturate", &Checker::saturate, "seconds"_a.none())
      .def("extend", &Checker::extend, "rule"_a, "seconds"_a.none())
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
}

}  // namespace teetotal::histories
