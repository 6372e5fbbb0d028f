// What the symbolic engines run: processes as control graphs, expanded only as far as an engine goes, and remembered.
//
// Linden, Wolper (TACAS 2013), section 2          here
//   process p_i, control locations L(p_i)         control states 0, 1, … of process p (locals included)
//   transitions labelled by operations            Action
//   memory locations M, values D                  locations 0, 1, …; Value
// Added: nondeterministic choice (tau), atomic steps over several locations, ghost variables (locations that no buffer
// delays, numbered behind the others), and fences that are there or not, so that one graph serves every fence set.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "event.hpp"

namespace teetotal::symbolic {

using Value = std::int64_t;
using Location = std::int32_t;
using Control = std::uint32_t;
using Process = std::uint32_t;
using Memory = std::vector<Value>;
using Writes = std::vector<std::pair<Location, Value>>;

constexpr Location needs_nothing = -1;  // an atomic step that no buffer matters to
constexpr Location needs_empty =
    -2;  // … that needs an empty buffer; otherwise, no store to that location and no sfence

struct Outcome {
  Writes writes;  // real changes and rewrites of the same value alike
  Control target;
};

struct Action {
  enum class Kind : std::uint8_t { tau, load, store, mfence, sfence, atomic };
  Kind kind = Kind::tau;
  Location location = 0;            // of a load or store; what an atomic step needs
  Value value = 0;                  // of a store
  Control target = 0;               // of everything but a load and an atomic step
  std::int32_t fence = -1;          // if not -1, the action is a tau unless that fence is in the set
  std::vector<Location> footprint;  // what an atomic step may touch
};

struct ControlState {
  std::vector<Action> actions;
  std::uint64_t labels = 0;  // those that properties speak about
  bool failed = false;       // an assertion failed here
};

// An exchange of two processes that maps runs to runs and bad states to bad states, if locations, what they hold and
// control states are renamed with them (`src/teetotal/engines/symbolic/renaming.py`). It is its own inverse.
struct Renaming {
  std::pair<Process, Process> exchanged;
  std::vector<Location> locations;              // where each goes
  std::vector<std::pair<Value, Value>> values;  // by location: the two that change places; equal ones: none do

  Process process(Process p) const {
    return p == exchanged.first ? exchanged.second : p == exchanged.second ? exchanged.first : p;
  }
  Value value(Location x, Value v) const {
    const auto& [a, b] = values[static_cast<std::size_t>(x)];
    return v == a ? b : v == b ? a : v;
  }
};

// Where the control graphs come from. Called once for each question.
class Source {
 public:
  virtual ~Source() = default;
  virtual ControlState expand(Process p, Control q) = 0;
  virtual Control after_load(Process p, Control q, Value value) = 0;
  virtual std::vector<Outcome> outcomes(Process p, Control q, const std::vector<Value>& footprint_values) = 0;
  // Locations whose value now the process may still read, before it stores to them itself.
  virtual std::vector<Location> still_read(Process p, Control q) = 0;
  // What a control state of p is called in the process that the renaming puts in p's place.
  virtual Control renamed(std::uint32_t renaming, Process p, Control q) = 0;
  virtual bool ghosts_hold(std::uint32_t bad, const Memory& m) = 0;
};

// One case of what must not happen: every process stands where `must` says and not where `must_not` says.
struct Bad {
  std::vector<std::uint64_t> must, must_not;  // by process
  bool asks_ghosts = false;
};

struct System {
  std::vector<Control> start;                  // by process
  Memory memory;                               // initial; ghosts last
  Location buffered = 0;                       // locations below this one go through buffers
  std::vector<std::vector<Location>> loads;    // by process: whose own last store its steps depend on
  std::vector<std::vector<Location>> touches;  // by process: what its atomic steps may touch
  std::vector<std::vector<Location>> stores;   // by process: what it may store to otherwise
  std::vector<Bad> bad;
  bool address_needs = false;  // some atomic step needs no more than its own location free
  // By process: the first that it is interchangeable with, perhaps itself. They share control states and their numbers,
  // and permuting them maps runs to runs and bad states to bad states.
  std::vector<Process> alike;
};

// Called now and then with the number of states so far, or 0 where that is unknown; throws to end it.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void report(std::uint64_t states) = 0;
};

// What is known of interchangeable processes is remembered of the first.
class Graph {
 public:
  Graph(System system, std::unique_ptr<Source> source) : system_(std::move(system)), source_(std::move(source)) {
    states_.resize(system_.start.size());
    loads_.resize(system_.start.size());
    outcomes_.resize(system_.start.size());
    stores_.resize(system_.start.size());
    still_read_.resize(system_.start.size());
  }

  // Which fences are there, and what the fences and stores mean from now on.
  void configure(Model model, std::vector<bool> fences) {
    model_ = model;
    fences_ = std::move(fences);
  }

  const System& system() const { return system_; }
  Model model() const { return model_; }
  Process processes() const { return static_cast<Process>(system_.start.size()); }

  Control start(Process p) { return skip(p, system_.start[p]); }
  const ControlState& state(Process p, Control q);

  // What the action is under the model and the fence set.
  Action::Kind kind(const Action& action) const;
  Control target(Process p, const Action& action) { return skip(p, action.target); }
  Control after_load(Process p, Control q, Value value);
  Control target(Process p, const Outcome& outcome) { return skip(p, outcome.target); }
  // What the atomic step of q (or, under SC, its store) can do in memory m. References stay valid.
  const std::vector<Outcome>& outcomes(Process p, Control q, const Action& action, const Memory& m);

  const std::vector<Location>& still_read(Process p, Control q);
  Control renamed(std::uint32_t renaming, Process p, Control q);

  bool is_bad(std::uint32_t bad, const Memory& m) {
    return !system_.bad[bad].asks_ghosts || source_->ghosts_hold(bad, m);
  }
  // Whether an assertion failed, or one of the cases holds.
  bool is_bad(const std::vector<Control>& controls, const Memory& m);

  // What an atomic step needs of its process's buffer; a store is one too, under SC, and needs nothing.
  static Location needs(const Action& action) {
    return action.kind == Action::Kind::store ? needs_nothing : action.location;
  }

 private:
  // Past fences that are not there: they are no places to stand at.
  Control skip(Process p, Control q);

  System system_;
  std::unique_ptr<Source> source_;
  Model model_ = Model::tso;
  std::vector<bool> fences_;
  std::vector<std::vector<std::unique_ptr<ControlState>>> states_;
  std::vector<std::map<std::pair<Control, Value>, Control>> loads_;
  std::vector<std::map<std::pair<Control, std::vector<Value>>, std::vector<Outcome>>> outcomes_;
  std::vector<std::map<Control, std::vector<Outcome>>> stores_;
  std::vector<std::unordered_map<Control, std::vector<Location>>> still_read_;
  std::vector<std::vector<Control>> renamed_;  // by renaming and process
};

// Memory after some writes.
inline Memory written(Memory m, const Writes& writes) {
  for (const auto& [location, value] : writes) m[static_cast<std::size_t>(location)] = value;
  return m;
}

inline bool changes(const Writes& writes, const Memory& m) {
  for (const auto& [location, value] : writes)
    if (m[static_cast<std::size_t>(location)] != value) return true;
  return false;
}

}  // namespace teetotal::symbolic
