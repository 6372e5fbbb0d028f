// What an exact monitor asks about an operation that may read an older value than it did under SC: what it would do
// then. A search's system answers (search/system.hpp); over a recorded trace nobody does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace teetotal::monitors {

class OlderValues {
 public:
  virtual ~OlderValues() = default;

  // An operation is event `index` of the execution, or the next one of its thread where that is the number of events.
  // `before` is an event, a write to the same location: the value meant is what the location held just before it.

  // Whether a conditional rmw or a load would write. A load may: what fails with a look alone (a trylock) is one.
  virtual bool would_write(std::uint32_t thread, std::size_t index, std::size_t before) const = 0;

  // Whether an event may have to wait; and whether it, or the next operation, would not have to with that value.
  virtual bool waits(std::size_t index) const = 0;
  virtual bool possible(std::uint32_t thread, std::size_t index, std::size_t before) const = 0;

  // The same of a read of the program's memory whose thread did event `previous` last, where it is known at once:
  // whether with that value it goes on.
  virtual std::optional<bool> leads_on(std::size_t /*previous*/, std::size_t /*before*/) const { return {}; }
};

}  // namespace teetotal::monitors
