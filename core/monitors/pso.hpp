// exact-pso: the exact monitor for PSO.
//
// As in tso.hpp, an event e of thread p overtakes w, the last write of its address (the last plain store, where e may
// write) that happens before p's previous event, unless w is p's own or precedes in ghb an event that PSO keeps before
// e.
//
// Stores of one thread are not ordered by PSO, so no component of a clock can count them. A clock has 2P components
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

#include "state.hpp"

namespace teetotal::monitors {

inline constexpr Layout pso_layout{
    .thread_words = common_thread_words,
    .thread_clocks = 7,
    .address_words = common_address_words + 1,
    .address_clocks = 6,
    .note_is_position = true,  // 1 + the position of the last plain store up to and including this write
    .readers = true,
};

template <bool Undo>
class ExactPso : public State<pso_layout, Undo> {
  using Base = State<pso_layout, Undo>;
  enum ThreadClock : std::size_t { hb, lc = 1, fc = 3, sa = 5 };  // all but hb are twice as wide
  enum AddressClock : std::size_t { ghb_writes = 2, ghb_all = 4 };
  enum AddressWord : std::size_t { last_writer = common_address_words };  // 1 + the thread whose plain store is last

 public:
  ExactPso(const Semantics& semantics, std::size_t threads, std::size_t stride = 0)
      : Base(threads, stride), semantics_(semantics) {}

  template <std::size_t Stride>
  TEETOTAL_INLINE bool step(const Event& e, Report& found) {
    const std::size_t n = width<Stride>(this->stride());
    this->begin_event();
    this->change_thread(e.thread, n);
    Word* thread = this->thread_row(e.thread);
    ++thread[Base::count];
    if (is_fence(e.kind)) {
      if (e.kind == Kind::mfence) {
        flush(thread, e, n);
      } else {
        Word* fence = this->thread_clock(thread, fc, n);
        join(fence, this->thread_clock(thread, sa, n), 2 * n);
        fence[n + e.thread] = thread[Base::count];
      }
      this->advance_hb(thread, nullptr, e, n);
      this->end_event(thread, e);
      return false;
    }
    this->change_address(e.address, n);
    Word* address = this->address_row(e.address);
    const bool violation = e.kind != Kind::lock && overtakes(thread, address, e, n, found);
    this->advance_hb(thread, address, e, n);
    advance_ghb(thread, address, e, n);
    this->end_event(thread, e);
    return violation;
  }

 private:
  TEETOTAL_INLINE bool flushes_all(const Event& e) const {
    return is_atomic(e.kind) && (semantics_.rmw_flushes_all || (e.kind == Kind::unlock && semantics_.unlock_is_fence));
  }

  TEETOTAL_INLINE bool overtakes(Word* thread, Word* address, const Event& e, std::size_t n, Report& found) {
    if (address[last_writer] == e.thread + Word{1}) return false;  // w is its own
    WriteList& list = this->list(e.address);
    const std::size_t end = address[Base::writes_end];
    std::size_t known = end_of_known(list, 0, end, this->thread_clock(thread, hb, n));
    if (e.kind != Kind::ld && known != 0) known = list.writes[known - 1].note;
    if (known == 0) return false;
    const Write& w = list.writes[known - 1];
    if (w.thread == e.thread) return false;
    const Reader* exits = list.readers.data() + w.readers;
    const std::size_t size = (known < end ? list.writes[known].readers : address[Base::readers_end]) - w.readers;
    if (knows_exit(this->thread_clock(thread, lc, n), w, exits, size, n)) return false;
    if (e.kind != Kind::ld && knows_exit(this->thread_clock(thread, fc, n), w, exits, size, n)) return false;
    if (flushes_all(e) && knows_exit(this->thread_clock(thread, sa, n), w, exits, size, n)) return false;
    found = this->report(w, thread, e);
    return true;
  }

  TEETOTAL_INLINE static bool knows_exit(const Word* clock, const Write& w, const Reader* exits, std::size_t size,
                                         std::size_t n) {
    if (clock[n + w.thread] > w.index) return true;
    for (std::size_t k = 0; k < size; ++k) {
      if (clock[exits[k].thread] >= exits[k].index) return true;
    }
    return false;
  }

  // A full barrier: what the thread's stores know now precedes all its later events.
  TEETOTAL_INLINE void flush(Word* thread, const Event& e, std::size_t n) {
    Word* loads = this->thread_clock(thread, lc, n);
    join(loads, this->thread_clock(thread, sa, n), 2 * n);
    loads[e.thread] = loads[n + e.thread] = thread[Base::count];
  }

  TEETOTAL_INLINE void advance_ghb(Word* thread, Word* address, const Event& e, std::size_t n) {
    Word* loads = this->thread_clock(thread, lc, n);
    Word* fence = this->thread_clock(thread, fc, n);
    Word* writes = this->address_clock(address, ghb_writes, n);
    Word* all = this->address_clock(address, ghb_all, n);
    const Word index = thread[Base::count];
    if (e.kind == Kind::ld) {
      const bool forwarded = address[last_writer] == e.thread + Word{1};
      if (forwarded) {
        loads[e.thread] = index;
        join(all, loads, 2 * n);
      } else {
        read_clock(loads, writes, all, 2 * n, e.thread, index);
        add_reader(address, e, index);
      }
      return;
    }
    if (e.kind == Kind::st) {
      Word* stores = this->thread_clock(thread, sa, n);
      for (std::size_t i = 0; i < 2 * n; ++i) {
        const Word known = std::max(std::max(loads[i], fence[i]), all[i]);
        writes[i] = all[i] = known;
        stores[i] = std::max(stores[i], known);
      }
      address[last_writer] = e.thread + Word{1};
      this->append_write(thread, address, e, this->last_plain(address, e));
      return;
    }
    if (flushes_all(e)) flush(thread, e, n);
    join(loads, fence, 2 * n);
    add_reader(address, e, index);
    if (!e.writes) {  // a failed compare-and-swap: flushes, reads
      read_clock(loads, writes, all, 2 * n, e.thread, index);
      return;
    }
    write_clock(loads, writes, all, 2 * n, e.thread, index);
    address[last_writer] = 0;  // nobody's plain store
    this->append_write(thread, address, e, this->last_plain(address, e));
    add_reader(address, e, index);  // it is an exit of its own
  }

  // The event reads the address's last write: an exit of that write, if its thread has none yet.
  TEETOTAL_INLINE void add_reader(Word* address, const Event& e, Word index) {
    const std::size_t writes = address[Base::writes_end];
    if (writes == 0) return;  // the initial value
    WriteList& list = this->list(e.address);
    Word& end = address[Base::readers_end];
    for (Word k = list.writes[writes - 1].readers; k < end; ++k) {
      if (list.readers[k].thread == e.thread) return;
    }
    put(list.readers, end++, Reader{e.thread, index});
  }

  Semantics semantics_;
};

}  // namespace teetotal::monitors
