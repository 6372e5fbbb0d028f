// One process's buffer as a word: stores, oldest first, and ★ for an sfence that stores before it still wait for.
//
// What the engines with explicit buffers (bounded, concretise) agree on, from the machines of Linden, Wolper (TACAS
// 2013), section 2. A ★ never comes first: there is nothing before it to wait for.
#pragma once

#include <algorithm>
#include <vector>

#include "symbolic/automata.hpp"

namespace teetotal::symbolic {

using Word = std::vector<Letter>;

// The process's own last store to x, which its loads see; 0 if there is none.
inline Letter own_store(const Word& word, Location x, const Alphabet& letters) {
  auto found =
      std::find_if(word.rbegin(), word.rend(), [&](Letter a) { return a != marker && letters.location(a) == x; });
  return found == word.rend() ? Letter{0} : *found;
}

// Whether an atomic step with these needs can be done: on an empty buffer, or, where its own location is enough (PSO),
// with no store to that and no ★.
inline bool ready(const Word& word, Location needs, bool pso, const Alphabet& letters) {
  if (needs == needs_nothing || word.empty()) return true;
  return pso && needs >= 0 && own_store(word, needs, letters) == 0 &&
         std::find(word.begin(), word.end(), marker) == word.end();
}

// Whether an sfence has to leave a ★.
inline bool marks(const Word& word) { return !word.empty() && word.back() != marker; }

// What is left when the letter at that position has become visible.
inline Word committed(Word word, std::size_t position) {
  word.erase(word.begin() + static_cast<std::ptrdiff_t>(position));
  auto first = std::find_if(word.begin(), word.end(), [](Letter a) { return a != marker; });
  word.erase(word.begin(), first);
  return word;
}

}  // namespace teetotal::symbolic
