#include "shortening.hpp"

#include <algorithm>
#include <map>

namespace teetotal::runtime {

namespace {

constexpr int kRunsOfOne = 20;  // with what was learnt meanwhile about the layout of memory

std::size_t cost(const Moves& moves) {
  std::size_t switches = 0;
  for (std::size_t position = 1; position < moves.size(); ++position)
    switches += moves[position].born != moves[position - 1].born;
  return moves.size() + 2 * switches;
}

}  // namespace

std::optional<std::uint32_t> possible_agent(Controlled& system, const Move& move) {
  system.threads();  // brings the program to where it should stand
  for (std::uint32_t number = 0; number < process.count; ++number) {
    if (process.threads[number].state == State::unborn || process.threads[number].born != move.born) continue;
    const std::uint32_t agent = system.agent_for(number, move.commit, move.cell);
    if (system.pending(agent).readiness == Readiness::enabled) return agent;
  }
  return std::nullopt;
}

Goal::Seen SameFailure::seen(Controlled& system, bool) {
  const std::vector<Failed>& failed = system.failed();
  if (failed.empty()) return Seen::nothing;
  const Signature found{failed.front().fault.failure, failed.front().place};
  if (!wanted_) wanted_ = found;
  return found == *wanted_ ? Seen::wanted : Seen::other;
}

SameReport::SameReport(std::string monitor, const Semantics& semantics, std::size_t delayed, std::size_t deciding)
    : monitor_{std::move(monitor)}, semantics_(semantics), delayed_(delayed), deciding_(deciding) {}

Goal::Seen SameReport::seen(Controlled& system, bool last) {
  if (!last) return Seen::nothing;
  const auto& steps = system.steps();
  const auto place = [&](std::uint64_t step) { return steps[step].operation.place; };
  if (!wanted_ && deciding_ < steps.size()) wanted_ = {place(delayed_), place(deciding_)};
  std::vector<Event> execution;
  for (const Step& step : steps) {
    execution.push_back(step.event);
    execution.back().writes = step.writes();  // what ends is a read to the machine
  }
  monitors::Watch watch(
      monitor_, {.semantics = semantics_, .older = system.skips_waiting() ? &system : nullptr, .values = &system});
  bool found = false;
  watch.see(execution, 0, {}, nullptr, [&](std::uint32_t, const monitors::Report& report, bool) {
    if (found || report.deciding >= steps.size() || Places(place(report.delayed), place(report.deciding)) != wanted_)
      return;
    found = true;
    report_ = report;
  });
  return found ? Seen::wanted : Seen::nothing;
}

Shortening::Shortening(Controlled& system, Goal& goal, double seconds)
    : system_(system),
      goal_(goal),
      end_(std::chrono::steady_clock::now() + std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6))) {}

Moves Shortening::shortened(const Moves& moves) {
  if (!holds(moves)) return moves;
  best_ = done_;
  while (!over() && (ended() || without() || beside())) {
  }
  return best_;
}

bool Shortening::holds(const Moves& moves) {
  for (int attempt = 0; attempt < kRunsOfOne; ++attempt) {
    done_.clear();
    system_.rewind(0);
    try {
      for (const Move& move : moves) {
        const auto agent = possible_agent(system_, move);
        if (!agent) continue;
        system_.execute(*agent);
        done_.push_back(move);
        moves_left_ -= moves_left_ > 0;
        system_.threads();
        if (const auto seen = goal_.seen(system_, false); seen != Goal::Seen::nothing)
          return seen == Goal::Seen::wanted;
      }
      if (goal_.seen(system_, true) != Goal::Seen::wanted) return false;
      done_.resize(goal_.needed(system_));
      return true;
    } catch (const Restart&) {
      system_.forget();
    }
  }
  return false;
}

bool Shortening::better(const Moves& moves) {
  if (!holds(moves) || cost(done_) >= cost(best_)) return false;
  best_ = done_;
  return true;
}

// Threads that end early, or do nothing at all: what they do from somewhere on is left out.
bool Shortening::ended() {
  bool any = false;
  std::map<std::uint32_t, std::size_t> counts;
  for (const Move& move : best_) ++counts[move.born];
  for (const auto& [born, count] : counts) {
    for (std::size_t kept = 0; kept < count && !over(); kept += (count - kept + 1) / 2) {
      Moves rest;
      std::size_t done = 0;
      for (const Move& move : best_)
        if (move.born != born || done++ < kept) rest.push_back(move);
      if (!better(rest)) continue;
      any = true;
      break;
    }
  }
  return any;
}

// Chunks left out, the large ones first.
bool Shortening::without() {
  bool any = false;
  for (std::size_t chunk = std::max<std::size_t>(best_.size() / 2, 1); chunk > 0; chunk /= 2) {
    for (std::size_t begin = 0; begin < best_.size();) {
      if (over()) return any;
      Moves rest(best_.begin(), best_.begin() + static_cast<std::ptrdiff_t>(begin));
      const std::size_t end = std::min(begin + chunk, best_.size());
      rest.insert(rest.end(), best_.begin() + static_cast<std::ptrdiff_t>(end), best_.end());
      if (better(rest))
        any = true;
      else
        begin += chunk;
    }
  }
  return any;
}

// Runs of a thread's moves, each brought next to the one before or after it of the same thread.
bool Shortening::beside() {
  bool any = false;
  for (std::size_t begin = 0; begin < best_.size();) {
    if (over()) return any;
    const auto at = [&](std::size_t position) { return best_.begin() + static_cast<std::ptrdiff_t>(position); };
    const std::uint32_t born = best_[begin].born;
    const auto other = [&](const Move& move) { return move.born != born; };
    const auto end = static_cast<std::size_t>(std::find_if(at(begin), best_.end(), other) - best_.begin());
    const auto next = std::find_if_not(at(end), best_.end(), other);
    bool moved = false;
    if (next != best_.end()) {
      const auto following = static_cast<std::size_t>(next - best_.begin());
      Moves later = best_, earlier = best_;
      std::rotate(later.begin() + static_cast<std::ptrdiff_t>(begin), later.begin() + static_cast<std::ptrdiff_t>(end),
                  later.begin() + static_cast<std::ptrdiff_t>(following));
      const auto last = static_cast<std::size_t>(std::find_if(next, best_.end(), other) - best_.begin());
      std::rotate(earlier.begin() + static_cast<std::ptrdiff_t>(end),
                  earlier.begin() + static_cast<std::ptrdiff_t>(following),
                  earlier.begin() + static_cast<std::ptrdiff_t>(last));
      moved = better(later) || better(earlier);
    }
    any = any || moved;
    if (!moved) begin = end;
  }
  return any;
}

}  // namespace teetotal::runtime
