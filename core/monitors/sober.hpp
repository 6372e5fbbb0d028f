// SOBER as printed, and SOBER corrected: happens-before, compared with what TSO keeps of it.
//
// Burckhardt, Musuvathi: Effective Program Verification for Relaxed Memory Models (MSR-TR-2008-12), Figs 2 and 3:
//
//   paper                                here
//   hb, last(E, p)                       thread_clock hb, before the event is added to it
//   rhb, lastR(E, p)                     lc: what precedes every later event of the thread in ghb
//   sc[p]                                sc: joins the clocks of the thread's stores
//   mc2[a]                               ghb_all: joins the clocks of the address's reads and writes
//   mc1[q][a]                            ghb_writes, or ghb_foreign where that is q's own plain store
//   write(E, a, c) in the loop of Fig. 2 end_of_known: the last write of a that happens before last(E, p)
//
// Deviations. Fig. 3 keeps a clock mc1[q][a] for each reader and address and merges a store into P of them, O(P²) an
// event. The clocks of an address's writes grow, so the last two that matter say the same in O(P). Only writes are
// asked for, so a clock has P components (the number of a write of each thread) instead of 2P. The loop of Fig. 2 skips
// unknown writes one by one; here the first known one is searched for.
//
// As printed, a read is ordered behind every foreign write of its address, though its own thread's store may have
// hidden them from it; the correction takes the edge from the read's own source alone, and not from its thread's own
// buffer. Only loads decide here: see exact.hpp for the rest.
#pragma once

#include "state.hpp"

namespace teetotal::monitors {

constexpr Layout sober_layout(bool corrected) {
  return {
      .thread_words = common_thread_words,
      .thread_clocks = 3,
      .address_words = common_address_words + 1,
      .address_clocks = std::size_t{corrected ? 4u : 5u},
      .note_is_position = true,  // 1 + the position of the last plain store up to and including this write
      .readers = false,
  };
}

template <bool Corrected, bool Undo>
class Sober : public State<sober_layout(Corrected), Undo> {
  using Base = State<sober_layout(Corrected), Undo>;
  enum ThreadClock : std::size_t { hb, lc, sc };
  enum AddressClock : std::size_t { ghb_writes = 2, ghb_all, ghb_foreign };  // the last: as printed only
  enum AddressWord : std::size_t { last_writer = common_address_words };     // 1 + the thread whose plain store is last

 public:
  Sober(const Semantics&, std::size_t threads, std::size_t stride = 0) : Base(threads, stride) {}

  template <std::size_t Stride>
  TEETOTAL_INLINE bool step(const Event& e, Report& found) {
    const std::size_t n = width<Stride>(this->stride());
    Word* thread = this->begin_event(e, n);
    if (is_fence(e.kind)) {
      if (e.kind == Kind::mfence) join(this->thread_clock(thread, lc, n), this->thread_clock(thread, sc, n), n);
      this->advance_hb(thread, nullptr, e, n);
      this->end_event(thread, e);
      return false;
    }
    Word* address = this->change_address(e.address, n);
    const bool violation = e.kind == Kind::ld && overtakes(thread, address, e, n, found);
    this->advance_hb(thread, address, e, n);
    advance_ghb(thread, address, e, n);
    this->end_event(thread, e);
    return violation;
  }

 private:
  TEETOTAL_INLINE bool overtakes(Word* thread, Word* address, const Event& e, std::size_t n, Report& found) {
    if (address[last_writer] == e.thread + Word{1}) return false;  // w is its own
    const WriteList& list = this->list(e.address);
    const std::size_t known = end_of_known(list, 0, address[Base::writes_end], this->thread_clock(thread, hb, n));
    if (known == 0) return false;
    const Write& w = list.writes[known - 1];
    if (w.thread == e.thread || knows(this->thread_clock(thread, lc, n), w)) return false;
    found = this->report(w, thread, e);
    return true;
  }

  TEETOTAL_INLINE void advance_ghb(Word* thread, Word* address, const Event& e, std::size_t n) {
    Word* loads = this->thread_clock(thread, lc, n);
    Word* stores = this->thread_clock(thread, sc, n);
    Word* writes = this->address_clock(address, ghb_writes, n);
    Word* all = this->address_clock(address, ghb_all, n);
    const bool own_store_last = address[last_writer] == e.thread + Word{1};
    if (e.kind == Kind::ld) {
      if (!own_store_last) {
        join(loads, writes, n);
      } else if constexpr (!Corrected) {
        join(loads, this->address_clock(address, ghb_foreign, n), n);
      }
      join(all, loads, n);
      return;
    }
    join(stores, loads, n);
    if (!e.writes) {  // a failed compare-and-swap: flushes, reads
      join(stores, writes, n);
      copy(loads, stores, n);
      join(all, loads, n);
      return;
    }
    if (e.kind == Kind::st) {
      if constexpr (!Corrected) {
        if (!own_store_last) copy(this->address_clock(address, ghb_foreign, n), writes, n);
      }
      address[last_writer] = e.thread + Word{1};
    } else {
      address[last_writer] = 0;  // nobody's plain store
    }
    write_clock(stores, writes, all, n, e.thread, thread[Base::count]);
    if (e.kind != Kind::st) copy(loads, stores, n);
    this->append_write(thread, address, e, this->last_plain(address, e));
  }
};

}  // namespace teetotal::monitors
