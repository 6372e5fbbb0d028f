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

std::optional<std::pair<Process, Process>> Symmetry::one_difference(const std::vector<Language>& a,
                                                                    const std::vector<Language>& b) const {
  std::pair<Process, Process> found{0, 0};
  std::size_t differing = 0;
  for (const auto& members : classes_) {
    if (members.size() == 1) {
      const Process p = members[0];
      if (a[p] == b[p]) continue;
      if (++differing > 1) return std::nullopt;
      found = {p, p};
      continue;
    }
    std::vector<Process> left = members;  // places of b that equal no component of a so far
    for (Process p : members) {
      auto equal = std::find_if(left.begin(), left.end(), [&](Process q) { return a[p] == b[q]; });
      if (equal == left.end()) {
        if (++differing > 1) return std::nullopt;
        found.first = p;
        continue;
      }
      if (p == 0) found = {p, *equal};  // to be had if nothing differs
      left.erase(equal);
    }
    if (!left.empty()) found.second = left[0];
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
