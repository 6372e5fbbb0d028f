#include "symbolic/saturate.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace teetotal::symbolic {

using K = Action::Kind;

Saturation::Saturation(Graph& graph, SaturateOptions options, Progress* progress)
    : graph_(graph),
      options_(std::move(options)),
      progress_(progress),
      automata_(progress, options_.max_work),
      symmetry_(graph.system().alike, options_.symmetry),
      renamed_(graph, automata_, options_.renamings) {
  const System& system = graph_.system();
  saturated_.resize(graph_.processes());
  seen_.resize(graph_.processes());
  for (Process p = 0; p < graph_.processes(); ++p) {
    std::set<Location> tracked(system.loads[p].begin(), system.loads[p].end());
    tracked_.emplace_back(tracked.begin(), tracked.end());
  }
}

Saturation::Answer Saturation::run() {
  try {
    explore();
  } catch (const Automata::GaveUp&) {
    return Answer::gave_up;
  }
  return bad_state_ ? Answer::bad : Answer::safe;
}

void Saturation::explore() {
  std::vector<Language> parts;
  for (Process p = 0; p < graph_.processes(); ++p) parts.push_back(automata_.word(graph_.start(p)));
  add(0, {}, memories_(graph_.system().memory), parts);
  while (!queue_.empty() && !bad_state_) {
    std::uint32_t number = queue_.top().second;
    queue_.pop();
    if (states_[number].superseded) continue;
    if (progress_ != nullptr) progress_->report(states_.size());
    expand(number);
  }
}

// Every event from a state.
void Saturation::expand(std::uint32_t number) {
  const State state = states_[number];
  const Memory& m = memories_[state.memory];
  std::vector<Language> parts;
  for (Process p = 0; p < graph_.processes() && !bad_state_; ++p) {
    if (symmetry_.repeats(state.parts, p)) continue;
    const Language k = state.parts[p];
    auto successor = [&](const Happening& by, std::uint32_t after, Language part) {
      if (part == nothing || bad_state_) return;
      parts = state.parts;
      parts[p] = part;
      add(number, by, after, parts);
    };
    auto commit = [&](Letter letter, Language part) {
      successor(Happening{p, true, letter, needs_nothing, {}}, committed(state.memory, letter), part);
    };
    if (graph_.model() == Model::pso) {
      for (Letter letter : automata_.removable(k)) commit(letter, automata_.removed(k, letter));
    } else {
      for (const auto& edge : automata_[k].nodes[0].edges) commit(edge.first, automata_.quotient(k, edge.first));
    }
    // Atomic steps that change memory: those that need and write the same are one event.
    std::map<std::pair<Location, Writes>, std::map<Control, std::vector<Control>>> steps;
    for (Control q : automata_.controls(k))
      for (const Action& action : graph_.state(p, q).actions) {
        if (graph_.kind(action) != K::atomic) continue;
        Location needs = action.kind == K::store ? needs_nothing : action.location;
        if (graph_.model() == Model::sc) needs = needs_nothing;
        if (graph_.model() == Model::tso && needs >= 0) needs = needs_empty;
        for (const Outcome& outcome : graph_.outcomes(p, q, action, m))
          if (changes(outcome.writes, m)) steps[{needs, outcome.writes}][q].push_back(graph_.target(p, outcome));
      }
    for (const auto& [key, to] : steps)
      successor(Happening{p, false, 0, key.first, key.second}, memories_(written(m, key.second)),
                automata_.mapped(k, key.first, to));
  }
}

std::uint32_t Saturation::committed(std::uint32_t memory, Letter letter) {
  if (memory >= committed_.size()) committed_.resize(memory + std::size_t{1});
  for (const auto& [known, after] : committed_[memory])
    if (known == letter) return after;
  const std::uint32_t after = memories_(written(memories_[memory], writes_of(letter)));
  committed_[memory].emplace_back(letter, after);
  return after;
}

// `parts` is what they are before they are saturated; most of what comes is known already, and kept nowhere.
void Saturation::add(std::uint32_t parent, const Happening& by, std::uint32_t memory, std::vector<Language>& parts) {
  for (Process p = 0; p < parts.size(); ++p) parts[p] = saturated(p, parts[p], memory);
  if (options_.forgetting) memory = forgetful(memory, parts);
  if (!options_.renamings.empty()) {
    Memory least = memories_[memory];
    renamed_.descend(least, parts);
    memory = memories_(least);
  }
  if (memory >= by_memory_.size()) by_memory_.resize(memory + 1);
  auto included = [&](Language a, Language b) { return automata_.included(a, b); };
  bool grown = true;
  while (grown) {
    grown = false;
    for (std::uint32_t other : by_memory_[memory]) {
      State& known = states_[other];
      if (known.superseded) continue;
      if (symmetry_.fit(parts, known.parts, included)) return;
      if (!options_.joining) continue;
      if (symmetry_.fit(known.parts, parts, included)) {
        known.superseded = true;
        continue;
      }
      const auto differing = symmetry_.one_difference(parts, known.parts);
      if (!differing) continue;
      const auto [mine, theirs] = *differing;
      Language joined = automata_.join(parts[mine], known.parts[theirs]);
      if (options_.blur != 0) joined = automata_.blurred(joined, options_.blur);
      parts[mine] = saturated(mine, joined, memory);
      known.superseded = true;
      grown = true;
    }
  }
  State state{memory, parts, parent, by, false, 0};
  if (by.commit) state.by.writes = writes_of(by.letter);
  for (Language k : state.parts)
    for (const auto& node : automata_[k].nodes) state.weight += node.finals.size();
  auto number = static_cast<std::uint32_t>(states_.size());
  if (bad(state)) bad_state_ = number;
  states_.push_back(std::move(state));
  by_memory_[memory].push_back(number);
  std::erase_if(by_memory_[memory], [&](std::uint32_t i) { return states_[i].superseded; });
  // Breadth-first for shortest paths; when joining, the largest first: it takes in what smaller ones would lead to.
  queue_.emplace(options_.joining ? ~states_[number].weight : 0, number);
}

// Memory without what nobody will read.
std::uint32_t Saturation::forgetful(std::uint32_t memory, std::vector<Language>& parts) {
  const Memory& initial = graph_.system().memory;
  read_.assign(words_for(initial.size()), 0);
  for (Process p = 0; p < parts.size(); ++p) {
    const Locations& reads = seen(p, parts[p]).reads;
    for (std::size_t word = 0; word < reads.size(); ++word) read_[word] |= reads[word];
  }
  if (memory >= forgotten_.size()) forgotten_.resize(memory + std::size_t{1});
  const auto known = std::ranges::find(forgotten_[memory], read_, &std::pair<Locations, std::uint32_t>::first);
  std::uint32_t result = memory;
  if (known != forgotten_[memory].end()) {
    result = known->second;
  } else {
    const auto buffered = static_cast<std::size_t>(graph_.system().buffered);
    Memory m = memories_[memory];
    for (std::size_t x = 0; x < buffered; ++x)
      if ((read_[x / 64] >> x % 64 & 1U) == 0) m[x] = initial[x];
    result = memories_(m);
    forgotten_[memory].emplace_back(read_, result);
  }
  if (result != memory && graph_.model() == Model::sc)  // a store may change nothing of this memory
    for (Process p = 0; p < parts.size(); ++p) parts[p] = saturated(p, parts[p], result);
  return result;
}

bool Saturation::bad(const State& state) {
  for (Process p = 0; p < state.parts.size(); ++p)
    if (seen(p, state.parts[p]).failed) {
      failed_ = p;
      return true;
    }
  const auto& cases = graph_.system().bad;
  for (std::uint32_t i = 0; i < cases.size(); ++i) {
    bool all = true;
    for (Process p = 0; p < state.parts.size() && all; ++p) {
      const auto& labels = seen(p, state.parts[p]).labels;
      all = std::any_of(labels.begin(), labels.end(), [&](std::uint64_t at) {
        return (at & cases[i].must[p]) == cases[i].must[p] && (at & cases[i].must_not[p]) == 0;
      });
    }
    if (all && graph_.is_bad(i, memories_[state.memory])) {
      bad_case_ = i;
      return true;
    }
  }
  return false;
}

const Saturation::Seen& Saturation::seen(Process p, Language k) {
  p = graph_.system().alike[p];
  if (k >= seen_[p].size()) seen_[p].resize(automata_.size());
  std::unique_ptr<Seen>& found = seen_[p][k];
  if (found == nullptr) {
    std::set<std::uint64_t> labels;
    bool failed = false;
    for (Control q : automata_.controls(k)) {
      const ControlState& state = graph_.state(p, q);
      labels.insert(state.labels);
      failed |= state.failed;
    }
    found = std::make_unique<Seen>(Seen{failed, std::vector(labels.begin(), labels.end()), Locations{}});
    if (options_.forgetting) found->reads = still_read(p, k);
  }
  return *found;
}

// What of memory the process may still read: not what a store in its buffer overwrites first. `owed[n]` is what every
// word to node n has stores to.
Saturation::Locations Saturation::still_read(Process p, Language k) {
  const Dfa& dfa = automata_[k];
  std::vector<std::optional<std::set<Location>>> owed(dfa.nodes.size());
  std::vector<Node> pending{0};
  owed[0].emplace();
  Locations reads(words_for(graph_.system().memory.size()));
  while (!pending.empty()) {
    const Node n = pending.back();
    pending.pop_back();
    for (const auto& [letter, to] : dfa.nodes[n].edges) {
      std::set<Location> more = *owed[n];
      if (letter != marker) more.insert(automata_.alphabet.location(letter));
      if (owed[to]) std::erase_if(more, [&known = *owed[to]](Location x) { return !known.contains(x); });
      if (owed[to] && more.size() == owed[to]->size()) continue;
      owed[to] = std::move(more);
      pending.push_back(to);
    }
  }
  for (Node n = 0; n < dfa.nodes.size(); ++n)
    for (Control q : dfa.nodes[n].finals)
      for (Location x : graph_.still_read(p, q))
        if (!owed[n]->contains(x)) reads[static_cast<std::size_t>(x) / 64] |= std::uint64_t{1} << x % 64;
  return reads;
}

Language Saturation::saturated(Process p, Language k, std::uint32_t memory) {
  p = graph_.system().alike[p];
  const Memory& m = memories_[memory];
  if (const Language* known = saturated_[p].find(k, m)) return *known;
  Asked asked(m.size());
  Language result = k;
  const bool pso = graph_.model() == Model::pso;
  while (true) {
    result = automata_.lossy(saturate_now(p, result, m, asked), pso);
    if (options_.blur == 0) break;
    Language wider = automata_.blurred(result, options_.blur);
    if (wider == result) break;
    result = wider;
  }
  return saturated_[p].keep(k, asked.order(), m, result);
}

// One determinisation: a node of the result stands for the words that lead to the same node of K (or to none), with the
// same own last stores and the same control states so far. Which control states a word has does not depend on how K was
// built, so the subset construction is direct.
Language Saturation::saturate_now(Process p, Language k, const Memory& m, Asked& asked) {
  constexpr Node none = ~Node{0};
  const std::vector<Location>& tracked = tracked_[p];
  struct Place {
    Node node;                 // of K, or none
    std::vector<Letter> view;  // own last store to each tracked location; 0 for none
    bool empty;                // the empty word
    bool marked;               // it has a marker, if atomic steps care
    bool fenced;               // the word ends in a marker
    std::vector<Control> controls;
    bool operator<(const Place& o) const {
      return std::tie(node, empty, marked, fenced, view, controls) <
             std::tie(o.node, o.empty, o.marked, o.fenced, o.view, o.controls);
    }
  };
  auto position = [&](Location x) {
    auto found = std::lower_bound(tracked.begin(), tracked.end(), x);
    return found != tracked.end() && *found == x ? static_cast<std::size_t>(found - tracked.begin()) : tracked.size();
  };
  const bool pso = graph_.model() == Model::pso;
  const Dfa& dfa = automata_[k];

  auto close = [&](Place& place) {
    std::vector<Control> pending = place.controls;
    std::set<Control> reached(pending.begin(), pending.end());
    auto reach = [&](Control q) {
      if (reached.insert(q).second) pending.push_back(q);
    };
    while (!pending.empty()) {
      Control q = pending.back();
      pending.pop_back();
      for (const Action& action : graph_.state(p, q).actions) switch (graph_.kind(action)) {
          case K::tau:
            reach(graph_.target(p, action));
            break;
          case K::load: {
            Letter own = place.view[position(action.location)];
            Value value = own != 0 ? automata_.alphabet.value(own) : m[static_cast<std::size_t>(action.location)];
            if (own == 0) asked(action.location);
            reach(graph_.after_load(p, q, value));
            break;
          }
          case K::mfence:
            if (place.empty) reach(graph_.target(p, action));
            break;
          case K::sfence:
            if (place.empty || place.fenced) reach(graph_.target(p, action));
            break;
          case K::atomic: {
            Location needs = action.kind == K::store ? needs_nothing : action.location;
            bool ready = needs == needs_nothing || place.empty ||
                         (pso && needs >= 0 && !place.marked && place.view[position(needs)] == 0);
            if (!ready) break;
            if (action.kind == K::store) asked(action.location);  // under SC: whether it changes memory
            for (Location x : action.footprint) asked(x);
            for (const Outcome& outcome : graph_.outcomes(p, q, action, m))
              if (!changes(outcome.writes, m)) reach(graph_.target(p, outcome));
            break;
          }
          case K::store:
            break;
        }
    }
    place.controls.assign(reached.begin(), reached.end());
  };

  std::map<Place, Node> numbers;
  std::vector<const Place*> places;
  auto number = [&](Place place) {
    close(place);
    auto [found, fresh] = numbers.try_emplace(std::move(place), static_cast<Node>(places.size()));
    if (fresh) places.push_back(&found->first);
    return found->second;
  };
  Dfa result;
  if (dfa.nodes.empty()) return nothing;
  number(Place{0, std::vector<Letter>(tracked.size(), 0), true, false, false, dfa.nodes[0].finals});
  for (std::size_t i = 0; i < places.size(); ++i) {
    automata_.poll();
    const Place& place = *places[i];
    std::map<Letter, std::vector<Control>> next;
    if (place.node != none)
      for (const auto& edge : dfa.nodes[place.node].edges) next[edge.first];
    for (Control q : place.controls)
      for (const Action& action : graph_.state(p, q).actions) {
        K kind = graph_.kind(action);
        if (kind == K::store)
          next[automata_.alphabet.of(action.location, action.value)].push_back(graph_.target(p, action));
        else if (kind == K::sfence && !place.empty && !place.fenced)
          next[marker].push_back(graph_.target(p, action));
      }
    Dfa::State node;
    node.finals = place.controls;
    for (auto& [letter, controls] : next) {
      const bool marked = place.marked || (letter == marker && graph_.system().address_needs);
      Place to{none, place.view, false, marked, letter == marker, std::move(controls)};
      if (place.node != none) {
        const Node* onward = dfa.after(place.node, letter);
        if (onward != nullptr) {
          to.node = *onward;
          const auto& finals = dfa.nodes[*onward].finals;
          to.controls.insert(to.controls.end(), finals.begin(), finals.end());
        }
      }
      if (letter != marker) {
        std::size_t at = position(automata_.alphabet.location(letter));
        if (at < tracked.size()) to.view[at] = letter;
      }
      std::sort(to.controls.begin(), to.controls.end());
      node.edges.emplace_back(letter, number(std::move(to)));
    }
    result.nodes.push_back(std::move(node));
  }
  return automata_.intern(std::move(result));
}

}  // namespace teetotal::symbolic
