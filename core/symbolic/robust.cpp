#include "symbolic/robust.hpp"

#include <algorithm>
#include <unordered_map>

namespace teetotal::symbolic {

namespace {

using K = Action::Kind;
constexpr Process nobody = ~Process{0};

struct Attack {
  Memory memory;
  std::vector<Control> controls;
  Process attacker = nobody;
  Location victim = -1;
  bool fenced = false;                          // an sfence came after st_A
  std::vector<std::pair<Location, Value>> own;  // the attacker's delayed stores, the last to each location
  std::vector<bool> threads, stores, loads;     // tainted: threads, and locations by what accessed them
  bool operator==(const Attack&) const = default;
};

struct AttackHash {
  std::size_t operator()(const Attack& s) const {
    std::size_t h = combine(s.attacker, static_cast<std::size_t>(s.victim) * 2 + s.fenced);
    for (Value v : s.memory) h = combine(h, static_cast<std::size_t>(v));
    for (Control q : s.controls) h = combine(h, q);
    for (auto [x, v] : s.own) h = combine(combine(h, static_cast<std::size_t>(x)), static_cast<std::size_t>(v));
    h = combine(h, std::hash<std::vector<bool>>{}(s.threads));
    h = combine(h, std::hash<std::vector<bool>>{}(s.stores));
    return combine(h, std::hash<std::vector<bool>>{}(s.loads));
  }
};

class Search {
 public:
  Search(Graph& graph, Progress* progress) : graph_(graph), progress_(progress), pso_(graph.model() == Model::pso) {}

  RobustResult run() {
    Attack start;
    start.memory = graph_.system().memory;
    for (Process p = 0; p < graph_.processes(); ++p) start.controls.push_back(graph_.start(p));
    start.threads.resize(graph_.processes());
    start.stores.resize(start.memory.size());
    start.loads.resize(start.memory.size());
    visit(std::move(start), {});
    for (std::size_t i = 0; i < order_.size() && result_.robust; ++i) {
      if ((i & 0x1f) == 0 && progress_ != nullptr) progress_->report(order_.size(), order_.size() - i, 0);
      from_ = i;
      const Attack here = *order_[i];
      for (Process p = 0; p < graph_.processes() && result_.robust; ++p) steps(here, p);
    }
    result_.states = order_.size();
    return std::move(result_);
  }

 private:
  void visit(Attack next, std::vector<Step> steps) {
    auto [found, fresh] = numbers_.try_emplace(std::move(next), order_.size());
    if (!fresh) return;
    order_.push_back(&found->first);
    parents_.emplace_back(from_, std::move(steps));
  }

  // The cycle has closed with these last steps.
  void close(std::vector<Step> steps) {
    if (!result_.robust) return;
    result_.robust = false;
    std::vector<std::vector<Step>> pieces{std::move(steps)};
    for (std::size_t i = from_; i != 0; i = parents_[i].first) pieces.push_back(parents_[i].second);
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece)
      result_.schedule.insert(result_.schedule.end(), piece->begin(), piece->end());
  }

  // p, not delayed, accesses x: the taint that it meets and spreads. True if that closes the cycle.
  bool access(Attack& next, Process p, Location x, bool stores) const {
    if (next.attacker == nobody || x >= graph_.system().buffered) return false;
    auto at = static_cast<std::size_t>(x);
    if (next.stores[at] || (stores && next.loads[at])) next.threads[p] = true;
    if (!next.threads[p]) return false;
    if (p != next.attacker && x == next.victim) return true;
    (stores ? next.stores : next.loads)[at] = true;
    return false;
  }

  void steps(const Attack& here, Process p) {
    const Control q = here.controls[p];
    const bool attacking = here.attacker == p;
    auto own = [&](Location x) {
      return std::find_if(here.own.begin(), here.own.end(), [&](const auto& entry) { return entry.first == x; });
    };
    auto moved = [&](Control to) {
      Attack next = here;
      next.controls[p] = to;
      return next;
    };
    auto issue = [&](Control to) { return std::vector<Step>{{Step::Kind::move, p, to, -1, {}}}; };
    for (const Action& action : graph_.state(p, q).actions) {
      switch (graph_.kind(action)) {
        case K::tau:
          visit(moved(graph_.target(p, action)), issue(graph_.target(p, action)));
          break;
        case K::load: {
          bool forwarded = attacking && own(action.location) != here.own.end();
          Value value =
              forwarded ? own(action.location)->second : here.memory[static_cast<std::size_t>(action.location)];
          Attack next = moved(graph_.after_load(p, q, value));
          std::vector<Step> done = issue(next.controls[p]);
          if (!forwarded && access(next, p, action.location, false))
            close(std::move(done));
          else
            visit(std::move(next), std::move(done));
          break;
        }
        case K::store:
          store(here, p, action);
          break;
        case K::mfence:
          if (!attacking) visit(moved(graph_.target(p, action)), issue(graph_.target(p, action)));
          break;
        case K::sfence: {
          Attack next = moved(graph_.target(p, action));
          if (attacking) next.fenced = true;
          std::vector<Step> done = issue(next.controls[p]);
          visit(std::move(next), std::move(done));
          break;
        }
        case K::atomic: {
          Location needs = action.location;
          bool free = pso_ && needs >= 0 && !here.fenced && own(needs) == here.own.end();
          if (attacking && needs != needs_nothing && !free) break;
          for (const Outcome& outcome : graph_.outcomes(p, q, action, here.memory)) {
            Attack next = moved(graph_.target(p, outcome));
            next.memory = written(next.memory, outcome.writes);
            std::vector<Step> done{{Step::Kind::move, p, next.controls[p], -1, outcome.writes}};
            bool closed = false;
            for (Location x : action.footprint) closed |= access(next, p, x, false);
            for (const auto& write : outcome.writes) closed |= access(next, p, write.first, true);
            if (closed)
              close(std::move(done));
            else
              visit(std::move(next), std::move(done));
          }
          break;
        }
      }
    }
  }

  void store(const Attack& here, Process p, const Action& action) {
    const Location x = action.location;
    const Control to = graph_.target(p, action);
    const bool attacking = here.attacker == p;
    bool mine = std::any_of(here.own.begin(), here.own.end(), [&](const auto& entry) { return entry.first == x; });
    if (!attacking || (pso_ && !here.fenced && !mine)) {  // visible at once
      Attack next = here;
      next.controls[p] = to;
      next.memory[static_cast<std::size_t>(x)] = action.value;
      std::vector<Step> done{{Step::Kind::move, p, to, -1, {}}, {Step::Kind::commit, p, 0, x, {}}};
      if (access(next, p, x, true))
        close(done);
      else
        visit(std::move(next), std::move(done));
    }
    if (here.attacker != nobody && !attacking) return;
    Attack next = here;  // delayed
    next.controls[p] = to;
    if (!attacking) {
      next.attacker = p;
      next.victim = x;
      next.threads[p] = true;
    }
    std::erase_if(next.own, [&](const auto& entry) { return entry.first == x; });
    next.own.emplace_back(x, action.value);
    std::sort(next.own.begin(), next.own.end());
    visit(std::move(next), {{Step::Kind::move, p, to, -1, {}}});
  }

  Graph& graph_;
  Progress* progress_;
  bool pso_;
  std::unordered_map<Attack, std::size_t, AttackHash> numbers_;
  std::vector<const Attack*> order_;
  std::vector<std::pair<std::size_t, std::vector<Step>>> parents_;
  std::size_t from_ = 0;
  RobustResult result_;
};

}  // namespace

RobustResult check_robust(Graph& graph, Progress* progress) { return Search(graph, progress).run(); }

}  // namespace teetotal::symbolic
