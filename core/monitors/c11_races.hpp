// Data races of C11: epochs as in FastTrack (Flanagan, Freund, PLDI 2009), from the clocks of exact-c11 (c11.hpp). For
// each location the last access of each thread, atomic or not, reading or writing: two accesses race if one of them
// writes, not both are atomic, and the earlier does not happen before the later.
//
// Past FastTrack: rounds of loops that only wait are no events here, and race all the same (race_waiting).
#pragma once

#include <algorithm>
#include <vector>

#include "../event.hpp"
#include "clocks.hpp"
#include "writes.hpp"

namespace teetotal::monitors {

// An event races with an earlier one of another thread, told by its number there. `after`: what the event would have
// come right after in a round that only waits; 1 + the number of an event.
struct Race {
  Word thread, index;
  Word after = 0;
  static constexpr Word itself = ~Word{0};  // after what it races with
};

// The last accesses of a location, of each of `n` threads.
struct LastAccesses {
  const Word *na_read, *na_write, *at_read, *at_write;
  std::size_t n;

  bool any_plain() const {
    const auto happened = [](Word index) { return index != 0; };
    return std::any_of(na_write, na_write + n, happened) || std::any_of(na_read, na_read + n, happened);
  }
};

// What the writes of a location hand over to who acquires them, where races of waiting rounds can depend on it.
struct Messages {
  std::vector<Word> clocks;
  std::vector<char> kept;

  void keep(std::size_t write, const Word* message, std::size_t n) {
    put(kept, write, char{1});
    if (clocks.size() < (write + 1) * n) clocks.resize((write + 1) * n);
    copy(clocks.data() + write * n, message, n);
  }
  void leave_out(std::size_t write) { put(kept, write, char{0}); }
  bool hand_over(std::size_t write, Word thread, Word index, std::size_t n) const {
    return kept[write] && clocks[write * n + thread] >= index;
  }
};

// `known`: what happens before the event.
template <class Raced>
void races(const LastAccesses& last, const Word* known, const Event& e, bool atomic, Raced raced) {
  const auto look = [&](const Word* at) {
    for (std::size_t u = 0; u < last.n; ++u)
      if (u != e.thread && at[u] > known[u]) raced(Race{u, at[u]});
  };
  look(last.na_write);
  if (!atomic) look(last.at_write);
  if (e.writes) look(last.na_read);
  if (e.writes && !atomic) look(last.at_read);
}

// What a read that had to wait knew when it came, all of it and what happens before, and the writes of its location:
// those from `begin` to `end` of the list. `ever`: it waits for ever, so the last write counts as well.
struct Wait {
  const Word *past, *known;
  const WriteList& list;
  std::size_t begin, end;
  const Messages& messages;
  bool ever;
};

// The rounds before it are no events, yet each of them reads, and may race. It could have come right after any write
// since the one that its thread knew, or right after what it races with: all that has to be so by then is what its
// thread knew.
template <class Raced>
void race_waiting(const LastAccesses& last, const Wait& wait, const Event& e, Raced raced) {
  const std::size_t first = end_of_known(wait.list, wait.begin, wait.end, wait.past);
  const Order order = e.kind == Kind::rmw && e.failure() != Order::na ? e.failure() : e.order;
  const auto look = [&](const Word* at) {
    for (std::size_t u = 0; u < last.n; ++u) {
      if (u == e.thread || at[u] <= wait.known[u]) continue;
      if (at[u] > wait.past[u] || first == wait.begin) {
        raced(Race{u, at[u], Race::itself});
        continue;
      }
      for (std::size_t write = first - 1; write < wait.end - (wait.ever ? 0 : 1); ++write) {
        if (acquires(order) && wait.messages.hand_over(write, u, at[u], last.n)) continue;
        raced(Race{u, at[u], wait.list.writes[write].event + 1});
        break;
      }
    }
  };
  look(last.na_write);
  if (order == Order::na) look(last.at_write);
  if (e.kind == Kind::rmw && e.failure() == Order::na) look(last.na_read);  // it writes back what it read
}

}  // namespace teetotal::monitors
