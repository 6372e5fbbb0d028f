// From what changed memory before ld_A, and who must be where then, to one schedule.
//
// As in concretise.hpp: given the changes of memory the processes are independent, so each is searched for alone,
// breadth-first over (how many changes have happened, where it is).
#pragma once

#include <optional>
#include <vector>

#include "symbolic/attack.hpp"

namespace teetotal::symbolic {

struct Change {
  Process process = 0;
  Writes writes;
};

struct AttackGoal {
  Process attacker = 0;
  Location victim = 0;                         // of st_A
  Delayed delayed;                             // the attacker, before ld_A
  std::vector<std::optional<Control>> places;  // the others, before ld_A, where that matters
};

std::vector<Step> attack_schedule(Graph& graph, AttackSteps& steps, const std::vector<Change>& path,
                                  const AttackGoal& goal, Progress* progress);

}  // namespace teetotal::symbolic
