#include "symbolic/robust.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

#include "symbolic/aside.hpp"
#include "symbolic/attack_path.hpp"
#include "symbolic/chase.hpp"

namespace teetotal::symbolic {

namespace {

constexpr Process nobody = ~Process{0};
using Set = std::vector<std::uint32_t>;  // sorted

enum Mark : std::uint8_t { read = 1, written_to = 2 };
using Marks = std::vector<std::uint8_t>;  // by location

void mark(Marks& marks, const Touched& touched) {
  for (Location x : touched.reads) marks[static_cast<std::size_t>(x)] |= read;
  for (const auto& write : touched.writes) marks[static_cast<std::size_t>(write.first)] |= written_to;
}

void unite(Marks& into, const Marks& more) {
  for (std::size_t x = 0; x < into.size(); ++x) into[x] |= more[x];
}

bool conflict(const Marks& one, const Marks& other) {
  for (std::size_t x = 0; x < one.size(); ++x)
    if (one[x] != 0 && other[x] != 0 && ((one[x] | other[x]) & written_to)) return true;
  return false;
}

bool inside(const Marks& small, const Marks& large) {
  for (std::size_t x = 0; x < small.size(); ++x)
    if (small[x] & ~large[x]) return false;
  return true;
}

struct State {
  std::uint32_t memory = 0;
  Process attacker = nobody;
  Location victim = -1;
  std::vector<std::uint32_t> places;  // by process, the number of a set
  Marks late;                         // by process: whether it moves during the attack
  Marks marks;                        // what late processes and the attacker touch
  std::uint32_t parent = 0;
  Change by{nobody, {}};
  bool superseded = false;
};

class AttackSearch {
 public:
  AttackSearch(Graph& graph, bool joining, Progress* progress)
      : graph_(graph),
        joining_(joining),
        progress_(progress),
        alike_(graph.system().alike, joining),
        apart_(graph.system().alike, false),
        steps_(graph),
        chase_(graph, steps_, sets_, progress),
        moving_(graph.processes()),
        attacking_(graph.processes()) {
    const System& system = graph_.system();
    for (Process p = 0; p < graph_.processes(); ++p) {
      std::set<Location> all(system.loads[p].begin(), system.loads[p].end());
      all.insert(system.touches[p].begin(), system.touches[p].end());
      all.insert(system.stores[p].begin(), system.stores[p].end());
      touches_.emplace_back(all.begin(), all.end());
    }
  }

  RobustResult run() {
    State start{memories_(graph_.system().memory), nobody, -1, {}, Marks(graph_.processes(), 1), {}, 0, {nobody, {}}};
    start.marks.resize(graph_.system().memory.size());
    for (Process p = 0; p < graph_.processes(); ++p) start.places.push_back(sets_({graph_.start(p)}));
    add(std::move(start));
    while (!queue_.empty() && result_.robust) {
      std::uint32_t number = queue_.begin()->second;
      queue_.erase(queue_.begin());
      if (states_[number].superseded) continue;
      if (progress_ != nullptr) progress_->report(states_.size());
      expand(number);
    }
    result_.states = states_.size() + chase_.states();
    return std::move(result_);
  }

 private:
  // What a set of places becomes while memory stays, and what its processes touch there or could.
  struct Closed {
    std::uint32_t set;
    Marks touched;
  };

  // Calls to(number of the next place, what the step touches) for every step of p from that place.
  template <class To>
  void steps(Process p, bool attacking, std::uint32_t place, const Memory& m, To to) {
    if (attacking) {
      const Delayed from = delayed_[place];
      steps_.attacker(p, from, m, [&](const Delayed& next, const Touched& t) { to(delayed_(next), t); });
    } else {
      steps_.helper(p, place, m, to);
    }
  }

  const Closed& closed(Process p, bool attacking, std::uint32_t set, std::uint32_t memory) {
    auto& known = (attacking ? attacking_ : moving_)[p];
    const Memory& m = memories_[memory];
    if (const Closed* found = known.find(set, m)) return *found;
    Asked asked(m.size());
    Set pending = sets_[set];
    std::set<std::uint32_t> reached(pending.begin(), pending.end());
    Marks touched(m.size());
    while (!pending.empty()) {
      std::uint32_t place = pending.back();
      pending.pop_back();
      if (progress_ != nullptr) progress_->report(0);
      steps_.asks(p, attacking ? delayed_[place].control : place, asked);
      steps(p, attacking, place, m, [&](std::uint32_t next, const Touched& t) {
        mark(touched, t);
        if (!changes(t.writes, m) && reached.insert(next).second) pending.push_back(next);
      });
    }
    std::uint32_t whole = sets_(Set(reached.begin(), reached.end()));
    return known.keep(set, asked.order(), m, Closed{whole, std::move(touched)});
  }

  // Everybody who moves goes as far as memory lets him. Who conflicts with one of these moves too.
  void settle(State& state) {
    auto moves = [&](Process p) {
      const Closed& now = closed(p, p == state.attacker, state.places[p], state.memory);
      state.places[p] = now.set;
      if (state.attacker != nobody) unite(state.marks, now.touched);
    };
    for (Process p = 0; p < graph_.processes(); ++p)
      if (state.late[p]) moves(p);
    for (bool more = true; more;) {
      more = false;
      for (Process p = 0; p < graph_.processes(); ++p) {
        if (state.late[p] || !conflict(wanted(p, state), state.marks)) continue;
        state.late[p] = 1;
        moves(p);
        more = true;
      }
    }
  }

  // Memory without what nobody will read; see saturate.hpp.
  void forget(State& state) {
    const Memory& now = memories_[state.memory];
    Memory m = graph_.system().memory;
    for (Process p = 0; p < graph_.processes(); ++p)
      for (Location x : still_read(p, p == state.attacker, state.places[p]))
        m[static_cast<std::size_t>(x)] = now[static_cast<std::size_t>(x)];
    const std::uint32_t memory = memories_(m);
    if (memory == state.memory) return;
    state.memory = memory;
    settle(state);  // a store may change nothing of this memory
  }

  const std::vector<Location>& still_read(Process p, bool attacking, std::uint32_t set) {
    auto [found, fresh] = still_read_[{p, attacking}].try_emplace(set);
    if (!fresh) return found->second;
    std::set<Location> all;
    for (std::uint32_t place : sets_[set]) {
      const auto& reads = graph_.still_read(p, attacking ? delayed_[place].control : place);
      for (Location x : reads) {
        auto mine = [&](const auto& entry) { return entry.first == x; };
        if (!attacking || std::none_of(delayed_[place].own.begin(), delayed_[place].own.end(), mine)) all.insert(x);
      }
    }
    found->second.assign(all.begin(), all.end());
    return found->second;
  }

  // What a process that stays where it is would touch with its next step.
  Marks wanted(Process p, const State& state) {
    const Memory& m = memories_[state.memory];
    Marks touched(m.size());
    for (Control q : sets_[state.places[p]])
      steps_.helper(p, q, m, [&](Control, const Touched& t) { mark(touched, t); });
    return touched;
  }

  bool included(std::uint32_t a, std::uint32_t b) const {
    return a == b || std::includes(sets_[b].begin(), sets_[b].end(), sets_[a].begin(), sets_[a].end());
  }

  bool lies_in(const State& small, const State& large) const {
    auto within = [&](std::uint32_t a, std::uint32_t b) { return included(a, b); };
    return symmetry(small).fit(small.places, large.places, within) && inside(small.late, large.late) &&
           inside(small.marks, large.marks);
  }

  // Before the attack, when all move alike. During it nobody takes another's place.
  const Symmetry& symmetry(const State& state) const { return state.attacker == nobody ? alike_ : apart_; }

  void add(State state) {
    state.superseded = false;  // whatever became of the state that it was made from
    settle(state);
    if (joining_) forget(state);
    auto& known = groups_[{state.memory, state.attacker, state.victim}];
    for (bool grown = true; grown;) {
      grown = false;
      for (std::uint32_t other : known) {
        State& old = states_[other];
        if (old.superseded) continue;
        if (lies_in(state, old)) return;
        if (!joining_) continue;
        if (lies_in(old, state)) {
          old.superseded = true;
          continue;
        }
        const auto differing = symmetry(state).one_difference(state.places, old.places);
        if (!differing) continue;
        const auto [mine, theirs] = *differing;
        Set both;
        const Set &one = sets_[state.places[mine]], &two = sets_[old.places[theirs]];
        std::set_union(one.begin(), one.end(), two.begin(), two.end(), std::back_inserter(both));
        state.places[mine] = sets_(both);
        unite(state.late, old.late);
        unite(state.marks, old.marks);
        settle(state);
        old.superseded = true;
        grown = true;
      }
    }
    std::erase_if(known, [&](std::uint32_t i) { return states_[i].superseded; });
    auto number = static_cast<std::uint32_t>(states_.size());
    known.push_back(number);
    // Breadth-first for shortest paths; when joining, the largest first: it takes in what smaller ones would lead to.
    std::uint64_t weight = 0;
    for (std::uint32_t set : state.places) weight += sets_[set].size();
    queue_.emplace(joining_ ? ~weight : 0, number);
    states_.push_back(std::move(state));
  }

  void expand(std::uint32_t number) {
    const State state = states_[number];
    const Memory m = memories_[state.memory];
    if (state.attacker != nobody && chase(number, m)) return;
    for (Process p = 0; p < graph_.processes() && result_.robust; ++p) {
      if (!state.late[p] || symmetry(state).repeats(state.places, p)) continue;
      const bool attacking = p == state.attacker;
      std::map<Writes, std::set<std::uint32_t>> events;
      std::map<Location, std::set<std::uint32_t>> attacks;
      for (std::uint32_t place : Set(sets_[state.places[p]])) {
        steps(p, attacking, place, m, [&](std::uint32_t next, const Touched& t) {
          if (changes(t.writes, m)) events[t.writes].insert(next);
        });
        if (state.attacker == nobody)
          steps_.delays(p, place, [&](const Delayed& d, Location x) { attacks[x].insert(delayed_(d)); });
      }
      for (const auto& [writes, to] : events) {
        State next = state;
        next.memory = memories_(written(m, writes));
        next.places[p] = sets_(Set(to.begin(), to.end()));
        next.parent = number;
        next.by = {p, writes};
        add(std::move(next));
      }
      for (const auto& [victim, to] : attacks) attack(number, p, victim, sets_(Set(to.begin(), to.end())));
    }
  }

  // p delays a store, if that can lead to anything: another process touches its location, and it sees something of
  // memory before it has to commit.
  void attack(std::uint32_t number, Process p, Location victim, std::uint32_t delayed) {
    bool met = false;
    for (Process r = 0; r < graph_.processes(); ++r)
      met |= r != p && std::binary_search(touches_[r].begin(), touches_[r].end(), victim);
    const Marks& touched = closed(p, true, delayed, states_[number].memory).touched;
    if (!met || std::all_of(touched.begin(), touched.end(), [](std::uint8_t mark) { return mark == 0; })) return;
    State next = states_[number];
    next.attacker = p;
    next.victim = victim;
    next.places[p] = delayed;
    next.late.assign(graph_.processes(), 0);
    next.late[p] = 1;
    next.parent = number;
    next.by = {nobody, {}};
    add(std::move(next));
  }

  // Whether a cycle closes from here.
  bool chase(std::uint32_t number, const Memory& m) {
    const State state = states_[number];
    for (std::uint32_t place : Set(sets_[state.places[state.attacker]])) {
      Scene scene{m, state.attacker, state.victim, state.places};
      if (!chase_.closes(scene, delayed_[place])) continue;
      result_.robust = false;
      if (!joining_) tell(number, delayed_[place]);
      return true;
    }
    return false;
  }

  void tell(std::uint32_t number, const Delayed& at) {
    AttackGoal goal{states_[number].attacker, states_[number].victim, at, {}};
    goal.places.resize(graph_.processes());
    std::vector<Change> path;
    for (std::uint32_t i = number; i != 0; i = states_[i].parent)
      if (states_[i].by.process != nobody) path.push_back(states_[i].by);
    std::reverse(path.begin(), path.end());
    const std::vector<Chase::Taken> taken = chase_.taken();
    for (const Chase::Taken& step : taken)
      if (step.process != goal.attacker && !goal.places[step.process]) goal.places[step.process] = step.from;
    result_.schedule = attack_schedule(graph_, steps_, path, goal, progress_);
    for (const Chase::Taken& step : taken)
      result_.schedule.insert(result_.schedule.end(), step.steps.begin(), step.steps.end());
  }

  Graph& graph_;
  bool joining_;
  Progress* progress_;
  Symmetry alike_, apart_;
  AttackSteps steps_;
  Numbered<Memory> memories_;
  Numbered<Set> sets_;  // of control states, or of numbers of the attacker's places
  Numbered<Delayed, DelayedHash> delayed_;
  Chase chase_;
  std::vector<std::vector<Location>> touches_;          // by process
  std::vector<Remembered<Closed>> moving_, attacking_;  // by process
  std::map<std::pair<Process, bool>, std::unordered_map<std::uint32_t, std::vector<Location>>> still_read_;
  std::map<std::tuple<std::uint32_t, Process, Location>, std::vector<std::uint32_t>> groups_;
  std::vector<State> states_;
  std::set<std::pair<std::uint64_t, std::uint32_t>> queue_;
  RobustResult result_;
};

}  // namespace

RobustResult check_robust(Graph& graph, Progress* progress) {
  RobustResult found = freed_aside<AttackSearch>(graph, true, progress)->run();
  if (found.robust) return found;
  found = freed_aside<AttackSearch>(graph, false, progress)->run();
  if (found.robust) throw std::logic_error("a cycle that no path leads to");
  return found;
}

}  // namespace teetotal::symbolic
