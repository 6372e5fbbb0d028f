#include "unwritten.hpp"

#include <map>
#include <utility>

#include "process.hpp"

namespace teetotal::runtime {

Unwritten unwritten;
std::uint64_t teetotal_fill = unwritten.pattern;

namespace {

constexpr std::uint8_t kFirst = 0xA5;         // programs/c/unwritten.py knows it, and its opposite
constexpr std::uintptr_t kOneStatement = 64;  // bytes of code between the load and the store of a bit-field's word

std::map<std::pair<std::uintptr_t, std::uintptr_t>, unsigned> suspicions;  // (place, address) → a bit for each fill

}  // namespace

void weigh_unwritten(std::uintptr_t address, std::uintptr_t place) {
  if (process.supposing) return;
  unsigned& seen = suspicions[{place, address}];
  if (seen == 3) return;
  seen |= unwritten.fill == kFirst ? 1 : 2;
  if (seen != 3) return;
  const std::uintptr_t told = callers.empty() ? place : callers.teller(place, __builtin_frame_address(0));
  remarks.unseen.insert({"a read of memory that nobody has written", told});
}

bool Unwritten::is_second() const { return fill != kFirst; }

bool Unwritten::suspects() const { return !suspicions.empty() || clocks; }

bool Unwritten::asks_again() {
  if (is_second() || !suspects()) return false;
  fill = static_cast<std::uint8_t>(~fill);
  teetotal_fill = pattern = fill * kEveryByte;
  return true;
}

void suspect_unwritten(Thread& self, std::uintptr_t address, std::uintptr_t place) {
  if (!unwritten.bit_fields) return weigh_unwritten(address, place);
  self.suspicion.address = address;
  self.suspicion.place = place;
}

void decide_suspicion(Thread& self, std::uintptr_t address, std::uintptr_t place) {
  const std::uintptr_t loaded = std::exchange(self.suspicion.address, 0);
  if (loaded != address || place - self.suspicion.place > kOneStatement) weigh_unwritten(loaded, self.suspicion.place);
}

}  // namespace teetotal::runtime
