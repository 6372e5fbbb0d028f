#include "outcomes.hpp"

#include <algorithm>
#include <new>

#include "hash.hpp"

namespace teetotal {

namespace {

constexpr std::size_t kMostBytes = 10;  // of a number

// Small ones, also below 0, in one byte, and larger ones in as many as they need: seven bits in each, the last below
// 128.
std::uint8_t* put_number(std::uint8_t* at, Value value) {
  auto left = static_cast<std::uint64_t>(value) << 1U ^ static_cast<std::uint64_t>(value >> 63U);
  for (; left >= 0x80; left >>= 7U) *at++ = static_cast<std::uint8_t>(left | 0x80U);
  *at++ = static_cast<std::uint8_t>(left);
  return at;
}

Value next_number(const std::uint8_t*& at) {
  std::uint64_t value = *at & 0x7FU;
  for (unsigned shift = 7; (*at++ & 0x80U) != 0; shift += 7) value |= std::uint64_t{*at & 0x7FU} << shift;
  return static_cast<Value>(value >> 1U ^ (0 - (value & 1U)));
}

}  // namespace

Outcomes::Outcomes(const Program& program, Model model, Semantics semantics, std::vector<Observable> observed)
    : locals_(program), model_(model), semantics_(semantics), observed_(std::move(observed)) {
  find_private_locations();
  State initial;
  for (std::uint32_t thread = 0; thread < locals_.threads(); ++thread) initial.locals.push_back(locals_.start(thread));
  initial.memory = program.memory;
  initial.buffers.resize(locals_.threads());
  insert(initial, 0, {0, ScheduleStep::kIssue});
}

void Outcomes::explore(std::uint64_t max_states, std::uint64_t max_bytes, const std::function<bool()>& stop) {
  try {
    explore_all(max_states, max_bytes, stop);
  } catch (const std::bad_alloc&) {
    full_ = true;
  }
  keep_findings();
}

void Outcomes::explore_all(std::uint64_t max_states, std::uint64_t max_bytes, const std::function<bool()>& stop) {
  constexpr std::size_t kPoll = 1 << 17;  // bytes: long buffers make states slow
  std::size_t polled = 0;
  while (next_ < states()) {
    if (states() >= max_states) return;
    const std::size_t taken = bytes();
    full_ = taken >= max_bytes;
    if (full_) return;
    if (taken >= polled) {
      if (stop()) return;
      polled = taken + kPoll;
    }
    expand(next_++);
  }
  complete_ = true;
}

// What is kept of all states and, of each outcome, what it takes to tell it, about.
std::size_t Outcomes::bytes() const {
  constexpr std::size_t kSoon = 1024;  // more states, before somebody asks again
  constexpr std::size_t kOutcome = 500, kObserved = 40, kNode = 40;
  return strings_.bytes() + places_.bytes() + parents_.bytes() + steps_.bytes() + known_.bytes(states() + kSoon) +
         locals_.bytes() + outcomes_.size() * (kOutcome + kObserved * observed_.size()) + restless_.size() * kNode;
}

// Gives back what is not needed any more: all but the ways to what was found, whose states are numbered anew.
void Outcomes::keep_findings() {
  strings_ = {};
  places_ = {};
  known_ = decltype(known_)();
  restless_ = {};
  std::vector<std::uint32_t> number;  // from 1; 0: not needed
  try {
    number.resize(states());
  } catch (const std::bad_alloc&) {
    return;  // then they stay
  }
  const auto need = [&](std::uint32_t state) {
    for (; number[state] == 0; state = parents_[state]) number[state] = 1;
  };
  need(0);
  for (const Outcome& outcome : outcomes_) need(outcome.state);
  for (const Failure& failure : failures_) need(failure.state);
  if (deadlock_) need(*deadlock_);
  if (livelock_) need(*livelock_);
  std::uint32_t kept = 0;
  for (std::uint32_t state = 0; state < states(); ++state) {
    if (number[state] == 0) continue;
    parents_[kept] = number[parents_[state]] - 1;
    steps_[kept] = steps_[state];
    number[state] = ++kept;
  }
  parents_.shorten(kept);
  steps_.shorten(kept);
  for (Outcome& outcome : outcomes_) outcome.state = number[outcome.state] - 1;
  for (Failure& failure : failures_) failure.state = number[failure.state] - 1;
  if (deadlock_) deadlock_ = number[*deadlock_] - 1;
  if (livelock_) livelock_ = number[*livelock_] - 1;
}

std::vector<ScheduleStep> Outcomes::schedule(std::uint32_t state) const {
  std::vector<ScheduleStep> steps;
  for (; state != 0; state = parents_[state]) steps.push_back(steps_[state]);
  std::ranges::reverse(steps);
  return steps;
}

// A location is private where every access to it is written with a constant address, in one thread.
void Outcomes::find_private_locations() {
  const Program& program = locals_.program();
  constexpr std::int64_t kNobody = -1, kSeveral = -2;
  std::vector<std::int64_t> user(program.memory.size(), kNobody);
  for (std::uint32_t thread = 0; thread < locals_.threads(); ++thread) {
    for (const Instruction& instruction : program.threads[thread].code) {
      if (instruction.address.empty()) continue;
      if (instruction.address.size() > 1 || instruction.address[0].op != Op::constant) {
        std::ranges::fill(user, kSeveral);
        break;
      }
      const auto address = static_cast<std::size_t>(instruction.address[0].operand - 1);
      if (address >= user.size()) continue;
      user[address] = user[address] == kNobody || user[address] == thread ? thread : kSeveral;
    }
  }
  for (const std::int64_t who : user) private_.push_back(who != kSeveral);
}

void Outcomes::expand(std::uint32_t index) {
  State& state = current_;
  load(index, state);
  if (!livelock_ && hangs(state)) livelock_ = index;
  for (std::uint32_t thread = 0; thread < locals_.threads(); ++thread) {
    if (alone(state, thread) && take(state, index, {thread, ScheduleStep::kIssue}, 0)) return;
    if (commit_alone(state, thread)) {
      const std::int32_t address =
          model_ == Model::pso ? static_cast<std::int32_t>(state.buffers[thread][0].address) : ScheduleStep::kCommit;
      if (take(state, index, {thread, address}, 0)) return;
    }
  }
  bool stuck = true;
  for (std::uint32_t thread = 0; thread < locals_.threads(); ++thread) {
    if (enabled(state, thread)) {
      stuck = false;
      take(state, index, {thread, ScheduleStep::kIssue}, 0);
    }
    const auto& buffer = state.buffers[thread];
    for (std::size_t position = 0; position < buffer.size() && buffer[position].address != kMarker; ++position) {
      if (position > 0 && buffer[position].address == buffer[position - 1].address) continue;  // not its oldest
      stuck = false;
      if (model_ == Model::tso) {
        take(state, index, {thread, ScheduleStep::kCommit}, 0);
        break;
      }
      take(state, index, {thread, static_cast<std::int32_t>(buffer[position].address)}, position);
    }
  }
  if (stuck) finish(state, index);
}

// Whether the thread's next request can happen now.
bool Outcomes::enabled(const State& state, std::uint32_t thread) const {
  const Local& local = locals_.at(thread, state.locals[thread]);
  if (local.status != Status::running) return false;
  const auto& buffer = state.buffers[thread];
  const auto flushed = [&](bool everything) {
    if (everything || model_ == Model::tso) return buffer.empty();
    // What an atomic writes is a later store of its thread, so it stays behind an sfence too.
    return std::ranges::none_of(
        buffer, [&](const Entry& entry) { return entry.address == local.address || entry.address == kMarker; });
  };
  switch (local.kind) {
    case Kind::mfence:
      return buffer.empty();
    case Kind::rmw:
      return flushed(semantics_.rmw_flushes_all);
    case Kind::unlock:
      return flushed(semantics_.rmw_flushes_all || semantics_.unlock_is_fence);
    case Kind::lock:
      return flushed(semantics_.rmw_flushes_all) && state.memory[local.address] == 0;
    default:
      return true;
  }
}

// Whether the thread's next request commutes with everything else, now and later.
bool Outcomes::alone(const State& state, std::uint32_t thread) const {
  const Local& local = locals_.at(thread, state.locals[thread]);
  if (!enabled(state, thread)) return false;
  switch (local.kind) {
    case Kind::st:
      return model_ != Model::sc || private_[local.address];
    case Kind::ld:
    case Kind::rmw:
      return private_[local.address];
    case Kind::mfence:
    case Kind::sfence:
    case Kind::fence:
      return true;
    default:
      return false;
  }
}

bool Outcomes::commit_alone(const State& state, std::uint32_t thread) const {
  const auto& buffer = state.buffers[thread];
  return !buffer.empty() && private_[buffer[0].address];  // a marker never heads a buffer
}

bool Outcomes::take(const State& from, std::uint32_t index, ScheduleStep step, std::size_t position) {
  State& to = successor_;  // copied into memory that is already there
  to = from;
  if (step.address == ScheduleStep::kIssue)
    issue(to, step.thread);
  else
    commit(to, step.thread, position);
  return insert(to, index, step);
}

void Outcomes::issue(State& state, std::uint32_t thread) {
  const LocalId id = state.locals[thread];
  const Local local = locals_.at(thread, id);
  auto& buffer = state.buffers[thread];
  Value response = 0;
  switch (local.kind) {
    case Kind::st: {
      if (model_ == Model::sc) {
        state.memory[local.address] = local.value;
        break;
      }
      std::size_t position = buffer.size();
      if (model_ == Model::pso)
        while (position > 0 && buffer[position - 1].address != kMarker && buffer[position - 1].address > local.address)
          --position;
      buffer.insert(buffer.begin() + static_cast<std::ptrdiff_t>(position), Entry{local.address, local.value});
      break;
    }
    case Kind::ld: {
      response = state.memory[local.address];
      for (const Entry& entry : buffer)
        if (entry.address == local.address) response = entry.value;  // the youngest wins
      break;
    }
    case Kind::sfence:
      if (model_ == Model::pso && !buffer.empty() && buffer.back().address != kMarker) buffer.push_back({kMarker, 0});
      break;
    case Kind::mfence:
    case Kind::fence:
      break;
    case Kind::rmw: {
      response = state.memory[local.address];
      if (const auto written = locals_.rmw(thread, id, response)) state.memory[local.address] = *written;
      break;
    }
    case Kind::lock:
      state.memory[local.address] = 1;
      break;
    case Kind::unlock:
      state.memory[local.address] = 0;
      break;
  }
  state.locals[thread] = locals_.update(thread, id, response);
}

void Outcomes::commit(State& state, std::uint32_t thread, std::size_t position) const {
  auto& buffer = state.buffers[thread];
  const Entry entry = buffer[position];
  buffer.erase(buffer.begin() + static_cast<std::ptrdiff_t>(position));
  if (!buffer.empty() && buffer[0].address == kMarker) buffer.erase(buffer.begin());
  state.memory[entry.address] = entry.value;
}

// Nothing can happen any more: an outcome, a run that was cut or failed, or a deadlock.
void Outcomes::finish(const State& state, std::uint32_t index) {
  bool ended = true, waiting = false, stopped = false, cut = false;
  for (std::uint32_t thread = 0; thread < locals_.threads(); ++thread) {
    const Status status = locals_.at(thread, state.locals[thread]).status;
    ended = ended && status == Status::ended;
    cut = cut || status == Status::cut;
    waiting = waiting || status == Status::running;
    stopped = stopped || (status != Status::running && status != Status::ended);
  }
  cut_ += cut;
  if (waiting && !stopped && !deadlock_) deadlock_ = index;
  if (!ended) return;
  std::vector<Value> values;
  for (const Observable& what : observed_) {
    if (what.thread < 0)
      values.push_back(state.memory[what.index]);
    else {
      const auto thread = static_cast<std::uint32_t>(what.thread);
      values.push_back(locals_.registers(thread, state.locals[thread])[what.index]);
    }
  }
  const std::uint64_t hash = hash_words(values);
  const auto [first, last] = outcome_by_hash_.equal_range(hash);
  if (std::any_of(first, last, [&](const auto& known) { return outcomes_[known.second].values == values; })) return;
  outcome_by_hash_.emplace(hash, static_cast<std::uint32_t>(outcomes_.size()));
  outcomes_.push_back({std::move(values), index});
}

// Whether every thread that has not ended goes round a loop for ever, or waits for a mutex that nobody will release.
bool Outcomes::hangs(const State& state) {
  bool spins = false;
  for (std::uint32_t thread = 0; thread < locals_.threads(); ++thread) {
    const Local& local = locals_.at(thread, state.locals[thread]);
    if (!state.buffers[thread].empty()) return false;
    if (local.status == Status::ended) continue;
    if (local.status != Status::running) return false;
    if (local.kind == Kind::lock && state.memory[local.address] != 0) continue;
    if (!local.may_wait) return false;
    spins = true;
  }
  if (!spins) return false;
  const auto memory = [&](std::uint32_t address) { return std::optional(state.memory[address]); };
  for (std::uint32_t thread = 0; thread < locals_.threads(); ++thread) {
    if (locals_.at(thread, state.locals[thread]).status == Status::ended) continue;
    const std::uint64_t where = mix(hash_words(state.memory), thread);
    std::vector<std::uint64_t> passed;
    const Alone how = run_alone(locals_, thread, state.locals[thread], memory, [&](LocalId at) {
      passed.push_back(mix(where, at));
      return restless_.contains(passed.back());
    });
    if (how == Alone::unknown) {
      if (restless_.size() > kMostRestless) restless_.clear();
      restless_.insert(passed.begin(), passed.end());
    }
    if (how != Alone::goes_round && how != Alone::locked_out) return false;
  }
  return true;
}

// A state as numbers: locals, memory, then for each thread its number of entries and the entries.
bool Outcomes::insert(const State& state, std::uint32_t parent, ScheduleStep step) {
  std::size_t numbers = state.locals.size() + state.memory.size() + state.buffers.size();
  for (const auto& buffer : state.buffers) numbers += 2 * buffer.size();
  scratch_.resize(std::max(scratch_.size(), numbers * kMostBytes));
  std::uint8_t* end = scratch_.data();
  for (const LocalId id : state.locals) end = put_number(end, id);
  for (const Value value : state.memory) end = put_number(end, value);
  for (const auto& buffer : state.buffers) {
    end = put_number(end, static_cast<Value>(buffer.size()));
    for (const Entry& entry : buffer) {
      end = put_number(end, entry.address == kMarker ? -1 : Value{entry.address});
      end = put_number(end, entry.value);
    }
  }
  const std::span<const std::uint8_t> string(scratch_.data(), end);
  known_.make_room(states(), [](Known other) { return other.hash; });
  const auto hash = static_cast<std::uint32_t>(hash_bytes(string));
  Known& there = known_.at(
      hash, [&](Known other) { return other.hash == hash && strings_.begins(places_[other.index()], string); });
  if (!there.free()) return false;
  const std::uint32_t index = states_;
  places_.push_back(strings_.add(string));
  parents_.push_back(parent);
  steps_.push_back(step);
  there = {index + 1, hash};
  ++states_;  // only now: memory may have ended on the way
  const auto report = [&](std::uint32_t thread) {
    const Local& local = locals_.at(thread, state.locals[thread]);
    if (local.status != Status::failed && local.status != Status::wild) return;
    for (const Failure& known : failures_)
      if (known.thread == thread && known.instruction == local.pc && known.status == local.status) return;
    failures_.push_back({thread, local.pc, local.status, index});
  };
  if (index != 0)
    report(step.thread);  // only that thread moved
  else
    for (std::uint32_t thread = 0; thread < locals_.threads(); ++thread) report(thread);
  return true;
}

void Outcomes::load(std::uint32_t index, State& state) const {
  const std::uint8_t* at = strings_.at(places_[index]);
  state.locals.resize(locals_.threads());
  for (LocalId& id : state.locals) id = static_cast<LocalId>(next_number(at));
  state.memory.resize(locals_.program().memory.size());
  for (Value& value : state.memory) value = next_number(at);
  state.buffers.resize(locals_.threads());
  for (auto& buffer : state.buffers) {
    buffer.resize(static_cast<std::size_t>(next_number(at)));
    for (Entry& entry : buffer) {
      entry.address = static_cast<std::uint32_t>(next_number(at));
      entry.value = next_number(at);
    }
  }
}

}  // namespace teetotal
