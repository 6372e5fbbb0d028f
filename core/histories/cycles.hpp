// Short cycles of a graph, many at a time: what the lazy SAT encoding learns from a wrong guess.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace teetotal::histories {

struct Cycles {
  std::vector<std::vector<std::uint32_t>> cycles;  // each as the indices of its edges; none if the graph is acyclic
  std::vector<std::uint32_t> order;                // a topological order, if acyclic
};

// In every strongly connected component the shortest cycle through each of up to `per_component` nodes.
Cycles short_cycles(std::uint32_t nodes, std::span<const std::uint32_t> from, std::span<const std::uint32_t> to,
                    std::uint32_t per_component);

}  // namespace teetotal::histories
