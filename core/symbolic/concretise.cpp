#include "symbolic/concretise.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "symbolic/word.hpp"

namespace teetotal::symbolic {

namespace {

using K = Action::Kind;

struct Configuration {
  std::uint32_t phase = 0;  // how many changes of memory have happened
  Control control = 0;
  Word word;
  auto operator<=>(const Configuration&) const = default;
};

// What a process did between two configurations.
struct Deed {
  bool moves = false;    // a step of the program, to `control`
  Letter stored = 0;     // the letter that it appended, if not 0
  int absorbed = -1;     // … and the position of the letter that it absorbed
  bool commits = false;  // a commit of the path, of the letter at position `taken`
  std::size_t taken = 0;
  Writes writes;  // of an atomic step
};

class Concretisation {
 public:
  Concretisation(Graph& graph, Alphabet& alphabet, const std::vector<Happening>& path, Process p, Progress* progress)
      : graph_(graph), alphabet_(alphabet), path_(path), p_(p), progress_(progress), pso_(graph.model() == Model::pso) {
    memories_.push_back(graph.system().memory);
    for (const auto& h : path) memories_.push_back(written(memories_.back(), h.writes));
  }

  // The deeds of this process, each with the phase in which it is done; nothing if the goal cannot be reached.
  std::optional<std::vector<std::pair<Configuration, Deed>>> run(const std::function<bool(Control)>& goal) {
    visit({0, graph_.start(p_), {}}, 0, {});
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if ((i & 0x3ff) == 0x3ff && progress_ != nullptr) progress_->report(0);
      const Configuration here = *order_[i];
      if (here.phase == path_.size() && goal(here.control)) return chain(i);
      local(here, i);
      if (here.phase < path_.size()) advance(here, i);
    }
    return std::nullopt;
  }

 private:
  void visit(Configuration next, std::size_t from, Deed deed) {
    if (!useful(next)) return;
    auto [found, fresh] = seen_.try_emplace(std::move(next), order_.size());
    if (!fresh) return;
    order_.push_back(&found->first);
    parents_.emplace_back(from, deed);
  }

  std::vector<std::pair<Configuration, Deed>> chain(std::size_t i) const {
    std::vector<std::pair<Configuration, Deed>> result;
    for (; i != 0; i = parents_[i].first) result.emplace_back(*order_[i], parents_[i].second);
    std::reverse(result.begin(), result.end());
    return result;
  }

  // Which letters of the word the path will still commit: those that fit its future commits in order. The others stay.
  std::vector<bool> needed(const Configuration& c) const {
    std::vector<bool> result(c.word.size(), false);
    std::map<Location, std::vector<Letter>> future;
    for (std::size_t i = c.phase; i < path_.size(); ++i)
      if (path_[i].process == p_ && path_[i].commit) {
        Location queue = pso_ ? alphabet_.location(path_[i].letter) : 0;
        future[queue].push_back(path_[i].letter);
      }
    std::map<Location, std::size_t> used;
    for (std::size_t i = 0; i < c.word.size(); ++i) {
      if (c.word[i] == marker) continue;
      Location queue = pso_ ? alphabet_.location(c.word[i]) : 0;
      result[i] = used[queue]++ < future[queue].size();
    }
    return result;
  }

  // Prune words that cannot serve the commits to come.
  bool useful(const Configuration& c) const {
    std::map<Location, std::vector<Letter>> future;
    for (std::size_t i = c.phase; i < path_.size(); ++i)
      if (path_[i].process == p_ && path_[i].commit)
        future[pso_ ? alphabet_.location(path_[i].letter) : 0].push_back(path_[i].letter);
    std::map<Location, std::size_t> used;
    bool stays = false, closed = false;  // a letter that stays, and a marker behind it: nothing after it ever commits
    for (std::size_t i = 0; i < c.word.size(); ++i) {
      Letter letter = c.word[i];
      if (letter == marker) {
        closed |= stays;
        continue;
      }
      Location queue = pso_ ? alphabet_.location(letter) : 0;
      std::size_t at = used[queue]++;
      if (at < future[queue].size()) {
        if (closed || (future[queue][at] != letter && !may_be_absorbed(c.word, i))) return false;
      } else {
        stays = true;
      }
    }
    return true;
  }

  // Whether a store to come could still take this letter's place.
  bool may_be_absorbed(const Word& word, std::size_t i) const {
    for (std::size_t j = i + 1; j < word.size(); ++j)
      if (!pso_ || word[j] == marker || alphabet_.location(word[j]) == alphabet_.location(word[i])) return false;
    return true;
  }

  void local(const Configuration& c, std::size_t from) {
    const Memory& m = memories_[c.phase];
    auto go = [&](Control q, Writes writes = {}) {
      visit({c.phase, q, c.word}, from, {true, 0, -1, false, 0, std::move(writes)});
    };
    for (const Action& action : graph_.state(p_, c.control).actions) switch (graph_.kind(action)) {
        case K::tau:
          go(graph_.target(p_, action));
          break;
        case K::load: {
          Letter mine = own_store(c.word, action.location, alphabet_);
          go(graph_.after_load(p_, c.control,
                               mine != 0 ? alphabet_.value(mine) : m[static_cast<std::size_t>(action.location)]));
          break;
        }
        case K::mfence:
          if (c.word.empty()) go(graph_.target(p_, action));
          break;
        case K::sfence:
          if (!marks(c.word)) {
            go(graph_.target(p_, action));
          } else {
            Configuration next{c.phase, graph_.target(p_, action), c.word};
            next.word.push_back(marker);
            visit(std::move(next), from, {true, marker, -1, false, 0, {}});
          }
          break;
        case K::atomic:
          if (ready(c.word, Graph::needs(action), pso_, alphabet_))
            for (const Outcome& outcome : graph_.outcomes(p_, c.control, action, m))
              if (!changes(outcome.writes, m)) go(graph_.target(p_, outcome), outcome.writes);
          break;
        case K::store:
          store(c, from, action);
          break;
      }
  }

  void store(const Configuration& c, std::size_t from, const Action& action) {
    const auto letter = alphabet_.of(action.location, action.value);
    Configuration next{c.phase, graph_.target(p_, action), c.word};
    next.word.push_back(letter);
    // The store to the same location that this one may absorb: the one right before it, under PSO anywhere since the
    // last marker; and, among letters that stay, anywhere.
    std::vector<bool> need = needed(next);
    int absorbable = -1;
    bool forced = false;
    for (std::size_t i = c.word.size(); i-- > 0;) {
      bool staying = !need[i] && !need.back();
      if (c.word[i] == marker) {
        if (!staying) break;
        continue;
      }
      if (alphabet_.location(c.word[i]) == action.location) {
        absorbable = static_cast<int>(i);
        forced = staying;
        break;
      }
      if (!pso_ && !staying) break;
    }
    if (!forced) visit(next, from, {true, letter, -1, false, 0, {}});
    if (absorbable >= 0) {
      next.word.erase(next.word.begin() + absorbable);
      visit(std::move(next), from, {true, letter, absorbable, false, 0, {}});
    }
  }

  // The next change of memory: another process's, or this one's.
  void advance(const Configuration& c, std::size_t from) {
    const Happening& h = path_[c.phase];
    if (h.process != p_) {
      visit({c.phase + 1, c.control, c.word}, from, {});
      return;
    }
    if (!h.commit) {
      const Memory& m = memories_[c.phase];
      for (const Action& action : graph_.state(p_, c.control).actions) {
        if (graph_.kind(action) != K::atomic || !ready(c.word, Graph::needs(action), pso_, alphabet_)) continue;
        for (const Outcome& outcome : graph_.outcomes(p_, c.control, action, m))
          if (outcome.writes == h.writes)
            visit({c.phase + 1, graph_.target(p_, outcome), c.word}, from, {true, 0, -1, false, 0, outcome.writes});
      }
      return;
    }
    for (std::size_t i = 0; i < c.word.size(); ++i) {
      if (c.word[i] == marker) return;
      if (!pso_ || alphabet_.location(c.word[i]) == alphabet_.location(h.letter)) {
        if (c.word[i] != h.letter) return;
        visit({c.phase + 1, c.control, committed(c.word, i)}, from, {false, 0, -1, true, i, {}});
        return;
      }
    }
  }

  Graph& graph_;
  Alphabet& alphabet_;
  const std::vector<Happening>& path_;
  Process p_;
  Progress* progress_;
  bool pso_;
  std::vector<Memory> memories_;
  std::map<Configuration, std::size_t> seen_;
  std::vector<const Configuration*> order_;
  std::vector<std::pair<std::size_t, Deed>> parents_;
};

}  // namespace

std::optional<std::vector<Step>> concretise(Graph& graph, Alphabet& alphabet, const std::vector<Happening>& path,
                                            const std::function<bool(Process, Control)>& goal, Progress* progress) {
  std::vector<std::vector<std::vector<Step>>> by_phase(path.size() + 1);
  std::vector<std::vector<Step>> changing(path.size());
  for (auto& phase : by_phase) phase.resize(graph.processes());
  for (Process p = 0; p < graph.processes(); ++p) {
    Concretisation search(graph, alphabet, path, p, progress);
    auto deeds = search.run([&](Control q) { return goal(p, q); });
    if (!deeds) return std::nullopt;
    std::vector<int> counts;  // how many stores each letter of the word stands for; markers count none
    std::uint32_t phase = 0;
    Word word;
    for (const auto& [after, deed] : *deeds) {
      auto& steps = after.phase == phase ? by_phase[phase][p] : changing[phase];
      if (deed.moves) steps.push_back({Step::Kind::move, p, after.control, -1, deed.writes});
      if (deed.commits) {
        Location x = alphabet.location(word[deed.taken]);
        for (int i = 0; i < counts[deed.taken]; ++i) steps.push_back({Step::Kind::commit, p, 0, x, {}});
        counts.erase(counts.begin() + static_cast<std::ptrdiff_t>(deed.taken));
        while (counts.size() > after.word.size()) counts.erase(counts.begin());  // markers that came to the front
      } else if (after.word.size() > word.size() || deed.absorbed >= 0) {
        int count = after.word.back() == marker ? 0 : 1;
        if (deed.absorbed >= 0) {
          count += counts[static_cast<std::size_t>(deed.absorbed)];
          counts.erase(counts.begin() + deed.absorbed);
        }
        counts.push_back(count);
      }
      word = after.word;
      phase = after.phase;
    }
  }
  std::vector<Step> schedule;
  for (std::size_t i = 0; i <= path.size(); ++i) {
    for (const auto& steps : by_phase[i]) schedule.insert(schedule.end(), steps.begin(), steps.end());
    if (i < path.size()) schedule.insert(schedule.end(), changing[i].begin(), changing[i].end());
  }
  return schedule;
}

}  // namespace teetotal::symbolic
