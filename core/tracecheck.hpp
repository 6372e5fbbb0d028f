// Whether a stream of events can be an SC execution in the order in which things happened: what a trace file claims.
//
// One pass, a few words per address: who holds a mutex, and what a location holds if the recorder said so.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "event.hpp"

namespace teetotal {

class TraceCheck {
 public:
  // To Python TraceFault of answers/numbers.py; traces/reader.py tells them in words.
  enum class Fault : std::uint8_t {
    none,
    kind,              // not one of the eight
    thread,            // negative, or too large
    address_missing,   // an access without an address
    address_unknown,   // not in the table of addresses
    address_of_fence,  // a fence with an address
    location,          // not in the table of locations
    must_write,        // a store, lock or unlock that did not
    cannot_write,      // a load or fence that did
    locked,            // a lock of a mutex that somebody holds
    not_locked,        // an unlock of a mutex that nobody holds
    locked_by_other,   // an unlock of a mutex that another thread holds
    value,             // a read of something else than what the location held
  };

  struct Problem {
    std::int64_t event = -1;  // counted over everything fed
    Fault fault = Fault::none;
    std::int64_t other = -1;    // the thread that holds the mutex; the event that wrote or first saw the value
    std::int64_t expected = 0;  // what the location held
  };

  struct Columns {
    std::span<const std::int32_t> thread;
    std::span<const std::uint8_t> kind;
    std::span<const std::int32_t> address;   // -1: none
    std::span<const std::int32_t> location;  // -1: none
    std::span<const bool> wrote;
    std::span<const std::int64_t> read;
    std::span<const std::int64_t> written;
    std::span<const bool> valued;
  };

  explicit TraceCheck(std::int32_t max_threads) : max_threads_(max_threads) {}

  // The next events; the first that cannot be, if any. After a problem, nothing more may be fed.
  Problem feed(const Columns& events, std::int32_t addresses, std::int32_t locations);

 private:
  struct State {
    std::int32_t holder = -1;
    bool known = false;
    std::int64_t value = 0;
    std::int64_t since = -1;
  };
  Fault well_formed(const Columns& events, std::size_t i, std::int32_t addresses, std::int32_t locations) const;

  std::int32_t max_threads_;
  std::int64_t fed_ = 0;
  std::vector<State> state_;
};

}  // namespace teetotal
