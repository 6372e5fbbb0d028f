// One execution per Mazurkiewicz class: optimal dynamic partial-order reduction with wakeup trees.
//
//   Abdulla, Aronsson, Jonsson, Sagonas: Optimal dynamic partial order reduction (POPL 2014)   here
//   E, the execution so far                           execution_, one Frame per event
//   →_E, happens-before                               clocks_
//   sleep(E)                                          Frame::sleep, with what each sleeper did
//   wut(E), a wakeup tree                             Frame::tree, the branches still to come, in order
//   e ≾_E e′, a reversible race                       races_of
//   v = notdep(e, E).e′                               witness
//   WI_[E](v), weak initials                          weak_initial
//   insert_[E](v, wut(E))                             insert
//
// Deviations.
// - Races are looked for among the events beyond the prefix that the execution shares with the one before. The others
//   were seen then, but v differs in its tail from one execution to the next: where a sleeper covered v and that
//   sleeper stands in v behind e′ or not at all, the next execution may not be covered, so the race is kept and asked
//   again.
// - A lock races with the lock before it (its unlock is never enabled together with it), and a thread that waits at the
//   end races with the acquisition of whoever holds its mutex.
// - A lock that writes nothing is a reader's: readers do not conflict with each other, and a writer races with each of
//   them. An rmw on a mutex tries to take it: a lock races with one that succeeded, an unlock with one that failed.
// - A conditional rmw that wrote nothing is a read. Whether it writes once it is reversed is asked of the system.
// - A thread that stops (failed, cut, spinning) lets the others finish: cutting the whole run would hide their races.
#pragma once

#include <memory>
#include <vector>

#include "search/system.hpp"

namespace teetotal {

class OptimalSearch {
 public:
  OptimalSearch(System& system, Visitor& visitor) : system_(system), visitor_(visitor) {}
  SearchResult run();

 private:
  using Clock = std::vector<std::uint32_t>;  // how many events of each thread happen before (own included)

  struct Node {
    std::uint32_t thread;
    Event event;
    std::vector<std::unique_ptr<Node>> children;
  };
  using Tree = std::vector<std::unique_ptr<Node>>;

  struct Sleeper {
    std::uint32_t thread;
    Event event;
  };
  struct Frame {
    std::vector<Sleeper> sleep;
    Tree tree;
    std::uint32_t done = 0;  // branches explored from here
  };
  struct Race {
    std::size_t first;   // e
    std::size_t second;  // e′; the number of events for a thread that waits at the end
    Event reversed;      // e′ as it would be before e
  };

  bool extend();
  void push(std::uint32_t thread, Tree subtree);
  void reverse_races(std::size_t shared);
  std::vector<std::size_t> races_of(const Event& event, const Clock& before, std::size_t end) const;
  std::vector<std::size_t> races_of_lock(const Event& event, const Clock& before, std::size_t end) const;
  std::vector<std::size_t> unordered(std::vector<std::size_t> candidates, const Clock& before) const;
  bool could_be_free(const Event& event, std::size_t first, std::size_t end) const;
  bool reverse(const Race& race);  // false: ask again in the next execution
  std::vector<Event> witness(const Race& race, std::size_t& place) const;
  bool backtrack();
  double fraction() const;

  void clock_before(std::uint32_t thread, std::size_t index, bool executed, Clock& clock) const;
  bool happens_before(std::size_t index, const Clock& clock) const;
  static std::ptrdiff_t weak_initial(std::uint32_t thread, const Event& event, std::span<const Event> sequence);
  static void insert(Tree& tree, std::vector<Event> sequence);

  System& system_;
  Visitor& visitor_;
  SearchResult result_;
  std::vector<Event> execution_;
  std::vector<Clock> clocks_;           // of each event
  std::vector<std::uint32_t> numbers_;  // of each event within its thread, from 1
  std::vector<std::vector<std::size_t>> by_thread_;
  std::vector<std::vector<std::size_t>> by_address_;
  std::vector<Frame> frames_;
  std::vector<Race> kept_;
  std::vector<Clock> spare_;  // to be used again
  Clock before_;
};

}  // namespace teetotal
