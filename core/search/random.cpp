#include "search/random.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "hash.hpp"

namespace teetotal {

namespace {

// Steele, Lea, Flood: Fast splittable pseudorandom number generators (OOPSLA 2014). Cheap to begin, as each walk does.
class Generator {
 public:
  Generator(std::uint64_t seed, std::uint64_t walk) : state_(mix(seed + 0x243F6A8885A308D3ULL, walk)) {}
  static constexpr std::uint64_t max() { return ~std::uint64_t{0}; }
  std::uint64_t operator()() {
    std::uint64_t value = state_ += 0x9E3779B97F4A7C15ULL;
    value = (value ^ value >> 30U) * 0xBF58476D1CE4E5B9ULL;
    value = (value ^ value >> 27U) * 0x94D049BB133111EBULL;
    return value ^ value >> 31U;
  }

 private:
  std::uint64_t state_;
};

// The standard distributions differ between libraries; a seed must mean the same everywhere.
std::uint64_t below(Generator& generator, std::uint64_t bound) {
  const std::uint64_t limit = Generator::max() - Generator::max() % bound;
  std::uint64_t value = generator();
  while (value >= limit) value = generator();
  return value % bound;
}

// One execution, each step chosen by `choose(enabled threads, number of the step)`.
template <typename Choose>
void walk(System& system, std::vector<Event>& execution, std::vector<std::uint32_t>& enabled, Choose choose) {
  system.rewind(0);
  system.forget_agents();  // in the order of their numbers they are chosen from
  execution.clear();
  for (;;) {
    enabled.clear();
    for (std::uint32_t thread = 0; thread < system.threads(); ++thread)
      if (system.pending(thread).readiness == Readiness::enabled) enabled.push_back(thread);
    if (enabled.empty()) return;
    execution.push_back(system.execute(choose(enabled, execution.size())));
  }
}

// The walks of a range, each by `one(number, execution)`, until the visitor has enough.
template <typename One>
void sample(System& system, Visitor& visitor, Walks walks, SearchResult& result, One one) {
  std::vector<Event> execution;
  std::vector<std::uint32_t> before;
  for (std::uint64_t number = walks.from; number < walks.until; ++number) {
    one(number, execution);
    std::size_t shared = 0;
    while (shared < execution.size() && shared < before.size() && execution[shared].thread == before[shared]) ++shared;
    before.clear();
    for (const Event& event : execution) before.push_back(event.thread);
    const bool more = tally(result, system.ending());
    visitor.explored = static_cast<double>(number + 1) / static_cast<double>(walks.until);
    if (!visitor.visit(execution, shared) || !more || visitor.pause) return;
  }  // a sample is never complete
}

}  // namespace

WalksPart walks_from(std::string_view part) {
  const auto number = [&] {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(part.begin(), part.end(), value);
    if (error != std::errc{} || end == part.end() || *end != ' ')
      throw std::invalid_argument("no part of random walks");
    part.remove_prefix(static_cast<std::size_t>(end + 1 - part.begin()));
    return value;
  };
  WalksPart found;
  found.walks.from = number();
  if (number() != 0) throw std::invalid_argument("random walks of somebody else");
  found.walks.until = number();
  found.rest = part;
  return found;
}

std::string to_text(const WalksPart& part, std::uint64_t walked) {
  return std::to_string(part.walks.from + walked) + " 0 " + std::to_string(part.walks.until) + ' ' + part.rest;
}

SearchResult random_walks(System& system, Visitor& visitor, Walks walks, std::uint64_t seed) {
  std::vector<std::uint32_t> enabled;
  const auto one = [&](std::uint64_t number, std::vector<Event>& execution) {
    Generator generator(seed, number);
    walk(system, execution, enabled,
         [&](const auto& threads, std::size_t) { return threads[below(generator, threads.size())]; });
  };
  return until_full([&](SearchResult& result) { sample(system, visitor, walks, result, one); });
}

SearchResult pct(System& system, Visitor& visitor, Walks walks, std::uint32_t depth, std::uint64_t seed) {
  std::vector<std::uint32_t> enabled;
  std::vector<std::int64_t> priority;
  std::vector<std::uint64_t> changes;  // the step before which the running thread falls to priority -i, for i = 1, 2, …
  std::uint64_t length = 1;
  const auto highest = [&] {
    return *std::ranges::max_element(enabled, {}, [&](std::uint32_t thread) { return priority[thread]; });
  };
  const auto one = [&](std::uint64_t number, std::vector<Event>& execution) {
    Generator generator(seed, number);
    priority.clear();
    changes.clear();
    for (std::uint32_t i = 1; i < depth; ++i) changes.push_back(below(generator, length));
    walk(system, execution, enabled, [&](const auto&, std::size_t step) {
      while (priority.size() < system.threads()) priority.push_back(static_cast<std::int64_t>(generator() >> 1U));
      for (std::size_t i = 0; i < changes.size(); ++i)
        if (changes[i] == step) priority[highest()] = -static_cast<std::int64_t>(i) - 1;
      return highest();
    });
    if (number < kMeasured) length = std::max<std::uint64_t>(length, execution.size());
  };
  return until_full([&](SearchResult& result) {
    std::vector<Event> measured;
    for (std::uint64_t number = 0; number < std::min(walks.from, kMeasured); ++number) one(number, measured);
    sample(system, visitor, walks, result, one);
  });
}

}  // namespace teetotal
