// The search that follows saturation: is there a total order of the writes that every read agrees with?
//
// Nodes are executed one by one, chain by chain, always in agreement with the saturated rows:
//   1. a node that only reads, and a write that nobody has yet to read, at once: an order that has it later also works
//      with it now;
//   2. a write whose readers can all follow at once, for the same reason;
//   3. otherwise some write w is chosen, which puts it before the next unexecuted write of its address on every chain;
//      saturation draws the consequences, and a contradiction takes the choice back.
// A choice is final as soon as nobody waits for a value chosen since: what comes then does not depend on it.
// What is still to be done depends only on how far each chain is (its frontier), so a frontier that failed is never
// searched again. The same search decides SC, TSO and PSO: the models differ in their chains only.
#pragma once

#include "histories/frontier.hpp"

namespace teetotal::histories {

// The saturation must have run without contradiction. Throws OutOfBudget.
Decision decide(Saturation& saturation, const Budget& budget);

}  // namespace teetotal::histories
