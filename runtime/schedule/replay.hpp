// One schedule again, told step by step.
#pragma once

#include "explorer.hpp"
#include "output.hpp"

namespace teetotal::runtime {

// `request.schedule`: steps separated by blanks, as teetotal/answers/schedules.py writes them: a thread's number (the
// order in which threads were created), with `c` for the commit of its oldest store, under PSO with the location's
// number behind it, where locations are numbered in the order in which the schedule first stores to them.
// `stop_at_last`: the last step runs into a breakpoint. `shorten`: seconds to look for a shorter schedule that fails in
// the same way or, with a monitor, makes the same `report`, which is then told.
void replay(const Request& request, const Output& output);

}  // namespace teetotal::runtime
