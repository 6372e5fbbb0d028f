// monitorTSO and monitorPSO: Burnim, Sen, Stergiou (TACAS 2011), Figs 4 and 5, and the variants of their technical
// report UCB/EECS-2010-31, Figs 4 and 5.
//
//   paper                                     here
//   prev[p], e' ->hb* prev[p]                 thread_clock hb, before the event is added to it
//   B[p] (TSO): what is pending               the stores of p with a number above `committed`
//   B[p][a] (PSO)                             the address's writes of interest; only one thread has any (their Lemma 1)
//   Line 6: a pending e' that p knows         end_of_known, then `pending`
//   Lines 10-12: commit up to e'              `commit`
//
// A queue is never walked: stores commit in order, so one number per thread says what is pending. Of the pending stores
// that Line 6 allows, the last is reported; the report's variant looks at the last pending store alone (`last_only`),
// and its monitorPSO also commits a thread's older stores to an address at its next write there.
//
// Added: mfence and unlock-as-fence commit everything of their thread; an atomic operation under PSO its own address or
// everything. An sfence (PSO) is a marker: to commit a store is first to commit all of its thread's stores before the
// last marker before it, so each store notes the marker that it stands behind and `committed` rises to that. A failed
// compare-and-swap commits as any atomic operation does and is a read otherwise. A lock decides nothing: whether it
// could be taken earlier depends on values that a monitor does not see.
#pragma once

#include "state.hpp"

namespace teetotal::monitors {

inline constexpr Layout burnim_layout{
    .thread_words = common_thread_words + 2,
    .thread_clocks = 1,
    .address_words = common_address_words,
    .address_clocks = 2,
    .note_is_position = false,  // PSO: the number of the sfence that the store stands behind
    .readers = false,
};

template <Model Machine, bool LastOnly, bool Undo>
class Burnim : public State<burnim_layout, Undo> {
  using Base = State<burnim_layout, Undo>;
  enum ThreadWord : std::size_t { committed = common_thread_words, marker };
  static constexpr bool pso = Machine == Model::pso;

 public:
  Burnim(const Semantics& semantics, std::size_t threads, std::size_t stride = 0)
      : Base(threads, stride), semantics_(semantics) {}

  template <std::size_t Stride>
  TEETOTAL_INLINE bool step(const Event& e, Report& found) {
    const std::size_t n = width<Stride>(this->stride());
    Word* thread = this->begin_event(e, n);
    if (is_fence(e.kind)) {
      if (e.kind != Kind::fence) thread[e.kind == Kind::mfence ? committed : marker] = thread[Base::count];
      this->advance_hb(thread, nullptr, e, n);
      this->end_event(thread, e);
      return false;
    }
    Word* address = this->change_address(e.address, n);
    bool violation = false;
    if (address[Base::writes_begin] != address[Base::writes_end]) {
      const Write& last = this->list(e.address).writes[address[Base::writes_end] - 1];
      if (last.thread != e.thread) {
        violation = e.kind != Kind::lock && overtakes(thread, address, e, n, found);
        commit(this->change_thread(last.thread, n), last);
        this->forget_writes(address);
      } else if (is_atomic(e.kind) || (pso && LastOnly && e.writes)) {
        commit(thread, last);
        this->forget_writes(address);
      }
    }
    this->advance_hb(thread, address, e, n);
    if (e.kind == Kind::st) {
      this->append_write(thread, address, e, thread[marker]);
    } else if (is_atomic(e.kind)) {
      thread[committed] = flushes_all(e) ? thread[Base::count] : std::max(thread[committed], thread[marker]);
    }
    this->end_event(thread, e);
    return violation;
  }

 private:
  TEETOTAL_INLINE bool flushes_all(const Event& e) const {
    return !pso || semantics_.rmw_flushes_all || (e.kind == Kind::unlock && semantics_.unlock_is_fence);
  }

  TEETOTAL_INLINE bool overtakes(Word* thread, Word* address, const Event& e, std::size_t n, Report& found) {
    const WriteList& list = this->list(e.address);
    const Word* clock = this->thread_clock(thread, Base::hb, n);
    const std::size_t end = address[Base::writes_end];
    const std::size_t begin = LastOnly ? end - 1 : address[Base::writes_begin];
    const std::size_t known = end_of_known(list, begin, end, clock);
    if (known == begin) return false;
    const Write& delayed = list.writes[known - 1];
    if (delayed.index <= this->thread_row(delayed.thread)[committed]) return false;
    found = this->report(delayed, thread, e);
    return true;
  }

  // The thread's stores up to this one (TSO), or up to the marker that it stands behind (PSO; the store itself leaves
  // with the address's list).
  TEETOTAL_INLINE static void commit(Word* thread, const Write& store) {
    thread[committed] = std::max(thread[committed], pso ? store.note : store.index);
  }

  Semantics semantics_;
};

}  // namespace teetotal::monitors
