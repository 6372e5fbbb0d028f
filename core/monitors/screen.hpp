// Which events of an execution the exact monitors have to see: up to the last one that could give a report that is
// wanted.
//
// A search finds out beside its races which events know a write by hearsay (hearsay.hpp). Only these can be reported.
// Of each it is asked whether it need not be seen, and one that cannot be settled is seen with all that came before it.
// So nothing is reported here, and nothing is judged but what is certain:
//
//   told     All reports that it could give, about the write or an older one, were made before, under every model.
//   direct   The thread has read a later write of the same thread as w. TSO keeps the order of these two, and the read
//            before the event: w is not overtaken on TSO (docs/explanation/monitors.md, Lemma 11).
//   strict   No event so far has come after a plain store of its own thread that the model does not keep before it.
//            Then ghb is all of hb, and nothing is overtaken at all (Lemma 12). Programs that have fences wherever they
//            need any never have such an event: until there is one, this is asked first.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "../event.hpp"
#include "clocks.hpp"
#include "hearsay.hpp"
#include "older_values.hpp"
#include "report.hpp"
#include "wanted.hpp"

namespace teetotal::monitors {

class Screen {
 public:
  // `models`: those of the monitor. `older` is null where every event counts (older_question.hpp).
  Screen(const Semantics& semantics, std::uint32_t models, const OlderValues* older, const Wanted& wanted)
      : semantics_(semantics), models_(models), older_(older), wanted_(&wanted) {
    for (std::size_t kind = 0; kind < effects_.size(); ++kind) effects_[kind] = effect_of(static_cast<Kind>(kind));
  }

  // The next execution shares so many events with the one before.
  void go_back(std::size_t shared) { shared_ = std::min(shared_, shared); }

  // How many events of the execution have to be seen; and in `asked`, which of the operations that threads wait before
  // at its end have to be asked about.
  std::size_t needed(std::span<const Event> execution, const Hearsay& hearsay, std::vector<Event>& asked) {
    asked.clear();
    const Asked all{execution, hearsay.links};
    std::size_t end = 0;
    for (const Rumour& rumour : hearsay.waiting.all()) {
      if (settled(all, rumour)) continue;
      asked.push_back(rumour.knows);
      end = std::max(end, static_cast<std::size_t>(rumour.previous) + 1);
    }
    const std::span<const Rumour> rumours = hearsay.rumours.all();
    for (std::size_t i = rumours.size(); i-- > 0;) {
      const auto event = static_cast<std::size_t>(rumours[i].event);
      if (event < end || !settled(all, rumours[i])) return std::max(end, event + 1);
    }
    return end;
  }

 private:
  using Rumour = Hearsay::Rumour;

  struct Asked {
    std::span<const Event> events;
    std::span<const Hearsay::Link> links;

    const Event& event(std::int32_t number) const { return events[static_cast<std::size_t>(number)]; }
    const Hearsay::Link& link(std::int32_t number) const { return links[static_cast<std::size_t>(number)]; }
  };

  TEETOTAL_INLINE bool settled(const Asked& all, const Rumour& rumour) {
    const Event& e = rumour.knows;
    std::uint32_t models = models_;
    if (!ever_relaxed_ && (models &= relaxed(all, rumour)) == 0) return true;
    const Event& write = all.event(rumour.write);
    std::uint32_t unknown = models & ~wanted_->known(write.location, all.event(rumour.previous).location, e.location);
    if ((unknown & Report::tso) != 0 && read_later(all, rumour)) {
      models &= ~Report::tso;
      unknown &= ~Report::tso;
    }
    const bool alone = e.kind == Kind::st ? write.kind == Kind::st : all.link(rumour.write).source <= rumour.looked;
    if (unknown != 0 || !alone) unknown = untold(all, rumour, models);
    return unknown == 0 || (unknown & relaxed(all, rumour)) == 0;
  }

  // -- told
  // ----------------------------------------------------------------------------------------------------------------

  // Under which of the models somebody may want a report about any of these writes. The exact monitors report the
  // newest plain store; of a load the newest write or, where waiting is left out, the newest that leads on; of an rmw,
  // there, any, and of what only looks; of a lock any plain store.
  [[gnu::noinline]] std::uint32_t untold(const Asked& all, const Rumour& rumour, std::uint32_t models) const {
    const Event& e = rumour.knows;
    const std::uint32_t previous = all.event(rumour.previous).location;
    const bool locks = e.kind == Kind::lock;
    const bool leads = locks || e.only_looks() || (older_ != nullptr && (e.kind == Kind::ld || e.kind == Kind::rmw));
    std::uint32_t left = 0;
    for (std::int32_t w = rumour.write, older = w; w > rumour.looked; w = older) {
      older = all.link(w).source;
      const Event& write = all.event(w);
      if (e.kind != Kind::ld && (locks || !leads) && write.kind != Kind::st) continue;
      const std::uint32_t unknown = models & ~wanted_->known(write.location, previous, e.location);
      if (!leads) return unknown;
      if (unknown == 0 && older <= rumour.looked) break;  // whether it leads on or not
      std::optional<bool> on;
      if (e.kind == Kind::ld && !e.only_looks())
        on = older_->leads_on(static_cast<std::size_t>(rumour.previous), static_cast<std::size_t>(w));
      if (on.value_or(true)) left |= unknown;
      if (on.value_or(false)) break;
    }
    return left;
  }

  // -- direct
  // ----------------------------------------------------------------------------------------------------------------

  // Whether the thread has read something that the thread of the newest write wrote later.
  TEETOTAL_INLINE static bool read_later(const Asked& all, const Rumour& rumour) {
    const std::uint32_t writer = all.event(rumour.write).thread;
    for (std::int32_t f = rumour.previous; f > rumour.write; f = all.link(f).previous) {
      const std::int32_t source = all.link(f).source;
      if (source > rumour.write && reads(all.event(f)) && all.event(source).thread == writer) return true;
    }
    return false;
  }

  // -- strict
  // ----------------------------------------------------------------------------------------------------------------

  // What threads have in their buffers, three bits for each of the first ones, and the models under which some event
  // has come after a store that is not kept before it.
  using Order = std::uint64_t;
  enum : std::uint8_t { kLoadsTso = 1, kLoadsPso = 2, kWritesPso = 4, kAll = 7 };  // what may overtake a plain store
  static constexpr std::uint32_t kThreads = 20;
  static constexpr int kModels = 60;
  static_assert(3 * kThreads <= kModels && Report::tso == 1 && Report::pso == 2);

  // Of a kind of event: what it overtakes, what it leaves of that to later ones, and what it adds.
  struct Effect {
    std::uint8_t overtakes, leaves, adds;
  };
  Effect effect_of(Kind kind) const {
    if (kind == Kind::ld) return {kLoadsTso | kLoadsPso, kAll, 0};
    if (kind == Kind::st) return {kWritesPso, 0, kAll};
    if (kind == Kind::mfence) return {0, 0, 0};
    if (kind == Kind::sfence) return {0, kAll & ~kWritesPso, 0};
    if (kind == Kind::fence) return {0, kAll, 0};
    // An atomic operation that flushes the buffer of its address alone overtakes what is in others. What does not come
    // before an sfence, for which it waits.
    return {flushes_all(semantics_, {.kind = kind}) ? std::uint8_t{0} : std::uint8_t{kWritesPso}, 0, 0};
  }

  // Under which models that is so of an event, or was of any that its thread can know of.
  [[gnu::noinline]] std::uint32_t relaxed(const Asked& all, const Rumour& rumour) {
    std::size_t known = std::min(known_, shared_);
    shared_ = all.events.size();
    const auto before = static_cast<std::size_t>(rumour.previous) + 1;
    if (orders_.size() <= before) orders_.resize(2 * before);
    Order order = orders_[known];
    for (; known < before; orders_[++known] = order) order = after(order, all.events[known]);
    known_ = known;
    const auto models = static_cast<std::uint32_t>(after(orders_[before], rumour.knows) >> kModels);
    ever_relaxed_ = ever_relaxed_ || models != 0;
    return models;
  }

  TEETOTAL_INLINE Order after(Order order, const Event& e) const {
    if (e.thread >= kThreads) return order | Order{Report::tso | Report::pso} << kModels;
    const Effect& effect = effects_[static_cast<std::size_t>(e.kind)];
    const auto shift = 3 * e.thread;
    const Order mine = order >> shift & kAll, overtaken = mine & effect.overtakes;
    const Order models = (overtaken & (kLoadsTso | kLoadsPso)) | (overtaken & kWritesPso) / 2;
    const Order now = (mine & effect.leaves) | effect.adds;
    return (order & ~(Order{kAll} << shift)) | now << shift | models << kModels;
  }

  Semantics semantics_;
  std::uint32_t models_;
  const OlderValues* older_;
  const Wanted* wanted_;
  std::array<Effect, 8> effects_;  // by kind
  std::vector<Order> orders_{0};   // after so many events:
  std::size_t known_ = 0;          // up to these, as far as somebody has asked,
  std::size_t shared_ = 0;         // of which so many are there still
  bool ever_relaxed_ = false;
};

}  // namespace teetotal::monitors
