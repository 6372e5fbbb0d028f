#include "symbolic/moves.hpp"

#include <algorithm>

namespace teetotal::symbolic {

using K = Action::Kind;

bool independent(const Move& a, const Move& b) {
  auto touched = [](const Move& m, Location x) {
    return std::find(m.touches.begin(), m.touches.end(), x) != m.touches.end();
  };
  if (a.process == b.process) return false;
  if (a.reads >= 0 && touched(b, a.reads)) return false;
  if (b.reads >= 0 && touched(a, b.reads)) return false;
  return std::none_of(a.touches.begin(), a.touches.end(), [&](Location x) { return touched(b, x); });
}

Successor Moves::step(const State& s, Process p, std::size_t action, Control to) {
  Successor next;
  next.move.process = p;
  next.move.action = action;
  next.move.target = to;
  next.state = s;
  next.state.controls[p] = to;
  return next;
}

void Moves::steps(const State& s, Process p, std::vector<Successor>& result) {
  const auto& actions = graph_.state(p, s.controls[p]).actions;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const Action& action = actions[i];
    auto onward = [&] { return step(s, p, i, graph_.target(p, action)); };
    switch (graph_.kind(action)) {
      case K::tau:
        result.push_back(onward());
        break;
      case K::load:
        load(s, p, i, result);
        break;
      case K::store: {
        Successor next = onward();
        next.effect.appended = letters().of(action.location, action.value);
        next.state.buffers[p] = buffers_.stored(s.buffers[p], *next.effect.appended);
        result.push_back(std::move(next));
        break;
      }
      case K::mfence:
        if (buffers_.may_be_empty(s.buffers[p])) {
          Successor next = onward();
          next.state.buffers[p] = buffers_.empty;
          next.effect.shrinks = needs_empty;
          result.push_back(std::move(next));
        }
        break;
      case K::sfence: {
        Successor next = onward();
        next.state.buffers[p] = buffers_.fenced(s.buffers[p]);
        next.effect.appended = marker;
        result.push_back(std::move(next));
        break;
      }
      case K::atomic:
        atomic(s, p, i, result);
        break;
    }
  }
}

// One successor for each own store that the load may see, and one for memory, where there may be none.
void Moves::load(const State& s, Process p, std::size_t i, std::vector<Successor>& result) {
  const Location x = graph_.state(p, s.controls[p]).actions[i].location;
  for (Letter own : buffers_.last_stores(s.buffers[p], x)) {
    Value value = own != 0 ? letters().value(own) : s.memory[static_cast<std::size_t>(x)];
    Successor next = step(s, p, i, graph_.after_load(p, s.controls[p], value));
    next.state.buffers[p] = buffers_.restricted(s.buffers[p], x, own);
    next.effect.loaded = {x, value};
    if (own == 0) next.move.reads = x;
    next.move.letter = own;
    result.push_back(std::move(next));
  }
}

void Moves::atomic(const State& s, Process p, std::size_t i, std::vector<Successor>& result) {
  const Control q = s.controls[p];
  const Action& action = graph_.state(p, q).actions[i];
  Location needs = Graph::needs(action);
  if (!pso_ && needs >= 0) needs = needs_empty;
  Language left = s.buffers[p];
  if (needs == needs_empty) {
    left = buffers_.may_be_empty(left) ? buffers_.empty : nothing;
  } else if (needs >= 0) {
    left = buffers_.free_of(left, needs);
  }
  if (left == nothing) return;
  for (const Outcome& outcome : graph_.outcomes(p, q, action, s.memory)) {
    Successor next = step(s, p, i, graph_.target(p, outcome));
    next.state.buffers[p] = left;
    next.state.memory = written(s.memory, outcome.writes);
    next.move.writes = outcome.writes;
    next.move.touches = action.footprint;
    if (action.kind == K::store) next.move.touches = {action.location};
    next.effect.shrinks = needs;
    if (symbolic::changes(outcome.writes, s.memory)) next.changes = Happening{p, false, 0, needs, outcome.writes};
    result.push_back(std::move(next));
  }
}

void Moves::commits(const State& s, Process p, std::vector<Successor>& result) {
  for (Letter letter : buffers_.committable(s.buffers[p])) {
    Successor next;
    Location x = letters().location(letter);
    next.move.process = p;
    next.move.commit = true;
    next.move.letter = letter;
    next.move.touches = {x};
    next.state = s;
    next.state.buffers[p] = buffers_.committed(s.buffers[p], letter);
    Writes writes{{x, letters().value(letter)}};
    next.state.memory = written(s.memory, writes);
    next.changes = Happening{p, true, letter, needs_nothing, writes};
    next.effect.shrinks = pso_ ? x : needs_empty;
    result.push_back(std::move(next));
  }
}

bool Moves::private_steps(const State& s, Process p) {
  const ControlState& at = graph_.state(p, s.controls[p]);
  return !at.actions.empty() && std::all_of(at.actions.begin(), at.actions.end(), [&](const Action& action) {
    switch (graph_.kind(action)) {
      case K::tau:
      case K::store:
      case K::sfence:
        break;
      case K::mfence:
        if (s.buffers[p] != buffers_.empty) return false;  // it waits for commits
        break;
      default:
        return false;
    }
    return graph_.state(p, graph_.target(p, action)).labels == at.labels;
  });
}

}  // namespace teetotal::symbolic
