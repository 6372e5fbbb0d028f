// What every step goes through, or its way back, whether it is run (system.cpp) or not (skipping.cpp): inlined there.
#pragma once

#include <utility>

#include "objects.hpp"
#include "survival.hpp"
#include "system.hpp"

namespace teetotal::runtime {

// An rmw may write what is there already. What is done to objects changes them, though it may write nothing to
// searches.
[[gnu::always_inline]] inline bool Controlled::changed_memory(const Step& step) const {
  const Operation& operation = step.operation;
  if (operation.kind == Kind::st) return true;
  if (!bounds_.waiting_counts && operation.verb != Verb::none && !may_wait(operation)) return true;
  if (!bounds_.waiting_counts && may_wait(operation) && step.kind() == Kind::rmw) return step.before != step.after;
  return step.changes();
}

// What follows from the latest step for those to come.
[[gnu::always_inline]] inline void Controlled::keep(Step& step) {
  const auto index = static_cast<std::uint32_t>(steps_.size() - 1);
  if (step.changes()) step.covers = std::exchange(writer_[step.event.address], static_cast<std::int32_t>(index));
  if (relaxed()) agent_steps_[step.event.thread].push_back(index);
}

// The latest step is one of its thread's.
[[gnu::always_inline]] inline void Controlled::count(Step& step) {
  auto& own = own_[step.thread];
  const Step* last = last_of(step.thread);
  step.quiet = changed_memory(step) ? 0 : last == nullptr ? 1 : last->quiet + 1;
  step.earlier = last_[step.thread];
  own.push_back(static_cast<std::uint32_t>(steps_.size() - 1));
  last_[step.thread] = static_cast<std::int32_t>(steps_.size() - 1);
  if (counts_visits_) [[unlikely]] {
    auto& visits = visits_[step.thread];
    const std::uint32_t site = sites_[step.thread];
    if (visits.size() <= site) visits.resize(site + std::size_t{1}, 0);
    visits[site] += !step.operation.part;
    visited_[step.thread].push_back(site);
  }
  if (own.size() >= bounds_.thread_steps && bounds_.loop_bound == kNoBound) [[unlikely]]
    learn_endless(step.thread);
  keep(step);
}

// Of a thread, by what it has seen; unknown where that may not be all.
[[gnu::always_inline]] inline std::uint32_t Controlled::moment_of(std::uint32_t number) {
  if (!known_.on() || Snapshots::interval == 0 || rewinds_ < bounds_.look) return KnownSteps::kUnknown;
  return last_[number] < 0 ? beginning_of(number) : last_of(number)->moment;
}

// Where the next step of a thread leads, if it need not be run.
[[gnu::always_inline]] inline std::uint32_t Controlled::known_step(std::uint32_t number) {
  if (looks_ || lives_end || survival.fatal_next()) return KnownSteps::kUnknown;
  return known_.find(moment_of(number), process.threads[number]);
}

// Takes the latest step back, which is no longer one of its thread's.
[[gnu::always_inline]] inline void Controlled::take_back(const Step& step) {
  Thread& thread = process.threads[step.thread];
  const bool plain_load = step.event.kind == Kind::ld;  // which is known to be nothing else: its operation may be far
  if (!plain_load && step.operation.verb == Verb::none && step.changes()) put(step.operation, step.before);
  if (!plain_load && step.operation.verb == Verb::join) {
    Thread& joined = *reinterpret_cast<Thread*>(step.operation.address);
    joined.joined = false;
    joined.joined_by = {};
    ++process.unjoined;
  }
  if (thread.state == State::ended) thread.end_step = -1;
  if (thread.state == State::exited) {
    endings.exited = endings.finalised = false;
    endings.leaving = 0;
  }
  thread.state = State::parked;
  if (last_[step.thread] < 0) thread.operation = step.operation;
}

}  // namespace teetotal::runtime
