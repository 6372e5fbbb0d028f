#include "search/interleavings.hpp"

#include <algorithm>
#include <vector>

namespace teetotal {

namespace {

void interleave(System& system, Visitor& visitor, Preemptions preemptions, SearchResult& result) {
  struct Frame {
    std::uint32_t next = 0;       // the first thread not yet tried here
    std::uint32_t spent = 0;      // preemptions so far
    std::uint32_t running = ~0U;  // the thread that ran last
    std::uint32_t branches = 0;   // that can be taken here
    std::uint32_t taken = 0;
  };
  std::vector<Event> execution;
  std::vector<Frame> frames{{}};
  std::size_t shared = 0;
  bool arrived = true;  // at this frame for the first time
  // How much is done, if the branches of a frame are about equally large.
  const auto fraction = [&] {
    double share = 1, explored = 0;
    for (const Frame& frame : frames) {
      if (frame.taken == 0) break;
      share /= frame.branches;
      explored += share * (frame.taken - 1);
    }
    return explored;
  };
  while (!frames.empty()) {
    Frame& frame = frames.back();
    const std::uint32_t threads = system.threads();
    std::uint32_t enabled = 0;
    bool can_go_on = false;
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
      const Readiness readiness = system.pending(thread).readiness;
      enabled += readiness == Readiness::enabled;
      can_go_on = can_go_on || (thread == frame.running && readiness == Readiness::enabled);
    }
    if (arrived) frame.branches = can_go_on && frame.spent == preemptions.most ? 1 : enabled;
    if (enabled == 0 && arrived && frame.spent >= preemptions.fewest) {
      constexpr std::uint64_t kEstimate = 1024;
      const bool more = tally(result, system.ending());
      if (result.executions % kEstimate == 0) visitor.explored = fraction();
      if (!visitor.visit(execution, shared) || !more) return;
      shared = execution.size();
    }
    bool advanced = false;
    while (frame.next < threads) {
      const std::uint32_t thread = frame.next++;
      if (system.pending(thread).readiness != Readiness::enabled) continue;
      const bool preempts = can_go_on && thread != frame.running;
      const std::uint32_t spent = frame.spent + preempts;
      if (spent > preemptions.most || (preempts && !preemptions.before(system.pending(frame.running).event.kind))) {
        result.bounded = true;
        continue;
      }
      ++frame.taken;
      execution.push_back(system.execute(thread));
      frames.push_back({.spent = spent, .running = thread});
      advanced = true;
      break;
    }
    arrived = advanced;
    if (advanced) continue;
    frames.pop_back();
    if (frames.empty()) break;
    execution.pop_back();
    shared = std::min(shared, execution.size());
    system.rewind(execution.size());
  }
  result.complete =
      result.cut == 0 && preemptions.most == Preemptions{}.most && preemptions.kinds == Preemptions{}.kinds;
}

}  // namespace

SearchResult all_interleavings(System& system, Visitor& visitor, Preemptions preemptions) {
  return until_full([&](SearchResult& result) { interleave(system, visitor, preemptions, result); });
}

}  // namespace teetotal
