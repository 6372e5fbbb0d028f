// A part of an optimal search as data: where it stands, what is left of it, and what it asks of those above it.
//
// A search is a path through executions, with branches to the right of it that are still to come (optimal.hpp). A part
// is such a search that ends where it would go back behind `base` steps; the whole search is one with base 0. What a
// search does below a *leaf* of a wakeup tree depends on nothing to the left of that leaf but on who sleeps there, and
// that is known: so a leaf can be given away, as a part of its own, while somebody else explores what comes before it.
//
//   the exact rule                                    here
//   jobs are leaves, which stay in their trees        Branch::mark, the number of the part that was given away
//   those to the left of it sleep, once explored      Level::left: threads whose steps are known where it is explored
//   a race above a job's base                         Ask, in the order in which it was met
//   races that are not settled                        Part::kept
//
// As text a part is a row of numbers, in which agents, locations and places have names that mean the same in every
// process (System::agent_of, System::address_name).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "search/system.hpp"

namespace teetotal {

// A race of two steps of an execution.
struct Race {
  std::size_t first;              // e
  std::size_t second;             // e′; the number of events for a thread that waits at the end
  Event reversed;                 // e′ as it would be before e
  std::vector<std::size_t> also;  // of a writer's lock: the readers that it comes before beside e
};

// A race whose first step lies above the base: its v, to be inserted there. A race is settled or not by where v goes,
// which a part only supposes: its trees above the base are those of the moment at which it was given away.
struct Ask {
  std::size_t first = 0, second = 0;
  std::size_t fixed = 0;
  bool once = false;     // of a thread that waits at the end: not asked again
  bool settled = false;  // as far as the part could tell
  std::vector<Event> sequence{};
};

struct Branch {
  Event event;
  std::uint32_t mark = 0;  // who has this leaf; 0: nobody
  bool fresh = false;      // above the base: put there since the part was given away
  std::vector<Branch> children{};
};

struct Part {
  struct Level {
    std::uint32_t done = 0;
    std::vector<Event> sleep{};
    std::vector<std::uint32_t> left{};  // threads that will sleep too, by the time the part is merged
    std::vector<Branch> tree{};
  };
  Buffering buffers = Buffering::none;
  bool finished = false;
  std::size_t base = 0;
  std::size_t known = 0;        // so many of the path's events have been run; of the others only the threads are known
  std::vector<Event> path{};    // of a part that is finished: the first `base`
  std::vector<Level> levels{};  // one more than the path has events; none where it is finished
  std::vector<Race> kept{};
};

// `system` knows the names. Throws std::invalid_argument where the text is none of a part.
std::string to_text(const Part& part, const System& system);
Part part_from(std::string_view text, System& system);
std::string to_text(const std::vector<Ask>& asks, const System& system);  // one such text behind another is one, too
std::vector<Ask> asks_from(std::string_view text, System& system);

}  // namespace teetotal
