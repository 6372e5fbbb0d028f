#include "symbolic/attack_path.hpp"

#include <map>
#include <stdexcept>

namespace teetotal::symbolic {

namespace {

// One process's steps, by how many changes of memory there were before them; its own change is the last of its row.
using Rows = std::vector<std::vector<Step>>;

class Alone {
 public:
  Alone(AttackSteps& steps, const std::vector<Change>& path, const std::vector<Memory>& memories,
        const AttackGoal& goal, Process p, Progress* progress)
      : steps_(steps), path_(path), memories_(memories), goal_(goal), p_(p), progress_(progress) {}

  Rows run(Control start) {
    visit({0, false, Delayed{start, false, {}}}, {});
    for (from_ = 0; from_ < order_.size(); ++from_) {
      if ((from_ & 0x1f) == 0 && progress_ != nullptr) progress_->report(0);
      const Place here = *order_[from_];
      if (here.changes == path_.size() && reached(here)) return rows();
      expand(here);
    }
    throw std::logic_error("an attack that no process can take part in");
  }

 private:
  struct Place {
    std::size_t changes;
    bool attacking;
    Delayed at;  // of a helper, or before the attack, the control state alone
    auto operator<=>(const Place&) const = default;
  };

  bool reached(const Place& here) const {
    if (p_ == goal_.attacker) return here.attacking && here.at == goal_.delayed;
    return !goal_.places[p_] || *goal_.places[p_] == here.at.control;
  }

  void expand(const Place& here) {
    const Memory& m = memories_[here.changes];
    const bool last = here.changes == path_.size();
    const bool mine = !last && path_[here.changes].process == p_;
    auto to = [&](const Delayed& next, const Touched& touched) {
      std::vector<Step> done = steps_.rows(p_, here.at.control, next.control, touched);
      if (!changes(touched.writes, m)) visit({here.changes, here.attacking, next}, done);
      if (mine && touched.writes == path_[here.changes].writes)
        visit({here.changes + 1, here.attacking, next}, std::move(done));
    };
    if (here.attacking) {
      steps_.attacker(p_, here.at, m, to);
    } else {
      steps_.helper(p_, here.at.control, m,
                    [&](Control q, const Touched& touched) { to(Delayed{q, false, {}}, touched); });
      if (p_ == goal_.attacker)
        steps_.delays(p_, here.at.control, [&](const Delayed& next, Location victim) {
          if (victim == goal_.victim)
            visit({here.changes, true, next}, steps_.rows(p_, here.at.control, next.control, {}));
        });
    }
    if (!last && !mine) visit({here.changes + 1, here.attacking, here.at}, {});
  }

  void visit(Place place, std::vector<Step> done) {
    auto [found, fresh] = numbers_.try_emplace(std::move(place), order_.size());
    if (!fresh) return;
    order_.push_back(&found->first);
    parents_.emplace_back(from_, std::move(done));
  }

  Rows rows() const {
    Rows result(path_.size() + 1);
    for (std::size_t i = from_; i != 0; i = parents_[i].first) {
      auto& row = result[order_[parents_[i].first]->changes];
      row.insert(row.begin(), parents_[i].second.begin(), parents_[i].second.end());
    }
    return result;
  }

  AttackSteps& steps_;
  const std::vector<Change>& path_;
  const std::vector<Memory>& memories_;
  const AttackGoal& goal_;
  Process p_;
  Progress* progress_;
  std::map<Place, std::size_t> numbers_;
  std::vector<const Place*> order_;
  std::vector<std::pair<std::size_t, std::vector<Step>>> parents_;
  std::size_t from_ = 0;
};

}  // namespace

std::vector<Step> attack_schedule(Graph& graph, AttackSteps& steps, const std::vector<Change>& path,
                                  const AttackGoal& goal, Progress* progress) {
  std::vector<Memory> memories{graph.system().memory};
  for (const Change& change : path) memories.push_back(written(memories.back(), change.writes));
  std::vector<Rows> rows;
  for (Process p = 0; p < graph.processes(); ++p)
    rows.push_back(Alone(steps, path, memories, goal, p, progress).run(graph.start(p)));
  std::vector<Step> schedule;
  auto append = [&](Process p, std::size_t i) {
    schedule.insert(schedule.end(), rows[p][i].begin(), rows[p][i].end());
  };
  for (std::size_t i = 0; i <= path.size(); ++i) {
    for (Process p = 0; p < graph.processes(); ++p)
      if (i == path.size() || p != path[i].process) append(p, i);
    if (i < path.size()) append(path[i].process, i);  // whose last step is the change
  }
  return schedule;
}

}  // namespace teetotal::symbolic
