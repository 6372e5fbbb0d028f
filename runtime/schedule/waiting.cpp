// When a thread's next read would only take it round its loop once more: see system.hpp, and
// docs/explanation/waiting.md for why nothing is lost by leaving such rounds out.
//
//   local state of a thread                          Step::local, after each step that leads to a read
//   seen(p), since its last change                   Step::local of its latest steps, back to one with `quiet` 0
//   completes(p, v)                                  completes, of where the read leads with the value
//   run p on with a value                            tried; look_ahead where it is the value that is there
//
// Fences, and marks that were put into the text, are looked through: a read after which only these stand between its
// thread and where it was completes the round.
#include <algorithm>
#include <array>
#include <bit>
#include <list>
#include <utility>

#include "hash.hpp"
#include "local_state.hpp"
#include "survival.hpp"
#include "synchronisation.hpp"
#include "system.hpp"

namespace teetotal::runtime {

namespace {

constexpr int kMostFences = 64;  // in a row
constexpr std::size_t kLongestRound = 64;

// While a thread is run on with what it may never see, nothing that it meets is told.
class Supposing {
 public:
  Supposing() : unseen_(remarks.unseen) { process.supposing = cells.frozen = true; }
  ~Supposing() {
    process.supposing = cells.frozen = false;
    remarks.unseen = std::move(unseen_);
  }
  Supposing(const Supposing&) = delete;
  Supposing& operator=(const Supposing&) = delete;

 private:
  decltype(remarks.unseen) unseen_;
};

// Meanwhile a thread has ended, or has not.
class SupposedEnd {
 public:
  SupposedEnd(Thread& thread, bool ended)
      : thread_(thread), state_(std::exchange(thread.state, ended ? State::ended : State::parked)) {}
  ~SupposedEnd() { thread_.state = state_; }
  SupposedEnd(const SupposedEnd&) = delete;
  SupposedEnd& operator=(const SupposedEnd&) = delete;

 private:
  Thread& thread_;
  State state_;
};

std::uint64_t key_of(std::uint64_t local, Wide value) {
  return mix(mix(local, static_cast<std::uint64_t>(value)), static_cast<std::uint64_t>(value >> 64U) + 1) | 1U;
}

}  // namespace

// Whether it leads to where the thread was since it last changed memory; `last` is its latest step until then.
bool Controlled::completes(std::int32_t last, const Onward& onward) const {
  if (onward.changes || onward.local == 0) return false;
  for (; last >= 0; last = steps_[static_cast<std::size_t>(last)].earlier) {
    const Step& step = steps_[static_cast<std::size_t>(last)];
    if (step.local == onward.local) return true;
    if (step.quiet == 0) return false;
  }
  return false;
}

bool Controlled::find_out_whether_waits(std::uint32_t number, Wide value) const {
  auto& self = const_cast<Controlled&>(*this);
  const std::int32_t last = last_[number];
  const std::uint32_t moment = waits_from(last);
  Asked& asked = self.asked_[number];
  if (asked.known && asked.value == value) return asked.waits;
  const Onward* known = onward_.find(key_of(local_now(number), value));
  const bool waits = known != nullptr ? completes(last, *known) : self.look_ahead(number);
  if (!ahead_) self.asked_[number] = {true, waits, value};  // otherwise it stands elsewhere by now
  self.known_.keep_waiting(moment, value, waits);
  return waits;
}

// At the end of an execution, where most threads are gone, or wait for what they read.
void Controlled::find_waiting(std::vector<Event>& waiting) const {
  if (relaxed()) return System::find_waiting(waiting);
  auto& self = const_cast<Controlled&>(*this);
  if (!listed_) {
    catch_up();
    self.waiting_.clear();
    for (std::uint32_t number = 0; number < process.count; ++number) {
      if (standing_[number] <= Standing::ready) continue;  // it goes on, if anything
      if (const Pending next = pending(number); next.readiness == Readiness::waiting)
        self.waiting_.push_back(next.event);
    }
    self.listed_ = true;
  }
  waiting.assign(waiting_.begin(), waiting_.end());
}

// Runs a thread's step to see whether it completes a round. If it does not, that is likely to be the step that is asked
// for next: it is kept until somebody asks for something else.
bool Controlled::look_ahead(std::uint32_t number) {
  const std::size_t index = steps_.size();
  const std::uint32_t as = agent(number, kThread);
  const std::int32_t last = last_[number];
  const std::uint64_t key = key_of(local_now(number), relaxed() ? seen(number, process.threads[number].operation)
                                                                : seen_by(process.threads[number].operation));
  looks_ = true;  // where it leads is looked for on its stack
  execute(as);
  looks_ = false;
  const Thread& thread = process.threads[number];
  const bool beyond = thread.state == State::parked && passes_by(thread.operation) && !thread.calls;
  Onward onward = onward_from(number);
  if (process.restart || cells.changed) throw Restart{};  // what was learnt on the way changes what steps are
  onward.changes = steps_.back().quiet == 0;
  onward_.add(key, onward);
  const bool waits = completes(last, onward);
  if (waits || beyond || lives_end) {
    rewind(index);
    run_again();
  } else {
    ahead_ = true;
  }
  return waits;
}

void Controlled::drop_ahead() { rewind(steps_.size() - 1); }

// Where a thread stands once it is through all fences. It cannot be left there: to be run again.
Controlled::Onward Controlled::onward_from(std::uint32_t number) {
  Thread& thread = process.threads[number];
  const auto at_fence = [&] { return thread.state == State::parked && passes_by(thread.operation); };
  for (int i = 0; i < kMostFences && at_fence() && !thread.calls; ++i) process.resume(thread);
  if (thread.state != State::parked) return {};
  return {waiting_state(thread).hash, thread.operation};
}

// Where a thread's read leads with a value, from where it stood before step `index`, or stands now.
const Controlled::Onward& Controlled::tried(std::uint32_t number, std::size_t index, Wide value) {
  const std::uint64_t local = index < steps_.size() ? local_before(index) : local_now(number);
  const std::uint64_t key = key_of(local, value);
  if (const Onward* known = onward_.find(key)) return *known;
  if (survival.fatal()) return onward_.add(key, {});
  if (index < steps_.size() || stale_ || behind_) run_to(index);
  stale_ = true;
  const Supposing supposing;
  Thread& thread = process.threads[number];
  const Operation operation = thread.operation;
  for (const Entry& entry : buffers_.stores[number])
    if (!entry.dead) put(entry.operation, entry.value);
  std::optional<SupposedEnd> end;
  if (operation.tag <= Tag::vector)
    put(operation, value);
  else if (operation.tag == Tag::thread)
    end.emplace(*reinterpret_cast<Thread*>(operation.address), value != 0);
  else
    *reinterpret_cast<std::uint32_t*>(operation.address) = static_cast<std::uint32_t>(value);
  process.resume(thread);
  const bool changes = operation.writes != Writes::never && seen_by(operation) != value;
  Onward onward = onward_from(number);
  onward.changes = changes;
  if (process.restart || cells.changed) throw Restart{};
  return onward_.add(key, onward);
}

bool Controlled::goes_round(std::uint32_t number, std::size_t index, Wide value) const {
  if (index < steps_.size() ? local_before(index) == 0 : local_now(number) == 0) return false;
  const std::int32_t last = index < steps_.size() ? steps_[index].earlier : last_[number];
  const std::uint32_t moment = waits_from(last);
  if (const std::optional<bool> known = known_.waits_with(moment, value)) return *known;
  auto& self = const_cast<Controlled&>(*this);
  const bool round = completes(last, self.tried(number, index, value));
  self.known_.keep_waiting(moment, value, round);
  return round;
}

std::optional<bool> Controlled::leads_on(std::size_t previous, std::size_t before) const {
  const std::uint32_t moment = relaxed() ? KnownSteps::kUnknown : waits_from(static_cast<std::int32_t>(previous));
  if (moment == KnownSteps::kUnknown) return std::nullopt;
  if (const std::optional<bool> waits = known_.waits_with(moment, steps_[before].before)) return !*waits;
  const KnownSteps::Stand* stand = known_[moment].stand;
  return stand != nullptr && stand->local == 0 && may_wait(stand->operation) ? std::optional(true) : std::nullopt;
}

// What a thread's read would see just before a step: its own newest store that is not in memory by then, or memory.
Wide Controlled::value_before(std::uint32_t number, std::size_t index, std::size_t before) const {
  if (relaxed()) {
    const std::uint32_t cell = steps_[before].operation.cell;
    const auto& own = own_[number];
    for (auto it = own.rbegin(); it != own.rend(); ++it) {
      const Step& store = steps_[*it];
      if (*it >= index || store.operation.kind != Kind::st || store.operation.cell != cell) continue;
      const auto issued = static_cast<std::int32_t>(*it);
      const auto commit = std::find_if(steps_.begin() + issued, steps_.end(),
                                       [&](const Step& step) { return step.commit && step.earlier == issued; });
      if (commit - steps_.begin() >= static_cast<std::ptrdiff_t>(before)) return store.after;
      break;
    }
  }
  return held(before);
}

// Whether a thread that waits would leave its loop, or change memory, if nobody else did anything: as far as it is
// known where each of its reads leads with what is in memory.
std::optional<bool> Controlled::known_to_go_on(std::uint32_t number) {
  auto& round = rounds_[number];
  went_round_ |= std::uint64_t{1} << number;
  std::uint64_t local = local_now(number);
  const Operation* read = &process.threads[number].operation;
  std::array<std::uint64_t, kLongestRound> been;
  std::size_t count = 0;
  while (std::find(been.begin(), been.begin() + count, local) == been.begin() + count) {
    if (count == been.size()) return std::nullopt;
    been[count++] = local;
    round.push_back(*read);
    const Onward* known = onward_.find(key_of(local, seen_by(*read)));
    if (known == nullptr) return std::nullopt;
    if (known->changes) return true;
    local = known->local;
    read = &known->read;
    if (local == 0)  // it leaves: to its end, or to what may have to wait for something else
      return is_fence(read->kind) || read->enabled != nullptr ? std::nullopt : std::optional(true);
  }
  return false;
}

// The same, where it is not known, by running the program.
bool Controlled::goes_on_alone(std::uint32_t number) {
  catch_up();
  if (!relaxed())
    if (const std::optional<bool> known = known_to_go_on(number)) return *known;
  rounds_[number].clear();
  if (survival.fatal()) return true;
  if (behind_) run_up();
  stale_ = true;
  const Supposing supposing;
  std::list<SupposedEnd> ends;  // those that are left out: whoever joins these threads need not wait
  for (std::uint32_t other = 0; other < process.count; ++other)
    if (as_good_as_ended(other)) ends.emplace_back(process.threads[other], true);
  Thread& thread = process.threads[number];
  std::vector<std::uint64_t> been;
  for (int fences = 0;;) {
    if (thread.state != State::parked) return true;
    const Operation operation = thread.operation;
    if (thread.calls) return true;
    if (passes_by(operation)) {
      if (++fences > kMostFences) return true;  // it has left the loop that it was in for one of fences
      process.resume(thread);
      continue;
    }
    fences = 0;
    if (!may_wait(operation)) return process.enabled(thread) || goes_on_if_given_back(thread);
    const std::uint64_t local = waiting_state(thread).hash;
    if (local == 0) return true;
    if (std::ranges::find(been, local) != been.end()) return false;
    been.push_back(local);
    rounds_[number].push_back(operation);
    went_round_ |= std::uint64_t{1} << number;
    const Wide before = seen_by(operation);
    process.resume(thread);
    if (operation.writes != Writes::never && seen_by(operation) != before) return true;
  }
}

// An idle round: every read saw what it saw in the round before, and nothing changed but a counter of the thread's own.
void Controlled::detect_idling(std::uint32_t thread) {
  const auto& own = own_[thread];
  Step& last = steps_.back();
  for (std::size_t length = 1; length <= kLongestRound && 2 * length <= last.quiet; ++length) {
    if (!same_events(thread, length)) continue;
    last.idle = steps_[own[own.size() - 1 - length]].idle + 1;
    if (last.idle > bounds_.idle_rounds && bounds_.idle_bound == kNoBound &&
        (!counts_visits_ || !endless_.idles(visited_[thread].back()))) {
      if (!endless_.follow()) endless_.learn_idle(std::span(visited_[thread]).last(length));
      throw Restart{};
    }
    return;
  }
}

// -- ends -------------------------------------------------------------------------------------------------------------

const std::vector<Failed>& Controlled::failed() const {
  if (failed_) return *failed_;
  catch_up();
  std::vector<Failed>& found = const_cast<Controlled*>(this)->failed_.emplace(buffers_.failed);
  for (std::uint32_t number = 0; number < process.count; ++number) {
    const Thread& thread = process.threads[number];
    if (thread.failure == Failure::none) continue;
    const Fault fault{thread.failure, thread.message, thread.done, thread.cause};
    found.push_back({number, fault, thread.failed_at, thread.failed_step});
  }
  if (found.size() > 1) std::ranges::stable_sort(found, {}, &Failed::step);
  return found;
}

Ending Controlled::ending() const {
  Ending ending;
  for (std::uint32_t number = 0; number < process.count; ++number) {
    const Thread& thread = process.threads[number];
    if (as_good_as_ended(number)) continue;
    ending.blocked = ending.blocked || thread.state == State::parked || thread.state == State::stopped;
    const auto might = [&] {  // go on, or have gone on before whoever has what it waits for
      return process.enabled(thread) || thread.operation.waiting == Waiting::lock;
    };
    ending.cut = ending.cut || (thread.state == State::parked && cut(number) && might());
  }
  const_cast<Controlled*>(this)->judge();  // which may leave the program elsewhere
  ending.vain = vain_;
  return ending;
}

// Whether those threads that have not ended can never go on.
void Controlled::judge() {
  if (judged_) return;
  failed();  // as long as the program stands there
  judged_ = true;
  stuck_ = Stuck::no;
  vain_ = false;
  for (auto went = std::exchange(went_round_, 0); went != 0; went &= went - 1)
    rounds_[static_cast<std::size_t>(std::countr_zero(went))].clear();
  bool any = false, loops = false,
       others = !buffers_.failed.empty() || endings.exited || (leaves_ends() && ends_.exits);
  for (std::uint32_t number = 0; number < process.count; ++number) {
    const Thread& thread = process.threads[number];
    if (thread.state == State::ended || thread.state == State::unborn || as_good_as_ended(number)) continue;
    any = true;
    if (number == 0 && leaves_ends() && ends_.main_waits) continue;  // the join that it can do is left out
    if (thread.state == State::stopped || cut(number)) {
      others = true;
    } else if (process.enabled(thread)) {
      loops = true;
      if (bounds_.waiting_counts)
        others = others || !spinning(number) || sees_changes(number);
      else
        vain_ = vain_ || (!spinning(number) && goes_on_alone(number));
    } else {
      vain_ = vain_ || goes_on_if_given_back(thread);
    }
  }
  if (any && !others && !vain_) stuck_ = loops ? Stuck::livelock : Stuck::deadlock;
}

// Of those who leave a barrier together: all steps up to that of the last one, as many as it is for.
std::vector<std::int32_t> Controlled::arrivals(const Operation& leave) const {
  std::vector<std::int32_t> found;
  for (std::int32_t index = leave.enabler; index >= 0 && found.size() < leave.expected; --index) {
    const Operation& operation = steps_[static_cast<std::size_t>(index)].operation;
    if (operation.verb == Verb::arrive && operation.address == leave.address) found.push_back(index);
  }
  return found;
}

// Of those that stand before the cell that a thread is about to access. The end of memory is told as what it is.
void Controlled::find_data_races(std::uint32_t thread) {
  const Operation& mine = process.threads[thread].operation;
  if (mine.plain && follows_twin(thread) && mine.kind != Kind::ld && mine.verb == Verb::none)  // so did that one
    data_races_.insert({mine.place, mine.place, mine.address});
  for (std::uint32_t number = 0; number < next_.size(); ++number) {
    if (next_[number].address != mine.cell || number == thread || standing_[number] == Standing::gone) continue;
    const Operation& theirs = process.threads[number].operation;
    if (is_fence(theirs.kind) || mine.verb != Verb::none || theirs.verb != Verb::none) continue;
    if (!(mine.plain || theirs.plain) || (mine.kind == Kind::ld && theirs.kind == Kind::ld)) continue;
    data_races_.insert({std::min(mine.place, theirs.place), std::max(mine.place, theirs.place), mine.address});
  }
}

}  // namespace teetotal::runtime
