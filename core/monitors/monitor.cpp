#include "monitor.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "streaming.hpp"

namespace teetotal::monitors {

void Monitor::see(std::span<const Event> execution, std::size_t shared, std::span<const Event> waiting,
                  std::vector<Report>& reports) {
  if (events() > shared) undo(shared);
  for (const Event& event : execution.subspan(std::min(shared, execution.size()))) {
    if (event.kind != Kind::st) continue;
    if (event.address >= stored_.size()) stored_.resize(event.address + std::size_t{1});
    stored_[event.address] = true;
  }
  std::size_t end = execution.size();
  if (waiting.empty())
    while (end > shared && decides_nothing(execution[end - 1])) --end;
  const auto seen = static_cast<std::size_t>(events());
  if (seen < end) observe(execution.subspan(seen, end - seen), reports);
  for (const Event& event : waiting) arrive(event, execution.size(), reports);
}

// Fences, locks, and an unlock where no plain store ever was: only a store can be overtaken.
bool Monitor::decides_nothing(const Event& event) const {
  if (is_fence(event.kind) || event.kind == Kind::lock) return true;
  return event.kind == Kind::unlock && (event.address >= stored_.size() || !stored_[event.address]);
}

std::unique_ptr<Monitor> make_monitor(std::string_view name, const Options& options) {
  for (const auto family : {make_burnim, make_burnim_report, make_sober, make_exact, make_c11})
    if (auto monitor = family(name, options)) return monitor;
  throw std::invalid_argument("no monitor is called " + std::string(name));
}

}  // namespace teetotal::monitors
