// Every SC interleaving, or every one with at most K preemptions: plain depth-first search.
//
// A preemption switches away from a thread that could go on (Musuvathi, Qadeer: Iterative context bounding, PLDI 2007).
#pragma once

#include <optional>

#include "search/system.hpp"

namespace teetotal {

SearchResult all_interleavings(System& system, Visitor& visitor,
                               std::optional<std::uint32_t> preemptions = std::nullopt);

}  // namespace teetotal
