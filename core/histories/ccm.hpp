// Convergent causal memory: Zennou et al. (NETYS 2020), section 2, after "Gradual Consistency Checking" (CAV 2019).
//
//   paper                                    here
//   co = (po ∪ wr)⁺                          chains and reads_from, without saturation
//   lhb_o                                    one saturation per thread, with the read rule for that thread's reads only
//   lhb = (∪ lhb_o)⁺                         `local`: the union of the edges found
//   pww = (lhb_WW ∪ cf[lhb])⁺                StoreOrder, per address
//   po ∪ wr ∪ pww ∪ rw[pww] acyclic          the last step
//
// Deviation: lhb_o grows along program order, so only the last operation of each thread has to be looked at.
// Final values, which the paper does not have, are part of pww.
#pragma once

#include <utility>

#include "histories/saturation.hpp"

namespace teetotal::histories {

struct CausalMemory {
  bool consistent = true;
  std::vector<std::pair<Node, Node>> store_order;  // pww, all pairs; only if asked for
};

// `graph` is that of SC. Throws OutOfBudget.
CausalMemory check_ccm(const ChainGraph& graph, const Budget& budget, bool list_pairs);

}  // namespace teetotal::histories
