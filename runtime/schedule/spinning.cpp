// With `--waiting count`: when a thread's loop only waits. And always, when it only fences: nothing that others do can
// get it out of that.
//
// A thread whose last iteration came back to the same local state, wrote nothing and saw in every read the same write
// as the iteration before stops for the rest of this execution. The local state is all of the thread's stack, its
// registers, its thread-local variables, errno and its data by key, compared by a hash that is made only where the
// events of two iterations are equal. A search without reduction lets it go on once something that it read has changed.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "hash_memory.hpp"
#include "system.hpp"

namespace teetotal::runtime {

namespace {

constexpr std::size_t kLongestIteration = 64;
std::uint64_t local_state(const Thread& thread) {
  std::uint64_t hash =
      mix(mix(mix(thread.asked.nondet, thread.asked.random), thread.asked.clock), thread.asked.changes);
  hash = hash_range(hash, reinterpret_cast<std::uintptr_t>(thread.fiber.stack_pointer), stack_top(thread.number));
  if (thread.tls != 0) hash = hash_range(hash, thread.tls, thread.tls + thread.tls_size);
  if (thread.error != nullptr) hash = mix(hash, static_cast<std::uint64_t>(*thread.error));
  hash = mix(hash, reinterpret_cast<std::uintptr_t>(thread.at_end));
  for (const auto& [key, value] : thread.specific) hash = mix(mix(hash, key), reinterpret_cast<std::uintptr_t>(value));
  return hash | 1;
}

}  // namespace

// Of a spinning thread: whether something that its last iteration read has been written since.
bool Controlled::sees_changes(std::uint32_t thread) const {
  const auto& own = own_[thread];
  const std::size_t length = steps_[own.back()].spin;
  for (std::size_t i = own.size() - length; i < own.size(); ++i) {
    const Step& step = steps_[own[i]];
    if (!is_fence(step.operation.kind) && source(thread, step.operation.cell) != step.source) return true;
  }
  return false;
}

// What its thread did before, what it does itself, and the past of the write that it sees or comes behind. Few steps
// are asked for theirs: it is made then, with those of the steps before. It is the same in every process
// (explorer.cpp).
std::uint64_t Controlled::past_of(std::size_t index) {
  for (; known_pasts_ <= index; ++known_pasts_) {
    Step& step = steps_[known_pasts_];
    const Event& event = step.event;
    const auto past = [&](std::int32_t of) { return of < 0 ? step.thread : steps_[static_cast<std::size_t>(of)].past; };
    const std::uint64_t where = mix(is_fence(event.kind) ? 0 : step.operation.address, step.operation.place);
    const auto how = static_cast<std::uint64_t>(event.kind) << 1U | event.writes;
    const std::uint64_t seen = is_fence(event.kind) ? 0 : past(step.source);
    step.past = mix(mix(past(step.earlier), where), std::rotl(seen, 32) + how);
    if (more_enable)
      for (const std::int32_t enabling : more_enablers(known_pasts_)) step.past += past(enabling);
    step.past |= 1;  // 0 stands for none
  }
  return steps_[index].past;
}

bool Controlled::same_events(std::uint32_t thread, std::size_t length) const {
  const auto& own = own_[thread];
  for (std::size_t i = own.size() - length; i < own.size(); ++i) {
    const Step &now = steps_[own[i]], &earlier = steps_[own[i - length]];
    if (now.event.location != earlier.event.location || now.event.kind != earlier.event.kind) return false;
    if (!is_fence(now.event.kind) && (now.event.address != earlier.event.address || now.source != earlier.source))
      return false;
  }
  return true;
}

void Controlled::detect_spinning(std::uint32_t thread, std::size_t quiet) {
  const auto& own = own_[thread];
  Step& last = steps_.back();
  std::uint32_t found = 0;
  bool compared = false;
  for (std::size_t length = 1; length <= kLongestIteration && 2 * length <= quiet && found == 0; ++length) {
    if (!same_events(thread, length)) continue;
    if (last.local == 0) last.local = local_state(process.threads[thread]);
    const std::uint64_t earlier = steps_[own[own.size() - 1 - length]].local;
    compared = compared || earlier != 0;
    if (last.local == earlier) found = static_cast<std::uint32_t>(length);
  }
  last.spin = compared ? spins_.decide(past_of(steps_.size() - 1), static_cast<std::uint8_t>(found)) : found;
}

// How many of its latest steps are fences, or marks, where it stands before one of these again.
std::size_t Controlled::fences_again(std::uint32_t number) const {
  const Thread& thread = process.threads[number];
  if (!passes_by(thread.operation) || thread.calls) return 0;
  const auto& own = own_[number];
  std::size_t count = 0;
  bool again = false;
  for (; count < own.size(); ++count) {
    const Operation& before = steps_[own[own.size() - 1 - count]].operation;
    if (!passes_by(before)) break;
    again = again || before.place == thread.operation.place;
  }
  return again ? count : 0;
}

}  // namespace teetotal::runtime
