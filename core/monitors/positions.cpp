#include "positions.hpp"

#include "streaming.hpp"

namespace teetotal::monitors {
namespace {

using Make = std::unique_ptr<Monitor> (*)(std::uint32_t models, const Options& options);

// Over at most so many locations. With the first event that does not fit, a wider monitor sees everything again, and
// goes on in its place.
template <std::size_t Most, Make make_wider>
class Few final : public Monitor {
 public:
  Few(std::uint32_t models, const Options& options)
      : models_(models),
        options_(options),
        kernel_(options.semantics, models, options.threads, {options.older, options.values, options.wanted, {}}) {}

  std::optional<Report> observe(const Event& event) override {
    std::vector<Report> reports;
    observe(std::span(&event, 1), reports);
    return reports.empty() ? std::nullopt : std::optional(reports.front());
  }

  void observe(std::span<const Event> events, std::vector<Report>& reports) override {
    if (wider_) return wider_->observe(events, reports);
    for (;;) {
      events = events.subspan(through(events, reports));
      if (events.empty()) return;
      if (!kernel_.make_room(events.front())) break;
    }
    widen();
    wider_->observe(events, reports);
  }

  void arrive(const Event& event, std::uint64_t events, std::vector<Report>& reports) override {
    if (!wider_ && !kernel_.fits(event) && !kernel_.make_room(event)) widen();
    if (wider_) return wider_->arrive(event, events, reports);
    Report found;
    if (kernel_.arrive(event, events, found)) reports.push_back(found);
  }

  void undo(std::uint64_t events) override {
    if (wider_) return wider_->undo(events);
    if (events > kernel_.events()) throw std::logic_error("no event is left to take back");
    kernel_.undo(static_cast<std::size_t>(events));
  }

  std::uint64_t events() const override { return wider_ ? wider_->events() : kernel_.events(); }
  std::size_t bytes() const override { return wider_ ? wider_->bytes() : kernel_.bytes(); }

 private:
  TEETOTAL_TWO_CLONES std::size_t through(std::span<const Event> events, std::vector<Report>& reports) {
    return kernel_.observe(events, reports);
  }

  void widen() {
    wider_ = make_wider(models_, options_);
    std::vector<Event> again;
    for (std::size_t i = 0; i < kernel_.events(); ++i) again.push_back(kernel_.event(i));
    std::vector<Report> known;
    wider_->observe(again, known);
    kernel_ = Positions<Most>(options_.semantics, models_, 0, {});
  }

  std::uint32_t models_;
  Options options_;
  Positions<Most> kernel_;
  std::unique_ptr<Monitor> wider_;
};

std::unique_ptr<Monitor> up_to_32(std::uint32_t models, const Options& options) {
  return std::make_unique<Few<32, make_exact_many>>(models, options);
}
std::unique_ptr<Monitor> up_to_16(std::uint32_t models, const Options& options) {
  return std::make_unique<Few<16, up_to_32>>(models, options);
}

}  // namespace

std::unique_ptr<Monitor> make_exact_few(std::uint32_t models, const Options& options) {
  return std::make_unique<Few<8, up_to_16>>(models, options);
}

}  // namespace teetotal::monitors
