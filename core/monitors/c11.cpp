#include "c11.hpp"

#include <optional>

#include "streaming.hpp"

namespace teetotal::monitors {
namespace {

// Without pairs until a seq_cst operation appears; then, as where clocks must be wider, everything is seen again.
class C11Monitor final : public Monitor {
  static auto weak(std::vector<Report>& reports) {
    return [&](Report report) {
      report.models = Report::c11;
      reports.push_back(report);
    };
  }
  auto racy(const Event& event, std::vector<Report>& reports) const {
    return [&](const Race& race) {
      const std::size_t first = number_of(race.thread, race.index);
      const bool waited = race.after != 0, next = race.after == Race::itself;
      reports.push_back({.delayed = first,
                         .previous = !waited ? history_.size()
                                     : next  ? first
                                             : race.after - 1,
                         .deciding = history_.size(),
                         .delayed_location = history_[first].location,
                         .previous_location = ~std::uint32_t{0},
                         .deciding_location = event.location,
                         .thread = event.thread,
                         .models = Report::race});
    };
  }

 public:
  explicit C11Monitor(const Options& options) : options_(options) { plain_.emplace(options, 0); }

  std::optional<Report> observe(const Event& event) override {
    std::vector<Report> reports;
    observe(std::span(&event, 1), reports);
    return reports.empty() ? std::nullopt : std::optional(reports.front());
  }

  void observe(std::span<const Event> events, std::vector<Report>& reports) override {
    for (const Event& event : events) {
      if (!sc_ && (event.asked() == Order::seq_cst || event.failure() == Order::seq_cst)) again<true>(0);
      take(event, reports);
    }
  }

  void arrive(const Event& event, std::uint64_t /*events*/, std::vector<Report>& reports) override {
    make_room(event);
    sc_ ? sc_->arrive(event, weak(reports), racy(event, reports))
        : plain_->arrive(event, weak(reports), racy(event, reports));
  }

  void undo(std::uint64_t events) override {
    sc_ ? sc_->undo(events) : plain_->undo(events);
    for (; history_.size() > events; history_.pop_back()) numbers_[history_.back().thread].pop_back();
  }

  std::uint64_t events() const override { return history_.size(); }
  std::size_t bytes() const override { return (sc_ ? sc_->words() : plain_->words()) * sizeof(Word); }

 private:
  void make_room(const Event& event) {
    const auto room = [&](auto& kernel) {
      if (kernel.fits(event)) return std::size_t{0};
      const std::size_t stride = kernel.wider_for(event);
      if (stride == 0) kernel.make_room(event);
      return stride;
    };
    const std::size_t wider = sc_ ? room(*sc_) : room(*plain_);
    if (wider == 0) return;
    sc_ ? again<true>(wider) : again<false>(wider);
    make_room(event);
  }

  void take(const Event& event, std::vector<Report>& reports) {
    make_room(event);
    sc_ ? sc_->step(event, weak(reports), racy(event, reports))
        : plain_->step(event, weak(reports), racy(event, reports));
    if (event.thread >= numbers_.size()) numbers_.resize(event.thread + std::size_t{1});
    numbers_[event.thread].push_back(history_.size());
    history_.push_back(event);
  }

  template <bool Sc>
  void again(std::size_t stride) {
    auto& kernel = [this]() -> auto& {
      if constexpr (Sc) {
        return sc_;
      } else {
        return plain_;
      }
    }();
    if (stride == 0 && plain_) stride = plain_->stride();
    kernel.emplace(options_, stride);
    if constexpr (Sc) plain_.reset();
    std::vector<Event> seen;
    seen.swap(history_);
    numbers_.clear();
    std::vector<Report> known;
    for (const Event& event : seen) take(event, known);
  }

  // Which event of the execution a thread's `index`-th is.
  std::size_t number_of(Word thread, Word index) const { return numbers_[thread][index - 1]; }

  Options options_;
  std::optional<C11<false>> plain_;
  std::optional<C11<true>> sc_;
  std::vector<Event> history_;
  std::vector<std::vector<std::size_t>> numbers_;  // in it, of each thread's events
};

}  // namespace

std::unique_ptr<Monitor> make_c11(std::string_view name, const Options& options) {
  if (name == "exact-c11") return std::make_unique<C11Monitor>(options);
  return nullptr;
}

}  // namespace teetotal::monitors
