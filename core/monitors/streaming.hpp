// A kernel (burnim.hpp, sober.hpp, exact.hpp) as a monitor. Each family is compiled by itself: their loops are many.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "clocks.hpp"
#include "monitor.hpp"
#include "older_question.hpp"

namespace teetotal::monitors {

// A kernel behind the interface. Its loop is compiled for each small stride, and left only where rows must grow.
template <class Kernel>
class Streaming final : public Monitor {
 public:
  explicit Streaming(const Options& options) : options_(options), kernel_(make_kernel(0)) {}

  std::optional<Report> observe(const Event& event) override {
    one_.clear();
    observe(std::span(&event, 1), one_);
    return one_.empty() ? std::nullopt : std::optional(one_.front());
  }

  void observe(std::span<const Event> events, std::vector<Report>& reports) override {
    while (!events.empty()) {
      if (!kernel_.fits(events.front())) make_room(events.front());
      const std::size_t done = run(events, reports);
      if constexpr (Kernel::can_undo) history_.insert(history_.end(), events.begin(), events.begin() + done);
      events = events.subspan(done);
    }
  }

  void arrive(const Event& event, std::uint64_t events, std::vector<Report>& reports) override {
    if constexpr (kAsks) {
      Report found;
      if (kernel_.fits(event) && kernel_.arrive(event, events, found)) reports.push_back(found);
    }
  }

  void undo(std::uint64_t events) override {
    if constexpr (Kernel::can_undo) {
      kernel_.undo(events);
      history_.resize(static_cast<std::size_t>(events));
    } else {
      throw std::logic_error("this monitor was made without undo");
    }
  }

  std::uint64_t events() const override { return kernel_.events(); }
  std::size_t bytes() const override { return kernel_.words() * sizeof(Word); }

 private:
  static constexpr bool kAsks =
      requires(Kernel kernel, Event event, Report found) { kernel.arrive(event, std::uint64_t{}, found); };

  Kernel make_kernel(std::size_t stride) const {
    if constexpr (kAsks) {
      return Kernel(options_.semantics, options_.threads, stride,
                    OlderQuestion{options_.older, options_.values, options_.wanted, {}});
    } else {
      return Kernel(options_.semantics, options_.threads, stride);
    }
  }

  // Where rows are copied they cannot be laid out anew for wider clocks: a wider kernel sees everything again.
  void make_room(const Event& event) {
    if constexpr (Kernel::can_undo) {
      if (const std::size_t stride = kernel_.wider_for(event); stride != 0) {
        kernel_ = make_kernel(stride);
        std::vector<Event> again;
        again.swap(history_);
        std::vector<Report> known;
        observe(again, known);
      }
    }
    kernel_.make_room(event);
  }

  // How many events it got through before rows had to grow.
  std::size_t run(std::span<const Event> events, std::vector<Report>& reports) {
    switch (kernel_.stride()) {
      case 4:
        return loop<4>(events, reports);
      case 8:
        return loop<8>(events, reports);
      case 16:
        return loop<16>(events, reports);
      default:
        return loop<0>(events, reports);
    }
  }

  // Long executions are worth a copy for each kind of processor. Events that can be taken back come one by one, with
  // short words: there it is only worth it that a row of a few threads is copied in large pieces.
  template <std::size_t Stride>
  std::size_t loop(std::span<const Event> events, std::vector<Report>& reports) {
    if constexpr (Kernel::can_undo && Stride == 4) {
      return through_few(events, reports);
    } else if constexpr (Kernel::can_undo) {
      return through<Stride>(events, reports);
    } else {
      return through_many<Stride>(events, reports);
    }
  }

  template <std::size_t Stride>
  TEETOTAL_CLONES std::size_t through_many(std::span<const Event> events, std::vector<Report>& reports) {
    return through<Stride>(events, reports);
  }

  TEETOTAL_TWO_CLONES std::size_t through_few(std::span<const Event> events, std::vector<Report>& reports) {
    return through<4>(events, reports);
  }

  template <std::size_t Stride>
  TEETOTAL_INLINE std::size_t through(std::span<const Event> events, std::vector<Report>& reports) {
    Report found;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (!kernel_.fits(events[i])) return i;
      if (kernel_.template step<Stride>(events[i], found)) reports.push_back(found);
    }
    return events.size();
  }

  Options options_;
  Kernel kernel_;
  std::vector<Event> history_;  // where events can be taken back
  std::vector<Report> one_;
};

template <template <bool> class Kernel>
std::unique_ptr<Monitor> make(const Options& options) {
  if (options.undo) return std::make_unique<Streaming<Kernel<true>>>(options);
  return std::make_unique<Streaming<Kernel<false>>>(options);
}

// One file each; null for a name that is none of theirs.
std::unique_ptr<Monitor> make_burnim(std::string_view name, const Options& options);
std::unique_ptr<Monitor> make_burnim_report(std::string_view name, const Options& options);
std::unique_ptr<Monitor> make_sober(std::string_view name, const Options& options);
std::unique_ptr<Monitor> make_exact(std::string_view name, const Options& options);

// The exact monitors where events are taken back, by the models that they watch (Report::tso, pso): over few locations
// at first (positions.hpp), and over any number of them.
std::unique_ptr<Monitor> make_exact_few(std::uint32_t models, const Options& options);
std::unique_ptr<Monitor> make_exact_many(std::uint32_t models, const Options& options);
std::unique_ptr<Monitor> make_both_many(const Options& options);

std::unique_ptr<Monitor> make_c11(std::string_view name, const Options& options);

}  // namespace teetotal::monitors
