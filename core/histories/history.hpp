// What was observed of a run: per thread the operations in program order, with the values that they read and wrote.
// Columns, because a history may have millions of operations; teetotal/histories/history.py shows them to Python.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "event.hpp"

namespace teetotal::histories {

using Op = std::uint32_t;  // an operation: its place in the file, from 0

constexpr std::uint32_t nothing = 0xffffffff;

// Sources of a read that are not operations.
constexpr Op unknown_source = 0xffffffff;  // its result was not recorded, or it does not read
constexpr Op initial_source = 0xfffffffe;
constexpr Op ambiguous_source = 0xfffffffd;  // several writes wrote that value: see Sources
constexpr bool is_operation(Op source) { return source < ambiguous_source; }

enum Flag : std::uint8_t {
  result_unknown = 1,  // what it read was not recorded
  writes_nothing = 2,  // a failed compare-and-swap
};

struct Binding {  // an initial or a final value
  std::uint32_t address;
  std::int64_t value;
  std::uint32_t line;
};

struct History {
  std::string name;
  std::vector<std::uint32_t> thread, address, line;
  std::vector<std::uint8_t> kind, flags;
  std::vector<std::int64_t> value;       // what it wrote; for a load, what it read
  std::vector<std::int64_t> read;        // what an rmw read; empty if there is none
  std::vector<std::int64_t> begin, end;  // times, -1 where not given; empty if there are none
  std::vector<std::string> threads, addresses;
  std::vector<Binding> initial, final;
  bool nil = false;  // whether the value -2⁶³ stands for "no value yet"

  std::size_t size() const { return kind.size(); }
  Kind kind_of(Op op) const { return static_cast<Kind>(kind[op]); }
  bool reads(Op op) const { return kind_of(op) == Kind::ld || kind_of(op) == Kind::rmw; }
  bool writes(Op op) const {
    return kind_of(op) == Kind::st || (kind_of(op) == Kind::rmw && !(flags[op] & writes_nothing));
  }
  std::int64_t value_read(Op op) const { return kind_of(op) == Kind::rmw ? read[op] : value[op]; }
};

// Bad input. The line is 0 where the fault has no place.
struct HistoryFault : std::runtime_error {
  HistoryFault(std::size_t at, const std::string& message)
      : std::runtime_error(message), line(static_cast<std::uint32_t>(at)) {}
  std::uint32_t line;
};

// From which write each read got its value. Unique values make this a function; where a value was written more than
// once, or is also the initial one, the candidates are listed.
struct Sources {
  std::vector<Op> of;                // per operation
  std::vector<Op> ambiguous;         // the reads that have several candidates ...
  std::vector<std::uint32_t> first;  // ... with their range in candidates; one entry more than ambiguous
  std::vector<Op> candidates;
  std::vector<Op> final;                       // per address: the write that must come last, or unknown_source
  std::vector<std::uint32_t> final_ambiguous;  // addresses whose final value several writes wrote
  std::vector<std::uint32_t> final_first;
  std::vector<Op> final_candidates;
  std::vector<Op> unwritten;                   // reads of values that nobody wrote
  std::vector<std::uint32_t> unwritten_final;  // places in History::final of values that nobody wrote
  std::size_t duplicates = 0;                  // writes of a value that an earlier write, or the initial one, has too
};

Sources resolve(const History& history);

}  // namespace teetotal::histories
