// The steps of an attack on robustness: one process, the attacker, delays stores, and the others run as under SC.
//
// Bouajjani, Derevenetc, Meyer (ESOP 2013)      here
//   attacker t_A, its delayed store st_A         Delayed: its control state, and its own last delayed stores
//   helpers                                      plain control states
//   PSO (as in Burnim, Sen, Stergiou, TACAS 2011): a later store of the attacker to another location may become visible
//   at once, unless an sfence came between, or stay in the buffer as well.
// The attacker's buffer needs no word: what is in it becomes visible only after the cycle has closed.
#pragma once

#include <algorithm>
#include <vector>

#include "symbolic/concretise.hpp"

namespace teetotal::symbolic {

// The attacker after its first delayed store.
struct Delayed {
  Control control = 0;
  bool fenced = false;                          // an sfence came after that store
  std::vector<std::pair<Location, Value>> own;  // its delayed stores, the last to each location, sorted
  auto operator<=>(const Delayed&) const = default;
};

struct DelayedHash {
  std::size_t operator()(const Delayed& d) const {
    std::size_t h = combine(d.control, d.fenced);
    for (auto [x, v] : d.own) h = combine(combine(h, static_cast<std::size_t>(x)), static_cast<std::size_t>(v));
    return h;
  }
};

// What a step touches of memory; a store that is delayed and a load that it is forwarded to touch nothing.
struct Touched {
  std::vector<Location> reads;
  Writes writes;
};

class AttackSteps {
 public:
  explicit AttackSteps(Graph& graph) : graph_(graph), pso_(graph.model() == Model::pso) {}

  // Every step of a process that delays nothing: to(control, touched). Where it delays a store, see `delays`.
  template <class To>
  void helper(Process p, Control q, const Memory& m, To to) {
    using K = Action::Kind;
    for (const Action& action : graph_.state(p, q).actions) switch (graph_.kind(action)) {
        case K::tau:
        case K::mfence:
        case K::sfence:
          to(graph_.target(p, action), Touched{});
          break;
        case K::load:
          to(graph_.after_load(p, q, m[static_cast<std::size_t>(action.location)]), Touched{{action.location}, {}});
          break;
        case K::store:
          to(graph_.target(p, action), Touched{{}, {{action.location, action.value}}});
          break;
        case K::atomic:
          for (const Outcome& outcome : graph_.outcomes(p, q, action, m))
            to(graph_.target(p, outcome), Touched{action.footprint, outcome.writes});
          break;
      }
  }

  // Every way to become the attacker from here: to(delayed, location of st_A).
  template <class To>
  void delays(Process p, Control q, To to) {
    for (const Action& action : graph_.state(p, q).actions)
      if (graph_.kind(action) == Action::Kind::store)
        to(Delayed{graph_.target(p, action), false, {{action.location, action.value}}}, action.location);
  }

  // Every step of the attacker: to(delayed, touched).
  template <class To>
  void attacker(Process p, const Delayed& from, const Memory& m, To to) {
    using K = Action::Kind;
    auto own = [&](Location x) {
      return std::find_if(from.own.begin(), from.own.end(), [&](const auto& entry) { return entry.first == x; });
    };
    auto at = [&](Control q) {
      Delayed next = from;
      next.control = q;
      return next;
    };
    for (const Action& action : graph_.state(p, from.control).actions) {
      const Location x = action.location;
      switch (graph_.kind(action)) {
        case K::tau:
          to(at(graph_.target(p, action)), Touched{});
          break;
        case K::mfence:
          break;
        case K::sfence: {
          Delayed next = at(graph_.target(p, action));
          next.fenced = true;
          to(std::move(next), Touched{});
          break;
        }
        case K::load:
          if (auto mine = own(x); mine != from.own.end())
            to(at(graph_.after_load(p, from.control, mine->second)), Touched{});
          else
            to(at(graph_.after_load(p, from.control, m[static_cast<std::size_t>(x)])), Touched{{x}, {}});
          break;
        case K::store: {
          Delayed next = at(graph_.target(p, action));
          if (pso_ && !from.fenced && own(x) == from.own.end()) to(next, Touched{{}, {{x, action.value}}});
          std::erase_if(next.own, [&](const auto& entry) { return entry.first == x; });
          next.own.insert(std::lower_bound(next.own.begin(), next.own.end(), std::pair{x, action.value}),
                          std::pair{x, action.value});
          to(std::move(next), Touched{});
          break;
        }
        case K::atomic: {
          bool free = x == needs_nothing || (pso_ && x >= 0 && !from.fenced && own(x) == from.own.end());
          if (!free) break;
          for (const Outcome& outcome : graph_.outcomes(p, from.control, action, m))
            to(at(graph_.target(p, outcome)), Touched{action.footprint, outcome.writes});
          break;
        }
      }
    }
  }

  // Every location whose value what a process can do there may depend on, or whether that changes memory.
  template <class Ask>
  void asks(Process p, Control q, Ask& ask) {
    for (const Action& action : graph_.state(p, q).actions) {
      const Action::Kind kind = graph_.kind(action);
      if (kind == Action::Kind::load || kind == Action::Kind::store) ask(action.location);
      if (kind == Action::Kind::atomic)
        for (Location x : action.footprint) ask(x);
    }
  }

  // The step as the machine of models/ takes it. An atomic step's writes are its own; a visible store commits at once.
  std::vector<Step> rows(Process p, Control from, Control to, const Touched& touched) {
    bool stores = false;
    for (const Action& action : graph_.state(p, from).actions) stores |= graph_.kind(action) == Action::Kind::store;
    std::vector<Step> steps{{Step::Kind::move, p, to, -1, stores ? Writes{} : touched.writes}};
    if (stores && !touched.writes.empty())
      steps.push_back({Step::Kind::commit, p, 0, touched.writes.front().first, {}});
    return steps;
  }

 private:
  Graph& graph_;
  bool pso_;
};

}  // namespace teetotal::symbolic
