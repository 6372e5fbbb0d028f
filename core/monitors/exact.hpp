// exact-tso and exact-pso: the exact monitors, each by itself or both at once.
//
// An event e of thread p overtakes w, the last write of its address (the last plain store, where e itself writes) that
// happens before p's previous event, unless w is p's own or precedes in ghb an event that the model keeps before e.
// Which write that is depends on happens-before alone: the two models differ only in whether w precedes what they keep,
// so that both need little more than one. A lock decides something only where somebody knows whether it could be taken
// earlier, which depends on values that a monitor does not see.
//
// TSO keeps the order of stores. A clock has P components, the number of a write of each thread:
//
//   lc  precedes every later event of the thread in ghb   ghb_writes  the clock of the address's last write
//   sc  joins the clocks of its stores                     ghb_all     joins those of its reads and writes
//
// w precedes an event that is kept if lc knows it, or, where e is no load, sc.
//
// PSO does not order the stores of one thread, so no component of a clock can count them. A clock has 2P components
// instead: for each thread the number of its last read-like event (load, atomic operation, mfence) that the clock
// knows, and of the last barrier (sfence, mfence, and an atomic operation where those flush everything) whose earlier
// stores it knows. A store leaves its thread's buffer only through an exit: a reader in another thread, an atomic
// operation that read it, or a barrier of its thread. A clock knows w when it knows one of w's exits; w being the last
// write that the thread can know of, no path starts with a later write of the same address.
//
//   lc  precedes every later event of the thread        ghb_writes  the clock of the address's last write
//   fc  precedes its later writes: its last sfence's    ghb_all     joins those of its reads and writes
//   sa  joins the clocks of its stores
//
// Beside each write the list has its exits through readers: the first of each thread.
#pragma once

#include "older_question.hpp"
#include "state.hpp"

namespace teetotal::monitors {

constexpr Layout exact_layout(bool tso, bool pso) {
  return {
      .thread_words = common_thread_words + 1,  // one of them unused: rows are whole vectors, of four short words
      .thread_clocks = 1 + std::size_t{tso ? 2u : 0u} + std::size_t{pso ? 6u : 0u},
      // Both: a clock of PSO's, up to four threads, is what is copied at a time, and no part of two such pieces.
      .address_words = tso && pso ? std::size_t{8} : common_address_words + 1,
      .address_clocks = 2 + std::size_t{tso ? 2u : 0u} + std::size_t{pso ? 4u : 0u},
      .note_is_position = true,  // 1 + the position of the last plain store up to and including this write
      .readers = pso,
  };
}

template <bool Tso, bool Pso, bool Undo>
class Exact : public State<exact_layout(Tso, Pso), Undo, std::conditional_t<Undo, ShortWord, monitors::Word>> {
  using Base = State<exact_layout(Tso, Pso), Undo, std::conditional_t<Undo, ShortWord, monitors::Word>>;
  using Word = typename Base::Word;
  enum AddressWord : std::size_t { last_writer = common_address_words };  // 1 + the thread whose plain store is last
  struct OfTso {
    enum ThreadClock : std::size_t { lc = 1, sc };
    enum AddressClock : std::size_t { ghb_writes = 2, ghb_all };
  };
  struct OfPso {  // all twice as wide
    enum ThreadClock : std::size_t { lc = Tso ? 3 : 1, fc = lc + 2, sa = fc + 2 };
    enum AddressClock : std::size_t { ghb_writes = Tso ? 4 : 2, ghb_all = ghb_writes + 2 };
  };

 public:
  Exact(const Semantics& semantics, std::size_t threads, std::size_t stride, const OlderQuestion& question)
      : Base(threads, stride), semantics_(semantics), question_(question) {}

  template <std::size_t Stride>
  TEETOTAL_INLINE bool step(const Event& e, Report& found) {
    const std::size_t n = width<Stride>(this->stride());
    Word* thread = this->begin_event(e, n);
    if (is_fence(e.kind)) {
      if constexpr (Tso) {
        if (e.kind == Kind::mfence)
          join(this->thread_clock(thread, OfTso::lc, n), this->thread_clock(thread, OfTso::sc, n), n);
      }
      if constexpr (Pso) fence_pso(thread, e, n);
      this->advance_hb(thread, nullptr, e, n);
      this->end_event(thread, e);
      return false;
    }
    Word* address = this->change_address(e.address, n);
    const bool own = address[last_writer] == e.thread + Word{1};  // the last write is its own plain store
    const bool decides = e.kind != Kind::lock || question_.concerns(e);
    const bool violation = !own && decides && overtakes(thread, address, e, n, found);
    this->advance_hb(thread, address, e, n);
    if constexpr (Tso) advance_tso(thread, address, e, n, own);
    if constexpr (Pso) advance_pso(thread, address, e, n, own);
    if (e.writes) {
      address[last_writer] = e.kind == Kind::st ? e.thread + Word{1} : 0;  // 0: nobody's plain store
      this->append_write(thread, address, e, this->last_plain(address, e));
      if (Pso && e.kind != Kind::st) add_reader(address, e, thread[Base::count]);  // it is an exit of its own
    }
    this->end_event(thread, e);
    return violation;
  }

  // What a thread stands before and does not do, in an execution of so many events: those that were not seen come after
  // the thread's last one, and are not in its past.
  bool arrive(const Event& e, std::uint64_t events, Report& found) {
    if (question_.older == nullptr || is_fence(e.kind) || e.kind == Kind::lock) return false;
    Word* address = this->address_row(e.address);
    if (address[last_writer] == e.thread + Word{1}) return false;
    question_.arrives = events;
    const bool violation = overtakes(this->thread_row(e.thread), address, e, this->stride(), found);
    question_.arrives.reset();
    found.deciding = events;
    return violation;
  }

 private:
  TEETOTAL_INLINE bool overtakes(Word* thread, Word* address, const Event& e, std::size_t n, Report& found) {
    WriteList& list = this->list(e.address);
    std::size_t known = end_of_known(list, 0, address[Base::writes_end], this->thread_clock(thread, Base::hb, n));
    if (known == 0) return false;
    if (question_.concerns(e)) {
      const auto overtaken = [&](const Event& as, std::size_t k, Report& report) {
        return report_overtaken(thread, address, as, k, n, report);
      };
      const auto plain = [&](std::size_t k) { return list.writes[k - 1].note == k; };
      return !question_.settled(e, known, overtaken, found) &&
             question_.leads_on(e, known, this->events(), overtaken, plain, found);
    }
    if (e.kind != Kind::ld) known = list.writes[known - 1].note;
    return known != 0 && report_overtaken(thread, address, e, known, n, found) && question_.wants(found);
  }

  // Of the `known`-th write of the address: whether it is overtaken, and under which models.
  TEETOTAL_INLINE bool report_overtaken(Word* thread, Word* address, const Event& e, std::size_t known, std::size_t n,
                                        Report& found) {
    WriteList& list = this->list(e.address);
    const Write& w = list.writes[known - 1];
    if (w.thread == e.thread) return false;
    std::uint32_t models = 0;
    if constexpr (Tso) {
      const bool kept = knows(this->thread_clock(thread, OfTso::lc, n), w) ||
                        (e.kind != Kind::ld && knows(this->thread_clock(thread, OfTso::sc, n), w));
      if (!kept) models |= Report::tso;
    }
    if constexpr (Pso) {
      const Reader* exits = list.readers.data() + w.readers;
      const std::size_t end = address[Base::writes_end];
      const std::size_t size = (known < end ? list.writes[known].readers : address[Base::readers_end]) - w.readers;
      const auto knows_exit_of_w = [&](std::size_t clock) {
        return knows_exit(this->thread_clock(thread, clock, n), w, exits, size, n);
      };
      const bool kept = knows_exit_of_w(OfPso::lc) || (e.kind != Kind::ld && knows_exit_of_w(OfPso::fc)) ||
                        (flushes_all(semantics_, e) && knows_exit_of_w(OfPso::sa));
      if (!kept) models |= Report::pso;
    }
    if (models == 0) return false;
    found = this->report(w, thread, e);
    found.models = models;
    return true;
  }

  // -- TSO
  // -------------------------------------------------------------------------------------------------------------

  TEETOTAL_INLINE void advance_tso(Word* thread, Word* address, const Event& e, std::size_t n, bool own) {
    Word* loads = this->thread_clock(thread, OfTso::lc, n);
    Word* stores = this->thread_clock(thread, OfTso::sc, n);
    Word* writes = this->address_clock(address, OfTso::ghb_writes, n);
    Word* all = this->address_clock(address, OfTso::ghb_all, n);
    if (e.kind == Kind::ld) {
      if (!own) join(loads, writes, n);
      join(all, loads, n);
      return;
    }
    join(stores, loads, n);
    if (e.writes) {
      write_clock(stores, writes, all, n, e.thread, thread[Base::count]);
      if (e.kind != Kind::st) copy(loads, stores, n);
    } else {  // a failed compare-and-swap: flushes, reads
      join(stores, writes, n);
      copy(loads, stores, n);
      join(all, loads, n);
    }
  }

  // -- PSO
  // -------------------------------------------------------------------------------------------------------------

  TEETOTAL_INLINE static bool knows_exit(const Word* clock, const Write& w, const Reader* exits, std::size_t size,
                                         std::size_t n) {
    if (clock[n + w.thread] > w.index) return true;
    for (std::size_t k = 0; k < size; ++k) {
      if (clock[exits[k].thread] >= exits[k].index) return true;
    }
    return false;
  }

  TEETOTAL_INLINE void fence_pso(Word* thread, const Event& e, std::size_t n) {
    if (e.kind == Kind::mfence) {
      flush(thread, e, n);
      return;
    }
    if (e.kind != Kind::sfence) return;
    Word* fence = this->thread_clock(thread, OfPso::fc, n);
    join(fence, this->thread_clock(thread, OfPso::sa, n), 2 * n);
    fence[n + e.thread] = thread[Base::count];
  }

  // A full barrier: what the thread's stores know now precedes all its later events.
  TEETOTAL_INLINE void flush(Word* thread, const Event& e, std::size_t n) {
    Word* loads = this->thread_clock(thread, OfPso::lc, n);
    join(loads, this->thread_clock(thread, OfPso::sa, n), 2 * n);
    loads[e.thread] = loads[n + e.thread] = thread[Base::count];
  }

  TEETOTAL_INLINE void advance_pso(Word* thread, Word* address, const Event& e, std::size_t n, bool own) {
    Word* loads = this->thread_clock(thread, OfPso::lc, n);
    Word* fence = this->thread_clock(thread, OfPso::fc, n);
    Word* writes = this->address_clock(address, OfPso::ghb_writes, n);
    Word* all = this->address_clock(address, OfPso::ghb_all, n);
    const Word index = thread[Base::count];
    if (e.kind == Kind::ld) {
      if (own) {  // forwarded
        loads[e.thread] = index;
        join(all, loads, 2 * n);
      } else {
        read_clock(loads, writes, all, 2 * n, e.thread, index);
        add_reader(address, e, index);
      }
      return;
    }
    if (e.kind == Kind::st) {
      Word* stores = this->thread_clock(thread, OfPso::sa, n);
      for (std::size_t i = 0; i < 2 * n; ++i) {
        const Word known = std::max(std::max(loads[i], fence[i]), all[i]);
        writes[i] = all[i] = known;
        stores[i] = std::max(stores[i], known);
      }
      return;
    }
    if (flushes_all(semantics_, e)) flush(thread, e, n);
    join(loads, fence, 2 * n);
    add_reader(address, e, index);
    if (e.writes) {
      write_clock(loads, writes, all, 2 * n, e.thread, index);
    } else {  // a failed compare-and-swap: flushes, reads
      read_clock(loads, writes, all, 2 * n, e.thread, index);
    }
  }

  // The event reads the address's last write: an exit of that write, if its thread has none yet.
  TEETOTAL_INLINE void add_reader(Word* address, const Event& e, Word index) {
    const std::size_t writes = address[Base::writes_end];
    if (writes == 0) return;  // the initial value
    WriteList& list = this->list(e.address);
    Word& end = address[Base::readers_end];
    for (std::size_t k = list.writes[writes - 1].readers; k < end; ++k) {
      if (list.readers[k].thread == e.thread) return;
    }
    put(list.readers, end++, Reader{e.thread, index});
  }

  Semantics semantics_;
  OlderQuestion question_;
};

}  // namespace teetotal::monitors
