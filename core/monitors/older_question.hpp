// The question that the exact monitors ask of a read, or of an rmw, that overtakes writes: whether with the value that
// one of them hides it would go on. Where waiting rounds are left out, a read that would only wait is no violation
// (docs/explanation/waiting.md), and every write that is overtaken counts, not the newest alone: an older value may end
// the round.
//
// What fails with a look alone (a trylock) is asked about always. Where it would not fail with the older value, it is
// no load then but an atomic operation. So is a lock: it overtakes what initialised its object if it was free before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "../event.hpp"
#include "older_values.hpp"
#include "report.hpp"
#include "wanted.hpp"

namespace teetotal::monitors {

struct OlderQuestion {
  const OlderValues* older = nullptr;         // null where every event counts
  const OlderValues* values = nullptr;        // the same wherever somebody knows
  Wanted* wanted = nullptr;                   // null where all reports are wanted
  std::optional<std::uint64_t> arrives = {};  // what is asked about is not done: how many events there are

  bool concerns(const Event& e) const {
    return (older != nullptr && (e.kind == Kind::ld || e.kind == Kind::rmw)) ||
           (values != nullptr && (e.only_looks() || e.kind == Kind::lock));
  }

  // Of event `e`, the next after `events` others, and of the writes of its address from the `known`-th backwards:
  // overtaken(e, k, found) tells of the k-th whether e overtakes it, and then makes the report; of older ones nobody
  // asks any more once one is not. plain(k) tells whether it is a plain store. True if there is a report, and it is
  // wanted: the one about the newest write that leads on.
  template <class Overtaken, class Plain>
  bool leads_on(const Event& e, std::size_t known, std::uint64_t events, Overtaken overtaken, Plain plain,
                Report& found) const {
    const auto index = static_cast<std::size_t>(arrives.value_or(events));
    const bool looks = values != nullptr && e.only_looks(), locks = e.kind == Kind::lock;
    const OlderValues& asked = older != nullptr ? *older : *values;
    const bool waits = looks || locks || arrives || (older != nullptr && older->waits(index));
    for (; known > 0 && overtaken(e, known, found); --known) {
      const auto w = static_cast<std::size_t>(found.delayed);
      if (locks && !plain(known)) continue;
      if ((looks || e.kind == Kind::rmw) && asked.would_write(e.thread, index, w) &&
          !(plain(known) && (!looks || overtaken(taking(e), known, found))))
        continue;
      if (!waits || asked.possible(e.thread, index, w)) return wants(found);
    }
    return false;
  }

  bool wants(const Report& found) const { return wanted == nullptr || wanted->wants(found); }

  // Whether it is known at once that nobody wants to know of any of the writes that are overtaken.
  template <class Overtaken>
  bool settled(const Event& e, std::size_t known, Overtaken overtaken, Report& found) const {
    if (wanted == nullptr) return false;
    for (; known > 0 && overtaken(e, known, found); --known)
      if (!wanted->knows(found)) return false;
    return true;
  }

 private:
  static Event taking(Event e) {
    e.kind = Kind::rmw;
    e.writes = true;
    return e;
  }
};

}  // namespace teetotal::monitors
