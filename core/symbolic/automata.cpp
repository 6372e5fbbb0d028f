#include "symbolic/automata.hpp"

#include <deque>
#include <tuple>

namespace teetotal::symbolic {

namespace {

std::size_t hash_of(const Dfa& dfa) {
  std::size_t h = dfa.nodes.size();
  for (const auto& node : dfa.nodes) {
    for (const auto& [letter, to] : node.edges) h = combine(combine(h, letter), to);
    h = combine(h, 0x5bd1e995);
    for (Control q : node.finals) h = combine(h, q);
  }
  return h;
}

// Only nodes from which a word ends, numbered breadth-first by letter.
Dfa trimmed(const Dfa& dfa, Node start) {
  std::vector<std::vector<Node>> before(dfa.nodes.size());
  std::vector<char> useful(dfa.nodes.size(), 0);
  std::vector<Node> stack;
  for (Node n = 0; n < dfa.nodes.size(); ++n) {
    for (const auto& edge : dfa.nodes[n].edges) before[edge.second].push_back(n);
    if (!dfa.nodes[n].finals.empty()) {
      useful[n] = 1;
      stack.push_back(n);
    }
  }
  while (!stack.empty()) {
    Node n = stack.back();
    stack.pop_back();
    for (Node b : before[n])
      if (!useful[b]) {
        useful[b] = 1;
        stack.push_back(b);
      }
  }
  Dfa result;
  if (dfa.nodes.empty() || !useful[start]) return result;
  constexpr Node unseen = ~Node{0};
  std::vector<Node> number(dfa.nodes.size(), unseen);
  std::vector<Node> order{start};
  number[start] = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& node = dfa.nodes[order[i]];
    Dfa::State copy;
    copy.finals = node.finals;
    for (const auto& [letter, to] : node.edges) {
      if (!useful[to]) continue;
      if (number[to] == unseen) {
        number[to] = static_cast<Node>(order.size());
        order.push_back(to);
      }
      copy.edges.emplace_back(letter, number[to]);
    }
    result.nodes.push_back(std::move(copy));
  }
  return result;
}

// Moore's refinement, `rounds` times or until it is stable: the class of each node.
std::vector<Node> classes(const Dfa& dfa, unsigned rounds, bool start_apart) {
  std::vector<Node> now(dfa.nodes.size(), 0);
  std::size_t count = 0;
  for (unsigned round = 0; round <= rounds; ++round) {
    std::map<std::tuple<Node, std::vector<Control>, std::vector<std::pair<Letter, Node>>>, Node> signatures;
    std::vector<Node> next(dfa.nodes.size());
    for (Node n = 0; n < dfa.nodes.size(); ++n) {
      std::vector<std::pair<Letter, Node>> edges;
      if (round > 0) {
        edges = dfa.nodes[n].edges;
        for (auto& edge : edges) edge.second = now[edge.second];
      }
      Node apart = round == 0 ? static_cast<Node>(start_apart && n == 0) : now[n];
      auto key = std::tuple{apart, round == 0 ? dfa.nodes[n].finals : std::vector<Control>{}, std::move(edges)};
      next[n] = signatures.try_emplace(std::move(key), static_cast<Node>(signatures.size())).first->second;
    }
    now = std::move(next);
    if (signatures.size() == count) break;
    count = signatures.size();
  }
  return now;
}

}  // namespace

const Node* Dfa::after(Node node, Letter letter) const {
  const auto& edges = nodes[node].edges;
  auto found = std::lower_bound(edges.begin(), edges.end(), letter,
                                [](const std::pair<Letter, Node>& edge, Letter a) { return edge.first < a; });
  return found != edges.end() && found->first == letter ? &found->second : nullptr;
}

Letter Alphabet::of(Location x, Value v) {
  auto [found, fresh] = numbers_.try_emplace({x, v}, static_cast<Letter>(letters_.size()));
  if (fresh) letters_.emplace_back(x, v);
  return found->second;
}

Dfa Automata::minimised(const Dfa& dfa) {
  Dfa trim = trimmed(dfa, 0);
  if (trim.nodes.size() < 2) return trim;
  std::vector<Node> klass = classes(trim, ~0U - 1, false);
  Dfa small;
  small.nodes.resize(*std::max_element(klass.begin(), klass.end()) + 1);
  for (Node n = 0; n < trim.nodes.size(); ++n) {
    auto& node = small.nodes[klass[n]];
    if (!node.finals.empty() || !node.edges.empty()) continue;
    node = trim.nodes[n];
    for (auto& edge : node.edges) edge.second = klass[edge.second];
  }
  return trimmed(small, klass[0]);
}

Language Automata::intern(Dfa dfa) {
  Dfa canonical = minimised(dfa);
  std::size_t h = hash_of(canonical);
  auto [begin, end] = by_hash_.equal_range(h);
  for (auto it = begin; it != end; ++it)
    if (*automata_[it->second] == canonical) return it->second;
  auto number = static_cast<Language>(automata_.size());
  automata_.push_back(std::make_unique<Dfa>(std::move(canonical)));
  by_hash_.emplace(h, number);
  return number;
}

Language Automata::word(Control q) {
  Dfa dfa;
  dfa.nodes.push_back({{}, {q}});
  return intern(std::move(dfa));
}

bool Automata::included(Language a, Language b) {
  if (a == b || a == nothing) return true;
  if (b == nothing) return false;
  auto [found, fresh] = included_.try_emplace(pair_key(a, b), true);
  if (!fresh) return found->second;
  const Dfa& left = (*this)[a];
  const Dfa& right = (*this)[b];
  std::vector<std::pair<Node, Node>> stack{{0, 0}};
  std::unordered_map<std::uint64_t, bool> seen{{0, true}};
  bool holds = true;
  while (!stack.empty() && holds) {
    auto [s, t] = stack.back();
    stack.pop_back();
    const auto& finals = right.nodes[t].finals;
    if (!std::includes(finals.begin(), finals.end(), left.nodes[s].finals.begin(), left.nodes[s].finals.end())) {
      holds = false;
      break;
    }
    for (const auto& [letter, to] : left.nodes[s].edges) {
      const Node* other = right.after(t, letter);
      if (other == nullptr) {  // every node leads to a word: there is one that the right side lacks
        holds = false;
        break;
      }
      if (seen.try_emplace(pair_key(to, *other), true).second) stack.emplace_back(to, *other);
    }
  }
  return included_[pair_key(a, b)] = holds;
}

Language Automata::join(Language a, Language b) {
  if (included(a, b)) return b;
  if (included(b, a)) return a;
  if (a > b) std::swap(a, b);
  auto found = joined_.find(pair_key(a, b));
  if (found != joined_.end()) return found->second;
  using Point = std::pair<bool, Node>;
  const Dfa* sides[2] = {&(*this)[a], &(*this)[b]};
  auto expand = [&](const Point& s, auto edge, auto final) {
    const auto& node = sides[s.first]->nodes[s.second];
    for (const auto& [letter, to] : node.edges) edge(letter, Point{s.first, to});
    for (Control q : node.finals) final(q);
  };
  Dfa dfa = determinised<Point>({{false, 0}, {true, 0}}, expand, [](const Point&, auto) {}, [this] { poll(); });
  return joined_[pair_key(a, b)] = intern(std::move(dfa));
}

const std::vector<Control>& Automata::controls(Language a) {
  auto [found, fresh] = controls_.try_emplace(a);
  if (fresh) {
    auto& all = found->second;
    for (const auto& node : (*this)[a].nodes) all.insert(all.end(), node.finals.begin(), node.finals.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
  }
  return found->second;
}

Language Automata::quotient(Language a, Letter letter) {
  auto found = quotients_.find(pair_key(a, letter));
  if (found != quotients_.end()) return found->second;
  const Dfa& dfa = (*this)[a];
  const Node* to = dfa.nodes.empty() ? nullptr : dfa.after(0, letter);
  Language result = to == nullptr ? nothing : intern(trimmed(dfa, *to));
  return quotients_[pair_key(a, letter)] = result;
}

const std::vector<Letter>& Automata::removable(Language a) {
  auto [found, fresh] = removable_.try_emplace(a);
  if (!fresh) return found->second;
  const Dfa& dfa = (*this)[a];
  // A letter can go first if a path without markers and without its location leads to it.
  std::vector<Letter> all;
  for (const auto& node : dfa.nodes)
    for (const auto& edge : node.edges)
      if (edge.first != marker) all.push_back(edge.first);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (Letter wanted : all) {
    Location x = alphabet.location(wanted);
    std::vector<char> seen(dfa.nodes.size(), 0);
    std::vector<Node> stack{0};
    seen[0] = 1;
    bool possible = false;
    while (!stack.empty() && !possible) {
      Node n = stack.back();
      stack.pop_back();
      for (const auto& [letter, to] : dfa.nodes[n].edges) {
        if (letter == wanted) possible = true;
        if (letter == marker || alphabet.location(letter) == x || seen[to]) continue;
        seen[to] = 1;
        stack.push_back(to);
      }
    }
    if (possible) found->second.push_back(wanted);
  }
  return found->second;
}

Language Automata::removed(Language a, Letter wanted) {
  auto known = removed_.find(pair_key(a, wanted));
  if (known != removed_.end()) return known->second;
  const Dfa& dfa = (*this)[a];
  Location x = alphabet.location(wanted);
  // Before the removal, with nothing or with something read so far; just after a removal at the very front, where a
  // marker that has come to the front goes too; and after it.
  enum Phase : std::uint8_t { at_front, before, after_front, after };
  using Point = std::pair<Phase, Node>;
  auto expand = [&](const Point& s, auto edge, auto final) {
    const auto& node = dfa.nodes[s.second];
    bool gone = s.first == after_front || s.first == after;
    if (gone)
      for (Control q : node.finals) final(q);
    for (const auto& [letter, to] : node.edges) {
      if (gone) {
        if (!(s.first == after_front && letter == marker)) edge(letter, Point{after, to});
      } else if (letter != marker && alphabet.location(letter) != x) {
        edge(letter, Point{before, to});
      }
    }
  };
  auto close = [&](const Point& s, auto add) {
    if (s.first == at_front || s.first == before) {
      const Node* to = dfa.after(s.second, wanted);
      if (to != nullptr) add(Point{s.first == at_front ? after_front : after, *to});
    } else if (s.first == after_front) {
      const Node* to = dfa.after(s.second, marker);
      if (to != nullptr) add(Point{after_front, *to});
    }
  };
  Dfa result = dfa.nodes.empty() ? Dfa{} : determinised<Point>({{at_front, 0}}, expand, close, [this] { poll(); });
  return removed_[pair_key(a, wanted)] = intern(std::move(result));
}

Language Automata::mapped(Language a, Location needs, const std::map<Control, std::vector<Control>>& to) {
  Dfa dfa = (*this)[a];
  for (Node n = 0; n < dfa.nodes.size(); ++n) {
    auto& node = dfa.nodes[n];
    std::vector<Control> finals;
    if (needs != needs_empty || n == 0)
      for (Control q : node.finals) {
        auto found = to.find(q);
        if (found != to.end()) finals.insert(finals.end(), found->second.begin(), found->second.end());
      }
    std::sort(finals.begin(), finals.end());
    finals.erase(std::unique(finals.begin(), finals.end()), finals.end());
    node.finals = std::move(finals);
    if (needs == needs_empty)
      node.edges.clear();
    else if (needs >= 0)
      std::erase_if(node.edges,
                    [&](const auto& edge) { return edge.first == marker || alphabet.location(edge.first) == needs; });
  }
  if (needs == needs_empty && dfa.nodes.size() > 1) dfa.nodes.resize(1);
  return intern(std::move(dfa));
}

Language Automata::lossy(Language a, bool pso) {
  auto known = lossy_.find(pair_key(a, pso));
  if (known != lossy_.end()) return known->second;
  const Dfa& dfa = (*this)[a];
  // Which locations have lost stores that a kept one must still follow (TSO: at most one, and at once).
  using Point = std::pair<std::vector<Location>, Node>;
  auto expand = [&](const Point& s, auto edge, auto final) {
    const auto& [owed, n] = s;
    if (owed.empty())
      for (Control q : dfa.nodes[n].finals) final(q);
    for (const auto& [letter, to] : dfa.nodes[n].edges) {
      if (letter == marker) {
        if (owed.empty()) edge(letter, Point{{}, to});
        continue;
      }
      Location x = alphabet.location(letter);
      if (!pso && !owed.empty() && owed[0] != x) continue;
      std::vector<Location> rest = owed;
      std::erase(rest, x);
      edge(letter, Point{std::move(rest), to});
    }
  };
  auto close = [&](const Point& s, auto add) {
    const auto& [owed, n] = s;
    for (const auto& [letter, to] : dfa.nodes[n].edges) {
      if (letter == marker) continue;
      Location x = alphabet.location(letter);
      if (!pso && !owed.empty() && owed[0] != x) continue;
      std::vector<Location> more = owed;
      auto place = std::lower_bound(more.begin(), more.end(), x);
      if (place == more.end() || *place != x) more.insert(place, x);
      add(Point{std::move(more), to});
    }
  };
  Dfa result = dfa.nodes.empty() ? Dfa{} : determinised<Point>({{{}, 0}}, expand, close, [this] { poll(); });
  return lossy_[pair_key(a, pso)] = intern(std::move(result));
}

Language Automata::blurred(Language a, unsigned k) {
  auto known = blurred_.find(pair_key(a, k));
  if (known != blurred_.end()) return known->second;
  const Dfa& dfa = (*this)[a];
  if (dfa.nodes.size() < 3) return blurred_[pair_key(a, k)] = a;
  std::vector<Node> klass = classes(dfa, k, true);
  std::vector<std::vector<Node>> members(*std::max_element(klass.begin(), klass.end()) + 1);
  for (Node n = 0; n < dfa.nodes.size(); ++n) members[klass[n]].push_back(n);
  auto expand = [&](const Node& c, auto edge, auto final) {
    for (Node n : members[c]) {
      for (const auto& [letter, to] : dfa.nodes[n].edges) edge(letter, klass[to]);
      for (Control q : dfa.nodes[n].finals) final(q);
    }
  };
  Dfa result = determinised<Node>({klass[0]}, expand, [](const Node&, auto) {}, [this] { poll(); });
  return blurred_[pair_key(a, k)] = intern(std::move(result));
}

void Automata::poll() {
  ++work_;
  if (max_work_ != 0 && work_ > max_work_) throw GaveUp{};
  if ((work_ & 0x7) == 0 && progress_ != nullptr) progress_->report(0);
}

}  // namespace teetotal::symbolic
