#include "system.hpp"

#include <algorithm>

#include "hash.hpp"

namespace teetotal::runtime {

namespace {

constexpr std::size_t kLongestIteration = 64;

// Whether the scheduler may look at an address without risk.
bool readable(std::uintptr_t address) {
  if (process.memory.in_object(address) || in_heap(address)) return true;
  const std::uint32_t owner = stack_owner(address);
  if (owner < kMaxThreads) return (address - kStacks) % kStackStride >= 4096;
  return of_program(reinterpret_cast<const void*>(address));
}

std::uint64_t hash_range(std::uint64_t hash, std::uintptr_t begin, std::uintptr_t end) {
  for (std::uintptr_t at = begin / 8 * 8; at + 8 <= end; at += 8) hash = mix(hash, *reinterpret_cast<const std::uint64_t*>(at) + 0x9E37);
  return hash;
}

std::uint64_t local_state(const Thread& thread) {
  std::uint64_t hash = mix(mix(thread.nondet, thread.random), thread.clock);
  hash = hash_range(hash, reinterpret_cast<std::uintptr_t>(thread.fiber.stack_pointer), stack_top(thread.number));
  if (thread.tls != 0) hash = hash_range(hash, thread.tls, thread.tls + thread.tls_size);
  return hash | 1;
}

}  // namespace

std::uint32_t Controlled::threads() const {
  const_cast<Controlled*>(this)->catch_up();
  return process.count;
}

std::uint32_t Controlled::location(std::uintptr_t place) {
  const auto [entry, fresh] = locations_.try_emplace(place, static_cast<std::uint32_t>(places_.size()));
  if (fresh) places_.push_back(place);
  return entry->second;
}

// What the thread stands before, for the searches.
void Controlled::describe(std::uint32_t thread) {
  const Operation& operation = process.threads[thread].operation;
  next_[thread] = {thread, operation.kind, operation.writes == Writes::always, operation.cell, location(operation.place)};
}

void Controlled::described_new_threads() {
  while (next_.size() < process.count) {
    next_.emplace_back();
    own_.emplace_back();
    visits_.emplace_back();
  }
  for (std::uint32_t thread = 0; thread < process.count; ++thread)
    if (process.threads[thread].state == State::parked && own_[thread].empty()) describe(thread);
}

Pending Controlled::pending(std::uint32_t number) const {
  const_cast<Controlled*>(this)->catch_up();
  const Thread& thread = process.threads[number];
  if (thread.state != State::parked) return {Readiness::stopped, {}};
  Event event = next_[number];
  const Operation& operation = thread.operation;
  if (operation.writes > Writes::always)
    event.writes = runtime::would_write(operation, readable(operation.address) ? seen_by(operation) : 0);
  if (operation.enabled != nullptr && !operation.enabled(thread))
    return {operation.waiting == Waiting::lock ? Readiness::waiting : Readiness::stopped, event};
  if (cut(number) || (spinning(number) && !sees_changes(number))) return {Readiness::stopped, event};
  return {Readiness::enabled, event};
}

bool Controlled::cut(std::uint32_t thread) const {
  if (steps_.size() >= bounds_.steps) return true;
  const std::uint32_t at = next_[thread].location;
  return at < visits_[thread].size() && visits_[thread][at] >= bounds_.loop_bound;
}

bool Controlled::spinning(std::uint32_t thread) const {
  return !own_[thread].empty() && steps_[own_[thread].back()].spin != 0;
}

// Whether a spinning thread may go on: something that its last iteration read has been written since.
bool Controlled::sees_changes(std::uint32_t thread) const {
  if (!bounds_.spinners_wake) return false;
  const auto& own = own_[thread];
  const std::size_t length = steps_[own.back()].spin;
  for (std::size_t i = own.size() - length; i < own.size(); ++i) {
    const Step& step = steps_[own[i]];
    if (!is_fence(step.event.kind) && writer_[step.event.address] != step.source) return true;
  }
  return false;
}

Event Controlled::execute(std::uint32_t number) {
  catch_up();
  Thread& thread = process.threads[number];
  const std::size_t index = steps_.size();
  Step step;
  step.event = pending(number).event;
  step.operation = thread.operation;
  const bool fence = is_fence(step.event.kind);
  const bool look = !fence && readable(step.operation.address);
  if (step.operation.tag == Tag::thread && step.operation.waiting == Waiting::other)
    step.operation.enabler = static_cast<const Thread*>(thread.waits_on)->end_step;
  if (look) step.before = seen_by(step.operation);
  process.step = static_cast<std::int32_t>(index);
  process.resume(thread);
  if (process.restart || process.cells.changed) throw Restart{};
  check_freed_cells();
  step.after = look ? seen_by(step.operation) : 0;

  const auto& own = own_[number];
  step.quiet = step.event.writes ? 0 : own.empty() ? 1 : steps_[own.back()].quiet + 1;
  if (!fence) {
    if (writer_.size() <= step.event.address) {
      writer_.resize(step.event.address + 1, -1);
      writers_.resize(step.event.address + 1);
    }
    std::int32_t& writer = writer_[step.event.address];
    step.source = writer;
    if (step.event.writes) {
      writers_[step.event.address].push_back(writer);
      writer = static_cast<std::int32_t>(index);
    }
  }
  steps_.push_back(step);
  own_[number].push_back(static_cast<std::uint32_t>(index));
  auto& visits = visits_[number];
  if (visits.size() <= step.event.location) visits.resize(step.event.location + 1, 0);
  ++visits[step.event.location];
  described_new_threads();
  if (thread.state == State::parked) {
    describe(number);
    if (!step.event.writes) detect_spinning(number);
  } else if (thread.failure != Failure::none) {
    failed_.push_back(number);
  }
  return step.event;
}

void Controlled::rewind(std::size_t length) {
  while (steps_.size() > length) {
    const Event& event = steps_.back().event;
    own_[event.thread].pop_back();
    --visits_[event.thread][event.location];
    if (event.writes) {
      writer_[event.address] = writers_[event.address].back();
      writers_[event.address].pop_back();
    }
    steps_.pop_back();
  }
  stale_ = true;
}

// Runs the program again up to the step at hand.
void Controlled::catch_up() {
  if (!stale_) return;
  stale_ = false;
  failed_.clear();
  process.reset();
  process.resume(process.threads[0]);
  if (process.threads[0].failure != Failure::none) failed_.push_back(0);
  for (std::size_t index = 0; index < steps_.size(); ++index) {
    const Step& step = steps_[index];
    Thread& thread = process.threads[step.event.thread];
    const Operation& operation = thread.operation;
    if (thread.state != State::parked || operation.place != step.operation.place || operation.address != step.operation.address ||
        operation.kind != step.operation.kind)
      throw Nondeterministic("the program did something else when it was run again in the same way");
    process.step = static_cast<std::int32_t>(index);
    process.resume(thread);
    if (thread.failure != Failure::none) failed_.push_back(step.event.thread);
  }
  if (process.restart || process.cells.changed) throw Restart{};
  described_new_threads();
  for (std::uint32_t thread = 0; thread < process.count; ++thread)
    if (process.threads[thread].state == State::parked) describe(thread);
}

bool Controlled::would_write(std::size_t index, std::size_t before) const {
  return runtime::would_write(steps_[index].operation, steps_[before].before);
}

Ending Controlled::ending() const {
  Ending ending;
  for (std::uint32_t number = 0; number < process.count; ++number) {
    const Thread& thread = process.threads[number];
    ending.blocked = ending.blocked || thread.state == State::parked || thread.state == State::stopped;
    ending.cut = ending.cut || (process.enabled(thread) && cut(number));
  }
  return ending;
}

// Whether those threads that have not ended can never go on.
Stuck Controlled::stuck() const {
  bool any = false, spins = false;
  if (process.exited) return Stuck::no;
  for (std::uint32_t number = 0; number < process.count; ++number) {
    const Thread& thread = process.threads[number];
    if (thread.state == State::ended || thread.state == State::unborn) continue;
    if (thread.state == State::stopped) return Stuck::no;
    any = true;
    if (!process.enabled(thread)) continue;
    if (cut(number) || !spinning(number)) return Stuck::no;
    const auto& own = own_[number];
    for (std::size_t i = own.size() - steps_[own.back()].spin; i < own.size(); ++i) {
      const Step& step = steps_[own[i]];
      if (!is_fence(step.event.kind) && writer_[step.event.address] != step.source) return Stuck::no;
    }
    spins = true;
  }
  return !any ? Stuck::no : spins ? Stuck::livelock : Stuck::deadlock;
}

bool Controlled::same_events(std::uint32_t thread, std::size_t length) const {
  const auto& own = own_[thread];
  for (std::size_t i = own.size() - length; i < own.size(); ++i) {
    const Step &now = steps_[own[i]], &earlier = steps_[own[i - length]];
    if (now.event.location != earlier.event.location || now.event.kind != earlier.event.kind) return false;
    if (!is_fence(now.event.kind) && (now.event.address != earlier.event.address || now.source != earlier.source)) return false;
  }
  return true;
}

void Controlled::detect_spinning(std::uint32_t thread) {
  const auto& own = own_[thread];
  Step& last = steps_.back();
  for (std::size_t length = 1; length <= kLongestIteration && 2 * length <= last.quiet; ++length) {
    if (!same_events(thread, length)) continue;
    if (last.local == 0) last.local = local_state(process.threads[thread]);
    if (last.local == steps_[own[own.size() - 1 - length]].local) {
      last.spin = static_cast<std::uint32_t>(length);
      return;
    }
  }
}

// A cell found in a block that was freed: freeing it should have been a write to that cell.
void Controlled::check_freed_cells() {
  for (; known_cells_ < process.cells.size(); ++known_cells_) {
    const Cell& cell = process.cells[static_cast<std::uint32_t>(known_cells_)];
    if (cell.size != 0 && process.freed.contains(process.memory.block(cell.address).address)) throw Restart{};
  }
}

void Controlled::forget() {
  steps_.clear();
  stale_ = true;
  next_.clear();
  own_.clear();
  visits_.clear();
  writer_.clear();
  writers_.clear();
  process.restart = false;
  process.cells.renumber();
  known_cells_ = process.cells.size();
}

}  // namespace teetotal::runtime
