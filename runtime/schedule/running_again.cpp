// The program, brought to where the search stands: a search takes steps back as it likes (Controlled::rewind), a
// program only goes on. So it begins anew, or at the last snapshot (snapshots.hpp), and does again what is left of its
// steps; those must come out as before (expect_as_before), or what was found out of them is worth nothing.

#include <algorithm>
#include <utility>

#include "system.hpp"

namespace teetotal::runtime {

// Runs the program again up to the step at hand.
void Controlled::run_again() {
  stale_ = behind_ = false;
  if (std::exchange(learns_, false)) {
    learn_again();
  } else {
    run_to(steps_.size());
  }
  arrive();
}

// To main, without any snapshot.
void Controlled::begin_anew() {
  buffers_ = {};
  process.tape.clear();
  process.tape_next = 0;
  process.reset();
  process.resume(process.threads[0]);
}

// Only the program: what is known of threads is what it was.
void Controlled::run_to(std::size_t length) {
  const bool restored = snapshots_.restore(length);
  const std::size_t begin = restored ? snapshots_.steps() : 0;
  restored_ += restored;
  if (relaxed()) buffers_ = restored ? kept_buffers_[snapshots_.depth() - 1] : Buffers{};
  process.tape.resize(std::min(process.tape.size(), begin));
  process.tape_next = begin;
  if (!restored) {
    process.reset();
    process.resume(process.threads[0]);
  }
  for (std::size_t index = begin; relaxed() && index < length; ++index) run_step(index);
  while (!relaxed() && process.tape_next < length) {
    run_tape(std::min(length, std::max(snapshots_.due(), process.tape_next + 1)));
    if (process.tape_next < length) snapshots_.consider(process.tape_next);
  }
}

// Does steps again, up to so many.
void Controlled::run_tape(std::size_t length) {
  while (process.tape.size() < length) {
    const Step& step = steps_[process.tape.size()];
    process.tape.push_back({step.thread, step.operation.kind, step.operation.place, step.operation.address, step.fatal,
                            step.sees, step.before});
  }
  while (process.tape_next < length) {
    Thread& thread = process.threads[process.tape[process.tape_next].thread];
    expect_as_before(steps_[process.tape_next]);
    process.step = static_cast<std::int32_t>(process.tape_next++);
    run_thread(thread.number, process.tape_next - 1, process.tape[process.tape_next - 1].fatal);
  }
}

void Controlled::run_through(const std::function<void(const Step&)>& look) {
  stale_ = true;  // should it not come to its end
  begin_anew();
  for (std::size_t index = 0; index < steps_.size(); ++index) {
    look(steps_[index]);
    run_step(index);
  }
  arrive();
  stale_ = behind_ = false;
}

// Does a step again, if the program stands before it.
void Controlled::run_step(std::size_t index) {
  const Step& step = steps_[index];
  process.step = static_cast<std::int32_t>(index);
  if (step.commit) return run_commit(step.thread, agents_[step.event.thread].buffer);
  expect_as_before(step);
  run_thread(step.thread, index, step.fatal);
}

// All steps have been done again.
void Controlled::arrive() {
  if (process.restart || cells.changed) throw Restart{};
  described_new_threads();
  std::ranges::fill(standing_, Standing::gone);
  for (std::uint32_t thread = 0; thread < process.count; ++thread)
    if (process.threads[thread].state == State::parked) describe(thread);
}

}  // namespace teetotal::runtime
