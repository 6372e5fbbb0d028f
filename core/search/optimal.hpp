// One execution per Mazurkiewicz class: optimal dynamic partial-order reduction with wakeup trees.
//
//   Abdulla, Aronsson, Jonsson, Sagonas: Optimal dynamic partial order reduction (POPL 2014)   here
//   E, the execution so far                           execution_, one Frame per event
//   →_E, happens-before                               clocks_; before_, what holds whatever an event conflicts with
//   sleep(E)                                          Frame::sleep, with what each sleeper did
//   wut(E), a wakeup tree                             Frame::tree, the branches still to come, in order
//   e ≾_E e′, a reversible race                       races_with, races_of_waiting
//   v = notdep(e, E).e′                               witness
//   WI_[E](v), weak initials                          weak_initial
//   insert_[E](v, wut(E))                             insert
//
// Deviations (docs/explanation/exploration.md has the proof with them).
// - Races are looked for among the events beyond the prefix that the execution shares with the one before. The others
//   were seen then, but v differs in its tail from one execution to the next, so a race is asked again in every
//   execution that shares its events, unless it is *settled*: the events of v up to e′, which do not change, decided
//   alone who covers it, or which way it went down the tree.
// - What may wait (for a mutex, a semaphore, a signal; a read that would only complete a waiting round) races with the
//   latest access before which it could have run, also past writes: what came after that one gave it what it waited
//   for. So does a thread that waits at the end.
// - A lock that writes nothing is a reader's: readers do not conflict with each other. A writer races with a reader
//   together with all others that hold the lock until after that one (`also`): it comes before them all.
// - Where there are store buffers, a thread's loads and the commits of its own stores are independent; and a load that
//   sees its own thread's store is independent of others' writes until that store is committed: as in chronological
//   traces (Abdulla, Aronis, Atig, Jonsson, Leonardsson, Sagonas: TACAS 2015). So a class is a Shasha-Snir trace.
// - A conditional rmw that wrote nothing is a read. Whether it writes once it is reversed is asked of the system.
// - Where nothing is left but ends of threads and joins, the execution ends, if the system says so.
// - A thread that stops (failed, cut) lets the others finish: cutting the whole run would hide their races.
#pragma once

#include <deque>
#include <new>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "search/clocks.hpp"
#include "search/part.hpp"
#include "search/system.hpp"

namespace teetotal {

inline constexpr std::size_t kMegabytes = 4096;

class OptimalSearch {
 public:
  // Wakeup trees can grow without bound: the search stops where they need more than `megabytes`, or all that there are.
  OptimalSearch(System& system, Visitor& visitor, std::size_t megabytes = kMegabytes)
      : system_(system),
        visitor_(visitor),
        buffers_(system.buffers() != Buffering::none),
        hearsay_(buffers_ ? nullptr : visitor.hearsay),
        most_nodes_((megabytes << 20) / sizeof(Node)) {
    if (hearsay_ != nullptr) hearsay_->begin();
  }
  ~OptimalSearch() {
    if (hearsay_ != nullptr) hearsay_->noted = false;
  }
  OptimalSearch(const OptimalSearch&) = delete;
  OptimalSearch& operator=(const OptimalSearch&) = delete;
  SearchResult run();

  // A part of a search (parts.cpp): runs on to where it stands, and explores it until it is finished, the visitor
  // pauses, or somebody else has what comes next. Throws Elsewhere where the path is not the one that was told. The
  // counts are those of the executions explored now.
  struct Elsewhere : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  SearchResult run(const Part& part);
  Part rest() const;
  const std::vector<Ask>& asks() const { return asks_; }

 private:
  friend class Merging;
  struct Node {
    Event event;
    Node* child;  // the first
    Node* next;   // its sibling
  };
  using Sleeper = Event;  // what the thread that sleeps did
  struct Frame {
    std::vector<Sleeper> sleep;
    Node* tree = nullptr;
    std::uint32_t done = 0;  // branches explored from here
  };

  template <class Search>
  SearchResult until_broken_off(Search search);
  void explore(std::size_t shared);
  bool extend();
  void push(std::uint32_t thread, Node* subtree);
  void look_for_late_use(std::uint32_t thread);
  Frame& open_frame() {
    if (frames_.size() == depth_) [[unlikely]]
      frames_.emplace_back();
    Frame& frame = frames_[depth_++];
    frame.sleep.clear();
    frame.tree = nullptr;
    frame.done = 0;
    return frame;
  }
  using Accesses = std::vector<std::size_t>::const_reverse_iterator;  // to one location, the latest first
  using Rumours = monitors::Hearsay::Rumours;
  void hear(const Event& event, std::int32_t index, std::int32_t previous, Accesses from, Rumours& rumours) const;
  void hear_waiting();
  // Whether what an event knows, whose thread did `previous` last, is to be told. An operation on an object may do
  // something else by now, and is told of again.
  bool is_news(const Event& event, std::int32_t previous) const {
    return hearsay_->is_news(previous) || (!event.checked() && previous != monitors::Hearsay::kNone);
  }
  void reverse_races(std::size_t shared);
  void races_with(const Event& event, std::size_t index, std::int32_t previous);
  Event as_before(const Event& event, std::size_t index, std::size_t first) const;
  void races_of_waiting(const Event& event, const std::uint32_t* before, std::size_t end);
  void drop_ordered(const std::uint32_t* before);
  void drop_covered();
  bool find_readers(std::size_t first, const std::uint32_t* before, std::size_t end);
  void note_race(std::size_t first, std::size_t second, const Event& reversed, std::vector<Race>& races);
  bool reverse(const Race& race);
  std::size_t witness(const Race& race);
  bool backtrack();
  double fraction() const;

  // What happens before the next event of `thread` whatever it does and whatever makes it possible: its own past.
  void clock_before(std::uint32_t thread, std::uint32_t* clock) const {
    if (thread < by_thread_.size() && !by_thread_[thread].empty()) {
      copy(clock, clocks_[by_thread_[thread].back()], clocks_.width());
    } else {
      clear(clock, clocks_.width());
    }
  }
  bool happens_before(std::size_t index, const std::uint32_t* clock) const {
    return numbers_[index] <= clock[execution_[index].thread];
  }
  bool conflicts(const Event& a, const Event& b) const {
    return conflict(a, b) && !(buffers_ && system_.commute(a, b));
  }
  std::size_t committed(const Event& load, std::size_t before) const;
  bool conflicts_now(const Event& a, const Event& b) const;
  bool dependent(const Event& a, const Event& b) const { return a.thread == b.thread || conflicts_now(a, b); }
  std::span<const std::size_t> own_loads_before(const Event& write);
  bool could_precede(const Event& event, std::size_t load, std::size_t end) const;
  std::size_t write_behind(std::size_t load, std::size_t end) const;
  bool is_barrier(const Event& write, const Event*& later) const;
  std::ptrdiff_t weak_initial(const Event& event, std::span<const Event> sequence, std::size_t from,
                              std::size_t depth) const;
  bool insert(Node*& tree, std::vector<Event>& sequence, std::size_t fixed, std::size_t depth);
  Node* take_node(const Event& event);
  void return_node(Node* node);

  std::uint32_t ranked(std::uint32_t rank) const { return buffers_ ? system_.ranked(rank) : rank; }
  void stand_at(const Part& part);
  Event done_here(std::uint32_t thread);
  bool ends_here() const;
  bool ask(Frame& frame, const Race& race, std::size_t fixed);
  bool given(const Node* node) const { return !given_.empty() && node >= given_.data() && node <= &given_.back(); }
  std::uint32_t next_mark() const;
  Node* plant(const std::vector<Branch>& branches, bool above);
  std::vector<Branch> harvest(const Node* node, bool above) const;

  System& system_;
  Visitor& visitor_;
  bool buffers_;
  monitors::Hearsay* hearsay_;  // null: nobody listens
  SearchResult result_;
  std::vector<Event> execution_;
  Clocks clocks_, before_;              // of each event: how many events of each thread happen before, its own included
  std::vector<std::uint32_t> numbers_;  // of each event within its thread, from 1
  std::vector<std::vector<std::size_t>> by_thread_;
  std::vector<std::vector<std::size_t>> by_address_;
  std::vector<std::vector<std::size_t>> own_loads_;  // by address: loads that saw their own thread's stores
  std::vector<Frame> frames_;                        // the first depth_ of them; the others are there to be used again
  std::size_t depth_ = 0;
  std::vector<Race> found_;  // among the events that are new
  std::vector<Race> kept_, open_;
  std::size_t most_nodes_;
  std::deque<Node> nodes_;
  Node* spare_ = nullptr;                // nodes to be used again
  std::vector<std::size_t> candidates_;  // scratch
  std::vector<std::size_t> races_;
  std::vector<Event> sequence_;
  std::vector<Event> waiting_;
  std::vector<std::size_t> readers_, holders_;
  std::vector<Event> along_;  // of `insert`: what comes before where it stands
  bool as_given_ = true;      // of `insert`: it went along nodes that were given, and made none

  // Of a part:
  std::size_t base_ = 0;
  std::vector<Event> path_;  // to the base
  std::vector<Node> given_;  // branches above the base, as they were when the part was given away
  std::unordered_map<const Node*, std::uint32_t> marks_;
  std::vector<Ask> asks_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> asked_;  // hashes of these
  bool finished_ = false;
  bool broken_off_ = false;  // memory ended in the midst of an execution: what is left of the part is not known
};

template <class Search>
SearchResult OptimalSearch::until_broken_off(Search search) {
  try {
    search();
  } catch (const std::bad_alloc&) {
    broken_off_ = result_.full = true;
  }
  return result_;
}

}  // namespace teetotal
