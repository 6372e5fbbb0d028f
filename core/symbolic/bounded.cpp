#include "symbolic/bounded.hpp"

#include <algorithm>
#include <unordered_map>

#include "symbolic/aside.hpp"
#include "symbolic/word.hpp"

namespace teetotal::symbolic {

namespace {

using K = Action::Kind;

struct Machine {
  Memory memory;
  std::vector<Control> controls;
  std::vector<Word> words;
  bool operator==(const Machine&) const = default;
};

struct MachineHash {
  std::size_t operator()(const Machine& s) const {
    std::size_t h = 0;
    for (Value v : s.memory) h = combine(h, static_cast<std::size_t>(v));
    for (Control q : s.controls) h = combine(h, q);
    for (const auto& word : s.words) {
      h = combine(h, 0x5bd1e995);
      for (Letter a : word) h = combine(h, a);
    }
    return h;
  }
};

class Bounded {
 public:
  Bounded(Graph& graph, std::size_t capacity, Progress* progress)
      : graph_(graph), capacity_(capacity), progress_(progress), pso_(graph.model() == Model::pso) {}

  BoundedResult run() {
    Machine start{graph_.system().memory, {}, {}};
    for (Process p = 0; p < graph_.processes(); ++p) start.controls.push_back(graph_.start(p));
    start.words.resize(graph_.processes());
    visit(std::move(start), {});
    for (std::size_t i = 0; i < order_.size() && !result_.bad; ++i) {
      if ((i & 0xff) == 0 && progress_ != nullptr) progress_->report(order_.size());
      from_ = i;
      const Machine here = *order_[i];
      for (Process p = 0; p < graph_.processes() && !result_.bad; ++p) {
        program_steps(here, p);
        commits(here, p);
      }
    }
    result_.states = order_.size();
    return std::move(result_);
  }

 private:
  void visit(Machine next, Step step) {
    if (result_.bad) return;
    auto [found, fresh] = numbers_.try_emplace(std::move(next), order_.size());
    if (!fresh) return;
    order_.push_back(&found->first);
    parents_.emplace_back(from_, step);
    if (!graph_.is_bad(found->first.controls, found->first.memory)) return;
    result_.bad = true;
    for (std::size_t i = order_.size() - 1; i != 0; i = parents_[i].first)
      result_.schedule.push_back(parents_[i].second);
    std::reverse(result_.schedule.begin(), result_.schedule.end());
  }

  void program_steps(const Machine& here, Process p) {
    const Control q = here.controls[p];
    const Word& word = here.words[p];
    auto go = [&](Control to, auto change, Writes writes = {}) {
      Machine next = here;
      next.controls[p] = to;
      change(next);
      visit(std::move(next), {Step::Kind::move, p, to, -1, std::move(writes)});
    };
    auto same = [](Machine&) {};
    auto append = [&](Control to, Letter letter) {
      if (word.size() >= capacity_)
        result_.cut = true;
      else
        go(to, [&](Machine& next) { next.words[p].push_back(letter); });
    };
    for (const Action& action : graph_.state(p, q).actions) switch (graph_.kind(action)) {
        case K::tau:
          go(graph_.target(p, action), same);
          break;
        case K::load: {
          Letter mine = own_store(word, action.location, letters_);
          Value value = mine != 0 ? letters_.value(mine) : here.memory[static_cast<std::size_t>(action.location)];
          go(graph_.after_load(p, q, value), same);
          break;
        }
        case K::store:
          append(graph_.target(p, action), letters_.of(action.location, action.value));
          break;
        case K::mfence:
          if (word.empty()) go(graph_.target(p, action), same);
          break;
        case K::sfence:
          if (marks(word))
            append(graph_.target(p, action), marker);
          else
            go(graph_.target(p, action), same);
          break;
        case K::atomic: {
          if (!ready(word, Graph::needs(action), pso_, letters_)) break;
          for (const Outcome& outcome : graph_.outcomes(p, q, action, here.memory))
            go(
                graph_.target(p, outcome), [&](Machine& next) { next.memory = written(next.memory, outcome.writes); },
                outcome.writes);
          break;
        }
      }
  }

  void commits(const Machine& here, Process p) {
    const Word& word = here.words[p];
    std::vector<Location> passed;
    for (std::size_t i = 0; i < word.size() && word[i] != marker; ++i) {
      Location x = letters_.location(word[i]);
      if (std::find(passed.begin(), passed.end(), x) == passed.end()) {
        Machine next = here;
        next.words[p] = committed(word, i);
        next.memory[static_cast<std::size_t>(x)] = letters_.value(word[i]);
        visit(std::move(next), {Step::Kind::commit, p, 0, x, {}});
      }
      if (!pso_) return;
      passed.push_back(x);
    }
  }

  Graph& graph_;
  std::size_t capacity_;
  Progress* progress_;
  bool pso_;
  Alphabet letters_;
  std::unordered_map<Machine, std::size_t, MachineHash> numbers_;
  std::vector<const Machine*> order_;
  std::vector<std::pair<std::size_t, Step>> parents_;
  std::size_t from_ = 0;
  BoundedResult result_;
};

}  // namespace

BoundedResult explore_bounded(Graph& graph, std::size_t capacity, Progress* progress) {
  return freed_aside<Bounded>(graph, capacity, progress)->run();
}

}  // namespace teetotal::symbolic
