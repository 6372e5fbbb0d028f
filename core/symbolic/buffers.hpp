// Sets of contents of one buffer, as automata: the operations of Linden, Wolper (TACAS 2013), section 3, that
// acceleration needs. Each is remembered.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "symbolic/automata.hpp"

namespace teetotal::symbolic {

class Buffers {
 public:
  explicit Buffers(Progress* progress) : automata(progress, 0), empty(automata.word(end_of_word)) {}

  // The contents followed by the letters once, or any number of times from none.
  Language appended(Language a, const std::vector<Letter>& letters, bool repeated);
  // The contents whose last store to x is that letter (0: that have none).
  Language restricted(Language a, Location x, Letter own);
  // The letters (and 0) that are last stores to x of some contents.
  std::vector<Letter> last_stores(Language a, Location x);
  // The contents without markers.
  Language unmarked(Language a);
  bool may_be_empty(Language a) const { return !automata[a].nodes.empty() && !automata[a].nodes[0].finals.empty(); }

  Automata automata;
  const Language empty;  // the empty buffer and nothing else

 private:
  static constexpr Control end_of_word = 0;

  std::map<std::tuple<Language, std::vector<Letter>, bool>, Language> appended_;
  std::map<std::tuple<Language, Location, Letter>, Language> restricted_;
};

}  // namespace teetotal::symbolic
