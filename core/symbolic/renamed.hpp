// States up to exchanges of processes that own slots: (m, K_1 … K_n) renamed, until no exchange makes it smaller.
//
// A state stands for all that products of the given renamings make of it (renaming.py says why), so that any of these
// may be explored in its place. The one taken is a local minimum: memory first, compared location by location, then the
// numbers of the languages. Ip and Dill (1996) call for one representative of each orbit, or few; a canonical one would
// have to be looked for among n! permutations, and more than one costs states, not soundness.
#pragma once

#include <unordered_map>
#include <vector>

#include "symbolic/automata.hpp"

namespace teetotal::symbolic {

class Renamed {
 public:
  Renamed(Graph& graph, Automata& automata, const std::vector<Renaming>& renamings)
      : graph_(graph), automata_(automata), renamings_(renamings), languages_(renamings.size() * graph.processes()) {}

  void descend(Memory& m, std::vector<Language>& parts);

 private:
  Language language(std::uint32_t renaming, Process p, Language k);

  Graph& graph_;
  Automata& automata_;
  const std::vector<Renaming>& renamings_;
  std::vector<std::unordered_map<Language, Language>> languages_;  // by renaming and process
};

}  // namespace teetotal::symbolic
