#include "symbolic/chase.hpp"

namespace teetotal::symbolic {

namespace {
constexpr std::size_t none = ~std::size_t{0};
constexpr std::uint32_t stopped = ~std::uint32_t{0};
}  // namespace

std::size_t Chase::HereHash::operator()(const Here& here) const {
  std::size_t h = combine(combine(here.memory, here.attacker), static_cast<std::size_t>(here.victim));
  for (std::uint32_t place : here.places) h = combine(h, place);
  for (std::uint8_t status : here.status) h = combine(h, status);
  for (std::uint8_t mark : here.marks) h = combine(h, mark);
  return h;
}

bool Chase::closes(const Scene& scene, const Delayed& from) {
  Here start{memories_(scene.memory), scene.attacker, scene.victim, scene.places, {}, {}};
  start.status.resize(graph_.processes());
  start.marks.resize(scene.memory.size());
  start.status[scene.attacker] = marked;
  steps_.attacker(scene.attacker, from, scene.memory, [&](const Delayed& to, const Touched& touched) {
    auto seen = [&](Location x) { return x < graph_.system().buffered; };
    bool visible = std::any_of(touched.reads.begin(), touched.reads.end(), seen) ||
                   std::any_of(touched.writes.begin(), touched.writes.end(), [&](auto w) { return seen(w.first); });
    if (!visible) return;
    from_ = none;
    std::uint32_t place = graph_.has_ghosts() ? delayed_(to) : stopped;
    step(start, scene.attacker, from.control, place, to.control, touched);
  });
  while (expanded_ < order_.size() && closing_.empty()) {
    if ((expanded_ & 0x1f) == 0 && progress_ != nullptr) progress_->report(0, 0, 0);
    from_ = expanded_++;
    const Here here = *order_[from_];
    expand(here);
  }
  return !closing_.empty();
}

void Chase::expand(const Here& here) {
  const Memory& m = memories_[here.memory];
  for (Process p = 0; p < graph_.processes() && closing_.empty(); ++p) {
    if (p == here.attacker) {
      if (here.places[p] == stopped) continue;
      const Delayed from = delayed_[here.places[p]];
      steps_.attacker(p, from, m, [&](const Delayed& to, const Touched& touched) {
        step(here, p, from.control, delayed_(to), to.control, touched);
      });
      continue;
    }
    auto steps_from = [&](Control q) {
      steps_.helper(p, q, m, [&](Control to, const Touched& touched) { step(here, p, q, to, to, touched); });
    };
    if (here.status[p] == waiting)
      for (Control q : sets_[here.places[p]]) steps_from(q);
    else
      steps_from(here.places[p]);
  }
}

// p's access: what it meets and spreads. True if that closes the cycle.
bool Chase::touch(Here& next, Process p, const Touched& touched) const {
  auto meets = [&](Location x, std::uint8_t marks_after, std::uint8_t marks_cycle) {
    std::uint8_t there = next.marks[static_cast<std::size_t>(x)];
    if (there & marks_cycle) next.status[p] = marked;
    if (there & marks_after) next.status[p] = std::max<std::uint8_t>(next.status[p], after);
  };
  for (Location x : touched.reads) meets(x, written_after, written_marked);
  for (const auto& write : touched.writes) meets(write.first, written_after | read_after, written_marked | read_marked);
  if (next.status[p] == waiting) return false;
  bool closed = false;
  auto spread = [&](Location x, Mark later, Mark cycle) {
    std::uint8_t& there = next.marks[static_cast<std::size_t>(x)];
    there |= later;
    if (next.status[p] != marked || x >= graph_.system().buffered) return;
    there |= cycle;
    closed |= p != next.attacker && x == next.victim;
  };
  for (Location x : touched.reads) spread(x, read_after, read_marked);
  for (const auto& write : touched.writes) spread(write.first, written_after, written_marked);
  return closed;
}

void Chase::step(const Here& here, Process p, Control from, std::uint32_t to, Control target, const Touched& touched) {
  if (!closing_.empty()) return;
  Here next = here;
  bool closed = touch(next, p, touched);
  if (next.status[p] == waiting) return;
  Taken taken{p, from, steps_.rows(p, from, target, touched)};
  if (closed) {
    closing_.push_back(std::move(taken));
    return;
  }
  next.places[p] = to;
  next.memory = memories_(written(memories_[here.memory], touched.writes));
  auto [found, fresh] = numbers_.try_emplace(std::move(next), order_.size());
  if (!fresh) return;
  order_.push_back(&found->first);
  parents_.emplace_back(from_, std::move(taken));
}

std::vector<Chase::Taken> Chase::taken() const {
  std::vector<Taken> path = closing_;
  for (std::size_t i = from_; i != none; i = parents_[i].first) path.push_back(parents_[i].second);
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace teetotal::symbolic
