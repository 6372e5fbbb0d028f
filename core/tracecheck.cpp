#include "tracecheck.hpp"

namespace teetotal {

TraceCheck::Fault TraceCheck::well_formed(const Columns& events, std::size_t i, std::int32_t addresses,
                                          std::int32_t locations) const {
  if (events.kind[i] > std::uint8_t(Kind::fence)) return Fault::kind;
  if (events.thread[i] < 0 || events.thread[i] >= max_threads_) return Fault::thread;
  if (events.location[i] < -1 || events.location[i] >= locations) return Fault::location;
  const Kind kind = Kind(events.kind[i]);
  if (is_fence(kind)) {
    if (events.address[i] != -1) return Fault::address_of_fence;
  } else {
    if (events.address[i] == -1) return Fault::address_missing;
    if (events.address[i] < 0 || events.address[i] >= addresses) return Fault::address_unknown;
  }
  if (events.wrote[i] && (kind == Kind::ld || is_fence(kind))) return Fault::cannot_write;
  if (!events.wrote[i] && (kind == Kind::st || kind == Kind::lock || kind == Kind::unlock)) return Fault::must_write;
  return Fault::none;
}

TraceCheck::Problem TraceCheck::feed(const Columns& events, std::int32_t addresses, std::int32_t locations) {
  if (state_.size() < std::size_t(addresses)) state_.resize(addresses);
  for (std::size_t i = 0; i < events.kind.size(); ++i, ++fed_) {
    if (const Fault fault = well_formed(events, i, addresses, locations); fault != Fault::none) return {fed_, fault};
    const Kind kind = Kind(events.kind[i]);
    if (is_fence(kind)) continue;
    State& here = state_[events.address[i]];
    if (kind == Kind::lock) {
      if (here.holder >= 0) return {fed_, Fault::locked, here.holder};
      here.holder = events.thread[i];
    } else if (kind == Kind::unlock) {
      if (here.holder < 0) return {fed_, Fault::not_locked};
      if (here.holder != events.thread[i]) return {fed_, Fault::locked_by_other, here.holder};
      here.holder = -1;
    }
    if (kind != Kind::st && events.valued[i]) {
      if (here.known && here.value != events.read[i]) return {fed_, Fault::value, here.since, here.value};
      if (!here.known) here = {here.holder, true, events.read[i], fed_};
    }
    if (events.wrote[i]) here = {here.holder, bool(events.valued[i]), events.written[i], fed_};
  }
  return {};
}

}  // namespace teetotal
