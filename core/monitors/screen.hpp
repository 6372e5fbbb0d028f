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
      : semantics_(semantics), models_(models), older_(older), wanted_(&wanted) {}

  // The next execution shares so many events with the one before.
  void go_back(std::size_t shared) { shared_ = std::min(shared_, shared); }

  // How many events of the execution have to be seen; and in `asked`, which of the operations that threads wait before
  // at its end have to be asked about.
  std::size_t needed(std::span<const Event> execution, std::span<const Event> waiting, const Hearsay& hearsay,
                     std::vector<Event>& asked) {
    asked.clear();
    const Asked all{execution, hearsay.links};
    std::size_t end = 0;
    if (older_ != nullptr) {
      for (const Rumour& rumour : hearsay.waiting.all()) {
        const auto next = std::ranges::find(waiting, rumour.thread, &Event::thread);
        if (next == waiting.end() || settled(all, rumour, *next)) continue;
        asked.push_back(*next);
        end = std::max(end, static_cast<std::size_t>(rumour.previous) + 1);
      }
    }
    const std::span<const Rumour> rumours = hearsay.rumours.all();
    for (std::size_t i = rumours.size(); i-- > 0;) {
      const auto event = static_cast<std::size_t>(rumours[i].event);
      if (event < end || !settled(all, rumours[i], execution[event])) return std::max(end, event + 1);
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

  TEETOTAL_INLINE bool settled(const Asked& all, const Rumour& rumour, const Event& e) {
    std::uint32_t models = models_;
    if (!ever_relaxed_ && (models &= relaxed(all, rumour, e)) == 0) return true;
    const Event& write = all.event(rumour.write);
    std::uint32_t unknown = models & ~wanted_->known(write.location, all.event(rumour.previous).location, e.location);
    if ((unknown & Report::tso) != 0 && read_later(all, rumour)) {
      models &= ~Report::tso;
      unknown &= ~Report::tso;
    }
    const bool alone = e.kind == Kind::st ? write.kind == Kind::st : all.link(rumour.write).source <= rumour.looked;
    if (unknown != 0 || !alone) unknown = untold(all, rumour, e, models);
    return unknown == 0 || (unknown & relaxed(all, rumour, e)) == 0;
  }

  // -- told
  // ----------------------------------------------------------------------------------------------------------------

  // Under which of the models somebody may want a report about any of these writes. The exact monitors report the
  // newest plain store; of a load the newest write or, where waiting is left out, the newest that leads on; of an rmw,
  // there, any.
  [[gnu::noinline]] std::uint32_t untold(const Asked& all, const Rumour& rumour, const Event& e,
                                         std::uint32_t models) const {
    const std::uint32_t previous = all.event(rumour.previous).location;
    const bool leads = older_ != nullptr && (e.kind == Kind::ld || e.kind == Kind::rmw);
    std::uint32_t left = 0;
    for (std::int32_t w = rumour.write, older = w; w > rumour.looked; w = older) {
      older = all.link(w).source;
      const Event& write = all.event(w);
      if (e.kind != Kind::ld && !leads && write.kind != Kind::st) continue;
      const std::uint32_t unknown = models & ~wanted_->known(write.location, previous, e.location);
      if (!leads) return unknown;
      if (unknown == 0 && older <= rumour.looked) break;  // whether it leads on or not
      std::optional<bool> on;
      if (e.kind == Kind::ld)
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
  enum : Order { kLoadsTso = 1, kLoadsPso = 2, kWritesPso = 4, kAll = 7 };  // what may overtake a thread's plain store
  static constexpr std::uint32_t kThreads = 20;
  static constexpr int kModels = 60;
  static_assert(3 * kThreads <= kModels && Report::tso == 1 && Report::pso == 2);

  // Under which models that is so of an event, or was of any that its thread can know of.
  [[gnu::noinline]] std::uint32_t relaxed(const Asked& all, const Rumour& rumour, const Event& e) {
    orders_.resize(std::min(orders_.size(), shared_ + 1));
    shared_ = all.events.size();
    const auto before = static_cast<std::size_t>(rumour.previous) + 1;
    while (orders_.size() <= before) orders_.push_back(after(orders_.back(), all.events[orders_.size() - 1]));
    const auto models = static_cast<std::uint32_t>(after(orders_[before], e) >> kModels);
    ever_relaxed_ = ever_relaxed_ || models != 0;
    return models;
  }

  Order after(Order order, const Event& e) const {
    if (e.thread >= kThreads) return order | Order{Report::tso | Report::pso} << kModels;
    const auto shift = 3 * e.thread;
    Order mine = order >> shift & kAll;
    Order models = 0;
    order &= ~(Order{kAll} << shift);
    if (e.kind == Kind::ld) {
      models = ((mine & kLoadsTso) != 0 ? Report::tso : 0) | ((mine & kLoadsPso) != 0 ? Report::pso : 0);
    } else if (e.kind == Kind::st) {
      models = (mine & kWritesPso) != 0 ? Report::pso : 0;
      mine = kAll;
    } else if (is_atomic(e.kind)) {
      models = !flushes_all(semantics_, e) && (mine & kWritesPso) != 0 ? Report::pso : 0;
      mine = 0;  // otherwise what is there comes before an sfence, for which it waits
    } else if (e.kind == Kind::mfence) {
      mine = 0;
    } else if (e.kind == Kind::sfence) {
      mine &= ~kWritesPso;
    }
    return order | mine << shift | models << kModels;
  }

  Semantics semantics_;
  std::uint32_t models_;
  const OlderValues* older_;
  const Wanted* wanted_;
  std::vector<Order> orders_{0};  // after so many events; as far as somebody has asked
  std::size_t shared_ = 0;        // how many of the events that were there then are there still
  bool ever_relaxed_ = false;
};

}  // namespace teetotal::monitors
