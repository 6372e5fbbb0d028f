// A history under a model as chains and edges: what every engine works on.
//
// Program order is one chain a thread under SC. Under TSO a thread has two, loads and stores; under PSO one for its
// loads and one per address for its stores. What a model keeps between chains is static edges. So reachability is one
// number per chain, not one bit per operation (see saturation.hpp).
//
//   a load, a fence     a node of the thread's load chain
//   a store             a node of its store chain: the moment at which it becomes visible
//   an rmw              a node of a store chain that also reads, ordered with the loads before and after it
//   an sfence (PSO)     a node of a chain of its own, between the stores before and after it
//
// Nodes are numbered by a likely order of execution (order.cpp), so that a pass over them meets causes before effects.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "histories/history.hpp"

namespace teetotal::histories {

using Node = std::uint32_t;

// Why one node comes before another. `why` of an edge is the node that the reason speaks of.
enum class Reason : std::uint8_t {
  program = 0,     // the model keeps this much of program order
  reads_from = 1,  // the second reads what the first wrote
  store = 2,       // the first write is before `why`, which reads the second: so the first write is the older one
  overwrites = 3,  // the first reads `why`, which the second write overwrites
  initial = 4,     // the first reads the initial value, which the second write overwrites
  location = 5,    // like store, where the first is an earlier store of why's own thread
  final = 6,       // the second write is the last one of its address
  assumed = 7,     // a choice of the search, or of the caller
};

struct Edge {
  Node from, to, why;
  Reason reason;
};

struct Problem {  // a history with every source known
  const History* history;
  std::vector<Op> source;  // per operation
  std::vector<Op> final;   // per address
};

struct ChainGraph {
  Model model;
  std::size_t size = 0, chains = 0;

  // per node
  std::vector<Op> op;
  std::vector<std::uint32_t> chain, position, address;
  std::vector<Node> source;  // what it reads from: a node, initial_source or unknown_source
  std::vector<std::uint8_t> role;
  static constexpr std::uint8_t reads = 1, writes = 2, external = 4;  // external: reads another thread's write
  std::vector<std::uint32_t> first_reader;  // its readers in `readers`, by chain and position; size + 1 entries
  std::vector<Node> readers;

  std::vector<Node> node;                  // per operation
  std::vector<std::uint32_t> chain_first;  // per chain its nodes in chain_nodes; chains + 1 entries
  std::vector<Node> chain_nodes;

  // The writes of an address on one chain: places in write_position and write_node.
  struct Writers {
    std::uint32_t chain, first, last;
  };
  std::vector<std::uint32_t> first_writers;  // per address; addresses + 1 entries
  std::vector<Writers> writers;
  std::vector<std::uint32_t> write_position;
  std::vector<Node> write_node;

  std::vector<Edge> edges;  // static ones; chains and reads_from are implied
  bool impossible = false;  // some read contradicts the model by itself: `refuted` says which and why
  Edge refuted{};

  std::span<const Node> readers_of(Node write) const {
    return {readers.data() + first_reader[write], readers.data() + first_reader[write + 1]};
  }
  std::uint32_t length(std::uint32_t c) const { return chain_first[c + 1] - chain_first[c]; }
  Node at(std::uint32_t c, std::uint32_t index) const { return chain_nodes[chain_first[c] + index]; }
  bool has_next(Node o) const { return position[o] + 1 < length(chain[o]); }
  Node next(Node o) const { return at(chain[o], position[o] + 1); }
};

ChainGraph make_chains(const Problem& problem, Model model, bool rmw_flushes_all = true);

// A likely order of execution of the operations, from the edges of program order and of reading.
struct Precedence {
  std::vector<std::uint32_t> first;  // size + 1 entries
  std::vector<Op> successors;
};
std::vector<Op> likely_order(const History& history, const std::vector<Op>& source, const Precedence& precedence);

}  // namespace teetotal::histories
