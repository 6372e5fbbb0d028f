// The end of an execution in which nothing is left but ends of threads, joins of main's, and the end of the process:
// where it is known what these do, they are no steps.
//
// They depend on none of other threads but each other, so no race has one of them in it, and no monitor asks about
// them: an execution without them is as good (docs/explanation/exploration.md, Lemma 4). That is so unless somebody
// looks whether a thread has ended (pthread_tryjoin_np): then all ends are steps. What main does once all others are
// joined is part of the last join: it reads memory, and is known only where it reads the same (known_steps.hpp).
#include "counting.hpp"
#include "system.hpp"

namespace teetotal::runtime {

namespace {

bool is_end(const Operation& operation) { return operation.verb == Verb::end || operation.verb == Verb::join; }

}  // namespace

bool Controlled::nothing_but_ends(std::uint32_t number) {
  if (!is_end(process.threads[number].operation) || looks_for_ends_ || runs_ends_ || relaxed() || looks_ || lives_end ||
      ahead_ || stale_ || !known_.on() || survival.fatal_next())
    return false;
  const std::uint32_t count = process.count;
  if (steps_.size() + 2 * std::size_t{count} >= bounds_.steps) return false;
  for (std::uint32_t other = number + 1; other < count; ++other)  // nobody before it can go on
    if (standing_[other] != Standing::gone && process.threads[other].operation.verb != Verb::end && goes_on(other))
      return false;
  if (find_ends()) return true;
  ends_ = {};
  return false;
}

// Whether it is known what all ends do. Joins are main's: others' are steps like any other.
bool Controlled::find_ends() {
  ends_ = {.at = steps_.size()};
  for (std::uint32_t number = 1; number < process.count; ++number) {
    if (standing_[number] == Standing::gone) continue;
    const Operation& operation = process.threads[number].operation;
    if (operation.verb == Verb::join) return false;
    if (operation.verb != Verb::end) continue;  // it waits
    if (standing_[number] != Standing::ready || !take_end(number, moment_of(number), nullptr, 0)) return false;
  }
  return standing_[0] == Standing::gone || !is_end(process.threads[0].operation) || end_main();
}

// Main joins those who have ended, one after the other, and ends if it has joined all that it will.
bool Controlled::end_main() {
  const Thread& main = process.threads[0];
  const Operation* operation = &main.operation;
  const void* waits_on = main.waits_on;
  std::uint32_t moment = moment_of(0), unjoined = process.unjoined;
  std::uint64_t joins = 0;  // a bit for each thread
  for (; operation->verb == Verb::join; --unjoined) {
    if (operation->tag != Tag::thread || operation->waiting != Waiting::other) return false;
    const auto& joined = *static_cast<const Thread*>(waits_on);
    if (joined.state != State::ended && !as_good_as_ended(joined.number)) {
      ends_.main_waits = joins != 0;
      return true;
    }
    const bool again = joined.joined || joined.detached || (joins >> joined.number & 1U) != 0;
    if (again || !take_end(0, moment, joined.result, unjoined)) return false;
    joins |= std::uint64_t{1} << joined.number;
    moment = ends_.last;
    const KnownSteps::Stand& stand = known_.stand(moment);
    if (stand.state != State::parked) return true;  // what is done while nobody else is there is no step
    operation = &stand.operation;
    waits_on = stand.waits_on;
  }
  return operation->verb == Verb::end && take_end(0, moment, nullptr, 0);
}

// The end, or the join, that a thread comes to from a moment is one of those that are left out, if it is known.
bool Controlled::take_end(std::uint32_t number, std::uint32_t from, const void* result, std::uint32_t unjoined) {
  ends_.last = known_.find_end(from, result, unjoined);
  if (ends_.last == KnownSteps::kUnknown) return false;
  ++ends_.count;
  const State state = known_.stand(ends_.last).state;
  if (state != State::parked) ends_.threads |= std::uint64_t{1} << number;
  ends_.exits = ends_.exits || state == State::exited;
  return true;
}

void Controlled::run_ends() {
  for (std::uint32_t left = ends_left(); left > 0; --left) execute(next_enabled(0));
}

}  // namespace teetotal::runtime
