// Stronger saturations: Zennou et al. (NETYS 2020), section 4, of which neither finds the whole SC-kernel.
//
//   paper                                                   here
//   the pattern of six writes (Fig. 3), added to st'        Rule::six
//   an order of two writes is guessed; if saturation then   Rule::guess
//   meets a cycle, the other order is added to st
//
// Deviations. The paper adds the pattern to a round of the saturation; here it is looked for in the fixpoint, and the
// saturation runs again, until there is none. On each chain only the last reader and the first overwriting write are
// looked at: what is before an earlier reader is before a later one. Both rules hold for TSO and PSO as well.
#pragma once

#include "histories/saturation.hpp"

namespace teetotal::histories {

enum class Rule { six, guess };

// The saturation must have run without contradiction. False at a contradiction. Throws OutOfBudget.
bool extend(Saturation& saturation, Rule rule, const Budget& budget);

}  // namespace teetotal::histories
