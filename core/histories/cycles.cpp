#include "histories/cycles.hpp"

#include <algorithm>
#include <utility>

#include "components.hpp"

namespace teetotal::histories {
namespace {

constexpr std::uint32_t none = 0xffffffff;
constexpr std::int32_t alone = -1;

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

  std::vector<std::int32_t> components() const {
    struct Cursor {
      std::uint32_t at, end;
    };
    return strong_components(
        static_cast<std::int32_t>(size()), alone,
        [&](std::int32_t node) {
          const auto number = static_cast<std::uint32_t>(node);
          return Cursor{first_[number], first_[number + 1]};
        },
        [&](Cursor& cursor) {
          return cursor.at == cursor.end ? std::int32_t{-1} : static_cast<std::int32_t>(to_[edges_[cursor.at++]]);
        });
  }

  // Breadth first within the component; empty if the node is on no cycle.
  std::vector<std::uint32_t> shortest_cycle(std::uint32_t start, const std::vector<std::int32_t>& component) {
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
  const std::vector<std::int32_t> component = graph.components();
  std::vector<std::vector<std::uint32_t>> members(nodes);
  for (std::uint32_t node = 0; node < nodes; ++node)
    if (component[node] != alone) members[static_cast<std::size_t>(component[node])].push_back(node);
  for (const auto& nodes_of : members) {
    if (nodes_of.empty()) break;
    const std::size_t stride = std::max<std::size_t>(1, nodes_of.size() / per_component);
    for (std::size_t i = 0; i < nodes_of.size(); i += stride)
      if (auto cycle = graph.shortest_cycle(nodes_of[i], component); !cycle.empty())
        result.cycles.push_back(std::move(cycle));
  }
  return result;
}

}  // namespace teetotal::histories
