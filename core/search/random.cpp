#include "search/random.hpp"

#include <algorithm>
#include <random>
#include <vector>

namespace teetotal {

namespace {

using Generator = std::mt19937_64;

// The standard distributions differ between libraries; a seed must mean the same everywhere.
std::uint64_t below(Generator& generator, std::uint64_t bound) {
  const std::uint64_t limit = Generator::max() - Generator::max() % bound;
  std::uint64_t value = generator();
  while (value >= limit) value = generator();
  return value % bound;
}

// Runs `count` executions, each step chosen by `choose(enabled threads, number of the step)`.
template <typename Begin, typename Choose, typename Finish>
SearchResult sample(System& system, Visitor& visitor, std::uint64_t count, Begin begin, Choose choose, Finish end) {
  SearchResult result;
  std::vector<Event> execution;
  std::vector<std::uint32_t> enabled;
  std::vector<std::uint32_t> before;
  for (std::uint64_t number = 0; number < count; ++number) {
    system.rewind(0);
    execution.clear();
    begin();
    std::size_t shared = 0;
    for (;;) {
      enabled.clear();
      for (std::uint32_t thread = 0; thread < system.threads(); ++thread)
        if (system.pending(thread).readiness == Readiness::enabled) enabled.push_back(thread);
      if (enabled.empty()) break;
      execution.push_back(system.execute(choose(enabled, execution.size())));
    }
    while (shared < execution.size() && shared < before.size() && execution[shared].thread == before[shared]) ++shared;
    before.clear();
    for (const Event& event : execution) before.push_back(event.thread);
    const bool more = tally(result, system.ending());
    end(execution.size());
    visitor.explored = static_cast<double>(number + 1) / static_cast<double>(count);
    if (!visitor.visit(execution, shared) || !more) break;
  }
  return result;  // a sample is never complete
}

}  // namespace

SearchResult random_walks(System& system, Visitor& visitor, std::uint64_t count, std::uint64_t seed) {
  Generator generator(seed);
  return sample(
      system, visitor, count, [] {},
      [&](const std::vector<std::uint32_t>& enabled, std::size_t) { return enabled[below(generator, enabled.size())]; },
      [](std::size_t) {});
}

SearchResult pct(System& system, Visitor& visitor, std::uint64_t count, std::uint32_t depth, std::uint64_t seed) {
  Generator generator(seed);
  std::vector<std::int64_t> priority;
  std::vector<std::uint64_t> changes;  // the step before which the running thread falls to priority -i, for i = 1, 2, …
  std::uint64_t length = 1;
  const auto begin = [&] {
    priority.clear();
    changes.clear();
    for (std::uint32_t i = 1; i < depth; ++i) changes.push_back(below(generator, length));
  };
  const auto highest = [&](const std::vector<std::uint32_t>& enabled) {
    return *std::ranges::max_element(enabled, {}, [&](std::uint32_t thread) { return priority[thread]; });
  };
  return sample(
      system, visitor, count, begin,
      [&](const std::vector<std::uint32_t>& enabled, std::size_t step) {
        while (priority.size() < system.threads()) priority.push_back(static_cast<std::int64_t>(generator() >> 1U));
        for (std::size_t i = 0; i < changes.size(); ++i)
          if (changes[i] == step) priority[highest(enabled)] = -static_cast<std::int64_t>(i) - 1;
        return highest(enabled);
      },
      [&](std::size_t steps) { length = std::max<std::uint64_t>(length, steps); });
}

}  // namespace teetotal
