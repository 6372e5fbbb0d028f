#include "search/strategy.hpp"

#include <stdexcept>

#include "search/interleavings.hpp"
#include "search/optimal.hpp"
#include "search/random.hpp"

namespace teetotal {

SearchResult search(const Strategy& strategy, System& system, Visitor& visitor) {
  const auto preemptions = static_cast<std::uint32_t>(strategy.count);
  const Walks walks{strategy.from, strategy.count};
  if (strategy.name == "all") return OptimalSearch(system, visitor, strategy.megabytes).run();
  if (strategy.name == "interleavings") return all_interleavings(system, visitor, {.kinds = strategy.preempted});
  if (strategy.name == "preemptions")
    return all_interleavings(system, visitor, {.most = preemptions, .kinds = strategy.preempted});
  if (strategy.name == "exactly")
    return all_interleavings(system, visitor,
                             {.fewest = preemptions, .most = preemptions, .kinds = strategy.preempted});
  if (strategy.name == "random") return random_walks(system, visitor, walks, strategy.seed);
  if (strategy.name == "pct") return pct(system, visitor, walks, strategy.depth, strategy.seed);
  throw std::invalid_argument("no strategy is called " + strategy.name);
}

}  // namespace teetotal
