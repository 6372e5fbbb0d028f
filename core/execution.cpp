#include "execution.hpp"

#include <algorithm>
#include <iterator>

#include "hash.hpp"

namespace teetotal {

Execution::Execution(const Program& program, Semantics semantics, Waiting waiting, std::vector<std::int32_t> twins)
    : locals_(program),
      semantics_(semantics),
      waiting_(waiting),
      twins_(std::move(twins)),
      halted_(program.threads.size(), Halt::no),
      by_thread_(program.threads.size()),
      visits_(program.threads.size()),
      use_(program.memory.size(), Use::unknown) {
  twins_.resize(threads(), -1);
  std::uint32_t instructions = 0;
  for (std::uint32_t thread = 0; thread < threads(); ++thread) {
    current_.push_back(locals_.start(thread));
    first_instruction_.push_back(instructions);
    instructions += static_cast<std::uint32_t>(program.threads[thread].code.size());
  }
  for (const Value value : program.memory) memory_.push_back({value, kInitial});
}

Event Execution::described(std::uint32_t thread, const Local& local) const {
  const auto failure = static_cast<std::uint8_t>(local.failure);
  return Event{thread, local.kind, false, local.order, failure, local.address, location(thread, local.pc)};
}

Pending Execution::pending(std::uint32_t thread) const {
  const Local& local = locals_.at(thread, current_[thread]);
  Event event = described(thread, local);
  if (local.status != Status::running || halted_[thread] != Halt::no) return {Readiness::stopped, event};
  if (follows_twin(thread, local) && first_step(static_cast<std::uint32_t>(twins_[thread])) < 0)
    return {Readiness::stopped, event};
  switch (local.kind) {
    case Kind::ld:
    case Kind::mfence:
    case Kind::sfence:
    case Kind::fence:
      break;
    case Kind::rmw:
      event.writes = semantics_.failed_cas_writes ||
                     locals_.rmw(thread, current_[thread], memory_[local.address].value).has_value();
      break;
    default:
      event.writes = true;
  }
  return {waits_now(thread, local) ? Readiness::waiting : Readiness::enabled, event};
}

bool Execution::enabled(std::uint32_t thread) const {
  const Local& local = locals_.at(thread, current_[thread]);
  if (local.status != Status::running || halted_[thread] != Halt::no) return false;
  if (follows_twin(thread, local) && first_step(static_cast<std::uint32_t>(twins_[thread])) < 0) return false;
  return !waits_now(thread, local);
}

// Whether a thread that does the same as another stands before its first step: fences conflict with nothing.
bool Execution::follows_twin(std::uint32_t thread, const Local& local) const {
  return twins_[thread] >= 0 && !is_fence(local.kind) && first_step(thread) < 0;
}

std::int32_t Execution::first_step(std::uint32_t thread) const {
  for (const std::size_t index : by_thread_[thread])
    if (!is_fence(steps_[index].event.kind)) return static_cast<std::int32_t>(index);
  return -1;
}

std::vector<std::int32_t> Execution::awaited(std::uint32_t thread) const {
  if (!follows_twin(thread, locals_.at(thread, current_[thread]))) return {};
  return {first_step(static_cast<std::uint32_t>(twins_[thread]))};
}

bool Execution::waits_now(std::uint32_t thread, const Local& local) const {
  if (local.kind == Kind::lock) return memory_[local.address].value != 0;
  if (!local.may_wait || waiting_ == Waiting::count) return false;
  return completes_round(thread, by_thread_[thread].size(), is_fence(local.kind) ? 0 : memory_[local.address].value);
}

Event Execution::execute(std::uint32_t thread) {
  const LocalId before = current_[thread];
  const Local local = locals_.at(thread, before);
  const std::size_t index = steps_.size();
  Step step{described(thread, local), before};
  Event& event = step.event;
  Value read = 0;
  bool changed = false;
  if (!is_fence(event.kind)) {
    check_mutex_use(event);
    Cell& cell = memory_[event.address];
    step.overwritten = cell;
    if (reads(event)) read = cell.value;
    event.writes = true;
    switch (event.kind) {
      case Kind::ld:
        event.writes = false;
        break;
      case Kind::rmw: {
        const std::optional<Value> written = locals_.rmw(thread, before, cell.value);
        event.writes = written || semantics_.failed_cas_writes;
        cell.value = written.value_or(cell.value);
        break;
      }
      default:
        cell.value = event.kind == Kind::st ? local.value : event.kind == Kind::lock ? 1 : 0;
    }
    if (event.writes) cell.writer = static_cast<std::int64_t>(index);
    const bool silent = event.kind == Kind::rmw && waiting_ == Waiting::skip && cell.value == read;
    changed = event.writes && !silent;
  }
  auto& own = by_thread_[thread];
  step.quiet = changed ? 0 : own.empty() ? 1 : steps_[own.back()].quiet + 1;
  step.may_wait = local.may_wait && waiting_ == Waiting::skip;
  if (follows_twin(thread, local)) step.enabler = first_step(static_cast<std::uint32_t>(twins_[thread]));
  current_[thread] = locals_.update(thread, before, read);
  if (step.may_wait) {
    auto& visits = visits_[thread];
    if (visits.size() <= local.standing) visits.resize(local.standing + std::size_t{1});
    visits[local.standing].push_back(static_cast<std::uint32_t>(own.size()));
  }
  own.push_back(index);
  steps_.push_back(step);
  if (waiting_ == Waiting::count) {
    if (!changed && repeats_itself(thread)) halted_[thread] = Halt::spinning;
  } else if (!locals_.program().loop_bound) {
    if (step.may_wait && !changed) steps_.back().idle = idle_rounds(thread);
    halt_if_endless(thread);
  }
  if (status(thread) == Status::cut || halted_[thread] > Halt::spinning) [[unlikely]]
    note_cut(thread);
  return event;
}

void Execution::rewind(std::size_t length) {
  while (steps_.size() > length) {
    const Step& step = steps_.back();
    const std::uint32_t thread = step.event.thread;
    if (step.may_wait) visits_[thread][locals_.at(thread, step.before).standing].pop_back();
    current_[thread] = step.before;
    halted_[thread] = Halt::no;
    by_thread_[thread].pop_back();
    if (step.event.writes) memory_[step.event.address] = step.overwritten;
    steps_.pop_back();
  }
}

// A step of a thread, or its next one, among its own.
std::size_t Execution::position(std::uint32_t thread, std::size_t index) const {
  const auto& own = by_thread_[thread];
  return static_cast<std::size_t>(std::ranges::lower_bound(own, index) - own.begin());
}

LocalId Execution::local_at(std::uint32_t thread, std::size_t position) const {
  const auto& own = by_thread_[thread];
  return position < own.size() ? steps_[own[position]].before : current_[thread];
}

bool Execution::would_write(std::uint32_t thread, std::size_t index, std::size_t before) const {
  const LocalId id = index < steps_.size() ? steps_[index].before : current_[thread];
  const Local& local = locals_.at(thread, id);
  if (local.kind != Kind::rmw) return local.kind != Kind::ld;
  return semantics_.failed_cas_writes || locals_.rmw(thread, id, steps_[before].overwritten.value).has_value();
}

bool Execution::waits(std::size_t index) const {
  return steps_[index].event.kind == Kind::lock || steps_[index].may_wait;
}

bool Execution::possible(std::uint32_t thread, std::size_t index, std::size_t before) const {
  const std::size_t at = position(thread, index);
  const Local& local = locals_.at(thread, local_at(thread, at));
  const Value seen = steps_[before].overwritten.value;
  return local.kind == Kind::lock ? seen == 0 : !local.may_wait || !completes_round(thread, at, seen);
}

// Whether a thread's step, with what it finds, changes nothing and leads to where the thread was since its last change.
bool Execution::completes_round(std::uint32_t thread, std::size_t position, Value seen) const {
  const LocalId id = local_at(thread, position);
  if (changes(locals_, thread, id, seen)) return false;
  const LocalId here = locals_.at(thread, id).standing;
  const std::size_t since = position - (position == 0 ? 0 : steps_[by_thread_[thread][position - 1]].quiet);
  return comes_to(locals_, thread, id, seen, [&](LocalId standing) {
    if (standing == here) return true;
    if (standing >= visits_[thread].size()) return false;
    const auto& visits = visits_[thread][standing];
    const auto later = std::ranges::lower_bound(visits, position);
    return later != visits.begin() && *std::prev(later) >= since;
  });
}

Ending Execution::ending() const {
  Ending ending;
  const auto memory = [&](std::uint32_t address) { return std::optional(memory_[address].value); };
  for (std::uint32_t thread = 0; thread < threads(); ++thread) {
    const Status how = status(thread);
    if (how == Status::ended) continue;
    const Halt halt = halted_[thread];
    ending.blocked = true;
    ending.cut = ending.cut || how == Status::cut || halt > Halt::spinning;
    ending.endless = ending.endless || halt == Halt::endless;
    if (how == Status::running && halt == Halt::no && !ending.vain)
      ending.vain = run_alone(locals_, thread, current_[thread], memory) == Alone::leads_on;
  }
  return ending;
}

// Whether the last two iterations of some length are the same: same local states, same sources, nothing written.
bool Execution::repeats_itself(std::uint32_t thread) const {
  const auto& own = by_thread_[thread];
  const std::size_t size = own.size();
  const auto local_before = [&](std::size_t i) { return locals_.at(thread, local_at(thread, i)).twin; };
  const auto source = [&](std::size_t i) { return steps_[own[i]].overwritten.writer; };
  const std::size_t quiet = steps_[own.back()].quiet;
  for (std::size_t length = 1; 2 * length <= quiet; ++length) {
    bool same = local_before(size) == local_before(size - length);
    for (std::size_t i = size - length; same && i < size; ++i)
      same = local_before(i) == local_before(i - length) && source(i) == source(i - length);
    if (same) return true;
  }
  return false;
}

// How many rounds up to the thread's last step changed nothing and read what the round before read.
std::uint32_t Execution::idle_rounds(std::uint32_t thread) const {
  const auto& own = by_thread_[thread];
  const auto step = [&](std::size_t back) -> const Step& { return steps_[own[own.size() - 1 - back]]; };
  const std::size_t quiet = step(0).quiet;
  std::size_t length = 1;
  while (length < quiet && step(length).event.location != step(0).event.location) ++length;
  if (2 * length > quiet) return 0;
  for (std::size_t i = 0; i < length; ++i)
    if (step(i).event.location != step(i + length).event.location ||
        step(i).overwritten.writer != step(i + length).overwritten.writer)
      return 0;
  return step(length).idle + 1;
}

// Whether a thread that goes round idly would do so for ever if it went on reading what it reads. Decided by its past
// alone, so in the same way in equivalent executions.
bool Execution::idle_for_ever(std::uint32_t thread) const {
  const auto& own = by_thread_[thread];
  const auto read = [&](std::uint32_t address) -> std::optional<Value> {
    for (std::size_t i = own.size(); i-- > own.size() - steps_[own.back()].quiet;) {
      const Step& step = steps_[own[i]];
      if (!is_fence(step.event.kind) && step.event.address == address) return step.overwritten.value;
    }
    return std::nullopt;
  };
  return run_alone(locals_, thread, current_[thread], read) == Alone::unknown;
}

void Execution::halt_if_endless(std::uint32_t thread) {
  if (status(thread) != Status::running) return;
  if (by_thread_[thread].size() >= kMostSteps) {
    halted_[thread] = Halt::endless;
  } else if (steps_.back().idle >= kMostIdle && idle_for_ever(thread)) {
    halted_[thread] = Halt::cut;
  }
}

// The loop that a thread was cut in: what its latest steps repeated, the shortest that they did three times; or the
// place where it was most often.
void Execution::note_cut(std::uint32_t thread) {
  const auto& own = by_thread_[thread];
  const std::uint32_t first = first_instruction_[thread];
  const Local& local = locals_.at(thread, current_[thread]);
  if (local.status == Status::cut) {
    cuts_.insert({thread, locals_.program().threads[thread].code[local.pc].target, local.pc, local.jumps});
    return;
  }
  const auto place = [&](std::size_t back) { return steps_[own[own.size() - 1 - back]].event.location - first; };
  for (std::size_t length = 1; 3 * length <= own.size(); ++length) {
    std::size_t same = 0;
    while (same + length < own.size() && place(same) == place(same + length)) ++same;
    if (same < 2 * length) continue;
    std::uint32_t low = place(0), high = place(0);
    for (std::size_t i = 1; i < length; ++i) {
      low = std::min(low, place(i));
      high = std::max(high, place(i));
    }
    cuts_.insert({thread, low, high, static_cast<std::uint32_t>(same / length + 1)});
    return;
  }
  std::vector<std::uint32_t> often(locals_.program().threads[thread].code.size(), 0);
  for (std::size_t i = 0; i < own.size(); ++i) ++often[place(i)];
  const auto most = std::ranges::max_element(often);
  const auto pc = static_cast<std::uint32_t>(most - often.begin());
  cuts_.insert({thread, pc, pc, *most});
}

void Execution::check_mutex_use(const Event& event) {
  const bool mutex = event.kind == Kind::lock || event.kind == Kind::unlock;
  Use& use = use_[event.address];
  if (use == Use::unknown) use = mutex ? Use::mutex : Use::data;
  if ((use == Use::mutex) != mutex) throw MixedMutex(event.address);
}

}  // namespace teetotal
