#include "search/optimal.hpp"

#include <algorithm>

namespace teetotal {

namespace {

bool dependent(const Event& a, const Event& b) { return a.thread == b.thread || conflict(a, b); }

}  // namespace

SearchResult OptimalSearch::run() {
  frames_.clear();
  frames_.emplace_back();
  std::size_t shared = 0;
  for (;;) {
    if (extend()) {
      ++result_.executions;
      result_.blocked += system_.ending().blocked;
      result_.cut += system_.ending().cut;
      constexpr std::uint64_t kEstimate = 1024;
      if (result_.executions % kEstimate == 0) visitor_.explored = fraction();
      if (!visitor_.visit(execution_, shared)) return result_;
      reverse_races(shared);
    } else {
      ++result_.redundant;
    }
    if (!backtrack()) break;
    shared = execution_.size();
  }
  result_.complete = result_.cut == 0;
  return result_;
}

// Runs on to a complete execution: along the tree's first branch, then along any thread that does not sleep. False
// where every enabled thread sleeps, which an optimal search never meets.
bool OptimalSearch::extend() {
  for (;;) {
    Frame& frame = frames_.back();
    if (!frame.tree.empty()) {
      std::unique_ptr<Node> node = std::move(frame.tree.front());
      frame.tree.erase(frame.tree.begin());
      push(node->thread, std::move(node->children));
      continue;
    }
    bool enabled = false, advanced = false;
    for (std::uint32_t thread = 0; thread < system_.threads(); ++thread) {
      if (system_.pending(thread).readiness != Readiness::enabled) continue;
      enabled = true;
      if (std::ranges::any_of(frame.sleep, [&](const Sleeper& s) { return s.thread == thread; })) continue;
      push(thread, {});
      advanced = true;
      break;
    }
    if (!enabled) return true;
    if (!advanced) return false;
  }
}

void OptimalSearch::push(std::uint32_t thread, Tree subtree) {
  const std::size_t index = execution_.size();
  const Event event = system_.execute(thread);
  Frame next;
  next.tree = std::move(subtree);
  for (const Sleeper& sleeper : frames_.back().sleep)
    if (!dependent(sleeper.event, event)) next.sleep.push_back(sleeper);

  if (by_thread_.size() <= thread) by_thread_.resize(thread + 1);
  Clock clock;
  if (!spare_.empty()) {
    clock = std::move(spare_.back());
    spare_.pop_back();
  }
  clock_before(thread, index, true, clock);
  const auto join = [&](const Clock& other) {
    if (clock.size() < other.size()) clock.resize(other.size(), 0);
    for (std::size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
  };
  if (!is_fence(event.kind)) {
    if (by_address_.size() <= event.address) by_address_.resize(event.address + 1);
    auto& accesses = by_address_[event.address];
    // Back to the last write, and no further: everything before it happens before it.
    for (auto it = accesses.rbegin(); it != accesses.rend(); ++it) {
      if (conflict(execution_[*it], event)) join(clocks_[*it]);
      if (execution_[*it].writes) break;
    }
    accesses.push_back(index);
  }
  by_thread_[thread].push_back(index);
  const auto number = static_cast<std::uint32_t>(by_thread_[thread].size());
  if (clock.size() <= thread) clock.resize(thread + 1, 0);
  clock[thread] = number;
  numbers_.push_back(number);
  clocks_.push_back(std::move(clock));
  execution_.push_back(event);
  frames_.push_back(std::move(next));
}

// What happens before the next event of `thread` whatever it does: its own past, and what made it possible.
void OptimalSearch::clock_before(std::uint32_t thread, std::size_t index, bool executed, Clock& clock) const {
  clock.assign(system_.threads(), 0);
  if (thread < by_thread_.size()) {
    const auto& own = by_thread_[thread];
    const auto next = std::ranges::lower_bound(own, index);
    if (next != own.begin()) std::ranges::copy(clocks_[*(next - 1)], clock.begin());
  }
  const auto after = [&](std::size_t enabling) {
    const Clock& other = clocks_[enabling];
    if (clock.size() < other.size()) clock.resize(other.size(), 0);
    for (std::size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
  };
  if (executed) {
    const std::ptrdiff_t enabler = system_.enabler(index);
    if (enabler >= 0) after(static_cast<std::size_t>(enabler));
    for (const std::int32_t enabling : system_.more_enablers(index)) after(static_cast<std::size_t>(enabling));
  }
}

bool OptimalSearch::happens_before(std::size_t index, const Clock& clock) const {
  const std::uint32_t thread = execution_[index].thread;
  return thread < clock.size() && numbers_[index] <= clock[thread];
}

void OptimalSearch::reverse_races(std::size_t shared) {
  std::vector<Race> open;
  std::erase_if(kept_, [&](const Race& race) { return race.second >= shared; });
  open.swap(kept_);
  const std::size_t end = execution_.size();
  for (std::size_t index = shared; index < end; ++index) {
    const Event& event = execution_[index];
    if (is_fence(event.kind)) continue;
    clock_before(event.thread, index, true, before_);
    for (const std::size_t first : races_of(event, before_, index)) {
      Event reversed = event;
      if (event.kind == Kind::rmw) reversed.writes = system_.would_write(index, first);
      open.push_back({first, index, reversed});
    }
  }
  for (const Race& race : open)
    if (!reverse(race)) kept_.push_back(race);
  for (std::uint32_t thread = 0; thread < system_.threads(); ++thread) {
    const Pending pending = system_.pending(thread);
    if (pending.readiness != Readiness::waiting) continue;
    clock_before(thread, end, false, before_);
    for (const std::size_t first : races_of_lock(pending.event, before_, end)) reverse({first, end, pending.event});
  }
}

// The events e with e ≾ event: they conflict, and nothing stands between them in happens-before. `before` is the clock
// of the event without its conflicts, `end` its place.
std::vector<std::size_t> OptimalSearch::races_of(const Event& event, const Clock& before, std::size_t end) const {
  if (event.kind == Kind::lock) return races_of_lock(event, before, end);
  const auto& accesses = by_address_[event.address];
  std::vector<std::size_t> candidates;
  for (auto it = std::ranges::lower_bound(accesses, end); it != accesses.begin();) {
    --it;
    const Event& other = execution_[*it];
    // An unlock is never enabled together with a lock; it races with those that tried in vain.
    if (conflict(other, event) && (event.kind != Kind::unlock || other.kind == Kind::rmw)) candidates.push_back(*it);
    if (other.writes) break;
  }
  return unordered(std::move(candidates), before);
}

// Those that no other candidate, and nothing else that happens before the event, comes after.
std::vector<std::size_t> OptimalSearch::unordered(std::vector<std::size_t> candidates, const Clock& before) const {
  if (candidates.size() == 1 && happens_before(candidates.front(), before)) candidates.clear();
  if (candidates.size() <= 1) return candidates;
  std::vector<std::size_t> races;
  for (const std::size_t candidate : candidates) {
    const bool ordered = happens_before(candidate, before) || std::ranges::any_of(candidates, [&](std::size_t other) {
                           return other != candidate && happens_before(candidate, clocks_[other]);
                         });
    if (!ordered) races.push_back(candidate);
  }
  return races;
}

std::vector<std::size_t> OptimalSearch::races_of_lock(const Event& event, const Clock& before, std::size_t end) const {
  if (event.address >= by_address_.size()) return {};
  const auto& accesses = by_address_[event.address];
  std::vector<std::size_t> candidates;
  bool written = false;  // an access in between, looking back, wrote
  for (auto it = std::ranges::lower_bound(accesses, end); it != accesses.begin();) {
    --it;
    const Event& other = execution_[*it];
    const bool acquires = other.kind == Kind::lock || (other.kind == Kind::rmw && other.writes);
    const bool looks = other.kind == Kind::rmw && !other.writes && !written;
    if (conflict(other, event) && (acquires || looks) && could_be_free(event, *it, end)) candidates.push_back(*it);
    if (acquires && other.writes) break;
    written = written || other.writes;
  }
  return unordered(std::move(candidates), before);
}

// Whether a lock could be taken just before the acquisition `first`. Where that was a reader's, other readers may have
// held it then: a writer can come first only if they let it go without waiting for `first`.
bool OptimalSearch::could_be_free(const Event& event, std::size_t first, std::size_t end) const {
  if (!event.writes || execution_[first].writes) return true;
  const auto& accesses = by_address_[event.address];
  std::vector<std::uint32_t> holders;
  for (const std::size_t index : accesses) {
    if (index >= end) break;
    const Event& other = execution_[index];
    if (index < first && other.kind == Kind::lock) holders.push_back(other.thread);
    if (other.kind != Kind::unlock || (index > first && happens_before(first, clocks_[index]))) continue;
    if (const auto held = std::ranges::find(holders, other.thread); held != holders.end()) holders.erase(held);
  }
  return holders.empty();
}

bool OptimalSearch::reverse(const Race& race) {
  std::size_t place = 0;
  std::vector<Event> sequence = witness(race, place);
  Frame& frame = frames_[race.first];
  bool covered = false;
  for (const Sleeper& sleeper : frame.sleep) {
    const std::ptrdiff_t at = weak_initial(sleeper.thread, sleeper.event, sequence);
    if (at == -1) continue;
    covered = true;
    // Stands in v no later than e′ would, were the tail not there: covered whatever the tail.
    if (static_cast<std::size_t>(at) < place || static_cast<std::size_t>(at) + 1 == sequence.size()) return true;
  }
  if (covered) return false;
  insert(frame.tree, std::move(sequence));
  return true;
}

// v = notdep(e, E).e′. `place` is the number of its events that stand before e′ in the execution.
std::vector<Event> OptimalSearch::witness(const Race& race, std::size_t& place) const {
  std::vector<Event> sequence;
  for (std::size_t index = race.first + 1; index < execution_.size(); ++index) {
    if (index == race.second) place = sequence.size();
    if (index != race.second && !happens_before(race.first, clocks_[index])) sequence.push_back(execution_[index]);
  }
  if (race.second == execution_.size()) place = sequence.size();
  sequence.push_back(race.reversed);
  return sequence;
}

// Where `thread` can come first in a sequence that starts with its event or is independent of it: the event's position
// in the sequence, or the sequence's length if it is not in it, or -1 if it cannot.
std::ptrdiff_t OptimalSearch::weak_initial(std::uint32_t thread, const Event& event, std::span<const Event> sequence) {
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    if (sequence[i].thread == thread) return static_cast<std::ptrdiff_t>(i);
    if (conflict(sequence[i], event)) return -1;
  }
  return static_cast<std::ptrdiff_t>(sequence.size());
}

void OptimalSearch::insert(Tree& tree, std::vector<Event> sequence) {
  Tree* level = &tree;
  bool root = true;
  for (;;) {
    if (!root && level->empty()) return;  // a leaf: whoever runs along it covers the sequence
    if (sequence.empty()) return;
    root = false;
    Node* next = nullptr;
    for (const auto& child : *level) {
      const std::ptrdiff_t at = weak_initial(child->thread, child->event, sequence);
      if (at == -1) continue;
      if (static_cast<std::size_t>(at) < sequence.size()) sequence.erase(sequence.begin() + at);
      next = child.get();
      break;
    }
    if (next == nullptr) break;
    level = &next->children;
  }
  for (const Event& event : sequence) {
    level->push_back(std::make_unique<Node>(Node{event.thread, event, {}}));
    level = &level->back()->children;
  }
}

// How far the search has come, if the branches of a frame, those known so far, are about equally large.
double OptimalSearch::fraction() const {
  double share = 1, explored = 0;
  for (const Frame& frame : frames_) {
    const double branches = frame.done + 1.0 + static_cast<double>(frame.tree.size());
    explored += share * frame.done / branches;
    share /= branches;
  }
  return explored;
}

// Back to the deepest frame with a branch to go. What ran from each frame left behind sleeps there.
bool OptimalSearch::backtrack() {
  while (!execution_.empty()) {
    const Event event = execution_.back();
    execution_.pop_back();
    spare_.push_back(std::move(clocks_.back()));
    clocks_.pop_back();
    numbers_.pop_back();
    by_thread_[event.thread].pop_back();
    if (!is_fence(event.kind)) by_address_[event.address].pop_back();
    frames_.pop_back();
    frames_.back().sleep.push_back({event.thread, event});
    ++frames_.back().done;
    if (!frames_.back().tree.empty()) {
      system_.rewind(execution_.size());
      return true;
    }
  }
  return false;
}

}  // namespace teetotal
