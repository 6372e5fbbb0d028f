// What can happen in a symbolic state of Linden, Wolper's search: the operations of TACAS 2013, sections 2 and 3, on
// one control state and one set of buffer contents for each process, and which of them are independent.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "symbolic/buffers.hpp"
#include "symbolic/saturate.hpp"

namespace teetotal::symbolic {

struct State {
  Memory memory;
  std::vector<Control> controls;
  std::vector<Language> buffers;  // by process
};

// One transition, as far as its identity and its independence of others matter.
struct Move {
  Process process = 0;
  bool commit = false;
  Letter letter = 0;       // of a commit; of a load: the own store that it sees, or 0
  std::size_t action = 0;  // otherwise: which of the control state's
  Control target = 0;
  Location reads = -1;            // memory that a load looks at
  std::vector<Location> touches;  // memory that a commit or an atomic step changes or looks at
  Writes writes;                  // of an atomic step
  auto operator<=>(const Move&) const = default;
};

// Whether the two commute wherever both can happen, and neither makes the other possible. Moves of one process never
// are: a set of contents may hold the empty buffer too, on which a store must come before the commit.
bool independent(const Move& a, const Move& b);

// What a step does to its process's buffer: nothing, append, or take away.
struct Effect {
  std::optional<Letter> appended;                    // a store, or ★
  Location shrinks = needs_nothing;                  // a location whose stores go, or needs_empty for all
  std::optional<std::pair<Location, Value>> loaded;  // what a load looked at, and saw
};

struct Successor {
  Move move;
  State state;
  Effect effect;
  std::optional<Happening> changes;  // memory
};

class Moves {
 public:
  Moves(Graph& graph, Buffers& buffers) : graph_(graph), buffers_(buffers), pso_(graph.model() == Model::pso) {}

  // The steps of p's program.
  void steps(const State& s, Process p, std::vector<Successor>& result);
  // The commits of p's stores.
  void commits(const State& s, Process p, std::vector<Successor>& result);
  // Whether p's steps are its own business: nobody else's step, and no commit of its own, makes a difference to them or
  // notices them, and no property does.
  bool private_steps(const State& s, Process p);

 private:
  Alphabet& letters() { return buffers_.automata.alphabet; }
  Successor step(const State& s, Process p, std::size_t action, Control to);
  void load(const State& s, Process p, std::size_t i, std::vector<Successor>& result);
  void atomic(const State& s, Process p, std::size_t i, std::vector<Successor>& result);

  Graph& graph_;
  Buffers& buffers_;
  bool pso_;
};

}  // namespace teetotal::symbolic
