// Steps that are not run, since it is known what they do (known_steps.hpp), and are taken back without running
// anything.
//
// What others can see of a step is put in its place: memory, the operation that its thread stands before, the end of a
// thread. What they cannot see is left behind (`behind_`) until a step is to be run that is not known.
#include <algorithm>
#include <bit>
#include <utility>

#include "counting.hpp"
#include "survival.hpp"
#include "system.hpp"

namespace teetotal::runtime {

std::uint32_t Controlled::beginning_of(std::uint32_t number) {
  if (number == 0) return KnownSteps::kBeginning;
  const std::int32_t creation = process.threads[number].operation.enabler;
  return creation < 0 ? KnownSteps::kUnknown : known_.created_at(steps_[static_cast<std::size_t>(creation)].moment);
}

// The thread whose latest step that is stands where that has led it.
[[gnu::always_inline]] inline void Controlled::stand_behind(const Step& last, const KnownSteps::Stand& stand) {
  const std::uint32_t number = last.thread;
  Thread& thread = process.threads[number];
  thread.operation = stand.operation;
  thread.waits_on = stand.waits_on;
  thread.result = stand.result;
  next_[number] = stand.event;
  if (counts_visits_) [[unlikely]]
    sites_[number] = stand.site;
  if (cut(number, &last)) [[unlikely]]
    return describe_at(number, stand.site);
  standing_[number] = standing_of(number, last.local);
  asked_[number].known = false;
}

// As execute_thread, of a step that leads there.
Event Controlled::skip(std::uint32_t number, std::uint32_t known) {
  Thread& thread = process.threads[number];
  const KnownSteps::Moment& moment = known_[known];
  const KnownSteps::Stand& stand = *moment.stand;
  const std::size_t index = steps_.size();
  const Step* last = last_of(number);
  const Operation& before = last == nullptr ? kept(thread.operation) : known_.stand(last->moment).operation;
  Step& step = steps_.emplace_back(next_[number], number, before);
  const Operation& operation = step.operation;
  step.moment = known;
  step.known = true;
  survival.fatal();  // it counts
  if (follows_twin(number)) {
    step.enabler = twins_step(number);
    symmetric_ = true;
  }
  if (!is_fence(operation.kind)) step.source = writer_[operation.cell];
  if (operation.tag == Tag::thread) {
    step.before = seen_by(operation);
    step.after = moment.after;
  }
  if (operation.verb == Verb::none && !is_fence(operation.kind)) {
    step.sees = operation.kind != Kind::st;
    step.before = seen_by(operation);
    step.after = moment.after;
    if (operation.writes > Writes::always) step.event.writes = runtime::would_write(operation, step.before);
    if (operation.writes != Writes::never) put(operation, step.after);
    note_data_races(number, operation.cell);
  } else if (operation.verb == Verb::join) {
    Thread& joined = *reinterpret_cast<Thread*>(operation.address);
    step.enabler = joined.end_step;
    joined.joined = true;
    joined.joined_by = {number, operation.place};
    --process.unjoined;
  }
  thread.state = stand.state;
  if (thread.state == State::ended) thread.end_step = static_cast<std::int32_t>(index);
  if (thread.state == State::exited) endings.exited = true;
  behind_ = true;
  known_.expect_next(moment);
  count(step);
  step.local = stand.local;
  if (step.local % 2 == 0 && step.local != 0) step.local = locals_.decide(past_of(index), step.local | 1U);
  if (step.local != 0) detect_idling(number);
  if (thread.state == State::parked)
    stand_behind(step, stand);
  else
    standing_[number] = Standing::gone;
  return step.event;
}

// A thread stands where its latest step has led it.
void Controlled::stand_again(std::uint32_t number) {
  Thread& thread = process.threads[number];
  if (thread.state != State::parked) {
    standing_[number] = Standing::gone;
    return;
  }
  if (const Step* last = last_of(number))
    stand_behind(*last, known_.stand(last->moment));
  else
    describe(number);
}

void Controlled::learn(Step& step, bool exact) {
  const Thread& thread = process.threads[step.thread];
  const Event next = event_of(thread.operation, step.thread);
  const std::uint32_t site = thread.state == State::parked ? site_of(step.thread) : 0;
  const auto learnt = known_.learn(thread, step.operation, step.after, next, site, step.local, exact);
  step.moment = learnt.moment;
  step.known = learnt.plain;
  if (known_.wrong()) distrust();
}

// Some executions are run, whatever is known: to see that it is so, and to learn what was not learnt at first.
void Controlled::look_now_and_then() {
  if (!known_.on()) return;
  constexpr std::uint64_t kTrial = 4096;  // after so many, more than half of the executions must do without the program
  ++rewinds_;
  looks_ = rewinds_ % (rewinds_ < kTrial ? bounds_.look : 4 * std::uint64_t{bounds_.look}) == 0;
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
    if (!watched || (thread.state == State::parked && fences_again(step.thread) != 0)) continue;
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
  remarks.weaken("a thread that had seen the same did not do the same");
  const_cast<Controlled*>(this)->known_.stop();
  throw Restart{};
}

}  // namespace teetotal::runtime
