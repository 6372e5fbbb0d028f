#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "columns.hpp"
#include "module.hpp"
#include "simulate/machine.hpp"

namespace nb = nanobind;

namespace teetotal {

namespace {

using simulate::Settings;

Settings settings(const std::string& protocol, const std::string& bug, std::uint32_t buffer, std::uint32_t sets,
                  std::uint32_t ways, std::uint32_t words, std::uint32_t home_lines, std::uint32_t delay) {
  Settings result{simulate::protocols[0], simulate::Bug::none, buffer, sets, ways, words, home_lines, delay};
  bool found = false;
  for (const simulate::Protocol& candidate : simulate::protocols)
    if (candidate.name == protocol) result.protocol = candidate, found = true;
  if (!found) throw nb::value_error("no such protocol");
  for (const simulate::Mistake& mistake : simulate::mistakes)
    if (mistake.name == bug) result.bug = mistake.bug;
  if (!bug.empty() && result.bug == simulate::Bug::none) throw nb::value_error("no such bug");
  if (!sets || !ways || !home_lines || !words || words > simulate::most_words) throw nb::value_error("no such cache");
  return result;
}

}  // namespace

void bind_simulate(nb::module_& m) {
  m.def("simulated_protocols", [] {
    std::vector<std::string> names;
    for (const simulate::Protocol& protocol : simulate::protocols) names.emplace_back(protocol.name);
    return names;
  });
  m.def("simulated_mistakes", [] {
    std::vector<std::tuple<std::string, std::string, bool>> mistakes;
    for (const simulate::Mistake& mistake : simulate::mistakes)
      mistakes.emplace_back(mistake.name, mistake.protocols, mistake.needs_buffer);
    return mistakes;
  });
  m.def(
      "simulate",
      [](const std::vector<std::size_t>& lengths, Input<std::uint8_t> kind, Input<std::uint32_t> address,
         Input<std::int64_t> value, std::uint32_t addresses, std::uint64_t seed, const std::string& protocol,
         const std::string& bug, std::uint32_t buffer, std::uint32_t sets, std::uint32_t ways, std::uint32_t words,
         std::uint32_t home_lines, std::uint32_t delay) {
        const Settings chosen = settings(protocol, bug, buffer, sets, ways, words, home_lines, delay);
        std::vector<std::vector<simulate::Access>> programs;
        std::size_t next = 0;
        for (const std::size_t length : lengths) {
          auto& program = programs.emplace_back();
          for (std::size_t i = 0; i < length; ++i, ++next) {
            if (next >= kind.shape(0) || next >= address.shape(0) || next >= value.shape(0) ||
                address(next) >= addresses)
              throw nb::value_error("an access that is not there");
            program.push_back({static_cast<Kind>(kind(next)), address(next), value(next)});
          }
        }
        simulate::Run run;
        {
          nb::gil_scoped_release unlocked;
          run = simulate::run(programs, addresses, chosen, seed);
        }
        return nb::make_tuple(run.results, run.hangs, run.happenings);
      },
      nb::arg("lengths"), nb::arg("kind"), nb::arg("address"), nb::arg("value"), nb::kw_only(), nb::arg("addresses"),
      nb::arg("seed"), nb::arg("protocol"), nb::arg("bug"), nb::arg("buffer"), nb::arg("sets"), nb::arg("ways"),
      nb::arg("words"), nb::arg("home_lines"), nb::arg("delay"));
}

}  // namespace teetotal
