#include "symbolic/accelerate.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "symbolic/buffers.hpp"

namespace teetotal::symbolic {

namespace {

using K = Action::Kind;

// One transition, as far as its independence of others matters.
struct Move {
  Process process = 0;
  bool commit = false;
  Letter letter = 0;       // of a commit
  std::size_t action = 0;  // otherwise: which of the control state's
  Control target = 0;
  Location reads = -1;            // memory that a load looks at
  std::vector<Location> touches;  // memory that a commit or an atomic step changes or looks at
  bool visible = false;           // enters or leaves a label that a property speaks about
  auto operator<=>(const Move&) const = default;
};

bool overlap(const Move& a, const Move& b) {
  auto touched = [](const Move& m, Location x) {
    return std::find(m.touches.begin(), m.touches.end(), x) != m.touches.end();
  };
  if (a.reads >= 0 && touched(b, a.reads)) return true;
  if (b.reads >= 0 && touched(a, b.reads)) return true;
  return std::any_of(a.touches.begin(), a.touches.end(), [&](Location x) { return touched(b, x); });
}

bool independent(const Move& a, const Move& b) {
  return a.process != b.process && !overlap(a, b) && !(a.visible && b.visible);
}

struct State {
  Memory memory;
  std::vector<Control> controls;
  std::vector<Language> buffers;  // TSO: by process; PSO: by process and location
};

struct Successor {
  Move move;
  State state;
  std::optional<Happening> changes;                  // memory
  std::optional<Letter> stored;                      // appended a letter
  bool repeatable = true;                            // a local step that a cycle may contain
  std::optional<std::pair<Location, Value>> loaded;  // what a load looked at, and saw
};

class Search {
 public:
  Search(Graph& graph, Progress* progress)
      : graph_(graph), progress_(progress), buffers_(progress), pso_(graph.model() == Model::pso) {}

  // Depth-first down to a limit that grows: most violations are shallow, and some programs are deep without end.
  AccelerateResult run() {
    for (limit_ = 24; !result_.bad; limit_ += limit_ / 2) {
      cut_ = false;
      visited_.clear();
      stack_.clear();
      result_.states = 0;
      search();
      if (!cut_) break;
    }
    return std::move(result_);
  }

 private:
  void search() {
    State start{graph_.system().memory, {}, {}};
    for (Process p = 0; p < graph_.processes(); ++p) start.controls.push_back(graph_.start(p));
    auto locations = static_cast<std::size_t>(graph_.system().buffered);
    start.buffers.assign(pso_ ? graph_.processes() * locations : graph_.processes(), buffers_.empty);
    push(std::move(start), {}, nullptr);
    while (!stack_.empty() && !result_.bad) {
      Entry& top = stack_.back();
      if (top.next == top.pending.size()) {
        if (!top.full && top.widen) {
          widen(top);
          continue;
        }
        stack_.pop_back();
        continue;
      }
      take();
    }
  }

  struct Entry {
    State state;
    std::set<Move> asleep;
    std::vector<Successor> pending;
    std::vector<Move> explored;
    std::size_t next = 0;
    bool full = false;   // pending holds every process's moves, not only a persistent set
    bool widen = false;  // the persistent set led back: all must be explored
    Successor by;        // how it was entered (without its state)
  };
  struct Visited {
    std::vector<Language> buffers;
    std::set<Move> asleep;
  };

  Alphabet& letters() { return buffers_.automata.alphabet; }

  Language& buffer(State& s, Process p, Location x) const {
    return s.buffers[pso_ ? p * static_cast<std::size_t>(graph_.system().buffered) + static_cast<std::size_t>(x) : p];
  }

  std::vector<Language> buffers_of(const State& s, Process p) const {
    if (!pso_) return {s.buffers[p]};
    auto count = static_cast<std::ptrdiff_t>(graph_.system().buffered);
    auto first = s.buffers.begin() + static_cast<std::ptrdiff_t>(p) * count;
    return {first, first + count};
  }

  // A state to explore from, unless one that was explored covers it. False if it is dropped.
  bool push(State state, std::set<Move> asleep, Successor* by) {
    if (progress_ != nullptr) progress_->report(result_.states + 1, stack_.size(), stack_.size());
    auto& known = visited_[{state.memory, state.controls}];
    for (const Visited& v : known) {
      bool covered = std::includes(asleep.begin(), asleep.end(), v.asleep.begin(), v.asleep.end());
      for (std::size_t i = 0; covered && i < v.buffers.size(); ++i)
        covered = buffers_.automata.included(state.buffers[i], v.buffers[i]);
      if (covered) return false;
    }
    if (stack_.size() >= limit_) {
      cut_ = true;
      return false;
    }
    known.push_back({state.buffers, asleep});
    ++result_.states;
    Entry entry;
    entry.state = std::move(state);
    entry.asleep = std::move(asleep);
    if (by != nullptr) {
      entry.by = *by;
      entry.by.state = {};
    }
    if (graph_.is_bad(entry.state.controls, entry.state.memory)) {
      stack_.push_back(std::move(entry));
      found();
      return true;
    }
    if (auto p = persistent(entry.state)) {
      entry.pending = successors(entry.state, *p, false);
    } else {
      entry.full = true;
      for (Process p2 = 0; p2 < graph_.processes(); ++p2)
        for (auto& s : successors(entry.state, p2, true)) entry.pending.push_back(std::move(s));
    }
    stack_.push_back(std::move(entry));
    return true;
  }

  void widen(Entry& entry) {
    entry.full = true;
    entry.pending.clear();
    entry.next = 0;
    for (Process p = 0; p < graph_.processes(); ++p)
      for (auto& s : successors(entry.state, p, true))
        if (std::find(entry.explored.begin(), entry.explored.end(), s.move) == entry.explored.end())
          entry.pending.push_back(std::move(s));
  }

  void take() {
    Entry& top = stack_.back();
    Successor s = std::move(top.pending[top.next++]);
    if (top.asleep.contains(s.move)) return;
    std::set<Move> asleep;
    for (const Move& m : top.asleep)
      if (independent(m, s.move)) asleep.insert(m);
    for (const Move& m : top.explored)
      if (independent(m, s.move)) asleep.insert(m);
    top.explored.push_back(s.move);
    if (accelerate(s)) {
      ++result_.accelerations;
      asleep.clear();
    }
    State state = std::move(s.state);
    if (!push(std::move(state), std::move(asleep), &s)) stack_.back().widen = true;  // top: nothing was pushed
  }

  void found() {
    result_.bad = true;
    std::vector<Happening> path;
    for (const Entry& entry : stack_)
      if (entry.by.changes) path.push_back(*entry.by.changes);
    const std::vector<Control> goal = stack_.back().state.controls;
    result_.schedule =
        concretise(graph_, letters(), path, [&](Process p, Control q) { return q == goal[p]; }, progress_);
  }

  // A process all of whose steps here are its own business: taus and stores, into no label and out of none.
  std::optional<Process> persistent(const State& s) {
    for (Process p = 0; p < s.controls.size(); ++p) {
      const ControlState& at = graph_.state(p, s.controls[p]);
      if (at.actions.empty() || at.labels != 0) continue;
      bool own = true;
      for (const Action& action : at.actions) {
        K kind = graph_.kind(action);
        own &= (kind == K::tau || kind == K::store) && graph_.state(p, graph_.target(p, action)).labels == 0;
      }
      if (own) return p;
    }
    return std::nullopt;
  }

  // -- what can happen ------------------------------------------------------------------------------------------------

  std::vector<Successor> successors(const State& s, Process p, bool commits) {
    std::vector<Successor> result;
    const Control q = s.controls[p];
    const auto& actions = graph_.state(p, q).actions;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const Action& action = actions[i];
      auto go = [&](Control to) {
        Successor next;
        next.move = Move{p, false, 0, i, to, -1, {}, false};
        next.move.visible = graph_.state(p, q).labels != graph_.state(p, to).labels;
        next.state = s;
        next.state.controls[p] = to;
        return next;
      };
      switch (graph_.kind(action)) {
        case K::tau:
          result.push_back(go(graph_.target(p, action)));
          break;
        case K::load:
          load(s, p, action, go, result);
          break;
        case K::store: {
          Successor next = go(graph_.target(p, action));
          next.stored = letters().of(action.location, action.value);
          Language& b = buffer(next.state, p, action.location);
          b = buffers_.appended(b, {*next.stored}, false);
          result.push_back(std::move(next));
          break;
        }
        case K::mfence:
          if (auto emptied = without(s, p, needs_empty)) {
            Successor next = go(graph_.target(p, action));
            next.state.buffers = std::move(*emptied);
            next.repeatable = false;
            result.push_back(std::move(next));
          }
          break;
        case K::sfence: {
          Successor next = go(graph_.target(p, action));
          std::vector<Language> mine = buffers_of(s, p);
          if (!std::all_of(mine.begin(), mine.end(), [&](Language k) { return k == buffers_.empty; })) {
            for (Location x = 0; x < graph_.system().buffered; ++x) {
              Language& b = buffer(next.state, p, x);
              b = buffers_.appended(b, {marker}, false);
            }
            next.repeatable = false;
          }
          result.push_back(std::move(next));
          break;
        }
        case K::atomic: {
          Location needs = graph_.needs(action);
          if (!pso_ && needs >= 0) needs = needs_empty;
          auto emptied = without(s, p, needs);
          if (!emptied) break;
          for (const Outcome& outcome : graph_.outcomes(p, q, action, s.memory)) {
            Successor next = go(graph_.target(p, outcome));
            next.state.buffers = *emptied;
            next.state.memory = written(s.memory, outcome.writes);
            next.move.touches = action.footprint;
            if (action.kind == K::store) next.move.touches = {action.location};
            next.repeatable = false;
            if (changes(outcome.writes, s.memory)) next.changes = Happening{p, false, 0, needs, outcome.writes};
            result.push_back(std::move(next));
          }
          break;
        }
      }
    }
    if (commits) commit(s, p, result);
    return result;
  }

  template <class Go>
  void load(const State& s, Process p, const Action& action, Go go, std::vector<Successor>& result) {
    State copy = s;
    const Language here = buffer(copy, p, action.location);
    for (Letter own : buffers_.last_stores(here, action.location)) {
      Value value = own != 0 ? letters().value(own) : s.memory[static_cast<std::size_t>(action.location)];
      Successor next = go(graph_.after_load(p, s.controls[p], value));
      buffer(next.state, p, action.location) = buffers_.restricted(here, action.location, own);
      next.loaded = {action.location, value};
      if (own == 0) next.move.reads = action.location;
      next.move.letter = own;
      result.push_back(std::move(next));
    }
  }

  void commit(const State& s, Process p, std::vector<Successor>& result) {
    std::vector<Language> mine = buffers_of(s, p);
    bool markers = pso_;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const Dfa& dfa = buffers_.automata[mine[i]];
      markers &= dfa.after(0, marker) != nullptr;
      for (const auto& edge : std::vector(dfa.nodes[0].edges)) {
        if (edge.first == marker) continue;
        Successor next;
        Location x = letters().location(edge.first);
        next.move = Move{p, true, edge.first, 0, 0, -1, {x}, false};
        next.state = s;
        buffer(next.state, p, x) = buffers_.automata.quotient(mine[i], edge.first);
        Writes writes{{x, letters().value(edge.first)}};
        next.state.memory = written(s.memory, writes);
        next.changes = Happening{p, true, edge.first, needs_nothing, writes};
        next.repeatable = false;
        result.push_back(std::move(next));
      }
    }
    if (!markers) return;
    Successor next;  // ★ heads all buffers of the process: it goes from all
    next.move = Move{p, true, marker, 0, 0, -1, {}, false};
    next.state = s;
    for (Location x = 0; x < graph_.system().buffered; ++x) {
      Language& b = buffer(next.state, p, x);
      b = buffers_.automata.quotient(b, marker);
    }
    next.repeatable = false;
    result.push_back(std::move(next));
  }

  // The buffers where p's are empty (needs_empty) or hold no store to a location; nothing if they never are.
  std::optional<std::vector<Language>> without(const State& s, Process p, Location needs) {
    State copy = s;
    if (needs == needs_nothing) return copy.buffers;
    for (Location x = 0; x < graph_.system().buffered; ++x) {
      Language& b = buffer(copy, p, x);
      if (needs == needs_empty) {
        if (!buffers_.may_be_empty(b)) return std::nullopt;
        b = buffers_.empty;
      } else {  // without a marker in this buffer there is none in the others
        if (x == needs) b = buffers_.restricted(b, x, 0);
        b = buffers_.unmarked(b);
        if (b == nothing) return std::nullopt;
      }
    }
    return copy.buffers;
  }

  // -- acceleration ---------------------------------------------------------------------------------------------------

  // If the step closes a cycle of one process's own steps that can be repeated: any number of repetitions at once.
  bool accelerate(Successor& s) {
    if (!s.repeatable) return false;
    const Process p = s.move.process;
    std::vector<const Successor*> cycle{&s};
    for (std::size_t i = stack_.size(); i-- > 0;) {
      const State& at = stack_[i].state;
      bool closes = at.controls == s.state.controls && at.memory == s.state.memory;
      for (Process r = 0; closes && r < graph_.processes(); ++r)
        closes = r == p || buffers_of(at, r) == buffers_of(s.state, r);
      if (closes) {
        std::reverse(cycle.begin(), cycle.end());
        return repeat(s.state, p, cycle);
      }
      const Successor& by = stack_[i].by;
      if (i == 0 || by.move.process != p || !by.repeatable) return false;
      cycle.push_back(&by);
    }
    return false;
  }

  bool repeat(State& state, Process p, const std::vector<const Successor*>& cycle) {
    std::vector<Letter> stores;
    std::map<Location, Value> last;
    for (const Successor* step : cycle)
      if (step->stored) {
        stores.push_back(*step->stored);
        last[letters().location(*step->stored)] = letters().value(*step->stored);
      }
    if (stores.empty()) return false;
    std::set<Location> stored;
    for (const Successor* step : cycle) {
      if (step->stored) stored.insert(letters().location(*step->stored));
      if (!step->loaded || stored.contains(step->loaded->first)) continue;
      auto own = last.find(step->loaded->first);
      if (own != last.end() && own->second != step->loaded->second) return false;  // would read another value next time
    }
    if (!pso_) {
      state.buffers[p] = buffers_.appended(state.buffers[p], stores, true);
      return true;
    }
    for (const auto& entry : last) {
      std::vector<Letter> own;
      for (Letter letter : stores)
        if (letters().location(letter) == entry.first) own.push_back(letter);
      Language& b = buffer(state, p, entry.first);
      b = buffers_.appended(b, own, true);
    }
    return true;
  }

  Graph& graph_;
  Progress* progress_;
  Buffers buffers_;
  bool pso_;
  std::size_t limit_ = 0;
  bool cut_ = false;
  std::vector<Entry> stack_;
  std::map<std::pair<Memory, std::vector<Control>>, std::vector<Visited>> visited_;
  AccelerateResult result_;
};

}  // namespace

AccelerateResult explore_accelerated(Graph& graph, Progress* progress) { return Search(graph, progress).run(); }

}  // namespace teetotal::symbolic
