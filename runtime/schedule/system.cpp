#include "system.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "conditions.hpp"
#include "counting.hpp"
#include "lifetimes.hpp"
#include "survival.hpp"
#include "synchronisation.hpp"

namespace teetotal::runtime {

std::uint32_t Controlled::threads() const {
  catch_up();
  return relaxed() ? static_cast<std::uint32_t>(agents_.size()) : process.count;
}

std::uint32_t Controlled::location(std::uintptr_t place) {
  auto& [known, number] = recent_[place * 0x9E3779B97F4A7C15ULL >> 55U];
  if (known == place && place != 0) return number;
  const auto [entry, fresh] = locations_.try_emplace(place, static_cast<std::uint32_t>(places_.size()));
  if (fresh) places_.push_back(place);
  known = place;
  return number = entry->second;
}

Event Controlled::event_of(const Operation& operation, std::uint32_t as) {
  if (operation.plain) {
    if (plainly_.size() <= operation.cell) plainly_.resize(operation.cell + std::size_t{1});
    plainly_[operation.cell] = 1;
  }
  return {as,
          operation.kind,
          operation.writes == Writes::always,
          operation.order,
          static_cast<std::uint8_t>(operation.failure),
          operation.cell,
          location(operation.place)};
}

Cut Controlled::cut_of(std::uint32_t thread) const {
  Cut found{.rounds = visits(thread), .thread = thread};
  const Step* step = last_of(thread);
  const auto reads = [](const Step& one) {
    return one.sees && (one.operation.kind == Kind::ld || one.operation.kind == Kind::rmw) &&
           one.operation.tag <= Tag::vector && !marks.contains(one.operation);
  };
  while (step != nullptr && !reads(*step))
    step = step->earlier < 0 ? nullptr : &steps_[static_cast<std::size_t>(step->earlier)];
  if (step == nullptr) return found;
  found.read = step->operation.told_place();
  found.address = step->operation.address;
  found.size = size_of(step->operation.tag);
  found.value = step->before;
  if (step->source >= 0) found.writer = steps_[static_cast<std::size_t>(step->source)].operation.told_place();
  return found;
}

// What the thread stands before, for the searches.
void Controlled::describe(std::uint32_t thread) { describe_at(thread, site_of(thread)); }

// The same where its stack may be elsewhere, and the site is known.
void Controlled::describe_at(std::uint32_t thread, std::uint32_t site) {
  sites_[thread] = site;
  const Operation& operation = process.threads[thread].operation;
  next_[thread] = event_of(operation, agent(thread, kThread));
  const bool halted = cut(thread);
  if (halted && steps_.size() < bounds_.steps && !cuts_.contains(operation.told_place()))
    cuts_.emplace(operation.told_place(), cut_of(thread));
  const bool halts = halted || spinning(thread);
  standing_[thread] = halts ? Standing::halted : standing_of(thread, local_now(thread));
  asked_[thread].known = false;
}

void Controlled::described_new_threads() {
  while (next_.size() < process.count) {
    next_.emplace_back();
    standing_.push_back(Standing::gone);
    own_.emplace_back();
    last_.push_back(-1);
    sites_.push_back(0);
    visited_.emplace_back();
    visits_.emplace_back();
    asked_.emplace_back();
  }
  for (std::uint32_t thread = 0; thread < process.count; ++thread) {
    agent(thread, kThread);
    if (process.threads[thread].state == State::parked && last_[thread] < 0) describe(thread);
  }
}

Pending Controlled::pending(std::uint32_t number) const {
  catch_up();
  Pending pending = before_waiting(number);
  if (pending.readiness == Readiness::enabled && (!relaxed() || agents_[number].buffer == kThread)) {
    const std::uint32_t thread = owner(number);
    if (local_now(thread) != 0 && !passes_by(process.threads[thread].operation) && waits_now(thread))
      pending.readiness = Readiness::waiting;
  }
  return pending;
}

// What an agent does next, whether or not it only takes a thread round.
Pending Controlled::before_waiting(std::uint32_t number) const {
  if (!relaxed()) return pending_thread(number, number);
  const Agent& agent = agents_[number];
  if (agent.buffer == kThread) {
    if (agent.thread >= process.count) return {Readiness::stopped, {}};
    Pending pending = pending_thread(agent.thread, number);
    if (pending.readiness == Readiness::enabled &&
        !flushed(agent.thread, pending.event.kind, process.threads[agent.thread].operation))
      pending.readiness = Readiness::stopped;
    if (pending.event.kind == Kind::st)
      pending.event = Event{.thread = number, .kind = Kind::sfence, .location = pending.event.location};
    return pending;
  }
  const Entry* entry = committable(agent);
  if (entry == nullptr) return {Readiness::stopped, {}};
  return {Readiness::enabled, Event{number, Kind::st, true, {}, 0, entry->operation.cell, entry->location}};
}

bool Controlled::enabled(std::uint32_t number) const {
  catch_up();
  return relaxed() ? pending(number).readiness == Readiness::enabled : goes_on(number);
}

// Whoever uses a variable of a function that is about to return has failed, though the event of its end is still to
// come (lifetimes.hpp): by then there is nothing any more to go on with.
bool Controlled::stopped_early(std::uint32_t number) const {
  catch_up();
  return process.threads[relaxed() ? agents_[number].thread : number].failure == Failure::returned;
}

std::uint32_t Controlled::next_enabled(std::uint32_t number) const {
  if (relaxed()) return System::next_enabled(number);
  catch_up();
  for (const std::uint32_t count = process.count; number < count; ++number)
    if (goes_on(number)) return number;
  return kNobody;
}

// Under SC, where the program stands as it should.
bool Controlled::goes_on(std::uint32_t number) const {
  if (standing_[number] == Standing::gone || steps_.size() >= bounds_.steps) return false;
  if (standing_[number] == Standing::ready) return true;
  if (standing_[number] == Standing::reads) return !waits_now(number);
  const Thread& thread = process.threads[number];  // most that wait can be told from that alone
  if (!thread.operation.decides() && !Process::open(thread)) return false;
  return pending(number).readiness == Readiness::enabled;
}

Pending Controlled::pending_thread(std::uint32_t number, std::uint32_t as) const {
  const Standing standing = standing_[number];
  if (standing == Standing::gone) return {Readiness::stopped, {}};
  // Written in its place: a copy would wait for what was stored last.
  Pending result{steps_.size() < bounds_.steps ? Readiness::enabled : Readiness::stopped, next_[number]};
  result.event.thread = as;
  if (standing <= Standing::reads) return result;
  if (follows_twin(number) && twins_step(number) < 0) return {Readiness::stopped, result.event};
  const Operation& operation = process.threads[number].operation;
  const bool possible = decide(number, result.event);
  // One that is halted waits for nobody, though it may stand before a lock.
  if (standing == Standing::halted && (cut(number) || !bounds_.spinners_wake || !sees_changes(number)))
    result.readiness = Readiness::stopped;
  else if (!possible)
    result.readiness = operation.waiting == Waiting::lock ? Readiness::waiting : Readiness::stopped;
  return result;
}

// What an operation comes to that depends on memory; false: it cannot be done.
bool Controlled::decide(std::uint32_t number, Event& event) const {
  const Thread& thread = process.threads[number];
  const Operation& operation = thread.operation;
  const auto open = [&] { return Process::open(thread); };
  if (operation.writes <= Writes::always) return open();
  const auto writes = [&] {
    return runtime::would_write(operation, readable(operation.address) ? seen_by(operation) : 0);
  };
  bool fails = false;
  if (operation.decides()) {
    fails = in_view_of(number, [&] { return open() && !writes(); });
    event.writes = !fails;
    if (!fails) event.kind = Kind::rmw;
  } else {
    event.writes = writes();
  }
  return fails || open();
}

// Where a thread stands, for those who count how often it comes there: where the user gives a bound, the instruction.
std::uint32_t Controlled::site_of(std::uint32_t thread) {
  if (!counts_visits_) return 0;
  const Thread& at = process.threads[thread];
  if (bounds_.loop_bound != kNoBound) return location(at.operation.place);
  return endless_.site(last_[thread] < 0 ? at.operation.place : where_in_calls(at));
}

// How often a thread has come to where it stands.
std::uint32_t Controlled::visits(std::uint32_t thread) const {
  const std::uint32_t site = sites_[thread];
  return site < visits_[thread].size() ? visits_[thread][site] : 0;
}

bool Controlled::often_enough(std::uint32_t thread) const {
  if (process.threads[thread].operation.part) return false;
  if (bounds_.loop_bound != kNoBound) return visits(thread) >= bounds_.loop_bound;
  return visits(thread) >= bounds_.endless_visits && endless_.bounds_visits_of(sites_[thread]);
}

// It goes on for ever, by all appearances: so does what it came to in the later half of its steps.
void Controlled::learn_endless(std::uint32_t thread) {
  if (endless_.follow()) throw Restart{};
  const auto& own = own_[thread];
  std::vector<std::uint32_t> lately;
  for (std::size_t i = own.size() / 2; i < own.size(); ++i)
    if (!steps_[own[i]].operation.part) lately.push_back(visited_[thread][i]);
  if (!endless_.learn_visits(lately)) bounds_.loop_bound = bounds_.endless_visits;
  throw Restart{};
}

Event Controlled::execute(std::uint32_t number) {
  if (ahead_ && steps_.back().event.thread == number) {
    ahead_ = false;
    return steps_.back().event;
  }
  catch_up();
  judged_ = listed_ = false;
  failed_.reset();
  if (!relaxed()) {
    if (const std::uint32_t known = known_step(number); known != KnownSteps::kUnknown) return skip(number, known);
    if (behind_) run_up();
    snapshots_.consider(steps_.size());
    return execute_thread(number, number);
  }
  if (snapshots_.consider(steps_.size())) {
    kept_buffers_.resize(std::max(kept_buffers_.size(), snapshots_.depth()));
    kept_buffers_[snapshots_.depth() - 1] = buffers_;
  }
  if (agents_[number].buffer == kThread) return execute_thread(agents_[number].thread, number);
  return execute_commit(agents_[number], number);
}

Event Controlled::execute_thread(std::uint32_t number, std::uint32_t as) {
  Thread& thread = process.threads[number];
  const std::size_t index = steps_.size();
  Event next = relaxed()                              ? before_waiting(as).event
               : standing_[number] <= Standing::reads ? next_[number]
                                                      : pending_thread(number, as).event;
  Step& step = steps_.emplace_back(next, number, kept(thread.operation));
  const Operation& operation = step.operation;
  const bool fence = is_fence(operation.kind);
  const bool thing = operation.tag == Tag::thread;
  const bool look = !fence && operation.verb != Verb::end_life && (thing || readable(operation.address));
  step.sees = look && operation.kind != Kind::st && (!thing || operation.verb == Verb::look);
  looks_for_ends_ = looks_for_ends_ || (thing && operation.verb == Verb::look);
  if (operation.tag == Tag::thread && operation.waiting == Waiting::other)
    step.enabler = static_cast<const Thread*>(thread.waits_on)->end_step;
  else if (follows_twin(number)) {
    step.enabler = twins_step(number);
    symmetric_ = true;
  }
  if (relaxed()) enablers_.push_back(flushing(number, step.kind(), operation));
  if (operation.verb == Verb::leave) {
    const std::vector<std::int32_t> all = arrivals(operation);
    more_enable = true;
    if (relaxed())
      enablers_.back().insert(enablers_.back().end(), all.begin(), all.end());
    else
      arrivals_[index] = all;
  }
  if (look) step.before = seen_by(operation);
  if (relaxed()) in_memory_.push_back(step.before);
  if (look && relaxed()) step.before = seen(number, operation);
  if (!fence) {
    if (writer_.size() <= operation.cell) writer_.resize(operation.cell + 1, -1);
    step.source = source(number, operation.cell);
  }
  if (relaxed()) step.event.also = next.also = which_own(step);
  if (operation.tag == Tag::condition) step.signalled = signalled(operation.address);
  if (operation.tag <= Tag::vector && !fence) note_data_races(number, operation.cell);
  stores_to_locks |= operation.kind == Kind::st && (operation.tag == Tag::mutex || operation.tag == Tag::rwlock);
  if (operation.verb == Verb::try_lock && operation.tag == Tag::mutex)
    process.restart |= locking_together.note_trying(reinterpret_cast<const void*>(operation.address));
  process.step = static_cast<std::int32_t>(index);
  step.late = std::exchange(late_, -1);
  step.fatal = step.late >= 0 || survival.fatal();
  const bool watched = !step.fatal && known_.watch(moment_of(number), thread);
  if (!relaxed() && !step.fatal) [[likely]]
    process.resume(thread);
  else
    run_thread(number, index, step.fatal);
  if (process.restart || cells.changed) throw Restart{};
  check_new_cells();
  lives_end = lifetimes.ends_told && !relaxed();
  step.after = !look                                     ? 0
               : relaxed() && operation.kind == Kind::st ? buffers_.stores[number].back().value
                                                         : seen_by(operation);
  if (symmetry.on) watch_symmetry(thread, operation, step.after);
  if (process.restart) throw Restart{};
  count(step);
  if (process.count != next_.size() || step.operation.tag == Tag::thread) described_new_threads();
  bool exact = true;
  std::size_t fences = 0;
  if (thread.state == State::parked) {
    if (bounds_.waiting_counts) {
      if (step.quiet != 0) detect_spinning(number, step.quiet);
    } else if ((fences = fences_again(number)) != 0) {
      detect_spinning(number, fences);
    } else if (const LocalState local = waiting_state(thread); local.hash != 0) {
      exact = local.exact;
      step.local = exact ? local.hash : locals_.decide(past_of(index), local.hash);
      detect_idling(number);
    }
    describe(number);
  } else {
    standing_[number] = Standing::gone;
  }
  if (watched && fences == 0) learn(step, exact);  // what it is compared with is to be there
  return next;
}

// The operation of the step to come.
const Operation& Controlled::kept(const Operation& operation) {
  const std::size_t index = steps_.size();
  if (operations_.size() <= index) operations_.resize(index + 1);
  return operations_[index] = operation;
}

// Runs the program on to the thread's next operation. Under TSO and PSO it sees its own buffers, and what it stores
// goes into them.
void Controlled::run_thread(std::uint32_t number, std::size_t index, bool fatal) {
  Thread& thread = process.threads[number];
  if (fatal) return fail_instead(thread, index);
  if (!relaxed()) {
    process.resume(thread);
    return;
  }
  const Operation operation = thread.operation;
  auto& buffer = buffers_.stores[number];
  std::vector<Wide> covered;
  for (const Entry& entry : buffer) {
    covered.push_back(contents(entry.operation));
    if (!entry.dead) put(entry.operation, entry.value);
  }
  const bool stores = operation.kind == Kind::st && readable(operation.address);
  const Wide before = stores ? contents(operation) : 0;
  thread.stack.dead_below = 0;
  process.resume(thread);
  const auto dead = [&](const Operation& o) {
    if (operation.verb == Verb::free) return o.cell == operation.cell;
    return stack_owner(o.address) == number && o.address < thread.stack.dead_below;
  };
  const Wide stored = !stores ? 0 : dead(operation) ? thread.stack.last_stored : contents(operation);
  if (stores && !dead(operation)) put(operation, before);
  for (std::size_t i = buffer.size(); i-- > 0;) {
    if (!buffer[i].dead && !dead(buffer[i].operation)) put(buffer[i].operation, covered[i]);
    buffer[i].dead = buffer[i].dead || dead(buffer[i].operation);
  }
  if (operation.kind == Kind::sfence) ++buffers_.markers[number];
  if (operation.kind == Kind::st) check_parts(number, operation);
  if (operation.kind == Kind::st)
    buffer.push_back({operation, location(operation.place), stored, static_cast<std::int32_t>(index),
                      buffers_.markers[number], dead(operation)});
  if (operation.kind == Kind::st) buffer_agent(buffer.back(), number);
}

void Controlled::rewind(std::size_t length) {
  ahead_ = judged_ = listed_ = false;
  if (length < ends_.at) ends_ = {};
  failed_.reset();
  std::uint64_t back = 0;  // a bit for each thread that stands elsewhere now
  while (steps_.size() > length) {
    const Step& step = steps_.back();
    const Event& event = step.event;
    stale_ = stale_ || !step.known;
    if (!step.commit) {
      own_[step.thread].pop_back();
      last_[step.thread] = step.earlier;
      if (counts_visits_) [[unlikely]] {
        visits_[step.thread][visited_[step.thread].back()] -= !step.operation.part;
        visited_[step.thread].pop_back();
      }
    }
    if (relaxed()) {
      agent_steps_[event.thread].pop_back();
      enablers_.pop_back();
      in_memory_.pop_back();
    }
    if (step.changes()) writer_[event.address] = step.covers;
    if (!stale_) {
      take_back(step);
      back |= std::uint64_t{1} << step.thread;
    }
    steps_.pop_back();
  }
  if (process.tape.size() > length) process.tape.resize(length);
  snapshots_.drop(length);
  known_pasts_ = std::min(known_pasts_, length);
  look_now_and_then();
  if (stale_ || back == 0) return;
  behind_ = true;
  for (; back != 0; back &= back - 1) stand_again(static_cast<std::uint32_t>(std::countr_zero(back)));
}

// Of a step, or of what comes next: the program may have been run elsewhere since, to find out where a read leads.
const Operation& Controlled::operation_at(std::uint32_t number, std::size_t index) const {
  if (index < steps_.size()) return steps_[index].operation;
  catch_up();
  return process.threads[owner(number)].operation;
}

bool Controlled::would_write(std::uint32_t number, std::size_t index, std::size_t before) const {
  const Operation& operation = operation_at(number, index);
  if (operation.writes <= Writes::always) return operation.writes == Writes::always;
  return runtime::would_write(operation, held(before));
}

bool Controlled::possible(std::uint32_t number, std::size_t index, std::size_t before) const {
  const std::uint32_t thread = owner(number);
  const Operation& operation = operation_at(number, index);
  const Step& then = steps_[before];
  if (may_wait(operation)) return !goes_round(thread, index, value_before(thread, index, before));
  if (operation.tag == Tag::condition) return (then.signalled >> thread & 1U) != 0;
  if (operation.kind == Kind::lock)  // whoever took it found it free, or tried, or only looked
    return then.event.kind == Kind::lock ||
           (then.event.kind != Kind::unlock &&
            (operation.tag == Tag::mutex ? lets_lock(static_cast<std::uint32_t>(held(before))) : held(before) == 0));
  return satisfies(operation.needs, held(before));
}

// A cell found in memory that has ended: that should have been an event for it.
void Controlled::check_new_cells() {
  for (; known_cells_ < cells.size(); ++known_cells_) {
    const Cell& cell = cells[static_cast<std::uint32_t>(known_cells_)];
    if (cell.tag != Tag::thread && ended_unnoticed(cell.address, cell.tag)) throw Restart{};
  }
}

void Controlled::begin() {
  rewind(0);
  stale_ = true;
  known_.clear();
  spins_.clear();
  onward_.clear();
  locals_.clear();
}

void Controlled::forget() {
  steps_.clear();
  ends_ = {};
  ahead_ = judged_ = listed_ = symmetric_ = false;
  failed_.reset();
  known_pasts_ = 0;
  spins_.clear();
  onward_.clear();
  locals_.clear();
  asked_.clear();
  snapshots_.forget();
  known_.clear();
  learns_ = false;
  process.tape.clear();
  stale_ = true;
  behind_ = false;
  next_.clear();
  standing_.clear();
  own_.clear();
  last_.clear();
  sites_.clear();
  visited_.clear();
  visits_.clear();
  counts_visits_ = bounds_.loop_bound != kNoBound || endless_.follows();
  writer_.clear();
  agents_.clear();
  agent_numbers_.clear();
  agent_steps_.clear();
  ranked_.clear();
  enablers_.clear();
  in_memory_.clear();
  data_races_.clear();
  plainly_.clear();
  cuts_.clear();
  process.restart = false;
  cells.renumber();
  known_cells_ = cells.size();
}

}  // namespace teetotal::runtime
