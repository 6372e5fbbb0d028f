#include "overtakings.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace teetotal::overtakings {
namespace {

using monitors::Report;

// What is known of the reads of an execution: each leads on with the value that its kept overtaking hides, and with no
// other. (Of one that leads on without waiting, the newest write is asked about first.)
class Known final : public monitors::OlderValues {
 public:
  const Kept* find(std::uint32_t thread, std::size_t index) const {
    for (const Kept& kept : overtakings)
      if (kept.waits ? index == events && kept.next.thread == thread : kept.deciding == index) return &kept;
    return nullptr;
  }
  bool would_write(std::uint32_t, std::size_t, std::size_t) const override { return false; }
  bool waits(std::size_t) const override { return true; }
  bool possible(std::uint32_t thread, std::size_t index, std::size_t before) const override {
    const Kept* kept = find(thread, index);
    return kept != nullptr && kept->delayed == before;
  }

  std::size_t events = 0;  // of the execution: also the index of what a thread stands before
  std::vector<Kept> overtakings;
};

Event with(const Fences& fences, const Event& event) {
  Event found = event;
  if (event.kind == Kind::fence && event.address != 0) found.kind = fences.at(event.address - 1);
  return found;
}

// A monitor over kept executions, one after the other.
class Asked {
 public:
  Asked(const Watching& watching, const Fences& fences) : fences_(fences), monitor_(watching.monitor(known_)) {}

  // Tells each overtaking among these events that is possible with the fences: tell(models, kept or null).
  template <class Tell>
  void see(std::size_t shared, std::span<const Event> fresh, std::span<const Kept> overtakings, Tell tell) {
    known_.overtakings.assign(overtakings.begin(), overtakings.end());
    known_.events = shared + fresh.size();
    monitor_->undo(shared);
    events_.clear();
    for (const Event& event : fresh) events_.push_back(with(fences_, event));
    reports_.clear();
    monitor_->observe(events_, reports_);
    for (const Kept& kept : overtakings)
      if (kept.waits) monitor_->arrive(kept.next, known_.events, reports_);
    for (const Report& report : reports_) {
      const Kept* kept = known_.find(report.thread, report.deciding);
      if (kept == nullptr || kept->delayed != report.delayed) {
        tell(report.models, nullptr);
        continue;
      }
      // What looks, and would not only look, was kept for what it does then, and is a load here.
      const bool looks = (kept->waits ? kept->next : events_[kept->deciding - shared]).only_looks();
      tell(looks ? report.models & kept->models : report.models, kept);
    }
  }

 private:
  const Fences& fences_;
  Known known_;
  std::unique_ptr<monitors::Monitor> monitor_;
  std::vector<Event> events_;
  std::vector<Report> reports_;
};

}  // namespace

std::unique_ptr<monitors::Monitor> Watching::monitor(const monitors::OlderValues& values) const {
  const std::string_view name = tso && pso ? monitors::kExactBoth : tso ? "exact-tso" : "exact-pso";
  return monitors::make_monitor(
      name, {.semantics = semantics, .undo = true, .older = skips_waiting ? &values : nullptr, .values = &values});
}

std::uint32_t Overtaking::models(const Fences& fences) const {
  std::uint32_t found = 0;
  Asked asked(watching_, fences);
  asked.see(0, execution_, std::span(&kept_, 1), [&](std::uint32_t models, const Kept* kept) {
    if (kept != nullptr) found |= models;  // or else it is one on the way
  });
  return found;
}

std::vector<std::uint32_t> Overtaking::marks() const {
  std::set<std::uint32_t> found;
  for (const Event& event : execution_)
    if (event.kind == Kind::fence && event.address != 0) found.insert(event.address - 1);
  return {found.begin(), found.end()};
}

std::vector<Overtakings::Still> Overtakings::still(const Fences& fences) const {
  std::vector<Still> found;
  std::set<std::pair<std::uint32_t, Places>> known;
  std::vector<Event> execution;
  KeptExecution kept;
  Asked asked(watching_, fences);
  for (const std::string& piece : pieces_) {
    for (Reader reader(piece); reader.next(kept);) {
      if (kept.shared > execution.size()) throw std::invalid_argument("these are no kept executions");
      execution.resize(kept.shared);
      execution.insert(execution.end(), kept.fresh.begin(), kept.fresh.end());
      asked.see(kept.shared, kept.fresh, kept.overtakings, [&](std::uint32_t models, const Kept* one) {
        if (one == nullptr || (models & ~one->models) != 0)
          throw std::logic_error("with a fence something overtakes what it does not overtake without it");
        for (const std::uint32_t model : {Report::tso, Report::pso}) {
          if ((models & model) == 0 || !known.insert({model, one->places}).second) continue;
          const std::size_t end = one->waits ? execution.size() : one->deciding + 1;
          found.push_back({model, Overtaking(watching_, {execution.begin(), execution.begin() + end}, *one)});
        }
      });
    }
  }
  return found;
}

std::size_t Overtakings::bytes() const {
  std::size_t total = 0;
  for (const std::string& piece : pieces_) total += piece.size();
  return total;
}

}  // namespace teetotal::overtakings
