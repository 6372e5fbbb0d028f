#include "symbolic/renamed.hpp"

namespace teetotal::symbolic {

void Renamed::descend(Memory& m, std::vector<Language>& parts) {
  Memory other(m.size());
  std::vector<Language> others(parts.size());
  std::uint32_t tried = 0;  // renamings since the last that made it smaller
  for (std::uint32_t r = 0; tried < renamings_.size(); r = (r + 1) % static_cast<std::uint32_t>(renamings_.size())) {
    const Renaming& renaming = renamings_[r];
    ++tried;
    for (std::size_t x = 0; x < m.size(); ++x) {
      const auto at = static_cast<Location>(x);
      other[static_cast<std::size_t>(renaming.locations[x])] = renaming.value(at, m[x]);
    }
    if (m < other) continue;
    for (Process p = 0; p < parts.size(); ++p) others[renaming.process(p)] = language(r, p, parts[p]);
    if (other == m && !(others < parts)) continue;
    m.swap(other);
    parts.swap(others);
    tried = 0;
  }
}

Language Renamed::language(std::uint32_t r, Process p, Language k) {
  auto [found, fresh] = languages_[r * graph_.processes() + p].try_emplace(k, nothing);
  if (!fresh) return found->second;
  const Renaming& renaming = renamings_[r];
  const Language result = automata_.renamed(
      k,
      [&](Letter a) {
        if (a == marker) return marker;
        const Location x = automata_.alphabet.location(a);
        return automata_.alphabet.of(renaming.locations[static_cast<std::size_t>(x)],
                                     renaming.value(x, automata_.alphabet.value(a)));
      },
      [&](Control q) { return graph_.renamed(r, p, q); });
  return found->second = result;
}

}  // namespace teetotal::symbolic
