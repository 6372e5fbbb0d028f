// One schedule again, told step by step.
#pragma once

#include <string>

#include "output.hpp"
#include "system.hpp"

namespace teetotal::runtime {

// `schedule`: steps separated by blanks, as teetotal/answers/schedules.py writes them: a thread's number (the order in
// which threads were created), with `c` for the commit of its oldest store, under PSO with the location's number behind
// it, where locations are numbered in the order in which the schedule first stores to them. `stop_at_last`: the last
// step runs into a breakpoint. `shorten`: seconds to look for a shorter schedule that fails in the same way.
void replay(Bounds bounds, const std::string& schedule, bool stop_at_last, double shorten, const Output& output);

}  // namespace teetotal::runtime
