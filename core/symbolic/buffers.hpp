// Sets of contents of one process's buffers, as automata: the operations of Linden, Wolper (TACAS 2013), section 3, and
// what repeating a cycle appends. Each is remembered.
//
// paper                                                here
//   TSO: one buffer for each process                     one automaton for each process
//   PSO: one buffer for each process and location,       one automaton for each process all the same: a word has its
//   ★ in all of them, popped from all at once            stores ordered by location between two ★, so that ★ is shared
//   store, sfence: append to the buffer(s)               `stored`, `fenced`
//   load, mfence: keep contents on which it succeeds     `restricted`, `empty`
//   commit                                               `committable`, `committed`
//   a cycle's appended operations, by variable           Growth; `repeated`, `grown`
//
// Without ★ the words of a PSO language are what the paper's automata, one after the other, would accept. With ★ the
// paper's automata lose the count of ★, which has to be the same in all buffers of a process; here it is not lost.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "symbolic/automata.hpp"

namespace teetotal::symbolic {

// A regular set of words that a process's steps append. Stores to one queue stay in order; those to different ones do
// not see each other: their numbers need not fit (Theorem 1), as long as no ★ lies between them.
struct Growth {
  using Segment = std::map<Location, Language>;  // by queue (TSO: one; PSO: by location), none of them empty
  struct Rest {
    Language middle;  // words that begin and end with ★
    Segment last;
  };
  Segment head;              // up to the first ★
  std::optional<Rest> rest;  // if there is a ★
};

class Buffers {
 public:
  Buffers(Progress* progress, bool pso) : automata(progress, 0), empty(automata.word(end_of_word)), pso_(pso) {}

  Language stored(Language a, Letter letter) { return inserted(a, queue(letter), spelled(letter)); }
  // An sfence: ★ behind each of the contents, unless there is nothing that it could wait for.
  Language fenced(Language a);
  // The contents whose last store to x is that letter (0: that have none).
  Language restricted(Language a, Location x, Letter own);
  // The letters (and 0) that are last stores to x of some contents.
  std::vector<Letter> last_stores(Language a, Location x);
  // The contents without ★ and without stores to x.
  Language free_of(Language a, Location x);
  bool may_be_empty(Language a) const { return !automata[a].nodes.empty() && !automata[a].nodes[0].finals.empty(); }
  std::vector<Letter> committable(Language a);
  Language committed(Language a, Letter letter) {
    return pso_ ? automata.removed(a, letter) : automata.quotient(a, letter);
  }

  Growth growth(Letter letter);  // of a store, or of an sfence
  Growth joined(const Growth& first, const Growth& second);
  Growth repeated(const Growth& growth);  // once or more often
  // Whether fewer repetitions are like more of which the first were committed at once with the later ones: then the
  // numbers of repetitions of several processes need not fit either.
  bool loose(const Growth& growth) const;
  std::size_t size(const Growth& growth) const;  // nodes of its automata
  Language grown(Language a, const Growth& growth);
  // The contents, and what they are after any number of repetitions of that growth.
  Language accelerated(Language a, const Growth& once);
  // The stores to one location alone.
  Language only(Language a, Location x);
  // Whether the contents are all combinations of contents to single locations, without ★.
  bool independent(Language a);

  Automata automata;
  const Language empty;  // the empty buffer and nothing else

 private:
  static constexpr Control end_of_word = 0;

  Location queue(Letter letter) const { return pso_ ? automata.alphabet.location(letter) : 0; }
  Language spelled(Letter letter);
  Language followed(Language a, Language b);
  Language starred(Language a);
  // `more` behind the stores of that queue that come after the last ★.
  Language inserted(Language a, Location queue, Language more);
  // Without ★ in front and behind another ★: they wait for nothing.
  Language tidied(Language a);
  Growth::Segment joined(Growth::Segment first, const Growth::Segment& second);
  Language in_order(const Growth::Segment& segment);

  bool pso_;
  std::map<std::pair<Language, Language>, Language> followed_;
  std::map<Language, Language> starred_, fenced_, tidied_;
  std::map<std::tuple<Language, Location, Language>, Language> inserted_;
  std::map<std::tuple<Language, Location, Letter>, Language> restricted_;
  std::map<std::pair<Language, Location>, Language> only_;
  std::map<Language, bool> independent_;
};

}  // namespace teetotal::symbolic
