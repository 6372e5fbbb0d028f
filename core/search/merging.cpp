#include "search/merging.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <unordered_map>

#include "search/optimal.hpp"

namespace teetotal {

namespace {

// Names as dense numbers, in the order in which they are met.
class Numbers {
 public:
  std::uint32_t of(std::uint64_t name) {
    const auto [at, fresh] = numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (fresh) names_.push_back(name);
    return at->second;
  }
  std::uint64_t operator[](std::uint32_t number) const { return names_[number]; }

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
  std::vector<std::uint64_t> names_;
};

// What runs nothing, and knows names alone. Agents: threads have even numbers, buffers odd ones.
class Nothing final : public System {
 public:
  std::uint32_t threads() const override { return 0; }
  Pending pending(std::uint32_t) const override { return {Readiness::stopped, {}}; }
  Event execute(std::uint32_t) override { throw std::logic_error("nothing can be run here"); }
  void rewind(std::size_t) override {}
  bool would_write(std::uint32_t, std::size_t, std::size_t) const override { return false; }
  bool waits(std::size_t) const override { return false; }
  bool possible(std::uint32_t, std::size_t, std::size_t) const override { return false; }
  Ending ending() const override { return {}; }
  std::uint64_t address_name(std::uint32_t number) const override { return number == 0 ? 0 : addresses_[number - 1]; }
  std::uint64_t location_name(std::uint32_t number) const override { return locations_[number]; }
  std::uint32_t address_named(std::uint64_t name, bool data) override {
    const std::uint32_t number = addresses_.of(name) + 1;
    if (data_.size() <= number) data_.resize(number + std::size_t{1});
    data_[number] = data;
    return number;
  }
  std::uint32_t location_named(std::uint64_t name) override { return locations_.of(name); }
  bool holds_data(std::uint32_t number) const override { return number < data_.size() && data_[number]; }

  Buffering buffers() const override { return buffering; }
  Agent agent_of(std::uint32_t number) const override {
    return number % 2 == 0 ? Agent{.thread = number / 2} : buffers_[number / 2];
  }
  std::uint32_t number_of(const Agent& agent) override {
    if (agent.buffer == Agent::kThread) return 2 * agent.thread;
    const auto [at, fresh] = buffer_numbers_.try_emplace(agent, static_cast<std::uint32_t>(2 * buffers_.size() + 1));
    if (fresh) buffers_.push_back(agent);
    return at->second;
  }
  std::uint32_t owner(std::uint32_t number) const override { return agent_of(number).thread; }
  bool commute(const Event& a, const Event& b) const override {
    return owner(a.thread) == owner(b.thread) && holds_data(a.address) &&
           ((a.kind == Kind::ld && b.kind == Kind::st) || (a.kind == Kind::st && b.kind == Kind::ld));
  }
  std::uint32_t buffer_of(const Event& load) const override {
    const std::int64_t which = buffering == Buffering::whole ? Agent::kWhole : std::int64_t{load.address};
    const auto known = buffer_numbers_.find({owner(load.thread), which});
    return known == buffer_numbers_.end() ? ~std::uint32_t{0} : known->second;  // it has committed nothing
  }

  Buffering buffering = Buffering::none;

 private:
  Numbers addresses_, locations_;
  std::vector<bool> data_;
  std::vector<Agent> buffers_;
  std::map<Agent, std::uint32_t> buffer_numbers_;
};

class Nobody final : public Visitor {
 public:
  bool visit(std::span<const Event>, std::size_t) override { return false; }
};

// Each leaf of a tree, with the way there: at each level its branches, and which of them.
using Way = std::vector<std::pair<std::vector<Branch>*, std::size_t>>;

template <class Look>
void each_leaf(std::vector<Branch>& tree, Way& way, Look look) {
  for (std::size_t i = 0; i < tree.size(); ++i) {
    way.emplace_back(&tree, i);
    if (tree[i].children.empty())
      look(tree[i], way);
    else
      each_leaf(tree[i].children, way, look);
    way.pop_back();
  }
}

template <class Look>  // from the shallowest level to the deepest
void each_leaf(Part& part, Look look) {
  for (std::size_t i = 0; i < part.levels.size(); ++i) {
    Way way;
    each_leaf(part.levels[i].tree, way, [&](Branch& leaf, const Way& there) { look(leaf, there, i); });
  }
}

Branch* next_leaf(Part& part) {
  if (part.finished || part.levels.back().tree.empty()) return nullptr;
  Branch* leaf = &part.levels.back().tree.front();
  while (!leaf->children.empty()) leaf = &leaf->children.front();
  return leaf;
}

std::vector<Branch> as_given(std::vector<Branch> tree) {
  for (Branch& branch : tree) {
    branch.mark = 0;
    branch.fresh = false;
    branch.children = as_given(std::move(branch.children));
  }
  return tree;
}

Part part_at(const Part& part, const Way& way, std::size_t level) {
  Part given{.buffers = part.buffers, .known = level};
  given.path.assign(part.path.begin(), part.path.begin() + static_cast<std::ptrdiff_t>(level));
  for (std::size_t i = 0; i <= level; ++i)
    given.levels.push_back(
        {0, part.levels[i].sleep, {}, i < level ? as_given(part.levels[i].tree) : std::vector<Branch>{}});
  if (level < part.path.size()) given.levels.back().sleep.push_back(part.path[level]);  // where the search is now
  for (const auto& [branches, at] : way) {
    Part::Level& here = given.levels.back();
    for (std::size_t i = 0; i < at; ++i) here.left.push_back((*branches)[i].event.thread);
    here.tree = as_given({branches->begin() + static_cast<std::ptrdiff_t>(at) + 1, branches->end()});
    given.path.push_back((*branches)[at].event);
    given.levels.emplace_back();
  }
  given.base = given.path.size();
  for (const Race& race : part.kept)
    if (race.second < level) given.kept.push_back(race);
  return given;
}

}  // namespace

// Has the search's own way to put a sequence into a tree.
class Merging {
 public:
  Merging(Part& part, System& nothing) : part_(part), search_(nothing, nobody_) {
    search_.base_ = part.base;
    for (const Event& event : part.path) step(event);
  }

  // Down to the next leaf, whose part has run the steps on the way.
  void descend(const Part& merged) {
    while (part_.path.size() < merged.base) {
      Part::Level& level = part_.levels.back();
      if (level.tree.empty()) throw std::invalid_argument("a part that does not belong here");
      const Event event = merged.path[part_.path.size()];
      Part::Level next{.tree = std::move(level.tree.front().children)};
      for (const Event& sleeper : level.sleep)
        if (!search_.dependent(sleeper, event)) next.sleep.push_back(sleeper);
      level.tree.erase(level.tree.begin());
      part_.path.push_back(event);
      step(event);
      part_.levels.push_back(std::move(next));
    }
    if (!part_.levels.back().tree.empty()) throw std::invalid_argument("a part that does not belong here");
    search_.given_.reserve(count(part_));
    for (std::size_t i = 0; i < part_.levels.size(); ++i)
      search_.open_frame().tree = search_.plant(part_.levels[i].tree, i < part_.base);
  }

  // Whether what was supposed is right; what the part itself asks by that goes to `further`.
  bool insert(const Ask& ask, std::vector<Ask>& further) {
    std::vector<Event> sequence = ask.sequence;
    search_.along_.clear();
    const bool settled = search_.insert(search_.frames_.at(ask.first).tree, sequence, ask.fixed, ask.first);
    if (!ask.once && settled != ask.settled) return false;
    if (ask.first < part_.base && !search_.as_given_) further.push_back(ask);
    return true;
  }

  void finish() {
    for (std::size_t i = 0; i < part_.levels.size(); ++i)
      part_.levels[i].tree = search_.harvest(search_.frames_[i].tree, i < part_.base);
  }

 private:
  void step(const Event& event) {
    if (search_.by_thread_.size() <= event.thread) search_.by_thread_.resize(event.thread + std::size_t{1});
    search_.by_thread_[event.thread].push_back(search_.execution_.size());
    search_.execution_.push_back(event);
  }

  static std::size_t count(Part& part) {
    std::size_t nodes = 0;
    const auto add = [&](const auto& self, const std::vector<Branch>& tree) -> void {
      nodes += tree.size();
      for (const Branch& branch : tree) self(self, branch.children);
    };
    for (const Part::Level& level : part.levels) add(add, level.tree);
    return nodes;
  }

  Part& part_;
  Nobody nobody_;
  OptimalSearch search_;
};

namespace {

// Back to the deepest level with a branch to go, as OptimalSearch::backtrack does.
void go_back(Part& part) {
  const std::vector<Event> to_base(part.path.begin(), part.path.begin() + static_cast<std::ptrdiff_t>(part.base));
  while (!part.path.empty()) {
    const Event event = part.path.back();
    part.path.pop_back();
    part.levels.pop_back();
    Part::Level& level = part.levels.back();
    level.sleep.push_back(event);
    ++level.done;
    if (!level.tree.empty()) break;
  }
  part.finished = part.path.size() < part.base || part.levels.back().tree.empty();
  if (part.finished) {
    part.path = to_base;
    part.levels.clear();
  }
}

}  // namespace

std::string whole_search() {
  const Nothing nothing;
  return to_text(Part{.levels = {{}}}, nothing);
}

PartState state_of_part(const std::string& text) {
  Nothing nothing;
  Part part = part_from(text, nothing);
  const Branch* next = next_leaf(part);
  PartState state{part.finished, next == nullptr ? 0 : next->mark, 0, part.finished ? 1.0 : 0.0};
  each_leaf(part, [&](const Branch& leaf, const Way&, std::size_t level) {
    state.open += leaf.mark == 0 && &leaf != next && level >= part.base;
  });
  double share = 1;  // as OptimalSearch::fraction
  for (const Part::Level& level : part.levels) {
    const double branches = level.done + 1.0 + static_cast<double>(level.tree.size());
    state.explored += share * level.done / branches;
    share /= branches;
  }
  return state;
}

Given give_parts(const std::string& text, std::size_t most, std::uint32_t number) {
  Nothing nothing;
  Part part = part_from(text, nothing);
  Given given;
  if (!part.finished && part.known == part.path.size()) {
    const Branch* next = next_leaf(part);
    each_leaf(part, [&](Branch& leaf, const Way& way, std::size_t level) {
      if (leaf.mark != 0 || &leaf == next || level < part.base || given.parts.size() == most) return;
      leaf.mark = number + static_cast<std::uint32_t>(given.parts.size());
      given.parts.push_back(to_text(part_at(part, way, level), nothing));
    });
  }
  given.left = to_text(part, nothing);
  return given;
}

std::string take_back(const std::string& text, const std::vector<std::uint32_t>& numbers) {
  Nothing nothing;
  Part part = part_from(text, nothing);
  each_leaf(part, [&](Branch& leaf, const Way&, std::size_t) {
    if (std::ranges::find(numbers, leaf.mark) != numbers.end()) leaf.mark = 0;
  });
  return to_text(part, nothing);
}

std::vector<std::uint32_t> marks_of_part(const std::string& text) {
  Nothing nothing;
  Part part = part_from(text, nothing);
  std::vector<std::uint32_t> marks;
  each_leaf(part, [&](const Branch& leaf, const Way&, std::size_t level) {
    if (leaf.mark != 0 && level >= part.base) marks.push_back(leaf.mark);
  });
  return marks;
}

std::optional<std::pair<std::string, std::string>> merge_part(const std::string& text, const std::string& merged_text,
                                                              const std::string& asks_text) {
  Nothing nothing;
  Part part = part_from(text, nothing);
  Part merged = part_from(merged_text, nothing);
  if (part.finished || merged.known != merged.path.size()) throw std::invalid_argument("a part that was not explored");
  nothing.buffering = part.buffers;
  const std::size_t shared = part.path.size();
  Merging merging(part, nothing);
  merging.descend(merged);
  const auto asked_here = [&](std::size_t first, std::size_t second) {
    return second >= shared || std::ranges::any_of(part.kept, [&](const Race& race) {
             return race.first == first && race.second == second;
           });
  };
  std::vector<Ask> further;
  for (const Ask& ask : asks_from(asks_text, nothing))
    if ((ask.once || asked_here(ask.first, ask.second)) && !merging.insert(ask, further)) return std::nullopt;
  merging.finish();
  std::erase_if(merged.kept, [&](const Race& race) { return !asked_here(race.first, race.second); });
  part.kept = std::move(merged.kept);
  if (merged.finished) {
    go_back(part);
  } else {
    const auto base = static_cast<std::ptrdiff_t>(merged.base);
    part.path.insert(part.path.end(), merged.path.begin() + base, merged.path.end());
    part.levels.resize(merged.base);
    part.levels.insert(part.levels.end(), merged.levels.begin() + base, merged.levels.end());
  }
  part.known = part.path.size();
  std::erase_if(part.kept, [&](const Race& race) { return race.second >= part.path.size(); });
  return std::pair{to_text(part, nothing), to_text(further, nothing)};
}

}  // namespace teetotal
