#include "symbolic/symmetry.hpp"

#include <algorithm>

namespace teetotal::symbolic {

Symmetry::Symmetry(const std::vector<Process>& alike, bool used) {
  for (Process p = 0; p < alike.size(); ++p) {
    const bool first = !used || alike[p] == p;
    class_of_.push_back(first ? classes_.size() : class_of_[alike[p]]);
    if (first) classes_.emplace_back();
    classes_[class_of_[p]].push_back(p);
  }
}

// Augmenting paths, from one component of a at a time.
bool Symmetry::fit(const std::vector<Language>& a, const std::vector<Language>& b,
                   const std::function<bool(Language, Language)>& fits) const {
  constexpr Process nobody = ~Process{0};
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

std::optional<std::pair<Process, Process>> Symmetry::only_difference(const std::vector<Language>& a,
                                                                     const std::vector<Language>& b) const {
  std::optional<std::pair<Process, Process>> found;
  for (const auto& members : classes_) {
    std::vector<Process> left = members;  // places of b that equal no component of a so far
    for (Process p : members) {
      auto equal = std::find_if(left.begin(), left.end(), [&](Process q) { return a[p] == b[q]; });
      if (equal != left.end()) {
        left.erase(equal);
      } else if (!found) {
        found = {p, p};
      } else {
        return std::nullopt;
      }
    }
    if (!left.empty()) found->second = left[0];
  }
  return found;
}

bool Symmetry::repeats(const std::vector<Language>& parts, Process p) const {
  for (Process q : classes_[class_of_[p]]) {
    if (q == p) return false;
    if (parts[q] == parts[p]) return true;
  }
  return false;
}

}  // namespace teetotal::symbolic
