// The overtakings of a search's executions, asked again with fences at some of the marks.
//
// What a read that may wait would do with the older value was found out when its execution was kept, and depends on no
// fence: of the writes that an event overtakes, the newest that leads on is the one of its kept overtaking. With more
// fences that write is overtaken still, or no write is that leads on. So nobody has to be asked anything: an event
// overtakes as it did, or not at all (docs/explanation/monitors.md, Theorem 8).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kept.hpp"
#include "monitors/monitor.hpp"

namespace teetotal::overtakings {

// What each mark is: Kind::fence (nothing), sfence or mfence.
using Fences = std::vector<Kind>;

struct Watching {
  bool tso = false, pso = false;
  Semantics semantics;
  bool skips_waiting = true;

  // With undo, and whoever answers for reads that may wait, and for what only looks.
  std::unique_ptr<monitors::Monitor> monitor(const monitors::OlderValues& values) const;
};

// One of them, with all that it depends on: the events up to the deciding one, or to the last of the thread that waits.
class Overtaking {
 public:
  Overtaking(const Watching& watching, std::vector<Event> execution, const Kept& kept)
      : watching_(watching), execution_(std::move(execution)), kept_(kept) {}

  // Under which of the models it is possible still.
  std::uint32_t models(const Fences& fences) const;

  // The marks that are passed on the way to it.
  std::vector<std::uint32_t> marks() const;

  const Places& places() const { return kept_.places; }

 private:
  Watching watching_;
  std::vector<Event> execution_;
  Kept kept_;
};

class Overtakings {
 public:
  // `pieces`: what keepers kept, those of one keeper in their order.
  Overtakings(Watching watching, std::vector<std::string> pieces) : watching_(watching), pieces_(std::move(pieces)) {}

  // Those that are possible with these fences, the first of each three places and model: with the model.
  struct Still {
    std::uint32_t model;
    Overtaking overtaking;
  };
  std::vector<Still> still(const Fences& fences) const;

  std::size_t bytes() const;

 private:
  Watching watching_;
  std::vector<std::string> pieces_;
};

}  // namespace teetotal::overtakings
