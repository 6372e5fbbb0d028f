#include "histories/values.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace teetotal::histories {
namespace {

class ValueSearch {
 public:
  ValueSearch(const History& history, const Budget& budget, std::size_t most_states)
      : history_(history), budget_(budget), most_states_(most_states), programs_(history.threads.size()) {
    for (Op op = 0; op < history.size(); ++op) programs_[history.thread[op]].push_back(op);
    state_.resize(programs_.size() + 2 * history.addresses.size(), 0);
    for (const Binding& binding : history.initial) set_memory(binding.address, binding.value);
  }

  Decision run() {
    Decision result;
    settle();
    push_level();
    while (!levels_.empty()) {
      if (finished()) {
        result.consistent = true;
        result.order = order_;
        return result;
      }
      Level& level = levels_.back();
      if (level.untried.empty()) {
        ++result.conflicts;
        levels_.pop_back();
        if (!levels_.empty()) go_back(levels_.back());
        continue;
      }
      const Op op = level.untried.back();
      level.untried.pop_back();
      execute(op);
      settle();
      ++result.choices;
      if ((result.choices & 0xff) == 0 && (seen_.size() > most_states_ || budget_.over())) throw OutOfBudget{};
      if (seen_.insert(state_).second)
        push_level();
      else
        go_back(level);
    }
    return result;
  }

 private:
  struct Level {
    Frontier state;
    std::size_t executed;
    std::vector<Op> untried;  // the best last
  };

  std::uint32_t& position(std::size_t thread) { return state_[thread]; }
  std::int64_t memory(std::uint32_t address) const {
    const std::size_t at = programs_.size() + 2 * std::size_t{address};
    return static_cast<std::int64_t>(std::uint64_t{state_[at]} | std::uint64_t{state_[at + 1]} << 32);
  }
  void set_memory(std::uint32_t address, std::int64_t value) {
    const std::size_t at = programs_.size() + 2 * std::size_t{address};
    state_[at] = static_cast<std::uint32_t>(static_cast<std::uint64_t>(value));
    state_[at + 1] = static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) >> 32);
  }

  Op head(std::size_t thread) {
    return position(thread) < programs_[thread].size() ? programs_[thread][position(thread)] : nothing;
  }
  bool can_run(Op op) const {
    return !history_.reads(op) || (history_.flags[op] & result_unknown) ||
           history_.value_read(op) == memory(history_.address[op]);
  }
  void execute(Op op) {
    ++position(history_.thread[op]);
    if (history_.writes(op)) set_memory(history_.address[op], history_.value[op]);
    order_.push_back(op);
  }

  void settle() {
    for (bool again = true; again;) {
      again = false;
      for (std::size_t t = 0; t < programs_.size(); ++t)
        for (Op op = head(t); op != nothing && can_run(op) && !history_.writes(op); op = head(t)) {
          execute(op);
          again = true;
        }
    }
  }

  void push_level() {
    Level level{state_, order_.size(), {}};
    for (std::size_t t = 0; t < programs_.size(); ++t)
      if (const Op op = head(t); op != nothing && can_run(op)) level.untried.push_back(op);
    // A write helps as many threads as wait for its value; it may cost those that wait for the value in memory nothing,
    // since they would have been executed. Ties go to the thread that is behind.
    std::vector<std::size_t> helps(programs_.size(), 0);
    for (const Op op : level.untried)
      for (std::size_t t = 0; t < programs_.size(); ++t)
        if (const Op waiting = head(t); waiting != nothing && !can_run(waiting) &&
                                        history_.address[waiting] == history_.address[op] &&
                                        history_.value_read(waiting) == history_.value[op])
          ++helps[history_.thread[op]];
    const auto left = [&](Op op) { return programs_[history_.thread[op]].size() - position(history_.thread[op]); };
    std::stable_sort(level.untried.begin(), level.untried.end(), [&](Op a, Op b) {
      const std::size_t ha = helps[history_.thread[a]], hb = helps[history_.thread[b]];
      return ha != hb ? ha < hb : left(a) < left(b);
    });
    levels_.push_back(std::move(level));
  }

  void go_back(const Level& level) {
    state_ = level.state;
    order_.resize(level.executed);
  }

  bool finished() {
    if (order_.size() < history_.size()) return false;
    return std::all_of(history_.final.begin(), history_.final.end(),
                       [&](const Binding& binding) { return memory(binding.address) == binding.value; });
  }

  const History& history_;
  const Budget& budget_;
  const std::size_t most_states_;
  std::vector<std::vector<Op>> programs_;
  Frontier state_;  // positions, then memory
  std::vector<Op> order_;
  std::vector<Level> levels_;
  std::unordered_set<Frontier, FrontierHash> seen_;
};

}  // namespace

Decision search_values(const History& history, const Budget& budget, std::size_t most_states) {
  return ValueSearch(history, budget, most_states).run();
}

}  // namespace teetotal::histories
