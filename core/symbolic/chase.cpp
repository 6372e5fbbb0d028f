#include "symbolic/chase.hpp"

namespace teetotal::symbolic {

namespace {
constexpr std::size_t none = ~std::size_t{0};
constexpr std::uint32_t stopped = ~std::uint32_t{0};  // the attacker's place: where it is does not matter any more
}  // namespace

std::size_t Chase::HereHash::operator()(const Here& here) const {
  std::size_t h = combine(combine(here.memory, here.attacker), static_cast<std::size_t>(here.victim));
  for (std::uint32_t place : here.places) h = combine(h, place);
  for (std::uint8_t marked : here.marked) h = combine(h, marked);
  for (std::uint8_t mark : here.marks) h = combine(h, mark);
  return h;
}

bool Chase::closes(const Scene& scene, const Delayed& from) {
  Here start{memories_(scene.memory), scene.attacker, scene.victim, scene.places, {}, {}};
  start.marked.resize(graph_.processes());
  start.marks.resize(scene.memory.size());
  start.marked[scene.attacker] = 1;
  steps_.attacker(scene.attacker, from, scene.memory, [&](const Delayed& to, const Touched& touched) {
    if (touched.reads.empty() && touched.writes.empty()) return;
    from_ = none;
    step(start, scene.attacker, from.control, to.control, touched);
  });
  while (expanded_ < order_.size() && closing_.empty()) {
    if ((expanded_ & 0x1f) == 0 && progress_ != nullptr) progress_->report(0);
    from_ = expanded_++;
    const Here here = *order_[from_];
    expand(here);
  }
  return !closing_.empty();
}

void Chase::expand(const Here& here) {
  const Memory& m = memories_[here.memory];
  for (Process p = 0; p < graph_.processes() && closing_.empty(); ++p) {
    if (p == here.attacker) continue;
    auto steps_from = [&](Control q) {
      steps_.helper(p, q, m, [&](Control to, const Touched& touched) { step(here, p, q, to, touched); });
    };
    if (here.marked[p])
      steps_from(here.places[p]);
    else
      for (Control q : sets_[here.places[p]]) steps_from(q);
  }
}

// p's access: what it meets and spreads. True if that closes the cycle.
bool Chase::touch(Here& next, Process p, const Touched& touched) const {
  auto meets = [&](Location x, std::uint8_t marks) {
    if (next.marks[static_cast<std::size_t>(x)] & marks) next.marked[p] = 1;
  };
  for (Location x : touched.reads) meets(x, written_to);
  for (const auto& write : touched.writes) meets(write.first, written_to | read);
  if (!next.marked[p]) return false;
  bool closed = false;
  auto spread = [&](Location x, Mark mark) {
    next.marks[static_cast<std::size_t>(x)] |= mark;
    closed |= p != next.attacker && x == next.victim;
  };
  for (Location x : touched.reads) spread(x, read);
  for (const auto& write : touched.writes) spread(write.first, written_to);
  return closed;
}

void Chase::step(const Here& here, Process p, Control from, Control to, const Touched& touched) {
  if (!closing_.empty()) return;
  Here next = here;
  bool closed = touch(next, p, touched);
  if (!next.marked[p]) return;
  Taken taken{p, from, steps_.rows(p, from, to, touched)};
  if (closed) {
    closing_.push_back(std::move(taken));
    return;
  }
  next.places[p] = p == here.attacker ? stopped : to;
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
