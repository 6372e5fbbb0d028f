// What is kept of a search's executions so that fences can be weighed without another search: as bytes, which a process
// can hand to another one, and as what they mean.
//
// A kept execution is told by what it does not share with the kept one before it. Its events have the places where a
// fence could stand among them, each a `Kind::fence` whose address is 1 + the number of its mark; the address of any
// other such fence is 0. Numbers are written seven bits a byte, the lowest first.
//
//   execution := shared count event* count overtaking*
//   event     := thread what [address]           what: kind + 8 * writes; no address for mfence and sfence
//   overtaking := models + 8 * waits, then where it waits an event, else the deciding event's number; delayed; 3 places
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "event.hpp"

namespace teetotal::overtakings {

using Places = std::array<std::uint64_t, 3>;  // of the delayed store, of what comes before the deciding event, of that

// Where no mark is a fence: `deciding` overtakes `delayed`, both by their numbers in the execution. `waits`: it is what
// a thread stands before that waits at the end, and no event; then `next` is that.
struct Kept {
  std::size_t deciding = 0, delayed = 0;
  std::uint32_t models = 0;  // as of monitors::Report
  bool waits = false;
  Event next;
  Places places{};
};

struct KeptExecution {
  std::size_t shared = 0;  // with the one before
  std::vector<Event> fresh;
  std::vector<Kept> overtakings;
};

class Writer {
 public:
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes.push_back(static_cast<char>(value | 0x80));
    bytes.push_back(static_cast<char>(value));
  }
  void event(const Event& event) {
    number(event.thread);
    number(static_cast<std::uint64_t>(event.kind) + (event.writes ? 8 : 0));
    if (!is_fence(event.kind) || event.kind == Kind::fence) number(event.address);
  }
  void overtaking(const Kept& kept) {
    number(kept.models + (kept.waits ? 8 : 0));
    if (kept.waits)
      event(kept.next);
    else
      number(kept.deciding);
    number(kept.delayed);
    for (const std::uint64_t place : kept.places) number(place);
  }
  void execution(std::size_t shared, std::span<const Event> fresh, std::span<const Kept> kept) {
    number(shared);
    number(fresh.size());
    for (const Event& one : fresh) event(one);
    number(kept.size());
    for (const Kept& one : kept) overtaking(one);
  }

  std::string bytes;
};

// std::invalid_argument where the bytes are none of a Writer's.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  bool next(KeptExecution& found) {
    if (at_ == bytes_.size()) return false;
    found.shared = number();
    found.fresh.clear();
    for (std::uint64_t left = number(); left > 0; --left) found.fresh.push_back(event());
    found.overtakings.clear();
    for (std::uint64_t left = number(); left > 0; --left) found.overtakings.push_back(overtaking());
    return true;
  }

 private:
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) break;
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) return value;
    }
    throw std::invalid_argument("these are no kept executions");
  }
  Event event() {
    Event found;
    found.thread = static_cast<std::uint32_t>(number());
    const std::uint64_t what = number();
    if (what > 15) throw std::invalid_argument("these are no kept executions");
    found.kind = static_cast<Kind>(what & 7U);
    found.writes = what >= 8;
    if (!is_fence(found.kind) || found.kind == Kind::fence) found.address = static_cast<std::uint32_t>(number());
    return found;
  }
  Kept overtaking() {
    Kept found;
    const std::uint64_t models = number();
    found.models = static_cast<std::uint32_t>(models & 7U);
    found.waits = models >= 8;
    if (found.waits)
      found.next = event();
    else
      found.deciding = number();
    found.delayed = number();
    for (std::uint64_t& place : found.places) place = number();
    return found;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace teetotal::overtakings
