#include "histories/decide.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace teetotal::histories {
namespace {

class Decider {
 public:
  Decider(Saturation& saturation, const Budget& budget)
      : saturation_(saturation),
        graph_(saturation.graph()),
        budget_(budget),
        executed_(graph_.chains, 0),
        unread_(graph_.size, 0),
        waiting_(graph_.chains),
        waits_for_(graph_.chains, {nothing, nothing}),
        is_candidate_(graph_.chains, false) {
    for (Node o = 0; o < graph_.size; ++o) unread_[o] = static_cast<std::uint32_t>(graph_.readers_of(o).size());
    result_.order.reserve(graph_.size);
  }

  Decision run() {
    examine_all();
    for (;;) {
      settle();
      commit();
      if (result_.order.size() == graph_.size) {
        result_.consistent = true;
        return std::move(result_);
      }
      if (budget_.over()) throw OutOfBudget{};
      open_level();
      while (!choose())
        if (!close_level()) return std::move(result_);
    }
  }

 private:
  struct Level {  // a frontier at which a choice was made
    Frontier executed;
    std::size_t order;
    std::vector<Node> untried;  // from the worst to the best
    Node chosen;
  };

  struct Condition {  // that the chain `lane` has executed `count` nodes
    std::uint32_t lane, count;
    bool operator==(const Condition&) const = default;
  };

  bool is_executed(Node o) const { return executed_[graph_.chain[o]] > graph_.position[o]; }

  void examine_all() {
    for (auto& list : waiting_) list.clear();
    std::fill(waits_for_.begin(), waits_for_.end(), Condition{nothing, nothing});
    std::fill(is_candidate_.begin(), is_candidate_.end(), false);
    candidates_.clear();
    to_examine_.clear();
    for (std::uint32_t c = 0; c < graph_.chains; ++c) to_examine_.push_back(c);
  }

  // The first lane on which o still waits, if `allowed` may count as executed; nothing if o is ready.
  std::uint32_t obstacle(Node o, Node allowed) const {
    const std::uint32_t* row = saturation_.row(o);
    const std::uint32_t own = graph_.chain[o];
    for (std::uint32_t lane = 0; lane < graph_.chains; ++lane)
      if (row[lane] > executed_[lane] && lane != own) {
        if (allowed != nothing && lane == graph_.chain[allowed] && row[lane] == graph_.position[allowed] + 1) continue;
        return lane;
      }
    return nothing;
  }

  // The chain is to be examined again then. A chain waits for one thing at a time: what it waited for before is stale.
  void wait(std::uint32_t chain, Condition condition) {
    if (waits_for_[chain] == condition) return;
    waits_for_[chain] = condition;
    waiting_[condition.lane].push_back(chain);
  }

  void settle() {
    while (!to_examine_.empty()) {
      const std::uint32_t chain = to_examine_.back();
      to_examine_.pop_back();
      while (examine(chain)) {
      }
    }
  }

  // Executes the head of the chain if that can do no harm.
  bool examine(std::uint32_t chain) {
    if (executed_[chain] == graph_.length(chain)) return false;
    const Node o = graph_.at(chain, executed_[chain]);
    const std::uint32_t lane = obstacle(o, nothing);
    if (lane != nothing) {
      is_candidate_[chain] = false;
      wait(chain, {lane, saturation_.row(o)[lane]});
      return false;
    }
    if (unread_[o] > 0 && !readers_can_follow(o)) {
      if (!is_candidate_[chain]) candidates_.push_back(chain);
      is_candidate_[chain] = true;
      return false;
    }
    execute(o);
    if (unread_[o] > 0)
      for (const Node reader : graph_.readers_of(o))  // at once, before another write can come between
        if (!is_executed(reader)) execute(reader);
    return true;
  }

  bool readers_can_follow(Node write) {
    const std::uint32_t home = graph_.chain[write];
    for (const Node reader : graph_.readers_of(write)) {
      if (is_executed(reader)) continue;
      const std::uint32_t chain = graph_.chain[reader];
      const bool is_head = executed_[chain] + (chain == home) == graph_.position[reader];
      if (!is_head && !follows_a_reader(reader, write)) {
        if (chain != home) wait(home, {chain, graph_.position[reader]});
        return false;
      }
      const std::uint32_t lane = obstacle(reader, write);
      if (lane != nothing) {
        if (lane != home) wait(home, {lane, saturation_.row(reader)[lane]});
        return false;
      }
      if (unread_[reader] > 0) return false;  // an rmw that others wait for is a choice of its own
    }
    return true;
  }

  // Whether the node before this reader on its chain is a reader of the same write that has been found ready.
  bool follows_a_reader(Node reader, Node write) const {
    if (graph_.position[reader] == 0) return false;
    return graph_.source[graph_.at(graph_.chain[reader], graph_.position[reader] - 1)] == write;
  }

  void execute(Node o) {
    const std::uint32_t chain = graph_.chain[o];
    const std::uint32_t count = ++executed_[chain];
    is_candidate_[chain] = false;
    to_examine_.push_back(chain);
    result_.order.push_back(o);
    if (is_operation(graph_.source[o])) --unread_[graph_.source[o]];
    std::erase_if(waiting_[chain], [&](std::uint32_t waiter) {
      if (waits_for_[waiter].lane != chain) return true;  // stale
      if (waits_for_[waiter].count > count) return false;
      waits_for_[waiter] = {nothing, nothing};
      to_examine_.push_back(waiter);
      return true;
    });
  }

  // Choices whose value nobody waits for any more need not be taken back: see the top of decide.hpp.
  void commit() {
    while (!levels_.empty() && unread_[levels_.back().chosen] == 0) {
      saturation_.forget();
      levels_.pop_back();
    }
  }

  void open_level() {
    std::sort(candidates_.begin(), candidates_.end());
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
    std::erase_if(candidates_, [&](std::uint32_t chain) { return !is_candidate_[chain]; });
    Level level{executed_, result_.order.size(), {}, nothing};
    if (!failed_.contains(executed_))
      for (const std::uint32_t chain : candidates_) level.untried.push_back(graph_.at(chain, executed_[chain]));
    std::sort(level.untried.begin(), level.untried.end(), [](Node a, Node b) { return a > b; });
    levels_.push_back(std::move(level));
  }

  // The next choice at the newest level; false if none is left.
  bool choose() {
    Level& level = levels_.back();
    while (!level.untried.empty()) {
      const Node write = level.untried.back();
      level.untried.pop_back();
      ++result_.choices;
      saturation_.mark();
      if (put_first(write) && saturation_.run()) {
        level.chosen = write;
        execute(write);
        // Rows may have grown, so a candidate may have to wait now. The other heads wait already.
        for (const std::uint32_t chain : candidates_)
          if (is_candidate_[chain]) to_examine_.push_back(chain);
        return true;
      }
      saturation_.undo();
      if (++result_.conflicts > budget_.conflicts || budget_.over()) throw OutOfBudget{};
    }
    return false;
  }

  bool put_first(Node write) {
    const std::uint32_t address = graph_.address[write];
    for (std::uint32_t e = graph_.first_writers[address]; e < graph_.first_writers[address + 1]; ++e) {
      const ChainGraph::Writers& writers = graph_.writers[e];
      if (writers.chain == graph_.chain[write]) continue;
      const auto first = graph_.write_position.begin() + writers.first;
      const auto last = graph_.write_position.begin() + writers.last;
      const auto next = std::lower_bound(first, last, executed_[writers.chain]);
      if (next == last) continue;
      const Node other = graph_.write_node[static_cast<std::size_t>(next - graph_.write_position.begin())];
      if (!saturation_.add(write, other, nothing, Reason::assumed)) return false;
    }
    return true;
  }

  // Gives up the newest level and takes back the choice below it; false if there is none.
  bool close_level() {
    failed_.insert(levels_.back().executed);
    levels_.pop_back();
    if (levels_.empty()) return false;
    Level& level = levels_.back();
    saturation_.undo();
    while (result_.order.size() > level.order) {
      const Node o = result_.order.back();
      result_.order.pop_back();
      if (is_operation(graph_.source[o])) ++unread_[graph_.source[o]];
    }
    executed_ = level.executed;
    examine_all();
    return true;
  }

  Saturation& saturation_;
  const ChainGraph& graph_;
  const Budget& budget_;
  Decision result_;
  Frontier executed_;
  std::vector<std::uint32_t> unread_;
  std::vector<std::vector<std::uint32_t>> waiting_;  // per chain: who waits for it
  std::vector<Condition> waits_for_;                 // per chain
  std::vector<bool> is_candidate_;
  std::vector<std::uint32_t> candidates_, to_examine_;
  std::vector<Level> levels_;
  std::unordered_set<Frontier, FrontierHash> failed_;
};

}  // namespace

Decision decide(Saturation& saturation, const Budget& budget) { return Decider(saturation, budget).run(); }

}  // namespace teetotal::histories
