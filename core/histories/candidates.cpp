#include "histories/candidates.hpp"

#include <algorithm>
#include <unordered_map>

namespace teetotal::histories {

Candidates::Candidates(const Problem& problem, const Saturation& saturation)
    : problem_(problem), saturation_(saturation), newest_own_(problem.history->size(), nothing) {
  const History& history = *problem.history;
  std::unordered_map<std::uint64_t, Op> newest;  // by thread and address
  for (Op op = 0; op < history.size(); ++op) {
    if (history.address[op] == nothing) continue;
    const std::uint64_t key = std::uint64_t{history.thread[op]} << 32 | history.address[op];
    if (const auto own = newest.find(key); own != newest.end()) newest_own_[op] = own->second;
    if (history.writes(op)) newest[key] = op;
  }
}

bool Candidates::plausible(Op read, Op source) const {
  const History& history = *problem_.history;
  const ChainGraph& graph = saturation_.graph();
  const Node r = graph.node[read];
  const Op own = newest_own_[read];
  if (source == initial_source && own != nothing) return false;
  if (is_operation(source)) {
    if (source == read || saturation_.before(r, graph.node[source])) return false;
    if (history.thread[source] == history.thread[read] && source != own) return false;
    if (own != nothing && source != own && saturation_.before(graph.node[source], graph.node[own])) return false;
  }
  const std::uint32_t address = history.address[read];
  for (std::uint32_t e = graph.first_writers[address]; e < graph.first_writers[address + 1]; ++e) {
    const ChainGraph::Writers& writers = graph.writers[e];
    const std::uint32_t limit = writers.chain == graph.chain[r] ? graph.position[r] : saturation_.row(r)[writers.chain];
    const auto first = graph.write_position.begin() + writers.first;
    const auto found = std::lower_bound(first, graph.write_position.begin() + writers.last, limit);
    if (found == first) continue;
    if (source == initial_source) return false;
    const Node last = graph.write_node[static_cast<std::size_t>(found - graph.write_position.begin()) - 1];
    if (last != graph.node[source] && saturation_.before(graph.node[source], last)) return false;
  }
  return true;
}

}  // namespace teetotal::histories
