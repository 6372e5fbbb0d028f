#include "replay.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "shortening.hpp"

namespace teetotal::runtime {

namespace {

constexpr int kAttempts = 100;

std::uint32_t number_of(std::uint32_t born) {
  for (std::uint32_t number = 0; number < process.count; ++number)
    if (process.threads[number].state != State::unborn && process.threads[number].born == born) return number;
  throw std::out_of_range("there is no such thread then");
}

// The schedule on a fresh execution; false where what was learnt on the way makes it begin again.
bool run(Controlled& system, const std::vector<std::string>& steps, bool stop_at_last, Frames& frames) {
  frames.clear();
  std::vector<std::int64_t> stored;  // cells, in the order in which they were first stored to
  system.rewind(0);
  try {
    for (std::size_t position = 0; position < steps.size(); ++position) {
      const std::string& text = steps[position];
      const std::size_t letter = text.find('c');
      const bool commit = letter != std::string::npos;
      system.threads();  // brings the program to where it should stand
      const std::uint32_t thread = number_of(static_cast<std::uint32_t>(std::stoul(text)));
      std::int64_t cell = 0;
      if (commit && letter + 1 < text.size()) {
        const std::size_t place = std::stoul(text.substr(letter + 1));
        if (place >= stored.size()) throw std::out_of_range("there is no such location then");
        cell = stored[place];
      }
      const std::uint32_t agent = system.agent_for(thread, commit, cell);
      if (system.pending(agent).readiness != Readiness::enabled)
        throw std::out_of_range("step " + std::to_string(position + 1) + " of the schedule is not possible there");
      process.trap = stop_at_last && position + 1 == steps.size();
      if (!commit) note_frame(frames, process.threads[thread].operation);
      system.execute(agent);
      const Step& done = system.steps().back();
      const auto touched = static_cast<std::int64_t>(done.operation.cell);
      if (!commit && done.operation.kind == Kind::st && std::ranges::find(stored, touched) == stored.end())
        stored.push_back(touched);
    }
  } catch (const Restart&) {
    system.forget();
    return false;
  }
  return true;
}

// The execution at hand.
Moves moves_of(const Controlled& system) {
  Moves moves;
  for (const Step& step : system.steps())
    moves.push_back({process.threads[step.thread].born, step.commit, static_cast<std::int64_t>(step.operation.cell)});
  return moves;
}

bool run(Controlled& system, const Moves& moves, Frames& frames) {
  frames.clear();
  system.rewind(0);
  try {
    for (const Move& move : moves) {
      const auto agent = possible_agent(system, move);
      if (!agent) throw std::logic_error("a schedule that was shortened is not possible");
      if (!move.commit) note_frame(frames, process.threads[system.owner(*agent)].operation);
      system.execute(*agent);
    }
  } catch (const Restart&) {
    system.forget();
    return false;
  }
  return true;
}

}  // namespace

void replay(const Request& request, const Output& output) {
  std::istringstream words(request.schedule);
  std::vector<std::string> steps;
  for (std::string word; words >> word;) steps.push_back(word);
  Bounds bounds = request.bounds;
  bounds.waiting_counts = bounds.waiting_counts || request.stop_at_last;  // nobody looks ahead: the last step runs once
  Controlled system(bounds);
  Frames frames;
  const auto follow = [&] {
    for (int attempt = 0; !run(system, steps, request.stop_at_last, frames); ++attempt)
      if (attempt == kAttempts) throw std::out_of_range("the schedule never comes to rest");
  };
  try {
    try {
      follow();
    } catch (const std::out_of_range&) {  // or it has tries that fail, as somebody saw them (hooks_together.cpp)
      if (!locking_together.used()) throw;
      locking_together.allowed = false;
      system.forget();
      follow();
    }
  } catch (const std::out_of_range& error) {
    output.line(R"({"type":"error","what":"schedule","message":)" + Output::quoted(error.what()) + '}');
    return;
  }
  if (request.shorten > 0) {
    const bool watched = !request.monitors.empty();
    SameFailure failure;
    SameReport report(watched ? request.monitors.front() : "", request.semantics, request.report.first,
                      request.report.second);
    Goal& goal = watched ? static_cast<Goal&>(report) : failure;
    const Moves moves = Shortening(system, goal, request.shorten).shortened(moves_of(system));
    frames.clear();
    for (int attempt = 0; !run(system, moves, frames); ++attempt)
      if (attempt == kAttempts) throw std::logic_error("a schedule that was shortened never comes to rest");
    if (watched && report.seen(system, true) == Goal::Seen::wanted)
      output.line(Output::violation(system, request.monitors.front(), report.report(), frames));
  }
  const std::size_t end = system.steps().size();
  std::string failures;
  for (const auto& [number, fault, place, step] : system.failed()) {
    failures += (failures.empty() ? "[" : ",[") + std::to_string(process.threads[number].born) + ',' +
                std::to_string(place) + ',' + Output::quoted(fault.message) + ',' +
                Output::quoted(word_for(fault.failure)) + ',' + Output::cause(fault) + ']';
  }
  const std::string told = R"({"type":"replay","steps":)" + Output::steps(system, end) + ",\"failures\":[" + failures;
  output.line(told + "],\"cells\":" + Output::cells(system, end, frames) + '}');
}

}  // namespace teetotal::runtime
