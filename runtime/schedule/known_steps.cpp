#include "known_steps.hpp"

#include <algorithm>
#include <cstring>

#include "hash.hpp"
#include "lifetimes.hpp"

namespace teetotal::runtime {

UntoldLoads untold_loads;

namespace {

constexpr std::uint64_t kTrial = 1 << 14;  // steps, after which what was learnt must have been of use

// An access to what is always there, and nothing else.
bool is_access(const Operation& operation) {
  if (is_fence(operation.kind) || operation.tag > Tag::oct || operation.part || operation.enabled != nullptr ||
      operation.decides())
    return false;
  if (!memory.in_object(operation.address) && !in_heap(operation.address)) return false;
  // A compare-and-swap that fails with the address of freed memory is told: addresses.hpp.
  return operation.writes <= Writes::always || !in_heap(static_cast<std::uintptr_t>(operation.expected));
}

}  // namespace

// Whether the operation that a thread stands before says all that the thread does next but for its own affairs.
bool KnownSteps::tells_all(const Thread& thread) {
  const Operation& operation = thread.operation;
  switch (operation.verb) {
    case Verb::none:
      return is_fence(operation.kind) ? !thread.calls : thread.single && is_access(operation);
    case Verb::begin:
    case Verb::create:
    case Verb::end:
      return operation.enabled == nullptr;
    case Verb::join:
      return operation.tag == Tag::thread && operation.waiting == Waiting::other;
    default:
      return false;
  }
}

bool KnownSteps::watch(std::uint32_t moment, const Thread& thread) {
  if (!on_ || moment == kUnknown || !tells_all(thread)) return false;
  if (thread.suspicion.address != 0 || signals.used || lifetimes.ends_told || program.show_output) return false;
  if (++learnt_ == kTrial && skipped_ < learnt_) {
    on_ = false;
    return false;
  }
  from_ = moment;
  known_ = next_of(moment, thread);
  expected_ = known_ != kUnknown && moments_[known_].skips && goes_well(known_, thread);
  value_ = value_for(thread);
  threads_.resize(std::max<std::size_t>(threads_.size(), process.count));
  for (std::uint32_t number = 0; number < process.count; ++number) threads_[number].take(process.threads[number]);
  records_.take();
  heap_ = memory.used();
  outside_ = libraries.changes;
  untold_ = process.untold;
  untold_loads.count = 0;
  return true;
}

// What such a step changes may differ from the copies; nothing else.
bool KnownSteps::changed_nothing_else(const Thread& thread, const Operation& done) {
  if (heap_ != memory.used() || outside_ != libraries.changes || process.untold != untold_ + untold_loads.count)
    return false;
  const bool creates = done.verb == Verb::create, over = thread.state != State::parked;
  const auto subject_of = [](const Operation& operation) {
    const bool other = operation.verb == Verb::create || operation.verb == Verb::join;
    return other ? reinterpret_cast<const Thread*>(operation.address)->number : kMaxThreads;
  };
  for (std::uint32_t number = 0; number < process.count; ++number) {
    const ThreadRecord& now = process.threads[number];
    if (creates && number == subject_of(done)) continue;
    if (!over && thread.operation.verb == Verb::create && number == subject_of(thread.operation)) continue;  // twins
    if (number >= threads_.size()) return false;
    Bytes<ThreadRecord>& then = threads_[number];
    if (number == thread.number) {
      if (over) continue;
      then.allow(&ThreadRecord::fiber, now);
      then.allow(&ThreadRecord::operation, now);
      then.allow(&ThreadRecord::single, now);
      then.allow(&ThreadRecord::stack_low, now);
      then.allow(&ThreadRecord::operand, now);
      then.allow(&ThreadRecord::rounds, now);
      then.allow(&ThreadRecord::waits_on, now);
      if (creates) then.allow(&ThreadRecord::creations, now);
      if (now.operation.verb == Verb::end) {
        then.allow(&ThreadRecord::exiting, now);
        then.allow(&ThreadRecord::stack_over, now);
        then.allow(&ThreadRecord::over, now);
        then.allow(&ThreadRecord::result, now);
      }
      if (done.verb == Verb::begin) {
        then.allow(&ThreadRecord::tls, now);
        then.allow(&ThreadRecord::tls_size, now);
        then.allow(&ThreadRecord::error, now);
        then.allow(&ThreadRecord::exceptions, now);
      }
    } else if (done.verb == Verb::join && number == subject_of(done)) {
      if (now.group != 0) return false;  // symmetry.hpp looks at those together
      then.allow(&ThreadRecord::joined, now);
      then.allow(&ThreadRecord::joined_by, now);
    }
    if (!then.same(now)) return false;
  }
  auto& scheduling = records_.of<ProcessRecord>();
  auto& ending = records_.of<EndingsRecord>();
  scheduling.allow(&ProcessRecord::step, process);
  if (creates) {
    scheduling.allow(&ProcessRecord::count, process);
    scheduling.allow(&ProcessRecord::unjoined, process);
    ending.allow(&EndingsRecord::living, endings);
  }
  if (done.verb == Verb::join) {
    scheduling.allow(&ProcessRecord::unjoined, process);
    scheduling.allow(&ProcessRecord::alone, process);
  }
  if (thread.state == State::exited) {
    const EndingsRecord& then = ending.then();
    if (then.exited || then.leaving != 0 || then.finalised || endings.at_exit != nullptr) return false;
    ending.allow(&EndingsRecord::exited, endings);
    ending.allow(&EndingsRecord::leaving, endings);
    ending.allow(&EndingsRecord::finalised, endings);
  }
  return records_.same();
}

const KnownSteps::Stand* KnownSteps::kept(const Stand& stand) {
  const Operation& operation = stand.operation;
  const std::uint64_t hash = mix(mix(mix(operation.place, operation.address), stand.event.thread), stand.local);
  for (auto [it, end] = by_hash_.equal_range(hash); it != end; ++it)
    if (*it->second == stand) return it->second;
  return by_hash_.emplace(hash, &stands_.emplace_back(stand))->second;
}

KnownSteps::Learnt KnownSteps::learn(const Thread& thread, const Operation& done, Wide after, const Event& next,
                                     std::uint32_t site, std::uint64_t local, bool exact) {
  const Learnt learnt = learn_stand(thread, done, after, next, site, local, exact);
  wrong_ = wrong_ || (expected_ && learnt.moment == kUnknown);  // it fails, stands before something else, does more
  return learnt;
}

KnownSteps::Learnt KnownSteps::learn_stand(const Thread& thread, const Operation& done, Wide after, const Event& next,
                                           std::uint32_t site, std::uint64_t local, bool exact) {
  const bool goes_on = thread.state == State::parked;
  const bool comes_to_end = thread.state == State::ended || thread.state == State::exited;
  if (!(goes_on || comes_to_end) || thread.failure != Failure::none || thread.suspicion.address != 0) return {};
  if (goes_on && !tells_all(thread)) return {};
  if (!changed_nothing_else(thread, done)) return {};
  // Remains of calls may be part of a local state, and differ: it is the one that was found first.
  if (!exact) local &= ~std::uint64_t{1};
  if (const std::uint64_t then = known_ == kUnknown ? 0 : moments_[known_].stand->local; !exact && then % 2 == 0)
    local = then == 0 ? local : then;
  const Stand* stand = kept({goes_on ? thread.operation : Operation{}, goes_on ? next : Event{}, thread.state,
                             thread.waits_on, thread.result, local, site});
  const auto left = static_cast<std::uint64_t>(after);
  const bool skippable = done.verb != Verb::create;
  if (known_ != kUnknown) {
    Moment& moment = moments_[known_];
    wrong_ = moment.stand != stand || moment.after != left || moment.end - moment.loads != untold_loads.count ||
             !std::equal(loads_.begin() + moment.loads, loads_.begin() + moment.end, untold_loads.loads.begin());
    moment.skips = skippable;
    return {known_, skippable};
  }
  std::size_t others = 0;
  for (std::uint32_t other = moments_[from_].first; other != 0; other = moments_[other].other) ++others;
  if (others >= kMostValues || moments_.size() >= kMost) return {};
  known_ = add({.value = value_.value,
                .after = left,
                .stand = stand,
                .unjoined = value_.unjoined,
                .other = moments_[from_].first,
                .loads = static_cast<std::uint32_t>(loads_.size()),
                .end = static_cast<std::uint32_t>(loads_.size() + untold_loads.count),
                .exits = thread.state == State::exited});
  loads_.insert(loads_.end(), untold_loads.loads.begin(), untold_loads.loads.begin() + untold_loads.count);
  moments_[from_].first = known_;
  return {known_, skippable};
}

}  // namespace teetotal::runtime
