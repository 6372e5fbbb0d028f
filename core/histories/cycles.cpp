#include "histories/cycles.hpp"

#include <algorithm>

namespace teetotal::histories {
namespace {

constexpr std::uint32_t none = 0xffffffff;

class Graph {
 public:
  Graph(std::uint32_t nodes, std::span<const std::uint32_t> from, std::span<const std::uint32_t> to)
      : from_(from), to_(to), first_(nodes + 1, 0), edges_(from.size()) {
    for (const std::uint32_t node : from) ++first_[node + 1];
    for (std::uint32_t node = 0; node < nodes; ++node) first_[node + 1] += first_[node];
    std::vector<std::uint32_t> fill(first_.begin(), first_.end() - 1);
    for (std::uint32_t e = 0; e < from.size(); ++e) edges_[fill[from[e]]++] = e;
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(first_.size() - 1); }

  // Kahn's algorithm; shorter than size() if there is a cycle.
  std::vector<std::uint32_t> topological_order() const {
    std::vector<std::uint32_t> waits(size(), 0), order;
    for (const std::uint32_t node : to_) ++waits[node];
    for (std::uint32_t node = 0; node < size(); ++node)
      if (waits[node] == 0) order.push_back(node);
    for (std::size_t i = 0; i < order.size(); ++i)
      for (std::uint32_t k = first_[order[i]]; k < first_[order[i] + 1]; ++k)
        if (--waits[to_[edges_[k]]] == 0) order.push_back(to_[edges_[k]]);
    return order;
  }

  // Tarjan's algorithm without recursion: the component of each node.
  std::vector<std::uint32_t> components() const {
    std::vector<std::uint32_t> index(size(), none), low(size()), component(size(), none), stack, path, at(size());
    std::uint32_t counter = 0, found = 0;
    for (std::uint32_t root = 0; root < size(); ++root) {
      if (index[root] != none) continue;
      path.push_back(root);
      while (!path.empty()) {
        const std::uint32_t node = path.back();
        if (index[node] == none) {
          index[node] = low[node] = counter++;
          at[node] = first_[node];
          stack.push_back(node);
        }
        if (at[node] < first_[node + 1]) {
          const std::uint32_t next = to_[edges_[at[node]++]];
          if (index[next] == none)
            path.push_back(next);
          else if (component[next] == none)
            low[node] = std::min(low[node], index[next]);
          continue;
        }
        path.pop_back();
        if (!path.empty()) low[path.back()] = std::min(low[path.back()], low[node]);
        if (low[node] != index[node]) continue;
        while (component[node] == none) {
          component[stack.back()] = found;
          stack.pop_back();
        }
        ++found;
      }
    }
    return component;
  }

  // Breadth first within the component; empty if the node is on no cycle.
  std::vector<std::uint32_t> shortest_cycle(std::uint32_t start, const std::vector<std::uint32_t>& component) {
    reached_by_.resize(size(), none);
    std::vector<std::uint32_t> queue{start}, cycle;
    std::uint32_t closing = none;
    for (std::size_t i = 0; i < queue.size() && closing == none; ++i)
      for (std::uint32_t k = first_[queue[i]]; k < first_[queue[i] + 1] && closing == none; ++k) {
        const std::uint32_t next = to_[edges_[k]];
        if (next == start) {
          closing = edges_[k];
        } else if (component[next] == component[start] && reached_by_[next] == none) {
          reached_by_[next] = edges_[k];
          queue.push_back(next);
        }
      }
    for (std::uint32_t e = closing; e != none; e = from_[e] == start ? none : reached_by_[from_[e]]) cycle.push_back(e);
    for (const std::uint32_t node : queue) reached_by_[node] = none;
    std::reverse(cycle.begin(), cycle.end());
    return cycle;
  }

 private:
  std::span<const std::uint32_t> from_, to_;
  std::vector<std::uint32_t> first_, edges_, reached_by_;
};

}  // namespace

Cycles short_cycles(std::uint32_t nodes, std::span<const std::uint32_t> from, std::span<const std::uint32_t> to,
                    std::uint32_t per_component) {
  Graph graph(nodes, from, to);
  Cycles result;
  result.order = graph.topological_order();
  if (result.order.size() == nodes) return result;
  result.order.clear();
  const std::vector<std::uint32_t> component = graph.components();
  std::vector<std::vector<std::uint32_t>> members(nodes);
  for (std::uint32_t node = 0; node < nodes; ++node) members[component[node]].push_back(node);
  for (const auto& nodes_of : members) {
    if (nodes_of.size() < 2) continue;
    const std::size_t stride = std::max<std::size_t>(1, nodes_of.size() / per_component);
    for (std::size_t i = 0; i < nodes_of.size(); i += stride)
      if (auto cycle = graph.shortest_cycle(nodes_of[i], component); !cycle.empty())
        result.cycles.push_back(std::move(cycle));
  }
  return result;
}

}  // namespace teetotal::histories
