// A C program as a System that searches can drive: steps are its visible operations, and going back is running
// again from the latest snapshot, or from the beginning.
//
// Waiting (waiting.cpp). A thread whose next read would only take it round its loop once more is not enabled: the read
// changes nothing and leads back to a local state (local_state.hpp) in which the thread was since it last changed
// memory. Where a read leads with a value depends on the local state and the value alone, and is remembered. What is
// not known yet is found out by trying: the step is run, and taken back if it turns out to wait.
//
// With `--waiting count` such rounds are steps like others, and a thread only stops once its rounds repeat themselves
// (spinning.cpp).
//
// TSO and PSO. The store buffers belong to the scheduler: each buffer is an agent of its own beside the threads (one
// for each thread under TSO, one for each thread and cell under PSO), whose steps are the commits. A plain store is
// done by the program itself, so it is taken back when the thread stands before its next operation, and put into the
// buffer; while a thread runs, what its buffers hold lies in memory for it to see. Issuing a store conflicts with
// nothing; a commit is the write; what flushes waits until the buffers are empty, which the commits enable.
//
// A thread's own load and a commit of its own buffers commute, whatever they touch: the load sees the same, in the
// buffer or in memory, unless another's write comes between them, which conflicts with both. So they are independent to
// the search, and the source of such a load is the store where it was issued. The same holds for the end of the
// thread's own memory. Objects are left out: a commit to one may go wrong.
//
// A store to a frame or a block that its thread has ended before the store reached memory (`Entry::dead`) stays in its
// buffer, since those behind it wait for it, but writes nothing: nobody may look there any more, and what lies there by
// now is another frame's, part of which (return addresses, what the compiler keeps for itself) no hook sees, or another
// block's. It is told as the store and the commit that it is to the machine. Only what reads memory that was never
// written could tell the difference.
//
// A commit that goes wrong (`Failed`: to what another thread has ended, or to an object in use) changes nothing, and
// its thread goes on, as it would on the machine: it may be far ahead, and whether it is must not decide what it does.
//
// Loops that neither end nor wait are cut (endless.hpp), or those that the user bounds: a thread that goes round
// without learning or changing anything but a counter of its own, or comes to the same instruction too often.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "bounds.hpp"
#include "endless.hpp"
#include "first_found.hpp"
#include "known_steps.hpp"
#include "local_state.hpp"
#include "marks.hpp"
#include "objects.hpp"
#include "process.hpp"
#include "search/system.hpp"
#include "snapshots.hpp"
#include "step.hpp"
#include "symmetry.hpp"

namespace teetotal::runtime {

struct Restart {};  // thrown where something was learnt that makes the numbers given so far void

enum class Stuck : std::uint8_t { no, deadlock, livelock };

class Controlled final : public System {
 public:
  explicit Controlled(Bounds bounds) : bounds_(bounds), counts_visits_(bounds.loop_bound != kNoBound) {
    if (relaxed() || bounds_.waiting_counts || bounds_.look == 0) known_.stop();
  }

  std::uint32_t threads() const override;
  Pending pending(std::uint32_t thread) const override;
  bool enabled(std::uint32_t thread) const override;
  std::uint32_t next_enabled(std::uint32_t thread) const override;
  bool nothing_but_ends(std::uint32_t thread) override;
  Event execute(std::uint32_t thread) override;
  bool stopped_early(std::uint32_t number) const override;
  void rewind(std::size_t length) override;
  void uses_after(std::uint32_t thread, std::size_t end) override;
  bool would_write(std::uint32_t thread, std::size_t index, std::size_t before) const override;
  std::ptrdiff_t enabler(std::size_t index) const override { return steps_[index].enabler; }
  std::span<const std::int32_t> more_enablers(std::size_t index) const override {
    if (relaxed()) return enablers_[index];
    if (steps_[index].operation.verb != Verb::leave) return {};
    return arrivals_.at(index);
  }
  std::vector<std::int32_t> awaited(std::uint32_t agent) const override {
    if (!relaxed() && follows_twin(agent) && twins_step(agent) >= 0) return {twins_step(agent)};
    if (!relaxed()) return {};
    const std::uint32_t thread = agents_[agent].thread;
    return flushing(thread, pending(agent).event.kind, process.threads[thread].operation);
  }
  Buffering buffers() const override {
    return !relaxed() ? Buffering::none : bounds_.model == Model::tso ? Buffering::whole : Buffering::each;
  }
  std::uint32_t ranked(std::uint32_t rank) const override { return ranked_[rank]; }
  Agent agent_of(std::uint32_t number) const override { return relaxed() ? agents_[number] : Agent{number}; }
  std::uint32_t number_of(const Agent& named) override;
  void forget_agents() override;
  std::uint32_t owner(std::uint32_t agent) const override { return relaxed() ? agents_[agent].thread : agent; }
  bool commute(const Event& a, const Event& b) const override;
  std::uint32_t buffer_of(const Event& load) const override;
  std::uint8_t own_before(std::uint32_t as, std::size_t index, std::size_t before) const override;
  bool waits(std::size_t index) const override {
    return steps_[index].operation.waiting == Waiting::lock || local_before(index) != 0;
  }
  bool possible(std::uint32_t thread, std::size_t index, std::size_t before) const override;
  std::optional<bool> leads_on(std::size_t previous, std::size_t before) const override;
  bool skips_waiting() const override { return !bounds_.waiting_counts; }
  void find_waiting(std::vector<Event>& waiting) const override;
  Ending ending() const override;
  std::uint64_t address_name(std::uint32_t number) const override { return cells.name(number); }
  std::uint64_t location_name(std::uint32_t number) const override { return places_[number]; }
  std::uint32_t address_named(std::uint64_t name, bool /*data*/) override { return cells.named(name); }
  std::uint32_t location_named(std::uint64_t name) override { return location(static_cast<std::uintptr_t>(name)); }

  bool holds_data(std::uint32_t number) const override { return cells[number].size != 0; }

  // What was found out where remains of calls may be part of it: another process may find out something else.
  FirstFound<std::uint64_t>& found_first() { return locals_; }
  const FirstFound<std::uint64_t>& found_first() const { return locals_; }

  // The execution at hand once more, from its beginning, with a look at the program before each step.
  void run_through(const std::function<void(const Step&)>& look);

  // To the beginning, for another search: with other choices of values.
  void begin();

  // Everything anew, after a Restart.
  void forget();

  // What was seen on the way, for another part of the same search.
  void forget_told() {
    data_races_.clear();
    cuts_.clear();
  }

  const std::vector<Step>& steps() const { return steps_; }
  Stuck stuck() const {
    const_cast<Controlled*>(this)->judge();
    return stuck_;
  }
  std::uintptr_t place(std::uint32_t location) const { return places_[location]; }

  // Whether a step is the look of an operation that then goes on to write: see attempt. It is not told.
  bool first_half(std::size_t index) const;

  // Whether threads had to begin in order.
  bool symmetric() const { return symmetric_; }

  // How often a snapshot took the place of the beginning.
  std::uint64_t restored() const { return restored_; }

  // Where an execution has nothing left but ends (closing.cpp): how many of these there are. They are run for whoever
  // wants to see them, and taken back by `rewind`; or never left out.
  std::uint32_t ends_left() const { return leaves_ends() ? ends_.count : 0; }
  void run_ends();
  void run_all_ends() { runs_ends_ = true; }

  // What a thread's buffers hold, oldest first.
  std::size_t buffered(std::uint32_t thread) const { return buffers_.stores[thread].size(); }

  // The agent whose next step is that of a thread, or the commit of its oldest store (to a cell, under PSO).
  std::uint32_t agent_for(std::uint32_t thread, bool commit, std::int64_t cell);

  // Conflicting accesses that were both about to happen, one of them neither atomic nor volatile: the places and the
  // cell's address. What is seen on the way, not all there are.
  const std::set<std::tuple<std::uintptr_t, std::uintptr_t, std::uintptr_t>>& data_races() const { return data_races_; }

  // Where threads were stopped that went round too often, and how often they had come there then.
  const std::map<std::uintptr_t, Cut>& cuts() const { return cuts_; }

  // Of a thread that goes round a loop for ever: what it looks at there. Known once the end was judged.
  const std::vector<Operation>& round(std::uint32_t thread) const { return rounds_[thread]; }

  // In the execution at hand, in its order: threads that failed, and stores of theirs that did.
  const std::vector<Failed>& failed() const;

 private:
  // A store on its way to memory.
  struct Entry {
    Operation operation;
    std::uint32_t location;
    Wide value;
    std::int32_t issued;
    std::uint32_t markers;  // sfences of the thread before it
    bool dead = false;      // its frame has ended, or its block
  };
  static constexpr std::int64_t kThread = Agent::kThread, kWhole = Agent::kWhole;

  enum class Standing : std::uint8_t {
    gone,     // it is not there, or does nothing more
    ready,    // it can go on, and does what next_ says
    reads,    // the same, unless what it reads takes it round
    depends,  // whether it can, or what it does then, depends on others
    halted,   // it is cut, or spins
  };

  bool relaxed() const { return bounds_.model != Model::sc; }
  std::uint32_t agent(std::uint32_t thread, std::int64_t buffer) {
    return relaxed() ? buffered_agent(thread, buffer) : thread;
  }
  std::uint32_t buffered_agent(std::uint32_t thread, std::int64_t buffer);
  std::uint32_t buffer_agent(const Entry& entry, std::uint32_t thread);
  const Entry* committable(const Agent& agent) const;
  void check_parts(std::uint32_t thread, const Operation& store) const;
  bool flushed(std::uint32_t thread, Kind kind, const Operation& operation) const;
  enum class Flushes : std::uint8_t { none, address, all };
  Flushes flushes(Kind kind, const Operation& operation) const;
  std::vector<std::int32_t> flushing(std::uint32_t thread, Kind kind, const Operation& operation) const;
  std::vector<std::int32_t> arrivals(const Operation& leave) const;
  std::int32_t source(std::uint32_t thread, std::uint32_t cell) const;
  Pending before_waiting(std::uint32_t agent) const;
  Pending pending_thread(std::uint32_t thread, std::uint32_t as) const;
  bool decide(std::uint32_t thread, Event& event) const;
  bool goes_on(std::uint32_t thread) const;
  Event execute_thread(std::uint32_t thread, std::uint32_t as);
  Event execute_commit(const Agent& agent, std::uint32_t as);
  void run_thread(std::uint32_t thread, std::size_t index, bool fatal);
  void run_commit(std::uint32_t thread, std::int64_t buffer);
  void fail_instead(Thread& thread, std::size_t index) const;
  void count(Step& step);
  void keep(Step& step);
  const Operation& kept(const Operation& operation);
  Event event_of(const Operation& operation, std::uint32_t as);
  std::uint64_t past_of(std::size_t index);
  const Operation& operation_at(std::uint32_t agent, std::size_t index) const;
  Wide held(std::size_t before) const { return relaxed() ? in_memory_[before] : steps_[before].before; }
  Wide seen(std::uint32_t thread, const Operation& operation) const;
  std::uint8_t which_own(const Step& step) const;
  std::uint8_t which_own(const Operation& load, std::uint32_t thread, std::int32_t issued) const;
  void expect_as_before(const Step& step) const;
  void catch_up() const {
    if (ahead_) const_cast<Controlled*>(this)->drop_ahead();
    if (stale_) const_cast<Controlled*>(this)->run_again();
  }
  void run_again();
  void run_up();
  void take_back(const Step& step);
  std::uint32_t moment_of(std::uint32_t thread);
  std::uint32_t beginning_of(std::uint32_t thread);
  std::uint32_t known_step(std::uint32_t thread);
  Event skip(std::uint32_t thread, std::uint32_t known);
  void stand_again(std::uint32_t thread);
  void stand_behind(const Step& last, const KnownSteps::Stand& stand);
  bool leaves_ends() const { return ends_.at == steps_.size(); }
  bool as_good_as_ended(std::uint32_t thread) const { return leaves_ends() && (ends_.threads >> thread & 1U) != 0; }
  bool find_ends();
  bool end_main();
  bool take_end(std::uint32_t thread, std::uint32_t moment, const void* result, std::uint32_t unjoined);
  void look_now_and_then();
  void learn(Step& step, bool exact);
  void learn_again();
  void begin_anew();
  void run_to(std::size_t length);
  void run_tape(std::size_t length);
  [[noreturn]] void distrust() const;
  void run_step(std::size_t index);
  void arrive();
  void describe(std::uint32_t thread);
  void describe_at(std::uint32_t thread, std::uint32_t site);
  void described_new_threads();
  std::uint32_t location(std::uintptr_t place);
  std::uint32_t visits(std::uint32_t thread) const;
  Cut cut_of(std::uint32_t thread) const;
  bool often_enough(std::uint32_t thread) const;
  std::uint32_t site_of(std::uint32_t thread);
  // The latest step of a thread, or null.
  const Step* last_of(std::uint32_t thread) const {
    return last_[thread] < 0 ? nullptr : &steps_[static_cast<std::size_t>(last_[thread])];
  }
  bool cut(std::uint32_t thread) const { return cut(thread, last_of(thread)); }
  bool cut(std::uint32_t thread, const Step* last) const {
    return steps_.size() >= bounds_.steps || (last != nullptr && last->idle != 0 && idles(*last)) ||
           (counts_visits_ && often_enough(thread));
  }
  bool idles(const Step& last) const {
    if (bounds_.idle_bound != kNoBound) return last.idle > bounds_.idle_bound;
    return last.idle > Endless::kIdle && counts_visits_ && endless_.idles(visited_[last.thread].back());
  }
  [[noreturn, gnu::cold, gnu::noinline]] void learn_endless(std::uint32_t thread);

  // Of a thread that is to take its first step, if it is to wait for another's: symmetry.hpp. And that one, or -1.
  bool follows_twin(std::uint32_t number) const {
    const Thread& thread = process.threads[number];
    return thread.twin != 0 && symmetry.on && thread.operation.enabler < 0 && thread.operation.verb != Verb::join &&
           last_[number] >= 0 && !is_fence(thread.operation.kind) && first_step(number) < 0 && !relaxed();
  }
  std::int32_t twins_step(std::uint32_t number) const { return first_step(process.threads[number].twin); }

  // After its beginning, and after fences, which conflict with nothing.
  std::int32_t first_step(std::uint32_t number) const {
    const auto& own = own_[number];
    for (std::size_t i = 1; i < own.size(); ++i)
      if (!is_fence(steps_[own[i]].operation.kind)) return static_cast<std::int32_t>(own[i]);
    return -1;
  }
  // Of one that nothing halts, in that local state.
  Standing standing_of(std::uint32_t number, std::uint64_t local) const {
    const Operation& operation = process.threads[number].operation;
    if (operation.enabled != nullptr || operation.writes > Writes::always || follows_twin(number))
      return Standing::depends;
    return local != 0 && !passes_by(operation) ? Standing::reads : Standing::ready;
  }
  bool spinning(std::uint32_t thread) const { return last_[thread] >= 0 && last_of(thread)->spin != 0; }
  bool sees_changes(std::uint32_t thread) const;
  void detect_spinning(std::uint32_t thread, std::size_t quiet);
  std::size_t fences_again(std::uint32_t thread) const;
  void detect_idling(std::uint32_t thread);
  bool same_events(std::uint32_t thread, std::size_t length) const;

  // Where a read leads: to which local state before the next read, none (0) if that is no part of a loop.
  struct Onward {
    std::uint64_t local = 0;
    Operation read;        // that it stands before then
    bool changes = false;  // memory
  };
  // Nobody waits for what cannot be read: that read fails, and the scheduler must not try it.
  static LocalState waiting_state(const Thread& thread) {
    return may_wait(thread.operation) && (!is_data(thread.operation.tag) || readable(thread.operation.address))
               ? local_states.waiting(thread)
               : LocalState{};
  }
  bool changed_memory(const Step& step) const;
  std::uint64_t local_before(std::size_t index) const {
    const std::int32_t earlier = steps_[index].commit ? -1 : steps_[index].earlier;
    return earlier < 0 || bounds_.waiting_counts || !may_wait(steps_[index].operation)
               ? 0
               : steps_[static_cast<std::size_t>(earlier)].local;
  }
  // A read of the program's memory, whatever it does besides; or a try to take an object, or to join a thread.
  static bool may_wait(const Operation& operation) {
    if ((operation.kind != Kind::ld && operation.kind != Kind::rmw) || operation.enabled != nullptr ||
        marks.contains(operation))
      return false;
    const bool tries = operation.verb == Verb::try_lock || operation.verb == Verb::try_take ||
                       operation.verb == Verb::try_read_lock || operation.verb == Verb::try_write_lock ||
                       operation.verb == Verb::look;
    if (operation.tag <= Tag::vector) return operation.verb == Verb::none || tries;
    return tries && (operation.tag == Tag::mutex || operation.tag == Tag::semaphore || operation.tag == Tag::rwlock ||
                     operation.tag == Tag::thread);
  }
  std::uint64_t local_now(std::uint32_t thread) const {
    return bounds_.waiting_counts || last_[thread] < 0 ? 0 : last_of(thread)->local;
  }
  bool waits_now(std::uint32_t thread) const {
    const Operation& operation = process.threads[thread].operation;
    const Wide value = relaxed() ? seen(thread, operation) : seen_by(operation);
    if (const std::optional<bool> known = known_.waits_with(waits_from(last_[thread]), value)) return *known;
    return find_out_whether_waits(thread, value);
  }
  bool find_out_whether_waits(std::uint32_t thread, Wide value) const;

  // The moment of a thread whose latest step that is, where its local states depend on nothing else.
  std::uint32_t waits_from(std::int32_t last) const {
    return last < 0 || !locals_.empty() ? KnownSteps::kUnknown : steps_[static_cast<std::size_t>(last)].moment;
  }
  bool look_ahead(std::uint32_t thread);
  void drop_ahead();
  Onward onward_from(std::uint32_t thread);
  const Onward& tried(std::uint32_t thread, std::size_t index, Wide value);
  bool completes(std::int32_t last, const Onward& onward) const;
  bool goes_round(std::uint32_t thread, std::size_t index, Wide value) const;
  Wide value_before(std::uint32_t thread, std::size_t index, std::size_t before) const;
  std::optional<bool> known_to_go_on(std::uint32_t thread);
  bool goes_on_alone(std::uint32_t thread);
  void judge();

  void check_new_cells();
  // Where nobody has come to the cell with a plain access there are none.
  void note_data_races(std::uint32_t thread, std::uint32_t cell) {
    if (cell < plainly_.size() && plainly_[cell] != 0) find_data_races(thread);
  }
  void find_data_races(std::uint32_t thread);

  Bounds bounds_;
  std::vector<Step> steps_;
  std::deque<Operation> operations_;  // of steps that were run, at their numbers
  bool stale_ = true;                 // the program stands elsewhere
  bool behind_ = false;               // its threads do, but memory and what is told of them is as it should be
  KnownSteps known_;
  std::uint64_t rewinds_ = 0, run_up_ = 0;
  bool learns_ = false;  // it is to be run from the beginning, to learn from each step
  bool looks_ = false;   // all steps are run until the next rewind, to see whether what is known is so
  Snapshots snapshots_;
  std::uint64_t restored_ = 0;
  bool symmetric_ = false;
  std::vector<Event> next_;                      // of each thread, without `writes` where that depends on memory
  std::vector<Standing> standing_;               // of each thread
  std::vector<std::vector<std::uint32_t>> own_;  // steps of each thread
  std::vector<std::int32_t> last_;               // of these the latest, or -1
  Hashed<Onward> onward_;                        // by local state and value
  struct Asked {
    bool known = false, waits = false;
    Wide value = 0;
  };
  std::vector<Asked> asked_;  // of each thread where it stands: whether it waits with a value
  bool ahead_ = false;        // the latest step was run to find out whether it waits, and nobody has asked for it yet
  struct Ends {
    std::size_t at = ~std::size_t{0};  // the execution has so many steps before them
    std::uint64_t threads = 0;         // a bit for each that ends
    bool exits = false;                // the process
    bool main_waits = false;           // having joined some of them, for one that does not end
    std::uint32_t count = 0;           // steps
    std::uint32_t last = 0;            // the moment that the latest of them leads to
  } ends_;                             // of the execution at hand, where they are left out
  bool runs_ends_ = false;
  bool looks_for_ends_ = false;  // some thread has looked whether another one can be joined
  bool judged_ = false;          // what follows is known of the execution at hand
  Stuck stuck_ = Stuck::no;
  bool vain_ = false;
  std::vector<Event> waiting_;  // what threads stand before that wait: asked by the monitors and by the search
  bool listed_ = false;         // that is known of the execution at hand
  Endless endless_;
  bool counts_visits_;  // some site has a bound, or may soon have one; what follows is known where that is so
  std::vector<std::uint32_t> sites_;                 // of each thread: where it stands
  std::vector<std::vector<std::uint32_t>> visited_;  // the sites of its steps
  std::vector<std::vector<std::uint32_t>> visits_;   // how often it has come to each site
  FirstFound<std::uint8_t> spins_;                   // Step::spin by Step::past, where local states decided
  FirstFound<std::uint64_t> locals_;                 // Step::local, where remains of calls may be part of it
  std::size_t known_pasts_ = 0;                      // the first steps: those whose `past` is known
  std::vector<std::int32_t> writer_;                 // the latest, by cell
  std::unordered_map<std::uintptr_t, std::uint32_t> locations_;
  std::vector<std::uintptr_t> places_;
  std::array<std::pair<std::uintptr_t, std::uint32_t>, 512> recent_{};  // a cache of locations_
  std::optional<std::vector<Failed>> failed_;  // once somebody has asked: the program may be run elsewhere since
  std::size_t known_cells_ = 0;
  std::int32_t late_ = -1;  // of the step to come: Step::late
  std::set<std::tuple<std::uintptr_t, std::uintptr_t, std::uintptr_t>> data_races_;
  std::vector<std::uint8_t> plainly_;  // by cell: some access to it that was described is plain
  std::map<std::uintptr_t, Cut> cuts_;
  std::array<std::vector<Operation>, kMaxThreads> rounds_;  // of each thread, as it stands at the end
  std::uint64_t went_round_ = 0;                            // a bit for each of whom something is there
  std::vector<Agent> agents_;                               // TSO, PSO
  std::map<Agent, std::uint32_t> agent_numbers_;
  std::vector<std::uint32_t> ranked_;  // threads first, then buffers, by their names
  std::vector<std::vector<std::uint32_t>> agent_steps_;
  std::vector<std::vector<std::int32_t>> enablers_;                      // of each step, beyond the operation's own
  std::unordered_map<std::size_t, std::vector<std::int32_t>> arrivals_;  // SC: of each step that leaves a barrier
  std::vector<Wide> in_memory_;  // before each step: what its cell held for others, whatever its thread's buffer holds
  struct Buffers {
    std::array<std::vector<Entry>, kMaxThreads> stores;  // oldest first
    std::array<std::uint32_t, kMaxThreads> markers{};    // sfences of the thread so far
    std::vector<Failed> failed;                          // commits that went wrong
  } buffers_;
  std::vector<Buffers> kept_buffers_;  // with each snapshot

  // Does something while memory is as the thread sees it, with what its buffers hold.
  template <typename Do>
  auto in_view_of(std::uint32_t thread, Do action) const {
    const auto& buffer = buffers_.stores[thread];
    std::vector<Wide> covered;
    for (const Entry& entry : buffer) {
      covered.push_back(contents(entry.operation));
      if (!entry.dead) put(entry.operation, entry.value);
    }
    const auto result = action();
    for (std::size_t i = buffer.size(); i-- > 0;)
      if (!buffer[i].dead) put(buffer[i].operation, covered[i]);
    return result;
  }
};

}  // namespace teetotal::runtime
