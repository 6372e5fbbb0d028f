#include "symmetry.hpp"

#include <algorithm>
#include <span>

namespace teetotal::runtime {

namespace {

std::span<const Thread> threads() { return std::span(process.threads).first(process.count); }

// Whether some of a group were not joined.
bool joined_in_part(std::uint32_t group) {
  return group != 0 &&
         std::ranges::any_of(threads(), [&](const Thread& thread) { return thread.group == group && !thread.joined; });
}

}  // namespace

void find_twin(const Thread& self, Thread& child, void* (*routine)(void*), const void* argument, bool detached) {
  child.created_after = child.twin = child.group = 0;
  tell_apart(self);
  if (!symmetry.on || self.operation.verb != Verb::create) return;
  child.created_after = reinterpret_cast<const Thread*>(self.operation.address)->number;
  for (std::uint32_t number = child.created_after; number != 0; number = process.threads[number].created_after) {
    Thread& other = process.threads[number];
    if (other.routine != routine || other.argument != argument || other.detached != detached) continue;
    if (other.signals.blocked != self.signals.blocked) continue;
    if (other.group == 0) other.group = number;
    child.twin = number;
    child.group = other.group;
    return;
  }
}

void watch_join(const Thread& self, const Thread& joined, bool for_result) {
  if (!symmetry.on || joined.group == 0) return;
  const bool first =
      std::ranges::none_of(threads(), [&](const Thread& other) { return other.group == joined.group && other.joined; });
  const auto by_another = [&](const Thread& other) {
    return other.group == joined.group && other.joined && other.joined_by.thread != self.number;
  };
  if (for_result || self.group != 0 || (!first && self.operation.verb != Verb::join) ||
      std::ranges::any_of(threads(), by_another))
    tell_apart(joined);
}

void watch_symmetry(const Thread& thread, const Operation& done, Wide stored) {
  if (thread.group != 0) {
    const bool asked = (thread.asked.nondet | thread.asked.random | thread.asked.clock | thread.asked.changes) != 0 ||
                       !thread.specific.empty();
    const auto own = [&](Wide value) {
      const auto address = static_cast<std::uintptr_t>(value);
      return stack_owner(address) == thread.number || address - thread.tls < thread.tls_size;
    };
    const bool stores = done.kind != Kind::ld && is_data(done.tag);
    if (asked || (stores && (own(stored) || own(stored >> 64U)))) tell_apart(thread);
  }
  if (done.verb != Verb::join || (thread.state == State::parked && thread.operation.verb == Verb::join)) return;
  for (const Thread& joined : threads())
    if (joined.joined && joined.joined_by.thread == thread.number && joined_in_part(joined.group)) tell_apart(joined);
}

}  // namespace teetotal::runtime
