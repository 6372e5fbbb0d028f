#include "search/optimal.hpp"

#include <algorithm>
#include <stdexcept>

namespace teetotal {

namespace {

bool is_reader(const Event& event) { return event.kind == Kind::lock && !event.writes; }

bool is_end(const Event& event) { return event.kind == Kind::ld && event.writes; }  // of the location's life

bool sees_own(const Event& event) { return event.kind == Kind::ld && event.own() != 0; }

// Of two that conflict: the load that sees its own thread's store, if the other is another's write.
const Event* own_load(const Event& a, const Event& b) {
  if (sees_own(a)) return is_end(b) ? nullptr : &a;
  return sees_own(b) && !is_end(a) ? &b : nullptr;
}

}  // namespace

SearchResult OptimalSearch::run() {
  return until_broken_off([&] {
    open_frame();
    explore(0);
  });
}

// From where it stands, at an execution that shares so many events with the one before.
void OptimalSearch::explore(std::size_t shared) {
  std::size_t seen = 0;  // by the visitor
  for (;;) {
    if (extend()) {
      const bool more = tally(result_, system_.ending());
      constexpr std::uint64_t kEstimate = 1024;
      if (result_.executions % kEstimate == 0) visitor_.explored = fraction();
      system_.find_waiting(waiting_);
      if (hearsay_ != nullptr && system_.skips_waiting()) hear_waiting();
      if (!visitor_.visit(execution_, seen) || !more) return;
      seen = execution_.size();
      if (hearsay_ != nullptr) hearsay_->rumours.clear();
      reverse_races(shared);
      result_.full = nodes_.size() > most_nodes_;
      if (result_.full) return;
    }
    if (!backtrack() || execution_.size() < base_) break;
    shared = execution_.size();
    seen = std::min(seen, shared);
    if (hearsay_ != nullptr) hearsay_->go_back(shared);
    found_.clear();
    if (ends_here()) return;
  }
  finished_ = true;
  result_.complete = result_.cut == 0 && result_.left_out == 0;
}

// Runs on to a complete execution: along the tree's first branch, then along any thread that does not sleep. False
// where a planned step is not possible, or every enabled thread sleeps, which an optimal search never meets.
bool OptimalSearch::extend() {
  for (;;) {
    Frame& frame = frames_[depth_ - 1];
    if (Node* node = frame.tree; node != nullptr) {
      frame.tree = node->next;
      const std::uint32_t thread = node->event.thread;
      if (thread >= system_.threads() || !system_.enabled(thread)) {
        if (thread >= system_.threads() || !system_.stopped_early(thread))
          throw std::logic_error("the search planned a step that is not possible");
        ++result_.left_out;
        return false;
      }
      Node* child = node->child;
      return_node(node);
      push(thread, child);
      continue;
    }
    const auto sleeps = [&](std::uint32_t thread) {
      return std::ranges::any_of(frame.sleep, [&](const Sleeper& s) { return s.thread == thread; });
    };
    std::uint32_t rank = system_.next_enabled(0);
    if (rank == System::kNobody) return true;
    if (system_.nothing_but_ends(rank)) return true;
    while (sleeps(ranked(rank)))
      if (rank = system_.next_enabled(rank + 1); rank == System::kNobody) {
        ++result_.redundant;
        return false;
      }
    push(ranked(rank), nullptr);
  }
}

void OptimalSearch::push(std::uint32_t thread, Node* subtree) {
  const std::size_t index = execution_.size();
  if (system_.lives_end) [[unlikely]]
    look_for_late_use(thread);
  const Event event = system_.execute(thread);
  Frame& next = open_frame();
  next.tree = subtree;
  for (const Sleeper& sleeper : frames_[depth_ - 2].sleep)
    if (!dependent(sleeper, event)) next.sleep.push_back(sleeper);

  if (by_thread_.size() <= thread) by_thread_.resize(thread + std::size_t{1});
  const std::size_t threads = by_thread_.size();
  clocks_.reserve(index + 2, threads);
  before_.reserve(index + 2, threads);
  const std::size_t width = clocks_.width();
  std::uint32_t* before = before_[index];
  clock_before(thread, before);
  const auto after = [&](std::size_t enabling) { join(before, clocks_[enabling], width); };
  if (const std::ptrdiff_t enabler = system_.enabler(index); enabler >= 0) after(static_cast<std::size_t>(enabler));
  if (buffers_ || system_.more_enable)
    for (const std::int32_t enabling : system_.more_enablers(index)) after(static_cast<std::size_t>(enabling));

  std::vector<std::size_t>& own = by_thread_[thread];
  const std::int32_t previous = own.empty() ? monitors::Hearsay::kNone : static_cast<std::int32_t>(own.back());
  own.push_back(index);
  const auto number = static_cast<std::uint32_t>(own.size());
  numbers_.push_back(number);
  execution_.push_back(event);
  std::uint32_t* clock = clocks_[index];
  copy(clock, before, width);
  if (!is_fence(event.kind)) {
    if (by_address_.size() <= event.address) {
      by_address_.resize(event.address + 1);
      own_loads_.resize(event.address + 1);
    }
    races_with(event, index, previous);
    (sees_own(event) ? own_loads_ : by_address_)[event.address].push_back(index);
  } else if (hearsay_ != nullptr) {
    hearsay_->follow(index, {previous, monitors::Hearsay::kNone, false});
  }
  clock[thread] = number;
}

// What an event knows by hearsay, whose thread did `previous` last: looks back over the accesses to its location, from
// this one on, for the last write that happens before that, and behind it for its thread's own latest access.
[[gnu::always_inline]] inline void OptimalSearch::hear(const Event& event, std::int32_t index, std::int32_t previous,
                                                       Accesses from, Rumours& rumours) const {
  const Accesses end = by_address_[event.address].rend();
  const std::uint32_t* known = clocks_[static_cast<std::size_t>(previous)];
  for (;; ++from) {
    if (from == end || execution_[*from].thread == event.thread) return;
    if (execution_[*from].writes && happens_before(*from, known)) break;
  }
  monitors::Hearsay::Rumour& rumour = rumours.more();
  rumour.knows = event;
  rumour.event = index;
  rumour.previous = previous;
  rumour.write = static_cast<std::int32_t>(*from);
  rumour.looked = monitors::Hearsay::kNone;
  if (event.kind == Kind::st) return;
  do {
    ++from;
  } while (from != end && execution_[*from].thread != event.thread);
  if (from != end) rumour.looked = static_cast<std::int32_t>(*from);
}

// The same of what threads stand before that wait at the end.
void OptimalSearch::hear_waiting() {
  hearsay_->waiting.clear();
  for (const Event& event : waiting_) {
    if (event.thread >= by_thread_.size() || by_thread_[event.thread].empty()) continue;
    const auto previous = static_cast<std::int32_t>(by_thread_[event.thread].back());
    if (!is_news(event, previous)) continue;
    if (is_fence(event.kind) || event.kind == Kind::lock || event.address >= by_address_.size()) continue;
    hear(event, monitors::Hearsay::kNone, previous, by_address_[event.address].rbegin(), hearsay_->waiting);
  }
}

void OptimalSearch::look_for_late_use(std::uint32_t thread) {
  const Event event = system_.pending(thread).event;
  if (is_fence(event.kind) || event.address >= by_address_.size()) return;
  const auto& accesses = by_address_[event.address];
  const auto ends = [&](std::size_t index) { return is_end(execution_[index]) && execution_[index].thread != thread; };
  const auto end = std::ranges::find_if(accesses.rbegin(), accesses.rend(), ends);
  if (end == accesses.rend()) return;
  const std::size_t index = execution_.size();
  before_.reserve(index + 2, std::max<std::size_t>(system_.threads(), thread + std::size_t{1}));
  clock_before(thread, before_[index]);
  if (!happens_before(*end, before_[index])) system_.uses_after(thread, *end);
}

// The newest event joins the clocks of those that it conflicts with, and notes the races: the events e with e ≾ event,
// between which and it nothing stands in happens-before.
void OptimalSearch::races_with(const Event& event, std::size_t index, std::int32_t previous) {
  const auto& accesses = by_address_[event.address];
  std::uint32_t* clock = clocks_[index];
  const std::uint32_t* before = before_[index];
  races_.clear();
  const Event* later = nullptr;
  bool ordered = !buffers_;  // all happen before it anyway: those before the last write happen before that one
  bool looked = false;       // its thread has accessed the location since that write
  auto it = accesses.rbegin();
  for (; it != accesses.rend(); ++it) {
    const Event& other = execution_[*it];
    looked = looked || other.thread == event.thread;
    if (!happens_before(*it, before)) {
      ordered = false;
      if (conflicts(other, event) && !(buffers_ && own_load(other, event) != nullptr)) {
        join(clock, clocks_[*it], clocks_.width());
        races_.push_back(*it);
      }
    }
    if (other.writes && (!buffers_ || (!sees_own(event) && is_barrier(other, later)))) break;
  }
  if (hearsay_ != nullptr) {
    const bool written = it != accesses.rend();
    hearsay_->follow(index, {previous, written ? static_cast<std::int32_t>(*it) : monitors::Hearsay::kNone, false});
    if (written && !looked && (event.kind != Kind::lock || system_.stores_to_locks) && is_news(event, previous))
      hear(event, static_cast<std::int32_t>(index), previous, it, hearsay_->rumours);
  }
  if (ordered) return;
  if (buffers_ && event.writes) {
    for (const std::size_t load : own_loads_before(event)) {
      if (happens_before(load, clock)) continue;
      join(clock, clocks_[load], clocks_.width());
      races_.push_back(load);
    }
  }
  if (!sees_own(event) && system_.waits(index)) {
    races_of_waiting(event, before, index);
  } else {
    drop_covered();
  }
  for (const std::size_t first : races_) note_race(first, index, as_before(event, index, first), found_);
}

// Step `index`, or the next one of its thread, as it would be just before step `first`. Before a load that saw its own
// thread's store it would see that store, wherever the commit comes: what it finds before the next write, or found.
Event OptimalSearch::as_before(const Event& event, std::size_t index, std::size_t first) const {
  Event reversed = event;
  if (buffers_ && event.kind == Kind::rmw && sees_own(execution_[first])) {
    const std::size_t behind = write_behind(first, index);
    if (behind < index) reversed.writes = system_.would_write(event.thread, index, behind);
    return reversed;
  }
  if (event.kind == Kind::rmw || event.kind == Kind::ld)
    reversed.writes = system_.would_write(event.thread, index, first);
  if (buffers_ && event.kind == Kind::ld && conflict(execution_[first], reversed))  // else it does not matter
    reversed.also = system_.own_before(event.thread, index, first);
  return reversed;
}

// How many stores of the buffer whose store a load sees had been committed before a step.
std::size_t OptimalSearch::committed(const Event& load, std::size_t before) const {
  const std::uint32_t buffer = system_.buffer_of(load);
  if (buffer >= by_thread_.size()) return 0;
  const auto& commits = by_thread_[buffer];
  return static_cast<std::size_t>(std::ranges::lower_bound(commits, before) - commits.begin());
}

// The same of two events that stand next to each other at the end of the execution.
bool OptimalSearch::conflicts_now(const Event& a, const Event& b) const {
  if (!conflicts(a, b)) return false;
  const Event* load = buffers_ ? own_load(a, b) : nullptr;
  return load == nullptr || committed(*load, execution_.size()) >= load->own();
}

// The loads that saw their own thread's stores and come before another's write: those whose stores are committed, the
// latest first. To the end of the location's life all come.
std::span<const std::size_t> OptimalSearch::own_loads_before(const Event& write) {
  candidates_.clear();
  if (write.address >= own_loads_.size()) return {};
  const std::vector<std::size_t>& loads = own_loads_[write.address];
  for (auto it = loads.rbegin(); it != loads.rend(); ++it) {
    const Event& load = execution_[*it];
    if (system_.owner(load.thread) == system_.owner(write.thread)) continue;
    if (is_end(write) || committed(load, execution_.size()) >= load.own()) candidates_.push_back(*it);
  }
  return candidates_;
}

// Looking back from an event over the accesses to its address: whether all before this write happen before the event.
// They happen before the write, but for those of its owner that commute with it, which happen before a later write of
// somebody else.
bool OptimalSearch::is_barrier(const Event& write, const Event*& later) const {
  if (is_atomic(write.kind)) return true;
  if (later != nullptr && system_.owner(write.thread) != system_.owner(later->thread)) return true;
  later = &write;
  return false;
}

// Leaves those races that no other, and nothing else that happens before the event, comes after.
void OptimalSearch::drop_ordered(const std::uint32_t* before) {
  std::erase_if(races_, [&](std::size_t index) { return happens_before(index, before); });
  drop_covered();
}

void OptimalSearch::drop_covered() {
  if (races_.size() <= 1) return;
  candidates_ = races_;
  std::erase_if(races_, [&](std::size_t candidate) {
    return std::ranges::any_of(candidates_, [&](std::size_t other) {
      return other != candidate && happens_before(candidate, clocks_[other]);
    });
  });
}

// The latest accesses before which an operation that may wait could have run: what came after them took that from it,
// or gave it what it waited for.
void OptimalSearch::races_of_waiting(const Event& event, const std::uint32_t* before, std::size_t end) {
  races_.clear();
  if (event.address >= by_address_.size()) return;
  const auto& accesses = by_address_[event.address];
  const Event* later = nullptr;
  for (auto it = accesses.rbegin(); it != accesses.rend(); ++it) {
    const Event& other = execution_[*it];
    const bool sure = other.writes && !buffers_;  // whatever it would do there
    if (!sure && !conflicts(other, as_before(event, end, *it))) continue;
    if (is_reader(other) ? !find_readers(*it, before, end) : !system_.possible(event.thread, end, *it)) continue;
    races_.push_back(*it);
    if (other.writes && (!buffers_ || is_barrier(other, later))) break;
  }
  if (buffers_ && is_atomic(event.kind))
    for (const std::size_t load : own_loads_before(event))
      if (could_precede(event, load, end)) races_.push_back(load);
  drop_ordered(before);
}

// Whether an operation that waits could have run just before a load that saw its own thread's store, that is, with the
// value of that store: before the next write, or where it did.
bool OptimalSearch::could_precede(const Event& event, std::size_t load, std::size_t end) const {
  const std::size_t behind = write_behind(load, end);
  if (behind == end) return end < execution_.size() && event.writes;
  return as_before(event, end, behind).writes && system_.possible(event.thread, end, behind);
}

// The next write behind the commit of the store that a load of its own thread's saw, or `end`.
std::size_t OptimalSearch::write_behind(std::size_t load, std::size_t end) const {
  const Event& own = execution_[load];
  const auto& accesses = by_address_[own.address];
  const std::size_t commit = by_thread_[system_.buffer_of(own)][own.own() - 1U];
  const auto next = std::find_if(std::ranges::upper_bound(accesses, commit), accesses.end(),
                                 [&](std::size_t index) { return execution_[index].writes; });
  return next == accesses.end() ? end : std::min(*next, end);
}

// Of a writer's lock and the reader's lock `first`: the other readers that the writer must come before as well. They
// hold the lock beside the first one and let it go only after it, or after each other. False where one of them came
// before the first: that is the one for the writer to overtake; or where the writer itself comes after one.
bool OptimalSearch::find_readers(std::size_t first, const std::uint32_t* before, std::size_t end) {
  readers_.assign(1, first);
  const auto later = [&](std::size_t index) {
    return std::ranges::any_of(
        readers_, [&](std::size_t r) { return r == index || (r < index && happens_before(r, clocks_[index])); });
  };
  for (;;) {
    holders_.clear();
    for (const std::size_t index : by_address_[execution_[first].address]) {
      if (index >= end) break;
      if (later(index)) continue;
      const Event& event = execution_[index];
      if (event.kind == Kind::lock) holders_.push_back(index);
      if (event.kind != Kind::unlock) continue;
      const auto of_same = [&](std::size_t holder) { return execution_[holder].thread == event.thread; };
      if (const auto held = std::ranges::find_if(holders_, of_same); held != holders_.end()) holders_.erase(held);
    }
    if (holders_.empty()) return true;
    if (holders_.front() < first) return false;
    if (std::ranges::any_of(holders_, [&](std::size_t holder) { return happens_before(holder, before); })) return false;
    readers_.insert(readers_.end(), holders_.begin(), holders_.end());
  }
}

void OptimalSearch::note_race(std::size_t first, std::size_t second, const Event& reversed, std::vector<Race>& races) {
  races.push_back({first, second, reversed, {}});
  if (reversed.kind != Kind::lock || !is_reader(execution_[first])) return;
  find_readers(first, before_[second], second);
  races.back().also.assign(readers_.begin() + 1, readers_.end());
}

void OptimalSearch::reverse_races(std::size_t shared) {
  std::erase_if(kept_, [&](const Race& race) { return race.second >= shared; });
  open_.swap(kept_);
  kept_.clear();
  for (const auto* races : {&open_, &found_})
    for (const Race& race : *races)
      if (!reverse(race)) kept_.push_back(race);
  const std::size_t end = execution_.size();
  const std::uint32_t threads = system_.threads();
  for (const Event& event : waiting_) {
    if (is_fence(event.kind)) continue;
    const std::uint32_t thread = event.thread;
    before_.reserve(end + 1, threads);
    clocks_.reserve(end + 1, threads);
    clock_before(thread, before_[end]);
    for (const std::int32_t enabling : system_.awaited(thread))
      join(before_[end], clocks_[static_cast<std::size_t>(enabling)], clocks_.width());
    races_of_waiting(event, before_[end], end);
    open_.clear();
    for (const std::size_t first : races_) note_race(first, end, as_before(event, end, first), open_);
    for (const Race& race : open_) reverse(race);
  }
}

// Whether the race is settled: the executions that share the events up to e′ need not ask again, whatever comes behind.
bool OptimalSearch::reverse(const Race& race) {
  const std::size_t fixed = witness(race);
  const std::span<const Event> sequence(sequence_);
  Frame& frame = frames_[race.first];
  bool covered = false;
  along_.clear();
  for (const Sleeper& sleeper : frame.sleep) {
    const std::ptrdiff_t at = weak_initial(sleeper, sequence.first(fixed), 0, race.first);
    if (at == -1) continue;
    if (static_cast<std::size_t>(at) < fixed) return true;
    covered = covered || weak_initial(sleeper, sequence, fixed, race.first) != -1;
  }
  if (covered) return false;
  return race.first < base_ ? ask(frame, race, fixed) : insert(frame.tree, sequence_, fixed, race.first);
}

// v = notdep(e, E).e′ in sequence_, e′ directly behind those that it found: what stands there comes behind it in the
// execution, so is at other addresses. The result is how many that are, e′ included: they do not depend on the tail.
std::size_t OptimalSearch::witness(const Race& race) {
  sequence_.clear();
  const std::uint32_t thread = execution_[race.first].thread, number = numbers_[race.first];
  const auto collect = [&](std::size_t begin, std::size_t end) {
    for (std::size_t index = begin; index < end; ++index) {
      const auto before = [&](std::size_t other) { return other <= index && happens_before(other, clocks_[index]); };
      if (clocks_[index][thread] < number && std::ranges::none_of(race.also, before))
        sequence_.push_back(execution_[index]);
    }
  };
  collect(race.first + 1, race.second);
  sequence_.push_back(race.reversed);
  const std::size_t fixed = sequence_.size();
  collect(race.second + 1, execution_.size());
  return fixed;
}

// Where the event's thread can come first in a sequence that starts with the event or is independent of it: the event's
// position in the sequence, or the sequence's length if it is not in it, or -1 if it cannot. The first `from` events
// are known to be independent of it. The sequence comes behind the first `depth` steps, and along_.
std::ptrdiff_t OptimalSearch::weak_initial(const Event& event, std::span<const Event> sequence, std::size_t from,
                                           std::size_t depth) const {
  const auto seen = [&](const Event& load, std::size_t before) {  // commits of the load's buffer
    const auto of_buffer = [&, buffer = system_.buffer_of(load)](const Event& e) { return e.thread == buffer; };
    return committed(load, depth) + static_cast<std::size_t>(std::ranges::count_if(along_, of_buffer)) +
           static_cast<std::size_t>(std::ranges::count_if(sequence.first(before), of_buffer));
  };
  for (std::size_t i = from; i < sequence.size(); ++i) {
    if (sequence[i].thread == event.thread) return static_cast<std::ptrdiff_t>(i);
    if (!conflicts(sequence[i], event)) continue;
    const Event* load = buffers_ ? own_load(sequence[i], event) : nullptr;
    if (load == nullptr || seen(*load, i) >= load->own()) return -1;
  }
  return static_cast<std::ptrdiff_t>(sequence.size());
}

// Whether the first `fixed` events of the sequence alone decided where it went.
bool OptimalSearch::insert(Node*& tree, std::vector<Event>& sequence, std::size_t fixed, std::size_t depth) {
  Node** level = &tree;
  bool root = true, settled = true;
  as_given_ = true;
  for (;;) {
    if (!root && *level == nullptr) return settled;  // a leaf: whoever runs along it covers the sequence
    if (sequence.empty()) return settled;
    root = false;
    Node* covering = nullptr;
    for (; *level != nullptr; level = &(*level)->next) {
      const std::span<const Event> rest(sequence);
      std::ptrdiff_t at = weak_initial((*level)->event, rest.first(fixed), 0, depth);
      if (at == static_cast<std::ptrdiff_t>(fixed)) {  // these do not tell, or there are none left
        settled = settled && fixed == 0;
        at = weak_initial((*level)->event, rest, fixed, depth);
      } else if (at != -1) {
        --fixed;
      }
      if (at == -1) continue;
      if (static_cast<std::size_t>(at) < sequence.size()) sequence.erase(sequence.begin() + at);
      covering = *level;
      break;
    }
    if (covering == nullptr) break;
    as_given_ = as_given_ && given(covering);
    along_.push_back(covering->event);
    level = &covering->child;
  }
  as_given_ = false;
  for (const Event& event : sequence) {
    *level = take_node(event);
    level = &(*level)->child;
  }
  return settled;
}

OptimalSearch::Node* OptimalSearch::take_node(const Event& event) {
  if (spare_ == nullptr) return &nodes_.emplace_back(Node{event, nullptr, nullptr});
  Node* node = spare_;
  spare_ = node->next;
  *node = {event, nullptr, nullptr};
  return node;
}

void OptimalSearch::return_node(Node* node) {
  node->next = spare_;
  spare_ = node;
}

// How far the search has come, if the branches of a frame, those known so far, are about equally large.
double OptimalSearch::fraction() const {
  double share = 1, explored = 0;
  for (std::size_t i = 0; i < depth_; ++i) {
    const Frame& frame = frames_[i];
    double branches = frame.done + 1.0;
    for (const Node* node = frame.tree; node != nullptr; node = node->next) ++branches;
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
    numbers_.pop_back();
    by_thread_[event.thread].pop_back();
    if (!is_fence(event.kind)) (sees_own(event) ? own_loads_ : by_address_)[event.address].pop_back();
    --depth_;
    Frame& frame = frames_[depth_ - 1];
    if (frame.tree == nullptr) continue;
    frame.sleep.push_back(event);
    ++frame.done;
    system_.rewind(execution_.size());
    return true;
  }
  return false;
}

}  // namespace teetotal
