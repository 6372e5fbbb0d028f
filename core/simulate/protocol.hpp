// Cache coherence protocols as a few choices, and the mistakes that can be switched on in them.
//
// The families are those of Zennou et al. (NETYS 2020), section 6, who took them from gem5:
//
//   gem5             here       who is asked for a line            who collects the answers
//   MI_example       mi         its owner                          the one that wants it
//   MESI_Two_Level   mesi       its owner and sharers              the one that wants it; the home is an inclusive
//   cache MOESI_hammer     hammer     everybody                          the one that wants it MOESI_AMD_Base   amd its
//   owner and sharers              the home
//
// What they have in common here, so that they are right on a network that reorders as it likes: the home serves one
// request for a line at a time and waits until the requester has what it wanted (hammer and AMD do so in gem5, too),
// and an owner gives a line back in three steps, Put, WritebackAck, WritebackData, so that a race shows itself in the
// third.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace teetotal::simulate {

struct Protocol {
  std::string_view name;
  bool shared;         // lines can be read by several caches at once (S)
  bool exclusive;      // a line that nobody else has can be written without asking again (E)
  bool owned;          // a modified line can be read by others, and its owner answers for it (O)
  bool broadcast;      // the home knows nothing: everybody is asked
  bool home_collects;  // the home waits for the answers, and then sends the line
  bool inclusive;      // the home is a cache, too: what it drops, nobody may keep
};

inline constexpr std::array protocols{
    Protocol{"mi", false, false, false, false, false, false},
    Protocol{"mesi", true, true, false, false, false, true},
    Protocol{"hammer", true, true, true, true, false, false},
    Protocol{"amd", true, true, true, false, true, false},
};

enum class Bug : std::uint8_t {
  none,
  // in the caches
  lost_invalidation,      // while another request is under way, an invalidation is acknowledged and forgotten
  writeback_race,         // a line on its way out is given to somebody else, and goes on its way all the same
  early_acknowledgement,  // a write does not wait until all others have given the line up
  missed_upgrade,         // an invalidation that meets an upgrade is acknowledged, and the upgrade goes on
  stale_memory,           // what memory has wins over what an owner has, if it comes later
  // in the home
  stale_forward,      // a line whose writeback is waiting is taken for written back
  lost_copyback,      // a modified line that becomes shared is not written back
  silent_recall,      // a line is dropped without telling those who share it
  forgotten_sharers,  // where there is an owner, only the owner is invalidated
  // in the processors
  unordered_buffer,  // stores leave the buffer in any order, as far as their addresses differ
  no_forwarding,     // a load does not look into its own buffer
  weak_fence,        // a fence does not wait for the buffer
};

struct Mistake {
  Bug bug;
  std::string_view name;
  std::string_view protocols;  // that can make it, by name
  bool needs_buffer = false;
};

inline constexpr std::array mistakes{
    Mistake{Bug::lost_invalidation, "lost-invalidation", "mi mesi hammer amd"},
    Mistake{Bug::writeback_race, "writeback-race", "mi mesi hammer amd"},
    Mistake{Bug::early_acknowledgement, "early-acknowledgement", "mi mesi hammer amd"},
    Mistake{Bug::missed_upgrade, "missed-upgrade", "mesi hammer amd"},
    Mistake{Bug::stale_memory, "stale-memory", "hammer"},
    Mistake{Bug::stale_forward, "stale-forward", "mi mesi amd"},
    Mistake{Bug::lost_copyback, "lost-copyback", "mesi"},
    Mistake{Bug::silent_recall, "silent-recall", "mesi"},
    Mistake{Bug::forgotten_sharers, "forgotten-sharers", "amd"},
    Mistake{Bug::unordered_buffer, "unordered-buffer", "mi mesi hammer amd", true},
    Mistake{Bug::no_forwarding, "no-forwarding", "mi mesi hammer amd", true},
    Mistake{Bug::weak_fence, "weak-fence", "mi mesi hammer amd", true},
};

}  // namespace teetotal::simulate
