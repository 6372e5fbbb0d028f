// States up to permutations of interchangeable processes (System::alike).
//
// A state (m, K_1 … K_n) of Saturation stands for itself and for all that result from it by permuting K_p of processes
// in one class: a permutation π maps runs to runs and bad states to bad states, so π(s) reaches a bad state if and only
// if s does. Hence
//   a new state is known        if some permutation of it lies inside a known one (Ip, Dill, 1996, ask for equality);
//   two states are joined       if, permuted, they differ in one component: the product of the others is the same;
//   equal components            of one class have equal events, up to π: one of them is enough.
// Nothing is sorted: which permutation fits is a matching in a bipartite graph. The sets of places of robust.hpp take
// the place of languages there.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "symbolic/automata.hpp"

namespace teetotal::symbolic {

class Symmetry {
 public:
  // If it is not `used`, every process is a class of its own.
  Symmetry(const std::vector<Process>& alike, bool used);

  // Whether, after some permutation, each component of a fits that of b.
  template <class Fits>
  bool fit(const std::vector<Language>& a, const std::vector<Language>& b, const Fits& fits) const;
  // Where a and b differ, if after some permutation they differ in one component at most.
  std::optional<std::pair<Process, Process>> one_difference(const std::vector<Language>& a,
                                                            const std::vector<Language>& b) const;
  // Whether an earlier process of p's class has the same component.
  bool repeats(const std::vector<Language>& parts, Process p) const;

 private:
  std::vector<std::vector<Process>> classes_;
  std::vector<std::size_t> class_of_;
};

// Augmenting paths, from one component of a at a time.
template <class Fits>
bool Symmetry::fit(const std::vector<Language>& a, const std::vector<Language>& b, const Fits& fits) const {
  constexpr Process nobody = ~Process{0};
  if (classes_.size() == a.size()) return std::equal(a.begin(), a.end(), b.begin(), fits);
  return std::all_of(classes_.begin(), classes_.end(), [&](const std::vector<Process>& members) {
    if (members.size() == 1) return fits(a[members[0]], b[members[0]]);
    std::vector<Process> taken(members.size(), nobody);  // by member, as a place of b: the process of a that has it
    std::vector<bool> tried;
    auto place = [&](auto&& self, Process p) -> bool {
      for (std::size_t i = 0; i < members.size(); ++i) {
        if (tried[i] || !fits(a[p], b[members[i]])) continue;
        tried[i] = true;
        if (taken[i] != nobody && !self(self, taken[i])) continue;
        taken[i] = p;
        return true;
      }
      return false;
    };
    return std::all_of(members.begin(), members.end(), [&](Process p) {
      tried.assign(members.size(), false);
      return place(place, p);
    });
  });
}

}  // namespace teetotal::symbolic
