#include "monitor.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "streaming.hpp"

namespace teetotal::monitors {

void Monitor::see(std::span<const Event> execution, std::size_t shared, std::size_t end, std::span<const Event> waiting,
                  std::vector<Report>& reports) {
  if (events() > shared) undo(shared);
  const auto seen = static_cast<std::size_t>(events());
  if (seen < end) observe(execution.subspan(seen, end - seen), reports);
  for (const Event& event : waiting) arrive(event, execution.size(), reports);
}

std::unique_ptr<Monitor> make_monitor(std::string_view name, const Options& options) {
  for (const auto family : {make_burnim, make_burnim_report, make_sober, make_exact, make_c11})
    if (auto monitor = family(name, options)) return monitor;
  throw std::invalid_argument("no monitor is called " + std::string(name));
}

}  // namespace teetotal::monitors
