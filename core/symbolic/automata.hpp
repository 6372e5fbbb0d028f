// Sets of local configurations as finite automata, each language kept once.
//
// Linden, Wolper (TACAS 2013), section 3: a buffer automaton is a finite automaton over buffer letters (m, v). Here a
// word is a buffer's contents, oldest first, followed by one control state; so one automaton holds a process's
// configurations with their control states, and not only its buffer's contents. Letter 0 stands for the sfence ★ of
// PSO.
//
// Every automaton is deterministic, minimal, trimmed, numbered breadth-first, and interned: equal languages have equal
// numbers, and what has been computed for a language is looked up by its number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "symbolic/graph.hpp"
#include "symbolic/numbered.hpp"

namespace teetotal::symbolic {

using Letter = std::uint32_t;
using Language = std::uint32_t;
using Node = std::uint32_t;
constexpr Letter marker = 0;
constexpr Language nothing = 0;  // the empty language

struct Dfa {
  struct State {
    std::vector<std::pair<Letter, Node>> edges;  // sorted by letter
    std::vector<Control> finals;                 // sorted: the control states that may end the word here
    bool operator==(const State&) const = default;
  };
  std::vector<State> nodes;  // node 0 begins; no node at all is the empty language
  bool operator==(const Dfa&) const = default;

  const Node* after(Node node, Letter letter) const;
};

// The stores that appear in buffers, numbered.
class Alphabet {
 public:
  Alphabet() : letters_{{-1, 0}} {}
  Letter of(Location x, Value v);
  Location location(Letter a) const { return letters_[a].first; }  // -1 for the marker
  Value value(Letter a) const { return letters_[a].second; }
  std::size_t size() const { return letters_.size(); }

 private:
  std::vector<std::pair<Location, Value>> letters_;
  std::map<std::pair<Location, Value>, Letter> numbers_;
};

class Automata {
 public:
  // `max_work`: how many nodes may be built before GaveUp is thrown; 0 for no limit.
  Automata(Progress* progress, std::uint64_t max_work) : progress_(progress), max_work_(max_work) { intern(Dfa{}); }
  struct GaveUp {};

  Alphabet alphabet;

  Language intern(Dfa dfa);  // any deterministic automaton
  const Dfa& operator[](Language a) const { return *automata_[a]; }
  std::size_t size() const { return automata_.size(); }

  Language word(Control q);  // the empty buffer, at q
  bool included(Language a, Language b);
  Language join(Language a, Language b);
  // All control states of the language, sorted.
  const std::vector<Control>& controls(Language a);
  // The words behind a first letter (TSO's commit).
  Language quotient(Language a, Letter letter);
  // PSO's commit: remove the letter where nothing to its location and no marker stands before it; then leading markers.
  Language removed(Language a, Letter letter);
  // Letters that `removed` can remove.
  const std::vector<Letter>& removable(Language a);
  // Words whose control state is mapped, in place; only the empty word, or words without markers and stores to x, if so
  // asked.
  Language mapped(Language a, Location needs, const std::map<Control, std::vector<Control>>& to);
  // Lost stores: one that another to the same location follows (TSO: directly; PSO: before the next marker) may vanish.
  Language lossy(Language a, bool pso);
  // Merge nodes that k rounds of refinement do not tell apart; the first node stays apart. A larger language.
  Language blurred(Language a, unsigned k);
  // The same automaton with other letters and control states; both maps are one-to-one.
  template <class Letters, class Controls>
  Language renamed(Language a, const Letters& letters, const Controls& controls);

  void poll();  // one more node was built

 private:
  static Dfa minimised(const Dfa& dfa);

  Progress* progress_;
  std::uint64_t max_work_;
  std::uint64_t work_ = 0;
  std::vector<std::unique_ptr<Dfa>> automata_;
  std::unordered_multimap<std::size_t, Language> by_hash_;
  std::unordered_map<std::uint64_t, bool> included_;
  std::unordered_map<std::uint64_t, Language> joined_, quotients_, removed_, lossy_, blurred_;
  std::unordered_map<Language, std::vector<Control>> controls_;
  std::unordered_map<Language, std::vector<Letter>> removable_;
};

template <class Letters, class Controls>
Language Automata::renamed(Language a, const Letters& letters, const Controls& controls) {
  Dfa dfa = *automata_[a];
  for (auto& node : dfa.nodes) {
    for (auto& edge : node.edges) edge.first = letters(edge.first);
    for (Control& q : node.finals) q = controls(q);
    std::sort(node.edges.begin(), node.edges.end());
    std::sort(node.finals.begin(), node.finals.end());
  }
  return intern(std::move(dfa));
}

inline std::uint64_t pair_key(std::uint32_t a, std::uint32_t b) { return (static_cast<std::uint64_t>(a) << 32) | b; }

// A subset construction: a nondeterministic automaton given by what its states do, determinised and interned.
// `expand(state, edge, final)` calls edge(letter, state') and final(control); `close(state, add)` calls add(state') for
// every state that is entered together with it.
template <class State, class Expand, class Close>
Dfa determinised(std::vector<State> start, Expand expand, Close close, const std::function<void()>& poll) {
  std::map<std::vector<State>, Node> numbers;
  std::vector<std::vector<State>> subsets;
  Dfa dfa;
  auto number = [&](std::vector<State> subset) {
    for (std::size_t i = 0; i < subset.size(); ++i) {
      State s = subset[i];
      close(s, [&](State t) {
        if (std::find(subset.begin(), subset.end(), t) == subset.end()) subset.push_back(t);
      });
    }
    std::sort(subset.begin(), subset.end());
    auto [found, fresh] = numbers.try_emplace(subset, static_cast<Node>(subsets.size()));
    if (fresh) subsets.push_back(std::move(subset));
    return found->second;
  };
  if (start.empty()) return dfa;
  number(std::move(start));
  for (std::size_t i = 0; i < subsets.size(); ++i) {
    poll();
    std::map<Letter, std::vector<State>> next;
    std::vector<Control> finals;
    const std::vector<State> subset = subsets[i];
    for (const State& s : subset)
      expand(
          s,
          [&](Letter a, State t) {
            auto& to = next[a];
            if (std::find(to.begin(), to.end(), t) == to.end()) to.push_back(t);
          },
          [&](Control q) { finals.push_back(q); });
    std::sort(finals.begin(), finals.end());
    finals.erase(std::unique(finals.begin(), finals.end()), finals.end());
    Dfa::State node;
    node.finals = std::move(finals);
    for (auto& [letter, states] : next) node.edges.emplace_back(letter, number(std::move(states)));
    dfa.nodes.push_back(std::move(node));
  }
  return dfa;
}

}  // namespace teetotal::symbolic
