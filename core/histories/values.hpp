// Search by values, for SC histories in which values repeat: which write a read saw need not be settled, only that
// memory holds the value when it reads. Depth first over the states (how far each thread is, what memory holds), none
// of them twice. A read that memory can answer is executed at once: an order that has it later also works with it now.
// The same goes for a write of the value that memory holds already. Among the other writes, one that a waiting read
// asks for is tried first.
#pragma once

#include "histories/frontier.hpp"

namespace teetotal::histories {

// Gives up, by OutOfBudget, after `most_states` states. The order is of operations, not of nodes.
Decision search_values(const History& history, const Budget& budget, std::size_t most_states);

}  // namespace teetotal::histories
