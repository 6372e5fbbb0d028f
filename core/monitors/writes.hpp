// The writes of one address, oldest first, as far as any thread may still ask for them.
//
// The question is always: which is the last write of this address that happens before the thread's previous event?
// Writes of one address are ordered by happens-before, so the writes that a clock knows are a prefix of the list, and
// the last of them is found by searching backwards from the end in steps that double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "clocks.hpp"

namespace teetotal::monitors {

struct Write {
  Word index = 0;  // which event of its thread, from 1: the clock component that knows it
  Word event = 0;  // which event of the execution, from 0
  std::uint32_t thread = 0;
  std::uint32_t location = 0;
  Word note = 0;     // the monitor's own remark
  Word readers = 0;  // exact-pso: where its readers begin
};

// An event that read a write: its thread, and which event of its thread it is.
struct Reader {
  Word thread = 0;
  Word index = 0;
};

// How much of it counts is not the size of the vectors but said by words of the address's row, so that putting the row
// back takes writes back too.
struct WriteList {
  std::vector<Write> writes;
  std::vector<Reader> readers;  // exact-pso: of each write in turn, from its `readers` up to the next one's
};

template <class T>
TEETOTAL_INLINE void put(std::vector<T>& list, std::size_t position, const T& item) {
  if (position == list.size()) {
    list.push_back(item);
  } else {
    list[position] = item;
  }
}

// Where the item at a position is to be written, word by word: a copy of one would wait for what was just stored.
template <class T>
TEETOTAL_INLINE T& place(std::vector<T>& list, std::size_t position) {
  if (position == list.size()) [[unlikely]]
    list.emplace_back();
  return list[position];
}

template <class W>
TEETOTAL_INLINE bool knows(const W* clock, const Write& write) {
  return clock[write.thread] >= write.index;
}

// One past the position of the last write in [begin, end) that the clock knows; `begin` where it knows none.
template <class W>
TEETOTAL_INLINE std::size_t end_of_known(const WriteList& list, std::size_t begin, std::size_t end, const W* clock) {
  std::size_t unknown = end;  // everything from here on is unknown
  std::size_t step = 1;
  while (unknown > begin) {
    const std::size_t probe = unknown - begin > step ? unknown - step : begin;
    if (knows(clock, list.writes[probe])) {
      std::size_t known = probe;  // the boundary lies in (known, unknown]
      while (unknown - known > 1) {
        const std::size_t middle = known + (unknown - known) / 2;
        (knows(clock, list.writes[middle]) ? known : unknown) = middle;
      }
      return unknown;
    }
    unknown = probe;
    step *= 2;
  }
  return begin;
}

}  // namespace teetotal::monitors
