// What a monitor says: the store that can be delayed, the event that overtakes it, and the event just before that.
#pragma once

#include <cstdint>

namespace teetotal::monitors {

// e' ->* prev -> e -> e': `delayed` is e', `deciding` is e, `previous` is prev. Events are numbered from 0 in the order
// in which they were observed; locations are those of the events.
struct Report {
  std::uint64_t delayed = 0;
  std::uint64_t previous = 0;
  std::uint64_t deciding = 0;
  std::uint32_t delayed_location = 0;
  std::uint32_t previous_location = 0;
  std::uint32_t deciding_location = 0;
  std::uint32_t thread = 0;  // of the deciding event
  std::uint32_t models = 0;  // under which, where the monitor watches two

  static constexpr std::uint32_t tso = 1, pso = 2, c11 = 4;
  static constexpr std::uint32_t race = 8;  // of `delayed` with `deciding`, which is also `previous`; unless that is
                                            // what `deciding` comes right after, in a round that only waits

  bool operator==(const Report&) const = default;
};

}  // namespace teetotal::monitors
