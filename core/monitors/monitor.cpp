#include "monitor.hpp"

#include <stdexcept>
#include <string>

#include "streaming.hpp"

namespace teetotal::monitors {

std::unique_ptr<Monitor> make_monitor(std::string_view name, const Options& options) {
  for (const auto family : {make_burnim, make_burnim_report, make_sober, make_exact, make_exact_both, make_c11})
    if (auto monitor = family(name, options)) return monitor;
  throw std::invalid_argument("no monitor is called " + std::string(name));
}

}  // namespace teetotal::monitors
