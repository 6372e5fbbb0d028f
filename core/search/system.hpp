// What a search needs of the system under test: run this schedule, and tell what each step did.
//
// A system runs one SC execution at a time, a step (one event) after the other. Every thread stands just before its
// next operation, which it can describe without running it. The interpreter of programs (execution.hpp) is one such
// system; a C program under the runtime is another. Searches decide the schedule and know nothing of what is behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "event.hpp"
#include "oracle.hpp"

namespace teetotal {

enum class Readiness : std::uint8_t {
  enabled,  // `event` is what the thread does next
  waiting,  // for what others hold, or may give: `event` is what it will do
  stopped,  // ended, cut, failed, or spinning for ever: it does nothing more in this execution
};

struct Pending {
  Readiness readiness;
  Event event;
};

struct Ending {
  bool blocked = false;  // some thread waits, or stopped before its end
  bool cut = false;      // of these: because of a loop's bound
};

class System : public Oracle {
 public:
  virtual std::uint32_t threads() const = 0;
  virtual Pending pending(std::uint32_t thread) const = 0;

  // Whether that is enabled: asked of every thread before every step.
  virtual bool enabled(std::uint32_t thread) const { return pending(thread).readiness == Readiness::enabled; }

  // Runs the next operation of an enabled thread.
  virtual Event execute(std::uint32_t thread) = 0;

  // The next operation of a thread uses memory whose life step `end` has ended, and nothing but that memory orders
  // them: whatever lies there by now, nobody has told the thread of it. Asked only where `lives_end`: an end is a load
  // that writes.
  virtual void uses_after(std::uint32_t /*thread*/, std::size_t /*end*/) {}
  bool lives_end = false;

  // Takes back all but the first `length` steps.
  virtual void rewind(std::size_t length) = 0;

  // Whether step `index`, a conditional rmw or a load, would write if it ran just before step `before` (an access to
  // the same location) instead of where it did. A load may: what fails with a look alone (a trylock) is one.
  virtual bool would_write(std::size_t index, std::size_t before) const = 0;

  // The step that made step `index` possible (that created its thread, ended the one it joins, …), or -1.
  virtual std::ptrdiff_t enabler(std::size_t /*index*/) const { return -1; }

  // The others, where one is not enough: asked only where there are buffers.
  virtual std::span<const std::int32_t> more_enablers(std::size_t /*index*/) const { return {}; }

  // The same of what a thread that waits at the end of an execution would do next.
  virtual std::vector<std::int32_t> awaited(std::uint32_t /*thread*/) const { return {}; }

  // Whether there are agents that stand for store buffers, and whose an agent is. Two events of one owner's agents that
  // conflict may commute nevertheless: a thread's load, and the commit of a store of its own.
  virtual bool buffers() const { return false; }
  virtual std::uint32_t owner(std::uint32_t thread) const { return thread; }
  virtual bool commute(const Event& /*a*/, const Event& /*b*/) const { return false; }

  // Whether step `index` had to wait until accesses to its location let it go (a lock, a semaphore, a signal).
  virtual bool waits(std::size_t index) const = 0;

  // Whether such an operation of `thread`, step `index` or the next one where that is the number of steps, could run
  // just before step `before`, an access to its location. Not asked about a writer's lock before a reader's: there it
  // matters who else reads.
  virtual bool possible(std::uint32_t thread, std::size_t index, std::size_t before) const = 0;

  // How the execution at hand stands, once no thread is enabled.
  virtual Ending ending() const = 0;
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
};

struct SearchResult {
  std::uint64_t executions = 0;  // complete ones
  std::uint64_t blocked = 0;     // of these: in which some thread waits or was stopped before its end
  std::uint64_t cut = 0;         // of these: in which a loop's bound stopped a thread
  std::uint64_t redundant = 0;   // begun, but equivalent to an earlier one: 0 in an optimal search
  bool complete = false;         // nothing was left out
  bool full = false;             // stopped because its memory was full
  bool bounded = false;          // executions were left out because of a bound on preemptions
};

}  // namespace teetotal
