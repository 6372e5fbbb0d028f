// The strongly connected components of a graph: Tarjan (SIAM J. Comput. 1972) with an explicit stack, so that a chain
// of ten million nodes does not overflow it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace teetotal {

// By node: the number of its component, or `alone` where that is the node by itself. `from(node)` is a cursor over the
// node's successors, `next(cursor)` the next of them, or negative behind the last.
template <typename From, typename Next>
std::vector<std::int32_t> strong_components(std::int32_t nodes, std::int32_t alone, From from, Next next) {
  using Node = std::int32_t;
  constexpr Node unseen = -1, single = -2;
  struct Visit {
    Node node;
    decltype(from(Node{})) cursor;
  };
  const auto size = static_cast<std::size_t>(nodes);
  std::vector<Node> low(size, 0), visited(size, unseen), component(size, unseen);
  std::vector<Node> open;  // Tarjan's stack
  std::vector<Visit> path;
  Node visits = 0, found = 0;

  const auto at = [](std::vector<Node>& column, Node node) -> Node& { return column[static_cast<std::size_t>(node)]; };
  const auto enter = [&](Node node) {
    at(visited, node) = at(low, node) = visits++;
    open.push_back(node);
    path.push_back({node, from(node)});
  };
  for (Node root = 0; root < nodes; ++root) {
    if (at(visited, root) != unseen) continue;
    enter(root);
    while (!path.empty()) {
      const Node node = path.back().node;
      if (const Node other = next(path.back().cursor); other >= 0) {
        if (at(visited, other) == unseen)
          enter(other);
        else if (at(component, other) == unseen)
          at(low, node) = std::min(at(low, node), at(visited, other));
        continue;
      }
      path.pop_back();
      if (!path.empty()) at(low, path.back().node) = std::min(at(low, path.back().node), at(low, node));
      if (at(low, node) != at(visited, node)) continue;
      const bool is_single = open.back() == node;
      Node member = 0;
      do {
        member = open.back();
        open.pop_back();
        at(component, member) = is_single ? single : found;
      } while (member != node);
      if (!is_single) ++found;
    }
  }
  std::replace(component.begin(), component.end(), single, alone);
  return component;
}

}  // namespace teetotal
