// The independent checker of witnesses: plays a schedule on a machine with values in memory and stores in buffers, and
// compares every result with the history. One pass; it knows nothing of chains, sources or engines.
#pragma once

#include <span>
#include <string>

#include "histories/history.hpp"

namespace teetotal::histories {

// A step of a schedule: operation i issues (2·i), or its store becomes visible (2·i + 1). Under SC, and for an rmw,
// issuing makes it visible.
using Step = std::uint64_t;
constexpr Step issue(Op op) { return 2 * Step{op}; }
constexpr Step commit(Op op) { return 2 * Step{op} + 1; }

// What is wrong with the schedule, or "" if it is a witness.
std::string refute_witness(const History& history, std::span<const Step> steps, Model model, bool rmw_flushes_all);

// From the order in which loads execute and stores become visible to a schedule that also says when stores issue.
std::vector<Step> schedule(const History& history, std::span<const Op> order, Model model);

}  // namespace teetotal::histories
