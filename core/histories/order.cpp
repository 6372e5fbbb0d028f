// A likely order of execution: Kahn's algorithm that holds back a write as long as the value in memory still has
// readers to come. It need not be right: it only decides in which order the saturation visits the nodes, and the fewer
// edges point backwards in it, the fewer visits are repeated.
#include <deque>

#include "histories/chains.hpp"

namespace teetotal::histories {

std::vector<Op> likely_order(const History& history, const std::vector<Op>& source, const Precedence& precedence) {
  const std::size_t n = history.size();
  std::vector<std::uint32_t> waits_for(n, 0), unread(n, 0);
  std::vector<Op> current(history.addresses.size(), initial_source);
  for (const Op to : precedence.successors) ++waits_for[to];
  for (Op op = 0; op < n; ++op)
    if (is_operation(source[op])) ++unread[source[op]];

  std::vector<Op> order, ready;
  order.reserve(n);
  std::size_t next = 0;
  std::deque<Op> held;
  std::vector<std::deque<Op>> held_at(history.addresses.size());
  std::vector<bool> done(n, false);
  for (Op op = 0; op < n; ++op)
    if (waits_for[op] == 0) ready.push_back(op);

  const auto release = [&](std::uint32_t address) {  // one held write, once nobody waits for the value in memory
    auto& waiting = held_at[address];
    while (!waiting.empty() && done[waiting.front()]) waiting.pop_front();
    if (waiting.empty() || (is_operation(current[address]) && unread[current[address]] > 0)) return;
    ready.push_back(waiting.front());
    waiting.pop_front();
  };
  const auto execute = [&](Op op) {
    done[op] = true;
    order.push_back(op);
    if (is_operation(source[op])) --unread[source[op]];
    if (history.writes(op)) current[history.address[op]] = op;
    if (history.address[op] != nothing) release(history.address[op]);
    for (std::uint32_t i = precedence.first[op]; i < precedence.first[op + 1]; ++i)
      if (--waits_for[precedence.successors[i]] == 0) ready.push_back(precedence.successors[i]);
  };

  while (order.size() < n) {
    if (next < ready.size()) {
      const Op op = ready[next++];
      if (done[op]) continue;
      const Op old = history.writes(op) ? current[history.address[op]] : unknown_source;
      if (is_operation(old) && unread[old] > (source[op] == old ? 1U : 0U)) {
        held.push_back(op);
        held_at[history.address[op]].push_back(op);
      } else {
        execute(op);
      }
      continue;
    }
    while (!held.empty() && done[held.front()]) held.pop_front();
    if (held.empty()) break;
    execute(held.front());
    held.pop_front();
  }
  for (Op op = 0; op < n; ++op)  // what is left is on a cycle: the saturation will say which
    if (!done[op]) order.push_back(op);
  return order;
}

}  // namespace teetotal::histories
