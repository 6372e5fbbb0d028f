// exact-tso and exact-pso at once, for executions with few locations, whose events can be taken back.
//
// What exact.hpp asks is asked here of clocks with a component for each location in the place of one for each thread.
// The writes of a location are ordered in happens-before and, by co, in ghb of either model: what precedes an event
// is a prefix of them, so one number, the position of its last write, says which (docs/explanation/monitors.md, Lemma
// 7). No list has to be searched for the write w, and none of its exits to be known. A row has three clocks, of hb, TSO
// and PSO, and is worked on as a whole:
//
//                                                               hb         TSO      PSO
//   known     of a thread: precedes its next event              hb         lc       lc
//   stored    of a thread: its plain stores, and their clocks   its own    sc       sa
//   fenced    of a thread: precedes its next store              (own)      sc       fc
//   accessed  of a location: joins those of its accesses        hb_all     ghb_all  ghb_all
//
// The clocks of a location's last write (hb_writes, ghb_writes) are what that write left there. An atomic operation
// knows of its own all that `stored` and `fenced` would say of it, so that plain stores and sfences alone change these.
//
// w is the known.hb[a]-th write to a. An event overtakes it if that is more than stored.hb[a], and under a model if it
// is more than what the model keeps before such an event: known[a]; where it is no load also fenced[a]; where it
// flushes everything also stored[a].
//
// An event writes a new slot, and going back is pointing to the slots before it. Few locations with few writes are most
// of what is searched; whoever has more starts again with wider clocks, and in the end with exact.hpp's. A location
// that is only locked and unlocked has no component: it has no plain store, so nothing there can be overtaken by an
// unlock.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "../event.hpp"
#include "clocks.hpp"
#include "older_question.hpp"
#include "report.hpp"

namespace teetotal::monitors {

template <std::size_t Most>  // locations: 8, 16, 32, …
class Positions {
 public:
  // `threads`: no others may appear, unless it is 0.
  Positions(const Semantics& semantics, std::uint32_t models, std::size_t threads, const OlderQuestion& question)
      : semantics_(semantics),
        models_(models),
        threads_(threads == 0 ? kMostThreads : std::min(threads, kMostThreads)),
        question_(question),
        slots_(kFirstSlots),
        suspects_(kFirstSlots),
        writes_(Most) {}

  std::size_t events() const { return count_; }
  Event event(std::size_t index) const { return slots_[index + 1].event; }

  // How many events it got through, before one for which there is no room: make_room comes before that.
  TEETOTAL_INLINE std::size_t observe(std::span<const Event> events, std::vector<Report>& reports) {
    const std::size_t room = std::min(events.size(), slots_.size() - 1 - count_);
    Slot* const slots = slots_.data();  // none of these moves meanwhile
    Slot* slot = slots + count_;
    At* suspects = suspects_.data();
    std::size_t i = 0;
    for (; i < room; ++i) {
      const Event& e = events[i];
      if (e.thread >= threads_) break;
      const At before = of_thread_[e.thread];
      const Slot& past = at(slots, before);
      const Slot& mine = at(slots, past.stores_at);
      if (is_fence(e.kind)) {
        ++slot;
        slot->stores_at = e.kind == Kind::sfence ? offset(slots, *slot) : past.stores_at;
        fence(*slot, past, mine, e.kind);
      } else {
        if (e.address >= kMostAddresses) break;
        const Location location = of_location_[e.address];
        const Slot& there = at(slots, location.latest);
        const Slot& written = at(slots, there.last_write);
        if (location.component == kNone) {
          if (!is_mutex(e)) break;
        } else if (e.writes) {
          if (written.position == kMostWrites || e.kind == Kind::ld) break;
        }
        ++slot;
        slot->location_before = location.latest;
        slot->last_write = there.last_write;
        slot->stores_at = past.stores_at;
        of_location_[e.address].latest = offset(slots, *slot);
        const bool suspect = e.kind == Kind::ld
                                 ? load(*slot, past, mine, there, written, location.component, e)
                                 : write(*slot, slots, past, mine, there, written, location.component, e);
        *suspects = offset(slots, *slot);  // which is overwritten, if it is none
        suspects += suspect;
      }
      slot->event = e;
      slot->thread_before = before;
      of_thread_[e.thread] = offset(slots, *slot);
    }
    if (suspects != suspects_.data()) look_at({suspects_.data(), suspects}, reports);
    count_ += i;
    return i;
  }

  // False where there cannot be any.
  bool make_room(const Event& e) {
    if (e.thread >= threads_) return false;
    if (count_ + 1 >= slots_.size()) {
      if (slots_.size() >= kMostSlots) return false;
      slots_.resize(2 * slots_.size());
      suspects_.resize(slots_.size());
    }
    if (is_fence(e.kind)) return true;
    if (e.address >= kMostAddresses) return false;
    Location& location = of_location_[e.address];
    if (location.component == kNone && is_mutex(e)) return true;
    const std::size_t writes = writes_to(e.address);
    if (writes + e.writes > kMostWrites || (e.writes && e.kind == Kind::ld)) return false;
    if (location.component != kNone) return true;
    if (components_ == Most) return false;
    location.component = static_cast<std::uint8_t>(components_++);
    if (writes > 0) see_again();  // it was locked, and that has to be counted
    return true;
  }

  // Whether there is room for it, were it to come next.
  bool fits(const Event& e) const {
    if (e.thread >= threads_) return false;
    return is_fence(e.kind) ||
           (e.address < kMostAddresses && (of_location_[e.address].component != kNone || is_mutex(e)));
  }

  // What a thread stands before and does not do, in an execution of so many events: those that were not seen come after
  // the thread's last one, and are not in its past.
  bool arrive(const Event& e, std::uint64_t events, Report& found) {
    if (question_.older == nullptr || is_fence(e.kind) || e.kind == Kind::lock) return false;
    const std::size_t component = of_location_[e.address].component;
    if (component == kNone) return false;
    const Slot& past = at(slots_.data(), of_thread_[e.thread]);
    const Bounds limits = bounds(past, component, e);
    if (limits.models(limits.known) == 0) return false;
    if (settled(past, component, e)) return false;
    question_.arrives = events;
    const bool violation = tell(past, component, e, events, found);
    question_.arrives.reset();
    return violation;
  }

  void undo(std::size_t events) {
    for (; count_ > events; --count_) {
      const Slot& slot = slots_[count_];
      of_thread_[slot.event.thread] = slot.thread_before;
      if (!is_fence(slot.event.kind)) of_location_[slot.event.address].latest = slot.location_before;
    }
  }

  std::size_t bytes() const {
    return sizeof(*this) + slots_.capacity() * (sizeof(Slot) + sizeof(At)) + writes_.size() * sizeof(writes_[0]);
  }

 private:
  enum Lane : std::size_t { hb, tso, pso, kLanes };

  using Part [[gnu::vector_size(32)]] = std::uint8_t;
  static constexpr std::size_t kParts = (kLanes * Most + sizeof(Part) - 1) / sizeof(Part);

  // Made of vectors, since a processor does not hand on a byte to who asks for more.
  struct alignas(sizeof(Part)) Row {
    Part parts[kParts] = {};

    TEETOTAL_INLINE std::size_t at(Lane lane, std::size_t component) const {
      return reinterpret_cast<const std::uint8_t*>(parts)[lane * Most + component];
    }
    void set(Lane lane, std::size_t component, std::uint8_t value) {
      reinterpret_cast<std::uint8_t*>(parts)[lane * Most + component] = value;
    }
  };

  using At = std::uint32_t;  // a slot, by how many bytes it lies behind the first: one instruction to go there

  // The rows of an event's thread and of its location after it, and what it was. Its thread's last two rows are where
  // they last changed: plain stores and sfences alone do that.
  struct Slot {
    Row known, accessed;
    Event event;
    std::uint8_t position;              // of a write: which of its location's it is, from 1
    std::uint8_t plain;                 // of a write: the last of these up to it that is a plain store, or 0
    At thread_before, location_before;  // the slots with these rows before the event
    At last_write;                      // of the location
    At stores_at;
    Row stored, fenced;
  };

  struct Location {
    At latest = 0;  // the slot with its row
    std::uint8_t component = kNone;
  };

  static constexpr std::size_t kMostWrites = 0xFF;  // of one location
  static constexpr std::uint8_t kNone = Most;
  static constexpr std::size_t kMostThreads = 64;
  static constexpr std::size_t kMostAddresses = 32 * Most;  // with those that are only locked and unlocked
  static constexpr std::size_t kFirstSlots = 64;
  static constexpr std::size_t kMostSlots = std::size_t{1} << 22;
  static_assert(Most < 0xFF && kMostSlots * 2 * sizeof(Slot) <= std::size_t{1} << 32);

  TEETOTAL_INLINE static Slot& at(Slot* slots, At place) {
    return *reinterpret_cast<Slot*>(reinterpret_cast<std::byte*>(slots) + place);
  }
  TEETOTAL_INLINE static const Slot& at(const Slot* slots, At place) {
    return *reinterpret_cast<const Slot*>(reinterpret_cast<const std::byte*>(slots) + place);
  }
  TEETOTAL_INLINE static At offset(const Slot* slots, const Slot& slot) {
    return static_cast<At>(reinterpret_cast<const std::byte*>(&slot) - reinterpret_cast<const std::byte*>(slots));
  }
  TEETOTAL_INLINE static bool is_mutex(const Event& e) { return e.kind == Kind::lock || e.kind == Kind::unlock; }

  // -- what an event changes
  // ----------------------------------------------------------------------------------------------------------------

  // Vectors may be wider than those of the processor, and then are not handed to functions.
  TEETOTAL_INLINE static void raise(Part& into, const Part& from) { into = into > from ? into : from; }

  TEETOTAL_INLINE static void fence(Slot& slot, const Slot& past, const Slot& mine, Kind kind) {
    for (std::size_t k = 0; k < kParts; ++k) {
      Part known = past.known.parts[k];
      if (kind == Kind::mfence) raise(known, mine.stored.parts[k]);
      slot.known.parts[k] = known;
      if (kind == Kind::sfence) {
        Part fenced = mine.fenced.parts[k];
        raise(fenced, mine.stored.parts[k]);
        slot.stored.parts[k] = mine.stored.parts[k];
        slot.fenced.parts[k] = fenced;
      }
    }
  }

  // Whether it overtakes something. One that may have seen its own thread's store in the buffer learns nothing.
  TEETOTAL_INLINE static bool load(Slot& slot, const Slot& past, const Slot& mine, const Slot& there,
                                   const Slot& written, std::size_t c, const Event& e) {
    const bool own = written.event.kind == Kind::st && written.event.thread == e.thread;
    for (std::size_t k = 0; k < kParts; ++k) {
      Part known = past.known.parts[k], accessed = there.accessed.parts[k];
      if (!own) raise(known, written.accessed.parts[k]);
      raise(accessed, known);
      slot.known.parts[k] = known;
      slot.accessed.parts[k] = accessed;
    }
    const std::size_t known = past.known.at(hb, c);
    return known > std::min(past.known.at(tso, c), past.known.at(pso, c)) && known > mine.stored.at(hb, c);
  }

  // The same of all other accesses. An atomic operation that writes nothing, a compare-and-swap that failed, flushes
  // and reads.
  TEETOTAL_INLINE bool write(Slot& slot, const Slot* slots, const Slot& past, const Slot& mine, const Slot& there,
                             const Slot& written, std::size_t c, const Event& e) {
    const bool plain = e.kind == Kind::st, counts = e.writes && c != kNone;
    const Row& flushed = flushes_all(semantics_, e) ? mine.stored : mine.fenced;
    const Row& seen = e.writes ? there.accessed : written.accessed;
    const auto position = static_cast<std::uint8_t>(written.position + counts);
    const Row& unit = kMasks.units[counts ? c : kNone];
    for (std::size_t k = 0; k < kParts; ++k) {
      const Part self = unit.parts[k] & (Part{} + position);
      const Part of_hb = kMasks.of_hb.parts[k], of_pso = kMasks.of_pso.parts[k];
      Part now = past.known.parts[k], accessed = there.accessed.parts[k];
      raise(now, flushed.parts[k]);
      raise(now, seen.parts[k]);
      raise(now, self);
      raise(accessed, now);
      slot.accessed.parts[k] = accessed;
      if (plain) {  // its thread learns of it in hb alone
        Part stored = (self & of_hb) | (now & ~of_hb);
        raise(stored, mine.stored.parts[k]);
        slot.known.parts[k] = (now & of_hb) | (past.known.parts[k] & ~of_hb);
        slot.stored.parts[k] = stored;
        slot.fenced.parts[k] = (mine.fenced.parts[k] & of_pso) | (stored & ~of_pso);  // TSO keeps stores in order
      } else {
        slot.known.parts[k] = now;
      }
    }
    if (plain) slot.stores_at = offset(slots, slot);
    if (e.writes) {
      slot.last_write = offset(slots, slot);
      slot.position = position;
      slot.plain = plain ? position : written.plain;
      if (counts) writes_[c][position] = slot.last_write;
    }
    if (c == kNone || (e.kind == Kind::lock && !question_.concerns(e))) return false;
    const std::size_t known = past.known.at(hb, c);
    const std::size_t kept_by_tso = std::max(past.known.at(tso, c), flushed.at(tso, c));
    const std::size_t kept_by_pso = std::max(past.known.at(pso, c), flushed.at(pso, c));
    return known > std::min(kept_by_tso, kept_by_pso) && known > mine.stored.at(hb, c);
  }

  // -- what is overtaken
  // ----------------------------------------------------------------------------------------------------------------

  // Up to where the writes of a location are known to who does an event there, and kept before it by either model.
  struct Bounds {
    std::size_t known, own, tso, pso;

    TEETOTAL_INLINE std::uint32_t models(std::size_t k) const {
      if (k <= own) return 0;
      return (k > tso ? Report::tso : 0) | (k > pso ? Report::pso : 0);
    }
  };
  TEETOTAL_INLINE Bounds bounds(const Slot& past, std::size_t c, const Event& e) const {
    const Slot& mine = at(slots_.data(), past.stores_at);
    Bounds result{past.known.at(hb, c), mine.stored.at(hb, c), past.known.at(tso, c), past.known.at(pso, c)};
    if (e.kind != Kind::ld) {
      const Row& flushed = flushes_all(semantics_, e) ? mine.stored : mine.fenced;
      result.tso = std::max(result.tso, flushed.at(tso, c));
      result.pso = std::max(result.pso, flushed.at(pso, c));
    }
    return result;
  }

  // A function of its own, so that the loop before it has the registers for itself.
  [[gnu::noinline]] void look_at(std::span<const At> suspects, std::vector<Report>& reports) const {
    for (const At suspect : suspects) {
      const Slot& slot = at(slots_.data(), suspect);
      const Slot& past = at(slots_.data(), slot.thread_before);
      const std::size_t component = of_location_[slot.event.address].component;
      if (settled(past, component, slot.event)) continue;
      Report found;
      if (tell(past, component, slot.event, index_of(slot), found)) reports.push_back(found);
    }
  }

  // Whether it is known at once that nobody wants a report about an event: most overtake something at places that were
  // told before. The report would be about the newest write that leads on.
  TEETOTAL_INLINE bool settled(const Slot& past, std::size_t c, const Event& e) const {
    if (question_.wanted == nullptr || e.kind == Kind::rmw || e.kind == Kind::lock) return false;
    const Bounds limits = bounds(past, c, e);
    const auto overtaken = [&](std::size_t k) { return limits.models(k) & models_; };
    const auto told = [&](std::size_t k) {
      const Slot& w = at(slots_.data(), writes_[c][k]);
      return question_.wanted->knows(w.event.location, past.event.location, e.location, overtaken(k));
    };
    std::size_t k = limits.known;
    if (e.kind != Kind::ld) k = at(slots_.data(), writes_[c][k]).plain;
    if (overtaken(k) == 0) return true;
    if (question_.concerns(e) && e.only_looks()) {  // the report may be about any of them
      while (overtaken(k) != 0 && told(k)) --k;
      return overtaken(k) == 0;
    }
    if (e.kind != Kind::ld || question_.older == nullptr) return told(k);
    for (; overtaken(k) != 0; --k) {
      const bool known = told(k);
      if (known && overtaken(k - 1) == 0) return true;  // whether it leads on or not
      const std::optional<bool> on =
          question_.older->leads_on(index_of(past), index_of(at(slots_.data(), writes_[c][k])));
      if (on.value_or(!known)) return known;
    }
    return true;
  }

  // Of an event that comes after so many: whether it overtakes a write, in a way that is wanted.
  [[gnu::noinline]] bool tell(const Slot& past, std::size_t c, const Event& e, std::uint64_t before,
                              Report& found) const {
    const Bounds limits = bounds(past, c, e);
    const auto overtaken = [&](const Event& as, std::size_t k, Report& report) {
      const std::uint32_t models = (&as == &e ? limits : bounds(past, c, as)).models(k) & models_;
      if (models == 0) return false;
      const Slot& w = at(slots_.data(), writes_[c][k]);
      report = {index_of(w),         index_of(past), before,   w.event.location,
                past.event.location, e.location,     e.thread, models};
      return true;
    };
    if (question_.concerns(e)) {
      const auto plain = [&](std::size_t k) { return at(slots_.data(), writes_[c][k]).plain == k; };
      return question_.leads_on(e, limits.known, before, overtaken, plain, found);
    }
    const std::size_t known = limits.known;
    const std::size_t k = known == 0 || e.kind == Kind::ld ? known : at(slots_.data(), writes_[c][known]).plain;
    return k != 0 && overtaken(e, k, found) && question_.wants(found);
  }

  std::uint64_t index_of(const Slot& slot) const { return static_cast<std::uint64_t>(&slot - slots_.data()) - 1; }

  // -- more of everything
  // ----------------------------------------------------------------------------------------------------------------

  std::size_t writes_to(std::uint32_t address) const {
    std::size_t writes = 0;
    for (std::size_t i = 0; i < count_; ++i)
      writes += !is_fence(event(i).kind) && event(i).address == address && event(i).writes;
    return writes;
  }

  // All events once more, with more components: what they overtake was told.
  void see_again() {
    std::vector<Event> events;
    for (std::size_t i = 0; i < count_; ++i) events.push_back(event(i));
    undo(0);
    const OlderQuestion question = std::exchange(question_, {});
    std::vector<Report> unused;
    observe(events, unused);
    question_ = question;
  }

  struct Masks {
    std::array<Row, Most + 1> units;  // by component, all of that one; of none, nothing
    Row of_hb, of_pso;

    Masks() {
      for (std::size_t c = 0; c < Most; ++c) {
        for (const Lane lane : {hb, tso, pso}) units[c].set(lane, c, 0xFF);
        of_hb.set(hb, c, 0xFF);
        of_pso.set(pso, c, 0xFF);
      }
    }
  };
  inline static const Masks kMasks;

  Semantics semantics_;
  std::uint32_t models_;
  std::size_t threads_;
  OlderQuestion question_;
  std::vector<Slot> slots_;   // by event, from 1; the first is all zeros: of who has done nothing, and of no write
  std::vector<At> suspects_;  // of the events at hand: slots of those that overtake something, in the order of events
  std::size_t count_ = 0;
  std::size_t components_ = 0;
  std::array<At, kMostThreads> of_thread_{};  // the slot with its row
  std::array<Location, kMostAddresses> of_location_{};
  std::vector<std::array<At, kMostWrites + 1>> writes_;  // by component and position
};

}  // namespace teetotal::monitors
