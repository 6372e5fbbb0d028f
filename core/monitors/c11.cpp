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
    return [&](const auto& race) {
      const std::size_t first = number_of(race.thread, race.index);
      reports.push_back({.delayed = first,
                         .previous = first,
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
      sc_ ? see(*sc_, event, reports) : see(*plain_, event, reports);
    }
  }

  void arrive(const Event& event, std::vector<Report>& reports) override {
    const auto ask = [&](auto& kernel) {
      if (kernel.fits(event)) kernel.arrive(event, weak(reports), racy(event, reports));
    };
    sc_ ? ask(*sc_) : ask(*plain_);
  }

  void undo(std::uint64_t events) override {
    sc_ ? sc_->undo(events) : plain_->undo(events);
    history_.resize(static_cast<std::size_t>(events));
  }

  std::uint64_t events() const override { return history_.size(); }
  std::size_t bytes() const override { return (sc_ ? sc_->words() : plain_->words()) * sizeof(Word); }

 private:
  template <class Kernel>
  void see(Kernel& kernel, const Event& event, std::vector<Report>& reports) {
    if (!kernel.fits(event)) {
      if (const std::size_t stride = kernel.wider_for(event); stride != 0) {
        sc_ ? again<true>(stride) : again<false>(stride);
        return sc_ ? see(*sc_, event, reports) : see(*plain_, event, reports);
      }
      kernel.make_room(event);
    }
    kernel.step(event, weak(reports), racy(event, reports));
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
    std::vector<Report> known;
    for (const Event& event : seen) see(*kernel, event, known);
  }

  // Which event of the execution a thread's `index`-th is.
  std::size_t number_of(Word thread, Word index) const {
    std::size_t number = 0;
    for (;; ++number)
      if (history_[number].thread == thread && --index == 0) return number;
  }

  Options options_;
  std::optional<C11<false>> plain_;
  std::optional<C11<true>> sc_;
  std::vector<Event> history_;
};

}  // namespace

std::unique_ptr<Monitor> make_c11(std::string_view name, const Options& options) {
  if (name == "exact-c11") return std::make_unique<C11Monitor>(options);
  return nullptr;
}

}  // namespace teetotal::monitors
