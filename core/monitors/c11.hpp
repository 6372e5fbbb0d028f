// exact-c11: whether C11 (the model RC11 of Lahav, Vafeiadis, Kang, Hur, Dreyer, PLDI 2017) lets an event of an SC
// execution behave as no SC execution does; and data races. docs/explanation/c11.md has the theory and the proofs.
//
// An event e of thread p may read an older write than the last that it should know, L, or take its place among the
// writes before one, unless something *blocks* the newer writes: a write is blocked if it, or a read of it, happens
// before e, or if the order of the seq_cst operations (psc) would get a cycle.
//
//   here        what it is                                             the paper's terms
//   hb (State)  the clock of sb, rf, mo, rb together: which is L       what SC-consistency asks to be acyclic
//   cur         C: happens-before; and three pairs that travel along it:  hb
//     FH        seq_cst fences that happen before                      [Fsc]; hb
//     FI        what a seq_cst fence would get here                    [Fsc]; hb? ; scb, [Fsc]; hb; eco; hb
//     M         what earlier accesses of other locations hand on       sb\loc; hb
//   pend        cur-shaped: what was read relaxed, for an acquire fence   sw through a fence
//   rfen        cur at the last release fence                          sw through a fence
//   lastX       the pair of the thread's last seq_cst event            [SC]; sb
//   sx, sf, sm  X, FH and M at the last event, and at the last one of another location: sb\loc
//   msg         cur-shaped: what the last write of a location hands over to who acquires it       rs; rf
//   own         rs=c11: cur at each thread's last release store of a location; and at the last unlock of each reader
//   AA, EA, EW  joins over the accesses of a location: X and FH; FH; FH up to the last write      mo, rb; eco
//   hist        AA so far, at each thread's accesses of a location     hb & loc
//
// A *pair* stands for a set of seq_cst events that is closed under psc: V, for each thread the last of them (its own
// are ordered by psc), and W, the join of the happens-before clocks of its fences.
//
// `Sc`: whether there are pairs. Before the first seq_cst operation all of them are zero, so a monitor without pairs
// does until then, and then sees everything again (C11Monitor).
//
// Data races: c11_races.hpp, from the same clocks.
#pragma once

#include <algorithm>
#include <vector>

#include "access_log.hpp"
#include "c11_races.hpp"
#include "monitor.hpp"
#include "state.hpp"

namespace teetotal::monitors {

constexpr Layout c11_layout(bool sc) {
  return {
      .thread_words = common_thread_words + (sc ? 3u : 0u),
      .thread_clocks = 1 + (sc ? 3u * 7 + 2 + 12 : 3u),
      .address_words = common_address_words + 2 + (sc ? 1u : 0u),
      .address_clocks = 2 + 4 + 1 + (sc ? 7u + 6 + 1 : 1u),
      .note_is_position = true,  // 1 + the position of the plain store that heads its group of rmws, 0 where none does
      .readers = true,
  };
}

template <bool Sc>
class C11 : public State<c11_layout(Sc), true> {
  using Base = State<c11_layout(Sc), true>;
  static constexpr std::size_t kCur = Sc ? 7 : 1;
  static constexpr Word kFence = ~Word{0};  // a "location" of fences: other than all, itself too

  enum ThreadWord : std::size_t { at_sx = common_thread_words, at_sf, at_sm };
  enum ThreadClock : std::size_t {
    cur = 1,
    pend = cur + kCur,
    rfen = pend + kCur,
    lastX = rfen + kCur,
    sx = lastX + 2,
    sf = sx + 4,
    sm = sf + 4,
    C = cur,  // the clocks of cur, each pair two of them
    FH = cur + 1,
    FI = FH + 2,
    M = FI + 2,
  };
  enum AddressWord : std::size_t { groups_end = common_address_words, own_end, hist_end };
  enum AddressClock : std::size_t {
    na_read = 2,
    na_write,
    at_read,
    at_write,
    own_last,
    msg,
    AA = msg + kCur,
    EA = AA + 2,
    EW = EA + 2,
    hist_last = EW + 2,
  };

  // First accesses of a group of rmws, its head included, and first writes: of each thread.
  struct First {
    Word thread, index;
    bool writes, sc;
  };
  struct Beside {  // each write
    Word group;    // where the entries of its group begin, if it heads one
    bool sc, na;
  };
  struct Lists {
    std::vector<First> groups;
    std::vector<Beside> beside;
    Messages messages;  // C of msg
    Log own, hist;
  };

 public:
  C11(const Options& options, std::size_t stride)
      : Base(options.threads, stride),
        older_(options.older),
        values_(options.values),
        rs_c11_(options.release_sequence_c11) {}

  // What the event gives: told as Report (a candidate), and races with earlier events of other threads.
  template <class Found, class Raced>
  void step(const Event& e, Found found, Raced raced) {
    const std::size_t n = this->stride();
    if (is_fence(e.kind)) {
      Word* thread = this->begin_event(e, n);
      if (e.order != Order::na) fence(thread, e, n);
      this->advance_hb(thread, nullptr, e, n);
      this->end_event(thread, e);
      return;
    }
    if (const Write* w = candidate(e, false)) found(this->report(*w, this->thread_row(e.thread), e));
    if (e.address >= lists_.size()) lists_.resize(e.address + std::size_t{1});
    if (older_ != nullptr && (e.kind == Kind::ld || e.kind == Kind::rmw) &&
        older_->waits(static_cast<std::size_t>(this->events())))
      waiting_races(e, false, raced);
    Word* thread = this->begin_event(e, n);
    Word* address = this->change_address(e.address, n);
    if (e.ends_life()) {
      end_life(thread, address, e, n, raced);
    } else {
      access(thread, address, e, n, raced);
    }
    this->end_event(thread, e);
  }

  // What a thread stands before and does not do.
  template <class Found, class Raced>
  void arrive(const Event& e, Found found, Raced raced) {
    if (is_fence(e.kind) || e.kind == Kind::lock) return;
    if (const Write* w = candidate(e, true)) found(this->report(*w, this->thread_row(e.thread), e));
    if (e.address >= lists_.size()) lists_.resize(e.address + std::size_t{1});
    waiting_races(e, true, raced);
  }

 private:
  // The newest write that the event, the next of its thread, may behave as if it did not know, against SC, and not only
  // wait longer; null: none.
  const Write* candidate(const Event& e, bool arrives) {
    if (e.order == Order::na || !e.checked() || is_fence(e.kind)) return nullptr;
    if (e.kind == Kind::lock || e.kind == Kind::unlock) return nullptr;
    if (e.address >= lists_.size()) return nullptr;
    const std::size_t n = this->stride();
    const Word* address = this->address_row(e.address);
    WriteList& list = this->list(e.address);
    const std::size_t known = end_of_known(list, address[Base::writes_begin], address[Base::writes_end],
                                           clock(this->thread_row(e.thread), Base::hb, n));
    if (known == address[Base::writes_begin] || list.writes[known - 1].thread == e.thread) return nullptr;
    const auto index = static_cast<std::size_t>(this->events());
    const bool conditional = e.kind == Kind::rmw && e.failure() != Order::na && values_ != nullptr;
    const bool waits = e.kind != Kind::st && older_ != nullptr && (arrives || older_->waits(index));
    if (conditional || waits) return candidate_by_values(e, index, known, conditional, waits);
    const std::vector<Beside>& beside = lists_[e.address].beside;
    const std::size_t last = known - 1;
    if (!e.writes) return blocked(e, e.effective(), last) || beside[last].na ? nullptr : &list.writes[last];
    if (list.writes[last].note == 0) return nullptr;
    const std::size_t head = list.writes[last].note - 1;
    return group_blocked(e, head, known) || beside[head].na ? nullptr : &list.writes[head];
  }

  // The same where it matters what it would read.
  const Write* candidate_by_values(const Event& e, std::size_t index, std::size_t known, bool conditional, bool waits) {
    const WriteList& list = this->list(e.address);
    const std::vector<Beside>& beside = lists_[e.address].beside;
    bool may_read = true, may_write = true;
    for (std::size_t a = known, begin = this->address_row(e.address)[Base::writes_begin]; a-- > begin;) {
      may_read = may_read && !blocked(e, e.kind == Kind::rmw ? e.failure() : e.order, a);
      may_write = may_write && !blocked(e, e.order, a);
      if ((!may_read && !may_write) || beside[a].na) return nullptr;
      const auto before = static_cast<std::size_t>(list.writes[a].event);
      const bool writes = conditional ? values_->would_write(e.thread, index, before) : e.kind == Kind::rmw;
      const bool heads = list.writes[a].note == a + 1;
      if (!(writes ? may_write && heads : may_read)) continue;
      if (!waits || older_->possible(e.thread, index, before)) return &list.writes[a];
    }
    return nullptr;
  }

  Word* clock(Word* thread, std::size_t k, std::size_t n) { return this->thread_clock(thread, k, n); }
  static const Word* clock(const Word* thread, std::size_t k, std::size_t n) {
    return thread + c11_layout(Sc).thread_words + k * n;
  }

  // -- what blocks (docs/explanation/c11.md, theorem 3)
  // ----------------------------------------------------------------

  // Whether a clock that is one of two is at least `index` for a thread.
  bool known_here(const Event& e, Word thread, Word index, std::size_t n) {
    const Word* row = this->thread_row(e.thread);
    if (clock(row, C, n)[thread] >= index) return true;
    if constexpr (Sc) return clock(row, FH + 1, n)[thread] >= index;
    return false;
  }
  // The pair B: V where `part` is 0, W where it is 1.
  Word in_b(const Event& e, Order order, std::size_t part, Word thread, std::size_t n) {
    const Word* row = this->thread_row(e.thread);
    Word value = clock(row, FH + part, n)[thread];
    if (order != Order::seq_cst) return value;
    value = std::max(value, clock(row, lastX + part, n)[thread]);
    const std::size_t slot = row[at_sm] == e.address + Word{1} ? sm + 2 : sm;
    return std::max(value, clock(row, slot + part, n)[thread]);
  }

  bool blocked(const Event& e, Order order, std::size_t a) {
    const std::size_t n = this->stride();
    WriteList& list = this->list(e.address);
    const Write& w = list.writes[a];
    if (known_here(e, w.thread, w.index, n)) return true;
    if constexpr (Sc) {
      if (in_b(e, order, 1, w.thread, n) >= w.index) return true;
      if (lists_[e.address].beside[a].sc && in_b(e, order, 0, w.thread, n) >= w.index) return true;
    }
    const Word* address = this->address_row(e.address);
    const Word end = a + 1 < address[Base::writes_end] ? list.writes[a + 1].readers : address[Base::readers_end];
    for (Word r = w.readers; r < end; ++r)
      if (known_here(e, list.readers[r].thread, list.readers[r].index, n)) return true;
    return false;
  }

  // Some write of the group that `head` begins, up to the last of the first `known` writes.
  bool group_blocked(const Event& e, std::size_t head, std::size_t known) {
    const std::size_t n = this->stride();
    const Lists& lists = lists_[e.address];
    const Word* address = this->address_row(e.address);
    Word end = address[groups_end];
    for (std::size_t k = known; k < address[Base::writes_end]; ++k) {  // where the next group begins
      if (this->list(e.address).writes[k].note != k + 1) continue;
      end = lists.beside[k].group;
      break;
    }
    for (Word g = lists.beside[head].group; g < end; ++g) {
      const First& first = lists.groups[g];
      if (known_here(e, first.thread, first.index, n)) return true;
      if constexpr (Sc) {
        if (first.writes && in_b(e, e.order, 1, first.thread, n) >= first.index) return true;
        if (first.sc && in_b(e, e.order, 0, first.thread, n) >= first.index) return true;
      }
    }
    return false;
  }

  // -- slots: a value at the last event, and at the last one of another location
  // ----------------------------------------------------------------

  const Word* get(Word* thread, std::size_t word, std::size_t slot, Word location, std::size_t n) {
    return clock(thread, thread[word] == location && location != kFence ? slot + 2 : slot, n);
  }
  void put_slot(Word* thread, std::size_t word, std::size_t slot, Word location, const Word* pair, std::size_t n) {
    if (thread[word] != location || location == kFence) copy(clock(thread, slot + 2, n), clock(thread, slot, n), 2 * n);
    copy(clock(thread, slot, n), pair, 2 * n);
    thread[word] = location;
  }

  // -- steps
  // ----------------------------------------------------------------

  void fence(Word* thread, const Event& e, std::size_t n) {
    const Word index = thread[Base::count];
    Word* now = clock(thread, cur, n);
    now[e.thread] = index;
    if (acquires(e.order)) join(now, clock(thread, pend, n), kCur * n);
    if constexpr (Sc) {
      join(clock(thread, M, n), get(thread, at_sx, sx, kFence, n), 2 * n);
      join(clock(thread, M, n), get(thread, at_sf, sf, kFence, n), 2 * n);
      if (e.order == Order::seq_cst) {
        Word* x = clock(thread, FI, n);  // X, and FI after it
        x[e.thread] = index;
        join(x + n, now, n);
        join(clock(thread, FH, n), x, 2 * n);
        join(clock(thread, lastX, n), x, 2 * n);
        put_slot(thread, at_sx, sx, kFence, clock(thread, lastX, n), n);
      }
      put_slot(thread, at_sf, sf, kFence, clock(thread, FH, n), n);
      put_slot(thread, at_sm, sm, kFence, clock(thread, M, n), n);
    }
    if (releases(e.order)) copy(clock(thread, rfen, n), now, kCur * n);
  }

  // What lies there has ended: to race with, it was a write. What comes there next knows nothing of it.
  template <class Raced>
  void end_life(Word* thread, Word* address, Event e, std::size_t n, Raced raced) {
    clock(thread, cur, n)[e.thread] = thread[Base::count];
    this->advance_hb(thread, address, e, n);
    e.writes = true;
    races(last_accesses(address), clock(thread, C, n), e, false, raced);
    clear(this->address_clock(address, Base::hb_writes, n), c11_layout(Sc).address_clocks * n);
    address[Base::writes_begin] = address[Base::writes_end];
  }

  template <class Raced>
  void access(Word* thread, Word* address, const Event& e, std::size_t n, Raced raced) {
    Order order = e.effective();
    if (order == Order::na && e.kind == Kind::lock) order = Order::acquire;
    if (order == Order::na && e.kind == Kind::unlock) order = Order::release;
    const bool atomic = order != Order::na, read = reads(e);
    const Word index = thread[Base::count];
    Word* now = clock(thread, cur, n);
    now[e.thread] = index;
    Lists& lists = lists_[e.address];
    if constexpr (Sc) before_.assign(clock(thread, FH, n), clock(thread, FH, n) + 2 * n);
    if (read && atomic)
      join(acquires(order) ? now : clock(thread, pend, n), this->address_clock(address, msg, n), kCur * n);
    if (e.kind == Kind::lock && e.writes) after_readers(address, lists, now, n);
    races(last_accesses(address), clock(thread, C, n), e, atomic, raced);
    if (read) this->address_clock(address, atomic ? at_read : na_read, n)[e.thread] = index;
    if (e.writes) this->address_clock(address, atomic ? at_write : na_write, n)[e.thread] = index;
    if constexpr (Sc) seq_cst(thread, address, e, order, index, n);
    if (e.writes) {
      message_.assign(kCur * n, 0);
      if (atomic) {
        join(message_.data(), releases(order) ? now : clock(thread, rfen, n), kCur * n);
        if (rs_c11_) own_release(address, lists, e, order, index, now, n);
        if (read) join(message_.data(), this->address_clock(address, msg, n), kCur * n);
      }
      copy(this->address_clock(address, msg, n), message_.data(), kCur * n);
    }
    if (e.kind == Kind::unlock && !e.writes) keep_own(address, lists, e, index, now, n);
    this->advance_hb(thread, address, e, n);
    record(thread, address, lists, e, order, index);
  }

  // rs=c11: a later store of the same thread, of any order, goes on with the release sequence.
  void own_release(Word* address, Lists& lists, const Event& e, Order order, Word index, const Word* now,
                   std::size_t n) {
    if (releases(order)) return keep_own(address, lists, e, index, now, n);
    if (const Word before = this->address_clock(address, own_last, n)[e.thread]; before != 0)
      join(message_.data(), lists.own.words.data() + (before - 1) * kCur * n, kCur * n);
  }

  void keep_own(Word* address, Lists& lists, const Event& e, Word index, const Word* now, std::size_t n) {
    Word* latest = this->address_clock(address, own_last, n);
    copy(lists.own.add(address[own_end], {e.thread, index, latest[e.thread]}, kCur * n), now, kCur * n);
    latest[e.thread] = ++address[own_end];
  }

  // A writer's lock comes after the readers' unlocks, which other readers know nothing of.
  void after_readers(Word* address, const Lists& lists, Word* now, std::size_t n) {
    const Word* latest = this->address_clock(address, own_last, n);
    for (std::size_t u = 0; u < n; ++u)
      if (latest[u] != 0) join(now, lists.own.words.data() + (latest[u] - 1) * kCur * n, kCur * n);
  }

  LastAccesses last_accesses(Word* address) {
    const std::size_t n = this->stride();
    const auto at = [&](std::size_t accesses) { return this->address_clock(address, accesses, n); };
    return {at(na_read), at(na_write), at(at_read), at(at_write), n};
  }

  template <class Raced>
  void waiting_races(const Event& e, bool ever, Raced raced) {
    const std::size_t n = this->stride();
    const Word* thread = this->thread_row(e.thread);
    Word* address = this->address_row(e.address);
    race_waiting(last_accesses(address),
                 {clock(thread, Base::hb, n), clock(thread, C, n), this->list(e.address), address[Base::writes_begin],
                  address[Base::writes_end], lists_[e.address].messages, ever},
                 e, raced);
  }

  void seq_cst(Word* thread, Word* address, const Event& e, Order order, Word index, std::size_t n) {
    const Word here = e.address + Word{1};
    const bool sc = order == Order::seq_cst;
    Word* m = clock(thread, M, n);
    Word* fi = clock(thread, FI, n);
    Word* aa = this->address_clock(address, AA, n);
    Word* ea = this->address_clock(address, EA, n);
    join(m, get(thread, at_sx, sx, here, n), 2 * n);
    join(m, get(thread, at_sf, sf, here, n), 2 * n);
    x_.assign(2 * n, 0);
    if (sc) {
      join(x_.data(), clock(thread, lastX, n), 2 * n);
      join(x_.data(), before_.data(), 2 * n);
      join(x_.data(), get(thread, at_sm, sm, here, n), 2 * n);
      if (e.writes) {
        join(x_.data(), aa, 2 * n);
      } else {
        earlier_accesses(thread, address, e, n);
      }
      x_[e.thread] = index;
    }
    if (e.writes) {
      join(fi, aa, 2 * n);
      join(fi, ea, 2 * n);
    } else {
      join(fi, this->address_clock(address, EW, n), 2 * n);
    }
    const Word* fh = clock(thread, FH, n);
    a_.assign(fh, fh + 2 * n);
    join(a_.data(), x_.data(), 2 * n);
    join(aa, a_.data(), 2 * n);
    join(ea, fh, 2 * n);
    if (e.writes) copy(this->address_clock(address, EW, n), ea, 2 * n);
    remember(address, e, index, n);
    if (sc) {
      join(fi, x_.data(), 2 * n);
      copy(clock(thread, lastX, n), x_.data(), 2 * n);
      put_slot(thread, at_sx, sx, here, x_.data(), n);
    }
    put_slot(thread, at_sf, sf, here, fh, n);
    put_slot(thread, at_sm, sm, here, m, n);
  }

  // hb & loc, into a seq_cst load: of each thread, what its accesses of the location that happen before handed on.
  void earlier_accesses(Word* thread, Word* address, const Event& e, std::size_t n) {
    const Log& hist = lists_[e.address].hist;
    const Word* known = clock(thread, C, n);
    const Word* latest = this->address_clock(address, hist_last, n);
    for (std::size_t u = 0; u < n; ++u) {
      Word at = latest[u];
      while (at != 0 && hist.entries[at - 1].index > known[u]) at = hist.entries[at - 1].before;
      if (at != 0) join(x_.data(), hist.words.data() + (at - 1) * 2 * n, 2 * n);
    }
  }

  // The thread's part of AA after this access, where it is more than before.
  void remember(Word* address, const Event& e, Word index, std::size_t n) {
    Log& hist = lists_[e.address].hist;
    Word* latest = this->address_clock(address, hist_last, n);
    const Word before = latest[e.thread];
    bool more = false;
    for (std::size_t i = 0; i < 2 * n; ++i) {
      const Word so_far = before == 0 ? 0 : hist.words[(before - 1) * 2 * n + i];
      more = more || a_[i] > so_far;
      a_[i] = std::max(a_[i], so_far);
    }
    if (!more) return;
    copy(hist.add(address[hist_end], {e.thread, index, before}, 2 * n), a_.data(), 2 * n);
    latest[e.thread] = ++address[hist_end];
  }

  // The write that it reads gets a reader, its own write is appended, and their groups know of both.
  void record(Word* thread, Word* address, Lists& lists, const Event& e, Order order, Word index) {
    WriteList& list = this->list(e.address);
    const Word writes = address[Base::writes_end];
    const bool read = reads(e);
    if (read && writes != address[Base::writes_begin]) {
      const Write& source = list.writes[writes - 1];
      bool fresh = true;
      for (Word r = source.readers; r < address[Base::readers_end]; ++r)
        fresh = fresh && list.readers[r].thread != e.thread;
      if (fresh) put(list.readers, address[Base::readers_end]++, Reader{e.thread, index});
      if (source.note != 0) note_first(address, lists, source.note - 1, {e.thread, index, false, false});
    }
    if (!e.writes) return;
    const Word head = !read ? writes + 1 : writes == address[Base::writes_begin] ? 0 : list.writes[writes - 1].note;
    const bool sc = order == Order::seq_cst;
    put(lists.beside, writes, Beside{address[groups_end], sc, order == Order::na});
    keep_message(address, lists.messages, order);
    this->append_write(thread, address, e, head);
    if (head != 0) note_first(address, lists, head - 1, {e.thread, index, true, sc});
  }

  // Of a write that is about to be appended, where somebody's plain accesses make it matter.
  void keep_message(Word* address, Messages& messages, Order order) {
    const std::size_t n = this->stride(), write = address[Base::writes_end];
    if (order != Order::na && older_ != nullptr && last_accesses(address).any_plain()) {
      messages.keep(write, this->address_clock(address, msg, n), n);
    } else {
      messages.leave_out(write);
    }
  }

  // An entry of a group, unless its thread has one before that says as much.
  void note_first(Word* address, Lists& lists, std::size_t head, const First& entry) {
    for (Word g = lists.beside[head].group; g < address[groups_end]; ++g) {
      const First& known = lists.groups[g];
      if (known.thread == entry.thread && known.writes >= entry.writes && known.sc >= entry.sc) return;
    }
    put(lists.groups, address[groups_end]++, entry);
  }

  const OlderValues* older_;   // null where every event counts
  const OlderValues* values_;  // null where nobody knows
  bool rs_c11_;
  std::vector<Lists> lists_;
  std::vector<Word> before_, x_, a_, message_;  // scratch of a step
};

}  // namespace teetotal::monitors
