#include "symbolic/buffers.hpp"

#include <set>
#include <utility>

namespace teetotal::symbolic {

Language Buffers::appended(Language a, const std::vector<Letter>& letters, bool repeated) {
  auto key = std::tuple{a, letters, repeated};
  auto known = appended_.find(key);
  if (known != appended_.end()) return known->second;
  const Dfa& dfa = automata[a];
  using Place = std::pair<bool, std::uint32_t>;  // in the contents, at a node; or behind so many of the letters
  auto count = static_cast<std::uint32_t>(letters.size());
  auto expand = [&](const Place& at, auto edge, auto final) {
    if (!at.first) {
      for (const auto& [letter, to] : dfa.nodes[at.second].edges) edge(letter, Place{false, to});
    } else if (at.second < count) {
      edge(letters[at.second], Place{true, at.second + 1});
    }
    if (at.first && at.second == (repeated ? 0 : count)) final(end_of_word);
  };
  auto close = [&](const Place& at, auto add) {
    if (!at.first && !dfa.nodes[at.second].finals.empty()) add(Place{true, 0});
    if (repeated && at.first && at.second == count) add(Place{true, 0});
  };
  Dfa result =
      dfa.nodes.empty() ? Dfa{} : determinised<Place>({{false, 0}}, expand, close, [this] { automata.poll(); });
  return appended_[key] = automata.intern(std::move(result));
}

Language Buffers::restricted(Language a, Location x, Letter own) {
  auto key = std::tuple{a, x, own};
  auto known = restricted_.find(key);
  if (known != restricted_.end()) return known->second;
  const Dfa& dfa = automata[a];
  using Place = std::pair<Letter, Node>;
  auto expand = [&](const Place& at, auto edge, auto final) {
    for (const auto& [letter, to] : dfa.nodes[at.second].edges) {
      bool hits = letter != marker && automata.alphabet.location(letter) == x;
      edge(letter, Place{hits ? letter : at.first, to});
    }
    if (at.first == own && !dfa.nodes[at.second].finals.empty()) final(end_of_word);
  };
  Dfa result = determinised<Place>({{0, 0}}, expand, [](const Place&, auto) {}, [this] { automata.poll(); });
  return restricted_[key] = automata.intern(std::move(result));
}

std::vector<Letter> Buffers::last_stores(Language a, Location x) {
  std::set<Letter> candidates{0};
  for (const auto& node : automata[a].nodes)
    for (const auto& edge : node.edges)
      if (edge.first != marker && automata.alphabet.location(edge.first) == x) candidates.insert(edge.first);
  std::vector<Letter> result;
  for (Letter own : candidates)
    if (restricted(a, x, own) != nothing) result.push_back(own);
  return result;
}

Language Buffers::unmarked(Language a) {
  Dfa dfa = automata[a];
  for (auto& node : dfa.nodes) std::erase_if(node.edges, [](const auto& edge) { return edge.first == marker; });
  return automata.intern(std::move(dfa));
}

}  // namespace teetotal::symbolic
