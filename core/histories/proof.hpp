// Why a history is inconsistent, from the links that the saturation recorded: lemmas, each an edge with the path that
// forces it, and at last a cycle. Every path uses edges only that are older than the lemma, so nothing is circular.
#pragma once

#include "histories/saturation.hpp"

namespace teetotal::histories {

struct Lemma {
  Edge claim;              // Reason::store or Reason::overwrites
  std::vector<Edge> path;  // store: from claim.from to claim.why; overwrites: from claim.why to claim.to
};

struct Proof {
  std::vector<Lemma> lemmas;  // oldest first
  std::vector<Edge> cycle;    // the last edge leads back to the first's origin
};

// After run() or add() gave false.
Proof prove(const Saturation& saturation);

}  // namespace teetotal::histories
