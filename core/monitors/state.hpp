// What every monitor keeps: a row of words for each thread and for each address, and each address's writes.
//
// A row is a few plain words followed by clocks of `stride` components. An event changes the rows of its thread and of
// its address (Burnim's monitors: also of the thread whose stores it commits) and appends to its address's writes.
// Hence taking an event back is going back to the rows before it: with `Undo` rows are copied (rows.hpp).
//
// Happens-before is tracked here, by the ordinary vector clock: `hb` of a thread is the clock of its latest event,
// `hb_writes` of an address that of its last write, `hb_all` joins those of all its accesses. O(P) an event.
//
// Memory does not grow with the length of the execution. A write can be asked for only while some clock knows it but
// not its thread's next write to the same address, and the values that clocks hold are few: at most one per thread and
// two per address. `trim` drops the others, each time the lists have doubled. With `Undo` nothing is dropped: a search
// that takes events back keeps its whole execution anyway.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../event.hpp"
#include "clocks.hpp"
#include "report.hpp"
#include "rows.hpp"
#include "writes.hpp"

namespace teetotal::monitors {

inline constexpr std::size_t common_thread_words = 3;   // count, previous event, its location
inline constexpr std::size_t common_address_words = 3;  // begin and end of the writes of interest, end of their readers

template <Layout L, bool Undo, class RowWord = Word>
class State {
 public:
  using Word = RowWord;
  static constexpr bool can_undo = Undo;

  // With `threads` given, no others may appear, and what all of them have passed can be dropped; a thread that may
  // still appear has passed nothing.
  explicit State(std::size_t threads = 0, std::size_t stride = 0)
      : declared_(threads), rows_(std::max(stride, stride_for(threads))) {
    grow_threads(threads);
  }

  std::size_t stride() const { return rows_.stride(); }
  std::size_t threads() const { return threads_; }
  std::uint64_t events() const { return events_; }

  // Whether there is room for the event; if not, make_room comes before its step. Rows do not move during a step.
  TEETOTAL_INLINE bool fits(const Event& e) const {
    return e.thread < threads_ && (is_fence(e.kind) || e.address < lists_.size()) && (Undo || fresh_writes_ < budget_);
  }
  // Not where clocks must be wider and rows are copied: then everything is done again, see wider_for.
  void make_room(const Event& e) {
    if (e.thread >= threads_) {
      if (declared_ != 0) {
        throw std::invalid_argument("event " + std::to_string(events_) + " is of thread " + std::to_string(e.thread) +
                                    ", but only " + std::to_string(declared_) + " threads were announced");
      }
      grow_threads(e.thread + std::size_t{1});
    }
    if (!is_fence(e.kind) && e.address >= lists_.size()) grow_addresses(e.address + std::size_t{1});
    if constexpr (!Undo) {
      if (fresh_writes_ >= budget_) trim();
    }
  }

  // The stride that the event asks for, where it is more than there is.
  TEETOTAL_INLINE std::size_t wider_for(const Event& e) const {
    const std::size_t wanted = stride_for(e.thread + std::size_t{1});
    return wanted > stride() && declared_ == 0 ? wanted : 0;
  }

  // Takes events back until so many are left.
  void undo(std::uint64_t events) {
    static_assert(Undo, "this monitor keeps no record of what it did");
    if (events > events_) throw std::logic_error("no event is left to take back");
    if (events == events_) return;
    rows_.undo(static_cast<std::size_t>(events));
    events_ = events;
  }

  // Words in use, for those who ask whether memory stays flat.
  std::size_t words() const {
    std::size_t total = rows_.words();
    for (const WriteList& list : lists_) {
      total += (list.writes.capacity() * sizeof(Write) + list.readers.capacity() * sizeof(Reader)) / sizeof(Word);
    }
    return total;
  }

 protected:
  enum ThreadWord : std::size_t { count, previous_event, previous_location };
  enum AddressWord : std::size_t { writes_begin, writes_end, readers_end };
  enum ThreadClock : std::size_t { hb };
  enum AddressClock : std::size_t { hb_writes, hb_all };

  TEETOTAL_INLINE Word* thread_row(std::size_t p) { return rows_.thread(p); }
  TEETOTAL_INLINE Word* address_row(std::size_t a) { return rows_.address(a); }
  TEETOTAL_INLINE static Word* thread_clock(Word* row, std::size_t k, std::size_t n) {
    return row + L.thread_words + k * n;
  }
  TEETOTAL_INLINE static Word* address_clock(Word* row, std::size_t k, std::size_t n) {
    return row + L.address_words + k * n;
  }
  WriteList& list(std::size_t a) { return lists_[a]; }

  // Rows to be changed; `n` is the stride. One event's begins with its thread's, which counts it.
  TEETOTAL_INLINE Word* begin_event(const Event& e, std::size_t n) {
    rows_.begin_event();
    Word* thread = change_thread(e.thread, n);
    ++thread[count];
    return thread;
  }
  TEETOTAL_INLINE Word* change_thread(std::size_t p, std::size_t n) {
    rows_.copy_thread(p, n);
    return thread_row(p);
  }
  TEETOTAL_INLINE Word* change_address(std::size_t a, std::size_t n) {
    rows_.copy_address(a, n);
    return address_row(a);
  }
  TEETOTAL_INLINE void end_event(Word* thread, const Event& e) {
    thread[previous_event] = static_cast<Word>(events_++);
    thread[previous_location] = e.location;
  }

  // Happens-before after the event, which is the `thread[count]`-th of its thread.
  TEETOTAL_INLINE void advance_hb(Word* thread, Word* address, const Event& e, std::size_t n) {
    Word* clock = thread_clock(thread, hb, n);
    if (address == nullptr) {
      clock[e.thread] = thread[count];
      return;
    }
    Word* writes = address_clock(address, hb_writes, n);
    Word* all = address_clock(address, hb_all, n);
    if (e.writes) {
      write_clock(clock, writes, all, n, e.thread, thread[count]);
    } else {
      read_clock(clock, writes, all, n, e.thread, thread[count]);
    }
  }

  TEETOTAL_INLINE void append_write(Word* thread, Word* address, const Event& e, Word note) {
    Write& write = place(lists_[e.address].writes, address[writes_end]++);
    write.index = thread[count];
    write.event = events_;
    write.thread = e.thread;
    write.location = e.location;
    write.note = note;
    write.readers = address[readers_end];
    if constexpr (!Undo) ++fresh_writes_;
  }
  // The note of a new write in a list whose notes are positions: 1 + the position of the last plain store up to it.
  TEETOTAL_INLINE Word last_plain(const Word* address, const Event& e) const {
    const Word end = address[writes_end];
    if (e.kind == Kind::st) return end + 1;
    return end == 0 ? 0 : static_cast<Word>(lists_[e.address].writes[end - 1].note);
  }
  // Nobody will ask for the writes so far any more.
  TEETOTAL_INLINE static void forget_writes(Word* address) {
    if constexpr (Undo) {
      address[writes_begin] = address[writes_end];
    } else {
      address[writes_begin] = address[writes_end] = 0;
    }
  }

  Report report(const Write& delayed, const Word* thread, const Event& e) const {
    return Report{delayed.event,
                  thread[previous_event],
                  events_,
                  delayed.location,
                  static_cast<std::uint32_t>(thread[previous_location]),
                  e.location,
                  e.thread};
  }

 private:
  void grow_threads(std::size_t threads) {
    if constexpr (!Undo) {
      if (const std::size_t wider = stride_for(threads); wider > stride()) rows_.widen(wider);
    }
    threads_ = std::max(threads_, threads);
    rows_.grow(threads_, lists_.size());
  }

  void grow_addresses(std::size_t addresses) {
    lists_.resize(addresses);
    rows_.grow(threads_, addresses);
  }

  // -- dropping the writes that nobody can ask for
  // ---------------------------------------------------------------------

  void trim() {
    const auto live = live_values();
    std::size_t kept = 0;
    for (std::size_t a = 0; a < lists_.size(); ++a) kept += trim(lists_[a], address_row(a), live);
    fresh_writes_ = 0;
    budget_ = std::max({minimal_budget, kept, 2 * lists_.size()});
  }

  // For each thread, sorted: the values of its component in the happens-before clocks. Those that every thread has
  // passed do not count, since knowledge only grows; but a thread that may still appear has passed nothing.
  std::vector<std::vector<Word>> live_values() {
    std::vector<std::vector<Word>> live(threads_);
    for (std::size_t q = 0; q < threads_; ++q) {
      Word passed = declared_ == 0 ? 0 : std::numeric_limits<Word>::max();
      for (std::size_t p = 0; p < threads_; ++p) {
        const Word value = thread_clock(thread_row(p), hb, stride())[q];
        passed = std::min(passed, value);
        live[q].push_back(value);
      }
      for (std::size_t a = 0; a < lists_.size(); ++a) {
        const Word written = address_clock(address_row(a), hb_writes, stride())[q];
        const Word accessed = address_clock(address_row(a), hb_all, stride())[q];
        if (written > passed) live[q].push_back(written);
        if (accessed > passed && accessed != written) live[q].push_back(accessed);
      }
      std::sort(live[q].begin(), live[q].end());
      live[q].erase(std::unique(live[q].begin(), live[q].end()), live[q].end());
    }
    return live;
  }

  // Keeps a write where some clock may know it and not its thread's next write in the list.
  std::size_t trim(WriteList& list, Word* address, const std::vector<std::vector<Word>>& live) {
    const std::size_t end = address[writes_end];
    if (end == 0) return 0;
    keep_.assign(end, false);
    next_.assign(threads_, std::numeric_limits<Word>::max());
    for (std::size_t k = end; k-- > 0;) {
      const Write& write = list.writes[k];
      const std::vector<Word>& values = live[write.thread];
      if (first_from(values, write.index) < next_[write.thread]) keep_[k] = true;
      next_[write.thread] = write.index;
      if constexpr (L.note_is_position) {
        if (keep_[k] && write.note != 0) keep_[write.note - 1] = true;  // at k or before it
      }
    }
    moved_.resize(end);
    std::size_t kept = 0;
    Word readers = 0;
    for (std::size_t k = 0; k < end; ++k) {
      if (!keep_[k]) continue;
      moved_[k] = kept;
      Write write = list.writes[k];
      if constexpr (L.note_is_position) {
        if (write.note != 0) write.note = moved_[write.note - 1] + 1;
      }
      if constexpr (L.readers) {
        const Word to = k + 1 < end ? list.writes[k + 1].readers : address[readers_end];
        const Word from = std::exchange(write.readers, readers);
        for (Word r = from; r < to; ++r) list.readers[readers++] = list.readers[r];
      }
      list.writes[kept++] = write;
    }
    cut(list.writes, kept);
    cut(list.readers, readers);
    address[readers_end] = readers;
    address[writes_end] = kept;
    return kept;
  }

  // The first of the sorted values that is not below `bound`; there is one, since a thread knows its own events.
  // Without branches, which would be unpredictable.
  static Word first_from(const std::vector<Word>& values, Word bound) {
    const Word* base = values.data();
    for (std::size_t size = values.size(); size > 1;) {
      const std::size_t half = size / 2;
      base += base[half - 1] < bound ? half : 0;
      size -= half;
    }
    return *base;
  }

  template <class T>
  static void cut(std::vector<T>& list, std::size_t size) {
    if (list.capacity() <= 4 * size + 64) return;
    list.resize(size);
    list.shrink_to_fit();
  }

  static constexpr std::size_t minimal_budget = 8192;

  std::size_t declared_;
  std::size_t threads_ = 0;
  std::conditional_t<Undo, RowsCopied<L, Word>, RowsInPlace<L>> rows_;
  std::vector<WriteList> lists_;
  std::uint64_t events_ = 0;
  std::size_t fresh_writes_ = 0;
  std::size_t budget_ = minimal_budget;
  std::vector<bool> keep_;  // scratch of trim
  std::vector<Word> next_;
  std::vector<std::size_t> moved_;
};

}  // namespace teetotal::monitors
