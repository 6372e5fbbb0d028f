#include "histories/frontier.hpp"

#include <unordered_set>

namespace teetotal::histories {

Decision search_frontiers(const Saturation& saturation, const Budget& budget) {
  const ChainGraph& graph = saturation.graph();
  Decision result;
  Frontier executed(graph.chains, 0);
  std::unordered_set<Frontier, FrontierHash> seen;
  std::vector<std::uint32_t> unread(graph.size);
  for (Node o = 0; o < graph.size; ++o) unread[o] = static_cast<std::uint32_t>(graph.readers_of(o).size());
  std::vector<Node> current(graph.first_writers.size(), nothing);  // the write in memory, per address

  const auto can_run = [&](Node o) {
    const std::uint32_t* row = saturation.row(o);
    for (std::uint32_t lane = 0; lane < graph.chains; ++lane)
      if (row[lane] > executed[lane] && lane != graph.chain[o]) return false;
    if (!(graph.role[o] & ChainGraph::writes)) return true;
    const Node old = current[graph.address[o]];  // nobody may be left who is to read it, but o itself
    return old == nothing || unread[old] == (graph.source[o] == old ? 1U : 0U);
  };

  struct Step {
    std::uint32_t next_chain;  // to be tried at this frontier
    Node executed, overwritten;
  };
  std::vector<Step> steps{{0, nothing, nothing}};
  while (!steps.empty()) {
    if ((result.choices & 0xf) == 0 && budget.over()) throw OutOfBudget{};
    if (result.order.size() == graph.size) {
      result.consistent = true;
      return result;
    }
    Step& step = steps.back();
    Node found = nothing;
    while (found == nothing && step.next_chain < graph.chains) {
      const std::uint32_t c = step.next_chain++;
      if (executed[c] < graph.length(c) && can_run(graph.at(c, executed[c]))) found = graph.at(c, executed[c]);
    }
    if (found == nothing) {
      if (step.executed != nothing) {  // take the step back
        const Node o = step.executed;
        --executed[graph.chain[o]];
        if (is_operation(graph.source[o])) ++unread[graph.source[o]];
        if (graph.role[o] & ChainGraph::writes) current[graph.address[o]] = step.overwritten;
        result.order.pop_back();
        ++result.conflicts;
      }
      steps.pop_back();
      continue;
    }
    ++executed[graph.chain[found]];
    if (!seen.insert(executed).second) {
      --executed[graph.chain[found]];
      continue;
    }
    ++result.choices;
    Step next{0, found, nothing};
    if (is_operation(graph.source[found])) --unread[graph.source[found]];
    if (graph.role[found] & ChainGraph::writes) {
      next.overwritten = current[graph.address[found]];
      current[graph.address[found]] = found;
    }
    result.order.push_back(found);
    steps.push_back(next);
  }
  return result;
}

}  // namespace teetotal::histories
