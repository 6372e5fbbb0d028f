// Steps that are not run, since it is known what they do (known_steps.hpp), and are taken back without running
// anything.
//
// What others can see of a step is put in its place: memory, the operation that its thread stands before, the end of a
// thread. What they cannot see is left behind (`behind_`) until a step is to be run that is not known.
#include <algorithm>
#include <bit>
#include <utility>

#include "survival.hpp"
#include "system.hpp"

namespace teetotal::runtime {

// Of a thread, by what it has seen; unknown where that may not be all.
std::uint32_t Controlled::moment_of(std::uint32_t number) {
  if (!known_.on() || process.snapshots == 0 || rewinds_ < bounds_.look) return KnownSteps::kUnknown;
  return own_[number].empty() ? beginning_of(number) : steps_[own_[number].back()].moment;
}

std::uint32_t Controlled::beginning_of(std::uint32_t number) {
  if (number == 0) return KnownSteps::kBeginning;
  const std::int32_t creation = process.threads[number].operation.enabler;
  return creation < 0 ? KnownSteps::kUnknown : known_.created_at(steps_[static_cast<std::size_t>(creation)].moment);
}

// Where the next step of a thread leads, if it need not be run.
std::uint32_t Controlled::known_step(std::uint32_t number) {
  if (looks_ || lives_end || survival.fatal_next()) return KnownSteps::kUnknown;
  return known_.find(moment_of(number), process.threads[number]);
}

// As execute_thread, of a step that leads there.
Event Controlled::skip(std::uint32_t number, std::uint32_t known) {
  Thread& thread = process.threads[number];
  const KnownSteps::Moment& moment = known_[known];
  const KnownSteps::Stand& stand = *moment.stand;
  const std::size_t index = steps_.size();
  const auto& own = own_[number];
  const Operation& before = own.empty() ? kept(thread.operation) : known_.stand(steps_[own.back()].moment).operation;
  Step& step = steps_.emplace_back(next_[number], number, before);
  const Operation& operation = step.operation;
  step.moment = known;
  step.known = true;
  survival.fatal();  // it counts
  if (follows_twin(number)) {
    step.enabler = twins_step(number);
    symmetric_ = true;
  }
  if (!is_fence(operation.kind)) step.source = source(number, operation.cell);
  if (operation.verb == Verb::none && !is_fence(operation.kind)) {
    step.sees = operation.kind != Kind::st;
    step.before = seen_by(operation);
    step.after = moment.after;
    if (operation.writes > Writes::always) step.event.writes = runtime::would_write(operation, step.before);
    if (operation.writes != Writes::never) put(operation, step.after);
    note_data_races(number);
  } else if (operation.verb == Verb::join) {
    Thread& joined = *reinterpret_cast<Thread*>(operation.address);
    step.enabler = joined.end_step;
    joined.joined = true;
    joined.joined_by = {number, operation.place};
    --process.unjoined;
  }
  thread.state = stand.state;
  if (thread.state == State::ended) thread.end_step = static_cast<std::int32_t>(index);
  if (thread.state == State::exited) process.exited = true;
  behind_ = true;
  known_.expect_next(moment);
  count(step);
  step.local = stand.local;
  if (step.local % 2 == 0 && step.local != 0) step.local = locals_.decide(past_of(index), step.local | 1U);
  if (step.local != 0) detect_idling(number);
  stand_again(number);
  return step.event;
}

// Takes the latest step back, which is no longer one of its thread's.
void Controlled::take_back(const Step& step) {
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
    process.exited = process.finalised = false;
    process.leaving = 0;
  }
  thread.state = State::parked;
  if (own_[step.thread].empty()) thread.operation = step.operation;
}

// A thread stands where its latest step has led it.
void Controlled::stand_again(std::uint32_t number) {
  Thread& thread = process.threads[number];
  if (thread.state != State::parked) {
    standing_[number] = Standing::gone;
    return;
  }
  if (!own_[number].empty()) {
    const KnownSteps::Stand& stand = known_.stand(steps_[own_[number].back()].moment);
    thread.operation = stand.operation;
    thread.waits_on = stand.waits_on;
    thread.result = stand.result;
    next_[number] = stand.event;
    if (!cut(number)) {
      standing_[number] = standing_of(number);
      asked_[number].known = false;
      return;
    }
  }
  describe(number);
}

void Controlled::learn(Step& step, bool exact) {
  const Thread& thread = process.threads[step.thread];
  const Event next = event_of(thread.operation, step.thread);
  const auto learnt = known_.learn(thread, step.operation, step.after, next, step.local, exact);
  step.moment = learnt.moment;
  step.known = learnt.plain;
  if (known_.wrong()) distrust();
}

// Some executions are run, whatever is known: to see that it is so, and to learn what was not learnt at first.
void Controlled::look_now_and_then() {
  if (!known_.on()) return;
  constexpr std::uint64_t kTrial = 4096;  // after so many, more than half of the executions must do without the program
  looks_ = ++rewinds_ % bounds_.look == 0;
  if (rewinds_ >= kTrial && std::has_single_bit(rewinds_) && 4 * std::exchange(run_up_, 0) > rewinds_) known_.stop();
  if (!looks_ || !std::has_single_bit(rewinds_)) return;
  learns_ = std::ranges::any_of(steps_, [](const Step& step) { return step.moment == KnownSteps::kUnknown; });
  stale_ = stale_ || learns_;
}

// The same from the beginning, to learn from each step. What is done but once (memory for what is found for good, a new
// cell) looks like more than a step when it is first run.
void Controlled::learn_again() {
  begin_anew();
  for (std::size_t index = 0; index < steps_.size(); ++index) {
    Step& step = steps_[index];
    const Thread& thread = process.threads[step.thread];
    const std::uint32_t from =
        step.earlier >= 0 ? steps_[static_cast<std::size_t>(step.earlier)].moment : beginning_of(step.thread);
    const bool watched = !step.fatal && known_.watch(from, thread);
    run_step(index);
    if (!watched) continue;
    const LocalState local = thread.state == State::parked ? waiting_state(thread) : LocalState{};
    learn(step, local.exact);
  }
}

// Runs the threads that were left behind up to where they should be.
void Controlled::run_up() {
  ++run_up_;
  const std::vector<Event> next = next_;
  const std::vector<Standing> standing = standing_;
  run_again();
  for (std::size_t thread = 0; thread < next.size(); ++thread)
    if (standing_[thread] != standing[thread] ||
        (standing_[thread] != Standing::gone && !(next_[thread] == next[thread])))
      distrust();
}

// The program depends on more than is known. The search begins again, and finds out for itself.
void Controlled::distrust() const {
  process.weaken("a thread that had seen the same did not do the same");
  const_cast<Controlled*>(this)->known_.stop();
  throw Restart{};
}

}  // namespace teetotal::runtime
