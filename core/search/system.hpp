// What a search needs of the system under test: run this schedule, and tell what each step did.
//
// A system runs one SC execution at a time, a step (one event) after the other. Every thread stands just before its
// next operation, which it can describe without running it. A thread whose next read or rmw would complete a waiting
// round (it changes nothing, and comes back to where the thread was since its own last change) waits. The interpreter
// of programs (execution.hpp) is one such system; a C program under the runtime is another. Searches decide the
// schedule and know nothing of what is behind it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "event.hpp"
#include "monitors/hearsay.hpp"
#include "monitors/older_values.hpp"

namespace teetotal {

enum class Readiness : std::uint8_t {
  enabled,  // `event` is what the thread does next
  waiting,  // for what others hold, give, or write: `event` is what it will do
  stopped,  // ended, cut, or failed: it does nothing more in this execution
};

struct Pending {
  Readiness readiness;
  Event event;
};

// Who takes steps: a thread itself or, where there are store buffers, one of its buffers.
struct Agent {
  static constexpr std::int64_t kThread = -1, kWhole = -2;
  std::uint32_t thread = 0;
  std::int64_t buffer = kThread;  // kWhole: that of all its stores; otherwise that of its stores to this location

  auto operator<=>(const Agent&) const = default;
};

// What threads store to first: nothing but memory (SC), a buffer each (TSO), or one for each location (PSO).
enum class Buffering : std::uint8_t { none, whole, each };

struct Ending {
  bool blocked = false;  // some thread waits, or stopped before its end
  bool cut = false;      // of these: because of a loop's bound
  bool vain = false;     // of these: some thread waits in a round that it began in vain. Begun now, it would lead on:
                         // neither a deadlock nor a livelock, and no outcome
  bool endless = false;  // some thread took more steps than anyone may: the search ends here
};

class System : public monitors::OlderValues {
 public:
  virtual std::uint32_t threads() const = 0;
  virtual Pending pending(std::uint32_t thread) const = 0;

  // Whether that is enabled.
  virtual bool enabled(std::uint32_t thread) const { return pending(thread).readiness == Readiness::enabled; }

  // The rank (below) of the first agent from this one on that is enabled, or kNobody: asked before every step.
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  virtual std::uint32_t next_enabled(std::uint32_t rank) const {
    for (const std::uint32_t count = threads(); rank < count; ++rank)
      if (enabled(ranked(rank))) return rank;
    return kNobody;
  }

  // Whether nothing is left but ends: steps that depend on none of other threads but each other, and can never be part
  // of a race (docs/explanation/exploration.md, Lemma 4). A search may end an execution there, and does not see these.
  // Asked of the first agent that is enabled.
  virtual bool nothing_but_ends(std::uint32_t /*rank*/) { return false; }

  // Runs the next operation of an enabled thread.
  virtual Event execute(std::uint32_t thread) = 0;

  // The next operation of a thread uses memory whose life step `end` has ended, and nothing but that memory orders
  // them: whatever lies there by now, nobody has told the thread of it. Asked only where `lives_end`: an end is a load
  // that writes.
  virtual void uses_after(std::uint32_t /*thread*/, std::size_t /*end*/) {}
  bool lives_end = false;

  // Whether some execution has stored to what is locked (it was initialised, or destroyed): a lock can overtake that.
  bool stores_to_locks = false;

  // Whether a thread has stopped where it would have gone on in another order of independent steps. Then a plan may
  // have steps of it that are not possible: whatever comes behind these is left out.
  virtual bool stopped_early(std::uint32_t /*thread*/) const { return false; }

  // Takes back all but the first `length` steps.
  virtual void rewind(std::size_t length) = 0;

  // Whether a conditional rmw or a load of `thread`, step `index` or its next operation where that is the number of
  // steps, would write if it ran just before step `before`, an access to the same location. A load may: what fails with
  // a look alone (a trylock) is one.
  bool would_write(std::uint32_t thread, std::size_t index, std::size_t before) const override = 0;

  // The step that made step `index` possible (that created its thread, ended the one it joins, …), or -1.
  virtual std::ptrdiff_t enabler(std::size_t /*index*/) const { return -1; }

  // The others, where one is not enough: asked only where there are buffers, or `more_enable`.
  bool more_enable = false;
  virtual std::span<const std::int32_t> more_enablers(std::size_t /*index*/) const { return {}; }

  // The same of what a thread that waits at the end of an execution would do next.
  virtual std::vector<std::int32_t> awaited(std::uint32_t /*thread*/) const { return {}; }

  // Whether there are agents that stand for store buffers, and whose an agent is. Two events of one owner's agents that
  // conflict may commute nevertheless: a thread's load, and the commit of a store of its own.
  virtual Buffering buffers() const { return Buffering::none; }
  virtual std::uint32_t owner(std::uint32_t thread) const { return thread; }
  virtual bool commute(const Event& /*a*/, const Event& /*b*/) const { return false; }

  // Of a load that sees a store of its own thread (`Event::own`): the agent whose commits bring that thread's stores
  // there to memory, this one as its `own`-th. And what `own` would be of a load of `thread`, step `index` or the
  // next one, just before step `before`, another's access to the location.
  virtual std::uint32_t buffer_of(const Event& /*load*/) const { return 0; }
  virtual std::uint8_t own_before(std::uint32_t /*thread*/, std::size_t /*index*/, std::size_t /*before*/) const {
    return 0;
  }

  // Whether step `index` may have to wait until accesses to its location let it go: a lock, a semaphore, a signal; and
  // a load or rmw that could complete a waiting round (docs/explanation/waiting.md), whatever it saw where it ran.
  bool waits(std::size_t index) const override = 0;

  // Whether such an operation of `thread`, step `index` or the next one where that is the number of steps, could run
  // just before step `before`, an access to its location: with what the location held then, whatever else was done by
  // then. So a load or rmw is possible where what it would see there completes no waiting round. Monitors ask it too,
  // where `before` is a write that the operation overtakes on the relaxed machine (exact.hpp), also of the next
  // operation of each thread that waits at the end. Not asked about a writer's lock before a reader's: there it matters
  // who else reads.
  bool possible(std::uint32_t thread, std::size_t index, std::size_t before) const override = 0;

  // Whether waiting rounds are left out: `waits` and `possible` are about loads and rmws too.
  virtual bool skips_waiting() const { return false; }

  // What the agents stand before that wait, in the order of their ranks.
  virtual void find_waiting(std::vector<Event>& waiting) const {
    waiting.clear();
    const bool in_order = buffers() == Buffering::none;
    for (std::uint32_t rank = 0, count = threads(); rank < count; ++rank)
      if (const Pending next = pending(in_order ? rank : ranked(rank)); next.readiness == Readiness::waiting)
        waiting.push_back(next.event);
  }

  // How the execution at hand stands, once no thread is enabled.
  virtual Ending ending() const = 0;

  // Agents are numbered as they are met, which differs from process to process. Searches try them in this order, which
  // does not: asked only where there are buffers.
  virtual std::uint32_t ranked(std::uint32_t rank) const { return rank; }
  virtual Agent agent_of(std::uint32_t number) const { return {.thread = number}; }
  virtual std::uint32_t number_of(const Agent& agent) { return agent.thread; }

  // Nobody has kept an event: agents may be numbered as the next execution meets them.
  virtual void forget_agents() {}

  // Names of locations and places that mean the same in every process that runs the program, for searches that go on
  // elsewhere (part.hpp); the numbers of events are known to this one alone.
  virtual std::uint64_t address_name(std::uint32_t number) const { return number; }
  virtual std::uint64_t location_name(std::uint32_t number) const { return number; }
  virtual std::uint32_t address_named(std::uint64_t name, bool /*data*/) { return static_cast<std::uint32_t>(name); }
  virtual std::uint32_t location_named(std::uint64_t name) { return static_cast<std::uint32_t>(name); }
  virtual bool holds_data(std::uint32_t /*address*/) const { return true; }  // and no object of the library's
};

// Sees each complete execution of a search. `shared` is how many of its first events the execution before also had, at
// the same places: a monitor need only look at the others.
class Visitor {
 public:
  virtual ~Visitor() = default;

  // False: stop the search.
  virtual bool visit(std::span<const Event> execution, std::size_t shared) = 0;

  // How much of the search is done, from 0 to 1, as far as it can tell; brought up to date now and then.
  double explored = 0;

  // Where the visitor listens: what a search notes that can tell, before each visit.
  monitors::Hearsay* hearsay = nullptr;

  // Set by whoever wants a part of a search (part.hpp) to stop after this execution, with what is left of it.
  bool pause = false;
};

struct SearchResult {
  std::uint64_t executions = 0;  // complete ones
  std::uint64_t blocked = 0;     // of these: in which some thread waits or was stopped before its end
  std::uint64_t cut = 0;         // of these: in which a loop's bound stopped a thread
  std::uint64_t vain = 0;        // of these: in which some thread waits in a round that it began in vain
  std::uint64_t redundant = 0;   // begun, but equivalent to an earlier one: 0 in an optimal search
  std::uint64_t left_out = 0;    // begun, but not possible, since some thread had stopped early
  bool complete = false;         // nothing was left out
  bool full = false;             // stopped because its memory was full
  bool endless = false;          // stopped because a thread goes on for ever, as far as one can tell
  bool bounded = false;          // executions were left out because of a bound on preemptions
};

// Counts an execution that came to its end. False where the search ends with it.
inline bool tally(SearchResult& result, const Ending& ending) {
  ++result.executions;
  result.blocked += ending.blocked;
  result.cut += ending.cut;
  result.vain += ending.vain;
  result.endless = result.endless || ending.endless;
  return !ending.endless;
}

// What a search counts until it ends, or its memory does: what was seen by then is kept.
template <class Search>
SearchResult until_full(Search search) {
  SearchResult result;
  try {
    search(result);
  } catch (const std::bad_alloc&) {
    result.full = true;
  }
  return result;
}

}  // namespace teetotal
