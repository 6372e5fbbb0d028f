// Saturation: Zennou, Atig, Biswas, Bouajjani, Enea, Erradi, "Boosting Sequential Consistency Checking using
// Saturation" (NETYS 2020), section 3, and the same rules for TSO and PSO.
//
//   paper                                     here
//   hb = (po ∪ wr ∪ st ∪ rw[st])⁺            rows: before(a, b)
//   hb_WR ∘ wr⁻¹ ⊆ st                        read_rule: an edge with Reason::store
//   hb_WW ⊆ st, rw[st] = wr⁻¹ ∘ st           write_rule: an edge with Reason::overwrites
//   acyclic hb                                run() gives true
//
// Deviations. The relations are never written down: program order is chains, so what is before an operation is one
// number per chain, its row. An edge is recorded only if the rows do not imply it. Rounds are replaced by a worklist in
// a likely order of execution, with the lanes (chains) that changed. Edges are numbered in the order in which they were
// found: the reason of an edge needs older edges only, which is how proof.cpp justifies it.
//
// Under TSO and PSO (wTSO, wPSO) the chains are finer and only reading from another thread is an edge: chains.hpp.
#pragma once

#include "histories/budget.hpp"
#include "histories/chains.hpp"

namespace teetotal::histories {

// The dirty nodes: smallest first. A bit per node, and above them a bit per word, up to one word.
class SmallestFirst {
 public:
  explicit SmallestFirst(std::size_t size);
  void add(std::uint32_t element);
  bool empty() const { return levels_.back()[0] == 0; }
  std::uint32_t take();

 private:
  std::vector<std::vector<std::uint64_t>> levels_;
};

// Bytes that it takes to saturate a history, its graph included: measured, but for what follows from the chains.
std::size_t memory_to_saturate(const History& history, Model model);

class Saturation {
 public:
  struct Rules {
    bool write_rule = true;
    bool read_rule = true;
    std::uint32_t reads_of_thread = nothing;  // the read rule for this chain's reads only (CCM)
  };

  Saturation(const ChainGraph& graph, const Budget& budget, Rules rules);
  Saturation(const ChainGraph& graph, const Budget& budget) : Saturation(graph, budget, Rules{}) {}

  // To the fixpoint. False at a contradiction, which `contradiction` then describes: an edge whose target is before
  // its origin already.
  bool run();
  // One more edge; run() draws the consequences. False at a contradiction.
  bool add(Node from, Node to, Node why, Reason reason);

  bool before(Node a, Node b) const { return row(b)[graph_.chain[a]] > graph_.position[a] && a != b; }
  const std::uint32_t* row(Node o) const { return rows_.data() + std::size_t{o} * stride_; }

  // Undo: what happened after mark() is taken back by undo(). Marks nest; forget() merges the last with the one below.
  void mark();
  void undo();
  void forget();
  std::size_t marks() const { return marks_.size(); }

  struct Link {
    Node from, to, why;
    std::uint32_t next;  // the next link of the same origin, or nothing
    Reason reason;
  };
  const std::vector<Link>& links() const { return links_; }
  std::uint32_t first_link(Node from) const { return first_link_[from]; }
  const Edge& contradiction() const { return contradiction_; }
  const ChainGraph& graph() const { return graph_; }
  std::size_t visits() const { return visits_; }

 private:
  using Mask = std::uint64_t;  // a bit per lane, or per 2, 4, … lanes where there are more than 64
  std::uint32_t* lanes(Node o) { return rows_.data() + std::size_t{o} * stride_; }
  bool visit(Node o);
  bool write_rule(Node o, Mask& grown);
  bool read_rule(Node o, Mask grown);
  bool push(Node o);
  bool join(Node from, Node to, Node why, Reason reason, Mask& grown);
  bool flow(Node from, Node to, Node why, Reason reason);
  bool contradict(Node from, Node to, Node why, Reason reason);
  void link(Node from, Node to, Node why, Reason reason);
  std::uint32_t last_write(std::size_t entry, std::uint32_t limit);
  void clear_worklist();

  const ChainGraph& graph_;
  const Budget& budget_;
  const Rules rules_;
  std::size_t stride_;
  unsigned shift_ = 0;
  std::vector<std::uint32_t> rows_;
  std::vector<Mask> changed_;
  std::vector<std::uint32_t> hint_;  // per writers entry: where the last search ended
  SmallestFirst dirty_;
  std::vector<Link> links_;
  std::vector<std::uint32_t> first_link_;
  Edge contradiction_{};
  std::size_t visits_ = 0;

  struct Saved {  // eight lanes of a row
    Node node;
    std::uint32_t block;
    std::uint32_t lanes[8];
  };
  struct Mark {
    std::size_t saved, links;
  };
  std::vector<Saved> saved_;
  std::vector<Mark> marks_;
};

}  // namespace teetotal::histories
