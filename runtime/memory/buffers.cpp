// The store buffers of a program under TSO and PSO, as agents of the search: see system.hpp.
#include <algorithm>

#include "system.hpp"

namespace teetotal::runtime {

std::uint32_t Controlled::agent(std::uint32_t thread, std::int64_t buffer) {
  if (!relaxed()) return thread;
  const auto [entry, fresh] = agent_numbers_.try_emplace({thread, buffer}, static_cast<std::uint32_t>(agents_.size()));
  if (fresh) {
    agents_.push_back({thread, buffer});
    agent_steps_.emplace_back();
  }
  return entry->second;
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
  if (bounds_.model != Model::pso || !is_data(store.tag) || !process.cells[store.cell].mixed) return;
  const auto overtakes = [&](const Entry& entry) {
    const Operation& other = entry.operation;
    return other.cell == store.cell && entry.markers == buffers_.markers[thread] &&
           (other.address + size_of(other.tag) <= store.address || store.address + size_of(store.tag) <= other.address);
  };
  if (!bounds_.semantics.rmw_flushes_all || std::ranges::any_of(buffers_.stores[thread], overtakes))
    process.weaken(
        "stores to parts of what is accessed in different sizes keep their order, which PSO does not ask for");
}

// Whether the thread's buffers hold nothing that must reach memory before the operation.
bool Controlled::flushed(std::uint32_t thread, Kind kind, const Operation& operation) const {
  const auto& buffer = buffers_.stores[thread];
  if (buffer.empty() || kind == Kind::ld || kind == Kind::st || kind == Kind::sfence || kind == Kind::fence)
    return true;
  if (kind == Kind::mfence || bounds_.model == Model::tso || operation.tag == Tag::thread) return false;
  if (bounds_.semantics.rmw_flushes_all || (kind == Kind::unlock && bounds_.semantics.unlock_is_fence)) return false;
  return std::ranges::none_of(buffer, [&](const Entry& entry) {
    return entry.markers < buffers_.markers[thread] || entry.operation.cell == operation.cell;
  });
}

// What must have reached memory before a thread does what flushes its buffers.
std::vector<std::int32_t> Controlled::latest_commits(std::uint32_t thread) const {
  std::vector<std::int32_t> commits;
  for (std::uint32_t agent = 0; agent < agents_.size(); ++agent)
    if (agents_[agent].thread == thread && agents_[agent].buffer != kThread && !agent_steps_[agent].empty())
      commits.push_back(static_cast<std::int32_t>(agent_steps_[agent].back()));
  return commits;
}

bool Controlled::commute(const Event& a, const Event& b) const {
  if (agents_[a.thread].thread != agents_[b.thread].thread || process.cells[a.address].size == 0) return false;
  return (a.kind == Kind::ld && b.kind == Kind::st) || (a.kind == Kind::st && b.kind == Kind::ld);
}

// The step that stored what a thread would see in a cell now: its own, where it was issued.
std::int32_t Controlled::source(std::uint32_t thread, std::uint32_t cell) const {
  const std::int32_t writer = writer_[cell];
  if (!relaxed()) return writer;
  for (auto entry = buffers_.stores[thread].rbegin(); entry != buffers_.stores[thread].rend(); ++entry)
    if (entry->operation.cell == cell && !entry->dead) return entry->issued;
  if (writer < 0) return writer;
  const Step& step = steps_[static_cast<std::size_t>(writer)];
  return step.commit && step.thread == thread ? step.operation.enabler : writer;
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

}  // namespace teetotal::runtime
