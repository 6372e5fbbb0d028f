// The monitors behind one interface: events of an SC execution in, reports out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "../event.hpp"
#include "older_values.hpp"
#include "report.hpp"
#include "wanted.hpp"

namespace teetotal::monitors {

class Monitor {
 public:
  virtual ~Monitor() = default;

  // One event: whether it overtakes a store.
  virtual std::optional<Report> observe(const Event& event) = 0;

  // Many events, with one virtual call; what they give is appended to `reports`.
  virtual void observe(std::span<const Event> events, std::vector<Report>& reports) = 0;

  // What a thread stands before at the end of an execution of so many events, and does not do because under SC it would
  // wait: whether with an older value it overtakes a store. The report's deciding event is one behind the last. Only
  // the exact monitors can tell, and those for TSO and PSO once they have seen the thread's last event.
  virtual void arrive(const Event& event, std::uint64_t events, std::vector<Report>& reports) = 0;

  // The next execution of a search, of whose events the first `shared` are those of the execution before: observes it
  // up to event `end`, and then what threads stand before that wait at its end.
  void see(std::span<const Event> execution, std::size_t shared, std::size_t end, std::span<const Event> waiting,
           std::vector<Report>& reports);

  // Takes events back until so many are left. Only where asked for when made; std::logic_error otherwise.
  virtual void undo(std::uint64_t events) = 0;

  // How many events have been observed (and not taken back).
  virtual std::uint64_t events() const = 0;

  // How much memory the monitor uses now.
  virtual std::size_t bytes() const = 0;
};

struct Options {
  Semantics semantics = {};
  std::size_t threads = 0;              // how many there are, 0 where that is not known: see State
  bool undo = false;                    // record what is needed to take events back
  const OlderValues* older = nullptr;   // where waiting rounds are left out: who knows what older values lead to
  const OlderValues* values = nullptr;  // the same, wherever they are: of what only looks, and of compare-and-swaps
  Wanted* wanted = nullptr;             // exact-tso, exact-pso: what need not be reported, or asked of `older`
  bool count = false;                   // whether executions with reports are counted (Watch)
  bool all = false;                     // Watch: every report is wanted
  bool screened = true;                 // Watch: exact-tso, exact-pso see only what could give one (screen.hpp)
  bool release_sequence_c11 = false;    // exact-c11: C++11's release sequences, not C++20's
};

// exact-tso and exact-pso in one: the models of its reports tell them apart.
inline constexpr std::string_view kExactBoth = "exact-tso+exact-pso";

// burnim-tso, burnim-pso, the same with -report (as in the technical report), sober, sober-corrected, exact-tso,
// exact-pso, kExactBoth, exact-c11; std::invalid_argument for any other name.
std::unique_ptr<Monitor> make_monitor(std::string_view name, const Options& options);

}  // namespace teetotal::monitors
