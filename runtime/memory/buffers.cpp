// The store buffers of a program under TSO and PSO, as agents of the search: see system.hpp.
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <tuple>

#include "counting.hpp"
#include "lifetimes.hpp"
#include "system.hpp"

namespace teetotal::runtime {

std::uint32_t Controlled::buffered_agent(std::uint32_t thread, std::int64_t buffer) {
  const auto number = static_cast<std::uint32_t>(agents_.size());
  const auto [entry, fresh] = agent_numbers_.try_emplace(Agent{thread, buffer}, number);
  if (fresh) {
    agents_.push_back({thread, buffer});
    agent_steps_.emplace_back();
    const auto rank = [&](std::uint32_t agent) {
      const auto& [owner, which] = agents_[agent];
      const std::uint64_t cell = which < 0 ? 0 : cells.name(static_cast<std::uint32_t>(which));
      return std::tuple{which != kThread, owner, cell};
    };
    ranked_.insert(std::ranges::upper_bound(ranked_, rank(number), {}, rank), number);
  }
  return entry->second;
}

void Controlled::forget_agents() {
  if (!relaxed()) return;
  stale_ = true;  // whoever is there at the beginning is met again
  agents_.clear();
  agent_numbers_.clear();
  agent_steps_.clear();
  ranked_.clear();
}

std::uint32_t Controlled::number_of(const Agent& named) {
  if (named.thread >= kMaxThreads || (!relaxed() && named.buffer != kThread))
    throw std::invalid_argument("not a part of this search");
  return agent(named.thread, named.buffer);
}

std::uint32_t Controlled::buffer_agent(const Entry& entry, std::uint32_t thread) {
  return agent(thread, bounds_.model == Model::tso ? kWhole : static_cast<std::int64_t>(entry.operation.cell));
}

std::uint32_t Controlled::agent_for(std::uint32_t thread, bool commit, std::int64_t cell) {
  catch_up();
  return agent(thread, !commit ? kThread : bounds_.model == Model::tso ? kWhole : cell);
}

// The store that the buffer can commit now, if any.
const Controlled::Entry* Controlled::committable(const Agent& agent) const {
  const auto& buffer = buffers_.stores[agent.thread];
  if (buffer.empty()) return nullptr;
  if (agent.buffer == kWhole) return &buffer.front();
  std::uint32_t oldest = buffer.front().markers;
  for (const Entry& entry : buffer) oldest = std::min(oldest, entry.markers);
  for (const Entry& entry : buffer)
    if (static_cast<std::int64_t>(entry.operation.cell) == agent.buffer)
      return entry.markers == oldest ? &entry : nullptr;
  return nullptr;
}

// Under PSO a cell has one buffer. Where it is accessed in different sizes, stores to parts that do not overlap could
// overtake each other, and do not.
void Controlled::check_parts(std::uint32_t thread, const Operation& store) const {
  if (bounds_.model != Model::pso || !is_data(store.tag) || !cells[store.cell].mixed) return;
  const auto overtakes = [&](const Entry& entry) {
    const Operation& other = entry.operation;
    return other.cell == store.cell && entry.markers == buffers_.markers[thread] &&
           (other.address + size_of(other.tag) <= store.address || store.address + size_of(store.tag) <= other.address);
  };
  if (!bounds_.semantics.rmw_flushes_all || std::ranges::any_of(buffers_.stores[thread], overtakes))
    remarks.weaken(
        "stores to parts of what is accessed in different sizes keep their order, which PSO does not ask for");
}

// Which stores of a thread must have reached memory before an operation that it does now.
Controlled::Flushes Controlled::flushes(Kind kind, const Operation& operation) const {
  if (kind == Kind::ld || kind == Kind::st || kind == Kind::sfence || kind == Kind::fence) return Flushes::none;
  if (kind == Kind::mfence || bounds_.model == Model::tso || operation.tag == Tag::thread) return Flushes::all;
  if (bounds_.semantics.rmw_flushes_all || (kind == Kind::unlock && bounds_.semantics.unlock_is_fence))
    return Flushes::all;
  return Flushes::address;
}

// Whether the thread's buffers hold nothing that must reach memory before the operation.
bool Controlled::flushed(std::uint32_t thread, Kind kind, const Operation& operation) const {
  const auto& buffer = buffers_.stores[thread];
  const Flushes which = flushes(kind, operation);
  if (buffer.empty() || which != Flushes::address) return buffer.empty() || which == Flushes::none;
  return std::ranges::none_of(buffer, [&](const Entry& entry) {
    return entry.markers < buffers_.markers[thread] || entry.operation.cell == operation.cell;
  });
}

// The latest commits that had to come before the operation for that. Others that came have nothing to do with it.
std::vector<std::int32_t> Controlled::flushing(std::uint32_t thread, Kind kind, const Operation& operation) const {
  std::vector<std::int32_t> commits;
  const Flushes which = flushes(kind, operation);
  if (which == Flushes::none) return commits;
  for (std::uint32_t agent = 0; agent < agents_.size(); ++agent) {
    if (agents_[agent].thread != thread || agents_[agent].buffer == kThread) continue;
    const bool whole = which == Flushes::all || agents_[agent].buffer == static_cast<std::int64_t>(operation.cell);
    const auto& steps = agent_steps_[agent];
    const auto needed = [&](std::uint32_t i) { return whole || steps_[i].markers < buffers_.markers[thread]; };
    if (const auto latest = std::ranges::find_if(steps.rbegin(), steps.rend(), needed); latest != steps.rend())
      commits.push_back(static_cast<std::int32_t>(*latest));
  }
  return commits;
}

bool Controlled::commute(const Event& a, const Event& b) const {
  if (agents_[a.thread].thread != agents_[b.thread].thread || cells[a.address].size == 0) return false;
  return (a.kind == Kind::ld && b.kind == Kind::st) || (a.kind == Kind::st && b.kind == Kind::ld);
}

std::uint32_t Controlled::buffer_of(const Event& load) const {
  const std::int64_t buffer = bounds_.model == Model::tso ? kWhole : static_cast<std::int64_t>(load.address);
  return agent_numbers_.at({agents_[load.thread].thread, buffer});
}

// Event::own of a step about to be done: of a store the number that it gets, of a load that of its thread's store that
// it sees, whole.
std::uint8_t Controlled::which_own(const Step& step) const {
  const Operation& operation = step.operation;
  if (operation.kind == Kind::st) {
    const std::int64_t buffer = bounds_.model == Model::tso ? kWhole : static_cast<std::int64_t>(operation.cell);
    const auto agent = agent_numbers_.find({step.thread, buffer});
    if (agent == agent_numbers_.end()) return 1;
    std::size_t number = agent_steps_[agent->second].size() + 1;
    for (const Entry& entry : buffers_.stores[step.thread])
      number += buffer == kWhole || static_cast<std::int64_t>(entry.operation.cell) == buffer;
    return number <= std::numeric_limits<std::uint8_t>::max() ? static_cast<std::uint8_t>(number) : 0;
  }
  return step.source < 0 || step.event.writes ? 0 : which_own(operation, step.thread, step.source);
}

std::uint8_t Controlled::which_own(const Operation& load, std::uint32_t thread, std::int32_t issued) const {
  const Step& store = steps_[static_cast<std::size_t>(issued)];
  const Operation& seen = store.operation;
  if (load.kind != Kind::ld || load.verb != Verb::none || store.commit || store.thread != thread) return 0;
  if (seen.kind != Kind::st || !is_data(load.tag) || cells[load.cell].size == 0) return 0;
  const bool whole =
      seen.address <= load.address && load.address + size_of(load.tag) <= seen.address + size_of(seen.tag);
  return whole ? store.event.own() : 0;
}

std::uint8_t Controlled::own_before(std::uint32_t as, std::size_t index, std::size_t before) const {
  const std::uint32_t thread = agents_[as].thread;
  const Operation& load = operation_at(as, index);
  const auto& own = own_[thread];
  for (auto at = std::ranges::lower_bound(own, static_cast<std::uint32_t>(index)); at != own.begin();) {
    const std::uint32_t issued = *--at;
    const Step& store = steps_[issued];
    if (store.operation.kind != Kind::st || store.operation.cell != load.cell) continue;
    const std::uint8_t number = which_own(load, thread, static_cast<std::int32_t>(issued));
    if (number == 0) return 0;
    const auto& commits = agent_steps_[buffer_of(Event{.thread = as, .address = load.cell})];
    if (commits.size() < number || commits[number - 1U] >= before) return number;
    return steps_[before].source == static_cast<std::int32_t>(commits[number - 1U]) ? number : 0;
  }
  return 0;
}

// The step that stored what a thread would see in a cell now: its own, where it was issued.
std::int32_t Controlled::source(std::uint32_t thread, std::uint32_t cell) const {
  const std::int32_t writer = writer_[cell];
  if (!relaxed()) return writer;
  for (auto entry = buffers_.stores[thread].rbegin(); entry != buffers_.stores[thread].rend(); ++entry)
    if (entry->operation.cell == cell && !entry->dead) return entry->issued;
  if (writer < 0) return writer;
  const Step& step = steps_[static_cast<std::size_t>(writer)];
  return step.commit && step.thread == thread ? step.enabler : writer;
}

bool Controlled::first_half(std::size_t index) const {
  const Step& step = steps_[index];
  const Operation& look = step.operation;
  if (step.commit || look.kind != Kind::ld || look.verb == Verb::none) return false;
  const auto& own = own_[step.thread];
  const auto next = std::ranges::upper_bound(own, static_cast<std::uint32_t>(index));
  const Operation& then = next != own.end() ? steps_[*next].operation : process.threads[step.thread].operation;
  return then.part && then.kind == Kind::rmw && then.verb == look.verb && then.address == look.address &&
         then.place == look.place;
}

// What a thread would see now, in its own buffers or in memory.
Wide Controlled::seen(std::uint32_t thread, const Operation& operation) const {
  if (!is_data(operation.tag)) return in_view_of(thread, [&] { return seen_by(operation); });
  Wide value = seen_by(operation);
  for (const Entry& entry : buffers_.stores[thread])
    if (entry.operation.cell == operation.cell && !entry.dead) value = entry.value;
  return value;
}

// The thread of a step that is run again must stand before the same operation, and see the same.
void Controlled::expect_as_before(const Step& step) const {
  const Thread& thread = process.threads[step.thread];
  const Operation &then = step.operation, &now = thread.operation;
  if (thread.state != State::parked) throw Nondeterministic{thread.born, then, std::nullopt};
  if (now.place != then.place || now.address != then.address || now.kind != then.kind)
    throw Nondeterministic{thread.born, then, now};
  if (!step.sees) return;
  if (const Wide value = seen(step.thread, now); value != step.before)
    throw Nondeterministic{thread.born, then, now, step.before, value};
}

Event Controlled::execute_commit(const Agent& agent, std::uint32_t as) {
  const Entry entry = *committable(agent);
  std::vector<std::int32_t> enablers;
  const Event event{as, Kind::st, true, {}, 0, entry.operation.cell, entry.location};
  Step& step = steps_.emplace_back(event, agent.thread, kept(entry.operation));
  step.commit = true;
  step.enabler = entry.issued;
  step.before = readable(entry.operation.address) ? seen_by(entry.operation) : 0;
  in_memory_.push_back(step.before);
  step.after = entry.value;
  step.markers = entry.markers;
  for (std::uint32_t other = 0; other < agents_.size(); ++other) {  // stores before an sfence come first (PSO)
    if (other == as || agents_[other].thread != agent.thread || agents_[other].buffer == kThread) continue;
    const auto& commits = agent_steps_[other];
    const auto before = std::ranges::find_if(commits.rbegin(), commits.rend(),
                                             [&](std::uint32_t i) { return steps_[i].markers < entry.markers; });
    if (before != commits.rend()) enablers.push_back(static_cast<std::int32_t>(*before));
  }
  step.source = writer_[entry.operation.cell];
  step.earlier = entry.issued;
  process.step = static_cast<std::int32_t>(steps_.size() - 1);
  run_commit(agent.thread, agent.buffer);
  enablers_.push_back(std::move(enablers));
  keep(step);
  return step.event;
}

void Controlled::run_commit(std::uint32_t number, std::int64_t which) {
  auto& buffer = buffers_.stores[number];
  const auto entry = which == kWhole ? buffer.begin() : std::ranges::find_if(buffer, [&](const Entry& e) {
    return static_cast<std::int64_t>(e.operation.cell) == which;
  });
  const Operation& operation = entry->operation;
  std::optional<Fault> fault = fault_at_commit(process.threads[number], operation.address);
  if (!fault && !entry->dead) fault = fault_of_store(operation);
  if (fault)
    buffers_.failed.push_back({number, *fault, operation.told_place(), process.step});
  else if (!entry->dead && readable(operation.address))
    put(operation, entry->value);
  note_stored(operation);
  buffer.erase(entry);
}

}  // namespace teetotal::runtime
