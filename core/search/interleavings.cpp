#include "search/interleavings.hpp"

#include <algorithm>
#include <vector>

namespace teetotal {

SearchResult all_interleavings(System& system, Visitor& visitor, std::optional<std::uint32_t> preemptions) {
  struct Frame {
    std::uint32_t next = 0;       // the first thread not yet tried here
    std::uint32_t spent = 0;      // preemptions so far
    std::uint32_t running = ~0U;  // the thread that ran last
  };
  SearchResult result;
  std::vector<Event> execution;
  std::vector<Frame> frames{{}};
  std::size_t shared = 0;
  bool arrived = true;  // at this frame for the first time
  while (!frames.empty()) {
    Frame& frame = frames.back();
    const std::uint32_t threads = system.threads();
    bool any = false, can_go_on = false;
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
      const Readiness readiness = system.pending(thread).readiness;
      any = any || readiness == Readiness::enabled;
      can_go_on = can_go_on || (thread == frame.running && readiness == Readiness::enabled);
    }
    if (!any && arrived) {
      ++result.executions;
      result.blocked += system.ending().blocked;
      result.cut += system.ending().cut;
      if (!visitor.visit(execution, shared)) return result;
      shared = execution.size();
    }
    bool advanced = false;
    while (frame.next < threads) {
      const std::uint32_t thread = frame.next++;
      if (system.pending(thread).readiness != Readiness::enabled) continue;
      const std::uint32_t spent = frame.spent + (can_go_on && thread != frame.running);
      if (preemptions && spent > *preemptions) continue;
      execution.push_back(system.execute(thread));
      frames.push_back({0, spent, thread});
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
  result.complete = result.cut == 0 && !preemptions;
  return result;
}

}  // namespace teetotal
