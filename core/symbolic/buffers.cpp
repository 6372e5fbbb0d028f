#include "symbolic/buffers.hpp"

#include <set>

namespace teetotal::symbolic {

namespace {

// What `compute` makes, unless it is known.
template <class Known, class Key, class Compute>
Language remembered(Known& known, const Key& key, Compute compute) {
  auto found = known.find(key);
  if (found != known.end()) return found->second;
  Language made = compute();
  return known.emplace(key, made).first->second;
}

auto alone = [](const auto&, auto) {};

}  // namespace

Language Buffers::spelled(Letter letter) {
  Dfa dfa;
  dfa.nodes.push_back({{{letter, 1}}, {}});
  dfa.nodes.push_back({{}, {end_of_word}});
  return automata.intern(std::move(dfa));
}

Language Buffers::followed(Language a, Language b) {
  if (a == nothing || b == nothing) return nothing;
  if (a == empty) return b;
  if (b == empty) return a;
  return remembered(followed_, std::pair{a, b}, [&] {
    const Dfa* parts[2] = {&automata[a], &automata[b]};
    using Place = std::pair<bool, Node>;
    auto expand = [&](const Place& at, auto edge, auto final) {
      const auto& node = parts[at.first]->nodes[at.second];
      for (const auto& [letter, to] : node.edges) edge(letter, Place{at.first, to});
      if (at.first && !node.finals.empty()) final(end_of_word);
    };
    auto close = [&](const Place& at, auto add) {
      if (!at.first && !parts[0]->nodes[at.second].finals.empty()) add(Place{true, 0});
    };
    return automata.intern(determinised<Place>({{false, 0}}, expand, close, [this] { automata.poll(); }));
  });
}

Language Buffers::starred(Language a) {
  if (a == nothing) return empty;
  return remembered(starred_, a, [&] {
    const Dfa& dfa = automata[a];
    using Place = std::pair<bool, Node>;  // between two words, or within one
    auto expand = [&](const Place& at, auto edge, auto final) {
      if (!at.first) return final(end_of_word);
      for (const auto& [letter, to] : dfa.nodes[at.second].edges) edge(letter, Place{true, to});
    };
    auto close = [&](const Place& at, auto add) {
      if (!at.first) add(Place{true, 0});
      if (at.first && !dfa.nodes[at.second].finals.empty()) add(Place{false, 0});
    };
    return automata.intern(determinised<Place>({{false, 0}}, expand, close, [this] { automata.poll(); }));
  });
}

Language Buffers::inserted(Language a, Location wanted, Language more) {
  return remembered(inserted_, std::tuple{a, wanted, more}, [&] {
    const Dfa& dfa = automata[a];
    const Dfa& piece = automata[more];
    if (dfa.nodes.empty() || piece.nodes.empty()) return nothing;
    // Before the piece (`beyond`: the last store belongs behind it), within it, and behind it.
    enum Phase : std::uint8_t { before, beyond, within, behind };
    using Place = std::tuple<Phase, Node, Node>;
    auto expand = [&](const Place& at, auto edge, auto final) {
      const auto& [phase, node, inner] = at;
      if (phase == within) {
        for (const auto& [letter, to] : piece.nodes[inner].edges) edge(letter, Place{within, node, to});
        return;
      }
      for (const auto& [letter, to] : dfa.nodes[node].edges) {
        const bool later = letter != marker && queue(letter) > wanted;
        if (phase != behind)
          edge(letter, Place{later ? beyond : before, to, 0});
        else if (later)
          edge(letter, Place{behind, to, 0});
      }
      if (phase == behind && !dfa.nodes[node].finals.empty()) final(end_of_word);
    };
    auto close = [&](const Place& at, auto add) {
      const auto& [phase, node, inner] = at;
      if (phase == before) add(Place{within, node, 0});
      if (phase == within && !piece.nodes[inner].finals.empty()) add(Place{behind, node, 0});
    };
    return automata.intern(determinised<Place>({{before, 0, 0}}, expand, close, [this] { automata.poll(); }));
  });
}

Language Buffers::fenced(Language a) {
  return remembered(fenced_, a, [&] {
    const Dfa& dfa = automata[a];
    enum Last : std::uint8_t { none, store, fence };
    using Place = std::pair<Last, Node>;  // what came last; `none` for the empty word, `fence` also for the ★ added
    constexpr Node added = ~Node{0};
    auto expand = [&](const Place& at, auto edge, auto final) {
      if (at.second == added) return final(end_of_word);
      const auto& node = dfa.nodes[at.second];
      for (const auto& [letter, to] : node.edges) edge(letter, Place{letter == marker ? fence : store, to});
      if (node.finals.empty()) return;
      if (at.first == store)
        edge(marker, Place{fence, added});
      else
        final(end_of_word);
    };
    if (dfa.nodes.empty()) return nothing;
    return automata.intern(determinised<Place>({{none, 0}}, expand, alone, [this] { automata.poll(); }));
  });
}

Language Buffers::tidied(Language a) {
  return remembered(tidied_, a, [&] {
    const Dfa& dfa = automata[a];
    using Place = std::pair<bool, Node>;  // whether a ★ here waits for nothing
    auto expand = [&](const Place& at, auto edge, auto final) {
      const auto& node = dfa.nodes[at.second];
      for (const auto& [letter, to] : node.edges)
        if (letter != marker || !at.first) edge(letter, Place{letter == marker, to});
      if (!node.finals.empty()) final(end_of_word);
    };
    auto close = [&](const Place& at, auto add) {
      const Node* to = at.first ? dfa.after(at.second, marker) : nullptr;
      if (to != nullptr) add(Place{true, *to});
    };
    if (dfa.nodes.empty()) return nothing;
    return automata.intern(determinised<Place>({{true, 0}}, expand, close, [this] { automata.poll(); }));
  });
}

Language Buffers::restricted(Language a, Location x, Letter own) {
  return remembered(restricted_, std::tuple{a, x, own}, [&] {
    const Dfa& dfa = automata[a];
    using Place = std::pair<Letter, Node>;
    auto expand = [&](const Place& at, auto edge, auto final) {
      for (const auto& [letter, to] : dfa.nodes[at.second].edges) {
        bool hits = letter != marker && automata.alphabet.location(letter) == x;
        edge(letter, Place{hits ? letter : at.first, to});
      }
      if (at.first == own && !dfa.nodes[at.second].finals.empty()) final(end_of_word);
    };
    return automata.intern(determinised<Place>({{0, 0}}, expand, alone, [this] { automata.poll(); }));
  });
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

Language Buffers::free_of(Language a, Location x) {
  Dfa dfa = automata[a];
  for (auto& node : dfa.nodes)
    std::erase_if(node.edges, [&](const auto& edge) {
      return edge.first == marker || automata.alphabet.location(edge.first) == x;
    });
  return automata.intern(std::move(dfa));
}

std::vector<Letter> Buffers::committable(Language a) {
  if (pso_) return automata.removable(a);
  std::vector<Letter> result;
  for (const auto& edge : automata[a].nodes[0].edges) result.push_back(edge.first);
  return result;
}

// -- growth -----------------------------------------------------------------------------------------------------------

Growth Buffers::growth(Letter letter) {
  if (letter == marker) return {{}, Growth::Rest{spelled(marker), {}}};
  return {{{queue(letter), spelled(letter)}}, std::nullopt};
}

Growth::Segment Buffers::joined(Growth::Segment first, const Growth::Segment& second) {
  for (const auto& [queue, more] : second) {
    auto [found, fresh] = first.try_emplace(queue, more);
    if (!fresh) found->second = followed(found->second, more);
  }
  return first;
}

Growth Buffers::joined(const Growth& first, const Growth& second) {
  if (!first.rest) return {joined(first.head, second.head), second.rest};
  Growth::Segment between = joined(first.rest->last, second.head);
  if (!second.rest) return {first.head, Growth::Rest{first.rest->middle, std::move(between)}};
  Language middle = followed(followed(first.rest->middle, in_order(between)), second.rest->middle);
  return {first.head, Growth::Rest{middle, second.rest->last}};
}

Growth Buffers::repeated(const Growth& growth) {
  Growth result = growth;
  if (growth.rest) {
    Language again = followed(in_order(joined(growth.rest->last, growth.head)), growth.rest->middle);
    result.rest->middle = followed(growth.rest->middle, starred(again));
  } else {
    for (auto& entry : result.head) entry.second = followed(entry.second, starred(entry.second));
  }
  return result;
}

bool Buffers::loose(const Growth& growth) const {
  if (growth.rest) return false;
  if (pso_) return true;
  std::set<Location> locations;
  for (const auto& entry : growth.head)
    for (const auto& node : automata[entry.second].nodes)
      for (const auto& edge : node.edges) locations.insert(automata.alphabet.location(edge.first));
  return locations.size() <= 1;
}

std::size_t Buffers::size(const Growth& growth) const {
  std::size_t result = growth.rest ? automata[growth.rest->middle].nodes.size() : 0;
  for (const auto& entry : growth.head) result += automata[entry.second].nodes.size();
  if (growth.rest)
    for (const auto& entry : growth.rest->last) result += automata[entry.second].nodes.size();
  return result;
}

Language Buffers::grown(Language a, const Growth& growth) {
  for (const auto& [queue, more] : growth.head) a = inserted(a, queue, more);
  if (!growth.rest) return a;
  return tidied(followed(followed(a, growth.rest->middle), in_order(growth.rest->last)));
}

Language Buffers::accelerated(Language a, const Growth& once) {
  if (once.rest) return automata.join(a, grown(a, repeated(once)));
  for (const auto& [queue, more] : once.head) a = inserted(a, queue, starred(more));
  return a;
}

Language Buffers::only(Language a, Location x) {
  return remembered(only_, std::pair{a, x}, [&] {
    const Dfa& dfa = automata[a];
    auto expand = [&](Node at, auto edge, auto final) {
      for (const auto& [letter, to] : dfa.nodes[at].edges)
        if (automata.alphabet.location(letter) == x) edge(letter, to);
      if (!dfa.nodes[at].finals.empty()) final(end_of_word);
    };
    auto close = [&](Node at, auto add) {
      for (const auto& [letter, to] : dfa.nodes[at].edges)
        if (automata.alphabet.location(letter) != x) add(to);
    };
    return automata.intern(determinised<Node>({0}, expand, close, [this] { automata.poll(); }));
  });
}

bool Buffers::independent(Language a) {
  auto [known, fresh] = independent_.try_emplace(a, false);
  if (!fresh) return known->second;
  std::set<Location> locations;
  for (const auto& node : automata[a].nodes)
    for (const auto& edge : node.edges) locations.insert(automata.alphabet.location(edge.first));
  if (locations.contains(-1)) return false;  // ★
  Growth::Segment parts;
  for (Location x : locations) parts.emplace(x, only(a, x));
  return independent_[a] = in_order(parts) == a;
}

Language Buffers::in_order(const Growth::Segment& segment) {
  Language result = empty;
  for (const auto& entry : segment) result = followed(result, entry.second);
  return result;
}

}  // namespace teetotal::symbolic
