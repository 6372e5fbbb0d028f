#include "execution.hpp"

namespace teetotal {

Execution::Execution(const Program& program, Semantics semantics)
    : locals_(program),
      semantics_(semantics),
      spinning_(program.threads.size(), false),
      by_thread_(program.threads.size()),
      use_(program.memory.size(), Use::unknown) {
  std::uint32_t instructions = 0;
  for (std::uint32_t thread = 0; thread < threads(); ++thread) {
    current_.push_back(locals_.start(thread));
    first_instruction_.push_back(instructions);
    instructions += static_cast<std::uint32_t>(program.threads[thread].code.size());
  }
  for (const Value value : program.memory) memory_.push_back({value, kInitial});
}

Pending Execution::pending(std::uint32_t thread) const {
  const Local& local = locals_.at(thread, current_[thread]);
  Event event{thread, local.kind, false, local.order, local.failure, local.address, location(thread, local.pc)};
  if (local.status != Status::running || spinning_[thread]) return {Readiness::stopped, event};
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
  const bool waits = local.kind == Kind::lock && memory_[local.address].value != 0;
  return {waits ? Readiness::waiting : Readiness::enabled, event};
}

Event Execution::execute(std::uint32_t thread) {
  const LocalId before = current_[thread];
  const Local local = locals_.at(thread, before);
  const std::size_t index = steps_.size();
  Step step{pending(thread).event, {before, 0, 0, kInitial, 0, false}, {0, kInitial}};
  const Event& event = step.event;
  if (!is_fence(event.kind)) {
    check_mutex_use(event);
    Cell& cell = memory_[event.address];
    step.overwritten = cell;
    if (reads(event)) {
      step.detail.read = cell.value;
      step.detail.source = cell.writer;
    }
    if (event.writes) {
      switch (event.kind) {
        case Kind::st:
          cell.value = local.value;
          break;
        case Kind::lock:
          cell.value = 1;
          break;
        case Kind::unlock:
          cell.value = 0;
          break;
        default:
          cell.value = locals_.rmw(thread, before, cell.value).value_or(cell.value);
      }
      cell.writer = static_cast<std::int64_t>(index);
      step.detail.written = cell.value;
    }
  }
  const auto& own = by_thread_[thread];
  step.detail.quiet = event.writes ? 0 : own.empty() ? 1 : steps_[own.back()].detail.quiet + 1;
  current_[thread] = locals_.update(thread, before, step.detail.read);
  steps_.push_back(step);
  by_thread_[thread].push_back(index);
  if (!event.writes && repeats_itself(thread)) spinning_[thread] = steps_.back().detail.spinning = true;
  return event;
}

void Execution::rewind(std::size_t length) {
  while (steps_.size() > length) {
    const Step& step = steps_.back();
    const std::uint32_t thread = step.event.thread;
    current_[thread] = step.detail.before;
    spinning_[thread] = false;
    by_thread_[thread].pop_back();
    if (step.event.writes) memory_[step.event.address] = step.overwritten;
    steps_.pop_back();
  }
}

bool Execution::would_write(std::size_t index, std::size_t before) const {
  const Event& event = steps_[index].event;
  if (event.kind != Kind::rmw) return event.writes;
  if (semantics_.failed_cas_writes) return true;
  const Step& earlier = steps_[before];
  return locals_.rmw(event.thread, steps_[index].detail.before, earlier.overwritten.value).has_value();
}

bool Execution::would_write_from(std::uint32_t thread, std::size_t index, std::ptrdiff_t source) const {
  const LocalId local = index < steps_.size() ? steps_[index].detail.before : current_[thread];
  const Value old = source < 0 ? locals_.program().memory[locals_.at(thread, local).address]
                               : steps_[static_cast<std::size_t>(source)].detail.written;
  return locals_.rmw(thread, local, old).has_value();
}

Ending Execution::ending() const {
  Ending ending;
  for (std::uint32_t thread = 0; thread < threads(); ++thread) {
    ending.blocked = ending.blocked || status(thread) != Status::ended;
    ending.cut = ending.cut || status(thread) == Status::cut;
  }
  return ending;
}

// Whether the last two iterations of some length are the same: same local states, same sources, nothing written.
bool Execution::repeats_itself(std::uint32_t thread) const {
  const auto& own = by_thread_[thread];
  const std::size_t size = own.size();
  const auto local_before = [&](std::size_t i) {
    return locals_.at(thread, i == size ? current_[thread] : steps_[own[i]].detail.before).twin;
  };
  const std::size_t quiet = steps_[own.back()].detail.quiet;
  for (std::size_t length = 1; 2 * length <= quiet; ++length) {
    bool same = local_before(size) == local_before(size - length);
    for (std::size_t i = size - length; same && i < size; ++i)
      same = local_before(i) == local_before(i - length) &&
             steps_[own[i]].detail.source == steps_[own[i - length]].detail.source;
    if (same) return true;
  }
  return false;
}

void Execution::check_mutex_use(const Event& event) {
  const bool mutex = event.kind == Kind::lock || event.kind == Kind::unlock;
  Use& use = use_[event.address];
  if (use == Use::unknown) use = mutex ? Use::mutex : Use::data;
  if ((use == Use::mutex) != mutex) throw MixedMutex(event.address);
}

}  // namespace teetotal
