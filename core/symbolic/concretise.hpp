// From a symbolic path to one concrete schedule.
//
// A path of Saturation fixes which changes memory went through. Given them, the processes are independent again, so
// each is searched for alone, breadth-first over (how many changes have happened, buffer, control state). A store that
// the symbolic path lost is absorbed by the one that follows it, and committed together with it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "symbolic/saturate.hpp"

namespace teetotal::symbolic {

struct Step {
  enum class Kind : std::uint8_t { move, commit };
  Kind kind = Kind::move;
  Process process = 0;
  Control target = 0;      // of a move: the control state that it leads to
  Location location = -1;  // of a commit
  Writes writes;           // of an atomic step
};

// The schedule that follows `path` (the changes of memory) and ends with each process in a control state that `goal`
// accepts; nothing if there is none, which only happens when the path comes from a blurred search.
std::optional<std::vector<Step>> concretise(Graph& graph, Alphabet& alphabet, const std::vector<Happening>& path,
                                            const std::function<bool(Process, Control)>& goal, Progress* progress);

}  // namespace teetotal::symbolic
