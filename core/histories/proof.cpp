#include "histories/proof.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace teetotal::histories {
namespace {

class Prover {
 public:
  explicit Prover(const Saturation& saturation)
      : saturation_(saturation), graph_(saturation.graph()), reached_(graph_.chains) {}

  Proof prove() {
    const Edge& last = saturation_.contradiction();
    const auto all = static_cast<std::uint32_t>(saturation_.links().size());
    Proof proof;
    if (!graph_.impossible) proof.cycle = path(last.to, last.from, all);  // otherwise the one edge says it all
    proof.cycle.push_back(last);
    if (needs_reason(last)) lemmas_[all] = {last, justification(last, all)};
    while (!open_.empty()) {  // newest first; a reason opens older ones only
      const std::uint32_t at = *open_.rbegin();
      open_.erase(at);
      const Saturation::Link& link = saturation_.links()[at];
      const Edge claim{link.from, link.to, link.why, link.reason};
      if (needs_reason(claim)) lemmas_[at] = {claim, justification(claim, at)};
    }
    for (auto& [at, lemma] : lemmas_) proof.lemmas.push_back(std::move(lemma));
    return proof;
  }

 private:
  static bool needs_reason(const Edge& edge) {
    return edge.reason == Reason::store || edge.reason == Reason::overwrites;
  }

  std::vector<Edge> justification(const Edge& claim, std::uint32_t limit) {
    return claim.reason == Reason::store ? path(claim.from, claim.why, limit) : path(claim.why, claim.to, limit);
  }

  struct Entry {  // a node reached, and with it the rest of its chain
    Node node;
    std::uint32_t parent;
    Node left;  // where the parent's chain was left
    Node why;
    Reason reason;
    std::uint32_t link;
  };

  // The fewest edges from a to b, with links older than the limit; steps along a chain are free.
  std::vector<Edge> path(Node a, Node b, std::uint32_t limit) {
    for (std::uint32_t c = 0; c < graph_.chains; ++c) reached_[c] = graph_.length(c);
    std::vector<Entry> entries{{a, nothing, nothing, nothing, Reason::program, nothing}};
    std::uint32_t goal = on_way_to(a, b) ? 0 : nothing;
    for (std::uint32_t at = 0; goal == nothing && at < entries.size(); ++at) {
      const Node start = entries[at].node;
      const std::uint32_t chain = graph_.chain[start];
      const std::uint32_t stop = reached_[chain];
      reached_[chain] = std::min(stop, graph_.position[start]);
      for (std::uint32_t p = graph_.position[start]; p < stop && goal == nothing; ++p) {
        const Node u = graph_.at(chain, p);
        const auto reach = [&](Node v, Node why, Reason reason, std::uint32_t link) {
          if (goal != nothing || graph_.position[v] >= reached_[graph_.chain[v]]) return;
          entries.push_back({v, at, u, why, reason, link});
          if (on_way_to(v, b)) goal = static_cast<std::uint32_t>(entries.size() - 1);
        };
        for (const Node reader : graph_.readers_of(u))
          if (graph_.role[reader] & ChainGraph::external) reach(reader, nothing, Reason::reads_from, nothing);
        for (std::uint32_t i = saturation_.first_link(u); i != nothing; i = saturation_.links()[i].next)
          if (i < limit) reach(saturation_.links()[i].to, saturation_.links()[i].why, saturation_.links()[i].reason, i);
      }
    }
    if (goal == nothing) throw std::logic_error("an edge without a reason");
    std::vector<Edge> steps;
    Node end = b;
    for (std::uint32_t at = goal; at != nothing; at = entries[at].parent) {
      const Entry& entry = entries[at];
      if (entry.node != end) steps.push_back({entry.node, end, nothing, Reason::program});
      if (entry.parent == nothing) break;
      steps.push_back({entry.left, entry.node, entry.why, entry.reason});
      if (entry.link != nothing) open_.insert(entry.link);
      end = entry.left;
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  bool on_way_to(Node v, Node b) const {
    return graph_.chain[v] == graph_.chain[b] && graph_.position[v] <= graph_.position[b];
  }

  const Saturation& saturation_;
  const ChainGraph& graph_;
  std::vector<std::uint32_t> reached_;
  std::map<std::uint32_t, Lemma> lemmas_;
  std::set<std::uint32_t> open_;
};

}  // namespace

Proof prove(const Saturation& saturation) { return Prover(saturation).prove(); }

}  // namespace teetotal::histories
