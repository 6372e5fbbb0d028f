#include "histories/frontier.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace teetotal::histories {
namespace {

class FrontierSearch {
 public:
  FrontierSearch(const Saturation& saturation, const Budget& budget)
      : saturation_(saturation),
        graph_(saturation.graph()),
        budget_(budget),
        executed_(graph_.chains, 0),
        unread_(graph_.size),
        current_(graph_.first_writers.size(), nothing) {
    for (Node o = 0; o < graph_.size; ++o) unread_[o] = static_cast<std::uint32_t>(graph_.readers_of(o).size());
  }

  Decision run() {
    steps_.push_back({nothing, nothing, heads()});
    while (result_.order.size() < graph_.size) {
      if ((result_.choices & 0xf) == 0 && budget_.over()) throw OutOfBudget{};
      if (advance()) continue;
      take_back();
      if (steps_.empty()) return std::move(result_);
    }
    result_.consistent = true;
    return std::move(result_);
  }

 private:
  struct Step {
    Node executed, overwritten;
    std::vector<Node> untried;  // heads that may follow, from the last to the first to be tried
  };

  bool can_run(Node o) const {
    const std::uint32_t* row = saturation_.row(o);
    for (std::uint32_t lane = 0; lane < graph_.chains; ++lane)
      if (row[lane] > executed_[lane] && lane != graph_.chain[o]) return false;
    if (!(graph_.role[o] & ChainGraph::writes)) return true;
    const Node old = current_[graph_.address[o]];  // nobody may be left who is to read it, but o itself
    return old == nothing || unread_[old] == (graph_.source[o] == old ? 1U : 0U);
  }

  // What can run now. A head that nobody is left to read, a read above all, can be moved to the front of every order
  // that completes this frontier, so there is no need to try another.
  std::vector<Node> heads() const {
    std::vector<Node> found;
    for (std::uint32_t c = 0; c < graph_.chains; ++c) {
      if (executed_[c] == graph_.length(c)) continue;
      const Node o = graph_.at(c, executed_[c]);
      if (!can_run(o)) continue;
      if (unread_[o] == 0) return {o};
      found.push_back(o);
    }
    std::sort(found.rbegin(), found.rend());  // the likely first ones first
    return found;
  }

  // To the next frontier that has not been seen; false if there is none.
  bool advance() {
    std::vector<Node>& untried = steps_.back().untried;
    while (!untried.empty()) {
      const Node o = untried.back();
      untried.pop_back();
      ++executed_[graph_.chain[o]];
      if (!seen_.insert(executed_).second) {
        --executed_[graph_.chain[o]];
        continue;
      }
      ++result_.choices;
      result_.order.push_back(o);
      if (is_operation(graph_.source[o])) --unread_[graph_.source[o]];
      Node overwritten = nothing;
      if (graph_.role[o] & ChainGraph::writes) overwritten = std::exchange(current_[graph_.address[o]], o);
      steps_.push_back({o, overwritten, heads()});
      return true;
    }
    return false;
  }

  void take_back() {
    const Node o = steps_.back().executed;
    if (o != nothing) {
      --executed_[graph_.chain[o]];
      if (is_operation(graph_.source[o])) ++unread_[graph_.source[o]];
      if (graph_.role[o] & ChainGraph::writes) current_[graph_.address[o]] = steps_.back().overwritten;
      result_.order.pop_back();
      ++result_.conflicts;
    }
    steps_.pop_back();
  }

  const Saturation& saturation_;
  const ChainGraph& graph_;
  const Budget& budget_;
  Decision result_;
  Frontier executed_;
  std::unordered_set<Frontier, FrontierHash> seen_;
  std::vector<std::uint32_t> unread_;
  std::vector<Node> current_;  // the write in memory, per address
  std::vector<Step> steps_;
};

}  // namespace

Decision search_frontiers(const Saturation& saturation, const Budget& budget) {
  return FrontierSearch(saturation, budget).run();
}

}  // namespace teetotal::histories
