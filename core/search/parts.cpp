// A part of an optimal search (part.hpp), explored: it stands where the part says, and does from there what the whole
// search would do, with copies of the trees above its base. What it puts into those is told (`Ask`), and so is what it
// supposed about it; merging.cpp sees whether that was right.
#include "hash.hpp"
#include "search/optimal.hpp"

namespace teetotal {

SearchResult OptimalSearch::run(const Part& part) {
  return until_broken_off([&] {
    stand_at(part);
    explore(part.known);
  });
}

void OptimalSearch::stand_at(const Part& part) {
  base_ = part.base;
  std::size_t above = 0;
  const auto count = [&](const auto& self, const std::vector<Branch>& branches) -> void {
    above += branches.size();
    for (const Branch& branch : branches) self(self, branch.children);
  };
  for (std::size_t i = 0; i < base_; ++i) count(count, part.levels[i].tree);
  given_.reserve(above);  // their addresses tell them from others
  open_frame();
  for (std::size_t i = 0;; ++i) {
    const Part::Level& level = part.levels[i];
    Frame& frame = frames_[i];
    if (i <= part.known) frame.sleep = level.sleep;  // beyond, it follows from what is run
    for (const std::uint32_t thread : level.left) frame.sleep.push_back(done_here(thread));
    frame.tree = plant(level.tree, i < base_);
    frame.done = level.done;
    if (i == part.path.size()) break;
    const std::uint32_t thread = part.path[i].thread;
    if (thread >= system_.threads() || !system_.enabled(thread)) throw Elsewhere("a step is not possible");
    push(thread, nullptr);
    if (i < part.known && execution_[i] != part.path[i]) throw Elsewhere("a step is not what it was");
  }
  std::erase_if(found_, [&](const Race& race) { return race.second < part.known; });
  kept_ = part.kept;
  path_.assign(execution_.begin(), execution_.begin() + static_cast<std::ptrdiff_t>(base_));
}

// What a thread did that somebody explores from here.
Event OptimalSearch::done_here(std::uint32_t thread) {
  if (thread >= system_.threads() || !system_.enabled(thread)) throw Elsewhere("a step is not possible");
  if (!buffers_) return system_.pending(thread).event;
  const Event event = system_.execute(thread);  // only then it is known whose store a load sees
  system_.rewind(execution_.size());
  return event;
}

bool OptimalSearch::ends_here() const { return visitor_.pause || (!marks_.empty() && next_mark() != 0); }

// Who has the leaf that comes next.
std::uint32_t OptimalSearch::next_mark() const {
  const Node* leaf = frames_[depth_ - 1].tree;
  while (leaf->child != nullptr) leaf = leaf->child;
  const auto mark = marks_.find(leaf);
  return mark == marks_.end() ? 0 : mark->second;
}

// Inserts v above the base. Where it went along branches that were given alone, it will do so wherever this is merged:
// others only add branches behind them. The same v asked again goes where it went.
bool OptimalSearch::ask(Frame& frame, const Race& race, std::size_t fixed) {
  Ask ask{race.first, race.second, fixed, race.second == execution_.size(), false, sequence_};
  ask.settled = insert(frame.tree, sequence_, fixed, race.first);
  if (as_given_) return ask.settled;
  std::pair<std::uint64_t, std::uint64_t> key{0x243F6A8885A308D3ULL, 0x13198A2E03707344ULL};
  const auto add = [&](std::uint64_t value) { key = {mix(key.first, value), mix(key.second, value + key.first)}; };
  for (const std::uint64_t value : {ask.first, ask.second, ask.fixed}) add(value);
  for (const Event& event : ask.sequence) {
    add(std::uint64_t{event.thread} << 32U | event.address);
    add(std::uint64_t{event.location} << 16U | std::uint64_t{event.also} << 8U |
        static_cast<std::uint64_t>(event.kind) << 1U | event.writes);
  }
  const bool settled = ask.settled;
  if (asked_.insert(key).second) asks_.push_back(std::move(ask));
  return settled;
}

OptimalSearch::Node* OptimalSearch::plant(const std::vector<Branch>& branches, bool above) {
  Node* first = nullptr;
  for (auto branch = branches.rbegin(); branch != branches.rend(); ++branch) {
    Node* node = nullptr;
    if (above && !branch->fresh)
      node = &given_.emplace_back(Node{branch->event, nullptr, nullptr});
    else
      node = take_node(branch->event);
    node->child = plant(branch->children, above);
    node->next = first;
    if (branch->mark != 0) marks_.emplace(node, branch->mark);
    first = node;
  }
  return first;
}

std::vector<Branch> OptimalSearch::harvest(const Node* node, bool above) const {
  std::vector<Branch> branches;
  for (; node != nullptr; node = node->next) {
    const auto mark = marks_.find(node);
    branches.push_back(
        {node->event, mark == marks_.end() ? 0 : mark->second, above && !given(node), harvest(node->child, above)});
  }
  return branches;
}

// What is left, between two executions. Nobody goes on with what was broken off.
Part OptimalSearch::rest() const {
  if (broken_off_)
    return {.buffers = system_.buffers(),
            .base = path_.size(),
            .path = path_,
            .levels = std::vector<Part::Level>(path_.size() + 1)};
  Part part{.buffers = system_.buffers(), .finished = finished_, .base = base_};
  part.path = finished_ ? path_ : execution_;
  part.known = part.path.size();
  for (std::size_t i = 0; !finished_ && i < depth_; ++i)
    part.levels.push_back({frames_[i].done, frames_[i].sleep, {}, harvest(frames_[i].tree, i < base_)});
  for (const Race& race : kept_)
    if (race.second < part.path.size()) part.kept.push_back(race);
  return part;
}

}  // namespace teetotal
