// Vector clocks as rows of words: one component per thread, holding the number (from 1) of an event of that thread.
//
// `Stride` is the number of components known at compile time, 0 where it is known only at run time. The kernels are
// compiled for the small strides, so that these loops unroll, and once for all others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// What a step consists of is always inlined into it, so that a stride known at compile time is known there too.
#define TEETOTAL_INLINE [[gnu::always_inline]] inline

// Loops over clocks are compiled for newer processors too, and the best is chosen when the library is loaded: with 16
// threads and more, joining clocks is most of the work. The sanitizers do not follow that choice, and a build without
// optimisation is to be quick, as is one with a planted fault (tests/mutants).
#if defined(__OPTIMIZE__) && defined(__x86_64__) && defined(__linux__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(TEETOTAL_ONE_PROCESSOR)
#define TEETOTAL_CLONES [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#define TEETOTAL_TWO_CLONES [[gnu::target_clones("arch=x86-64-v3", "default")]]
#else
#define TEETOTAL_CLONES
#define TEETOTAL_TWO_CLONES
#endif

namespace teetotal::monitors {

using Word = std::uint64_t;

// A monitor that takes events back keeps a row for every event, and copies them all the time: no execution that fits
// into memory counts further than this, and a clock of eight threads is half a cache line.
using ShortWord = std::uint32_t;

template <std::size_t Stride>
constexpr std::size_t width(std::size_t stride) {
  return Stride == 0 ? stride : Stride;
}

// The number of components that rows are laid out for when there are so many threads: a power of two, at least 4.
constexpr std::size_t stride_for(std::size_t threads) {
  std::size_t stride = 4;
  while (stride < threads) stride *= 2;
  return stride;
}

template <class W>
TEETOTAL_INLINE void join(W* __restrict into, const W* __restrict from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) into[i] = std::max(into[i], from[i]);
}

// A component of an event's clock: of its own thread its number, which no clock exceeds, otherwise what is known.
// Without branches, so that loops over clocks are made of vectors.
template <class W>
TEETOTAL_INLINE W with_itself(W known, std::size_t i, std::size_t own, W value) {
  return static_cast<W>(i) == static_cast<W>(own) ? value : known;
}

// A read: `clock` learns what the address's writes know and what it is itself, and the address's accesses learn that.
template <class W>
TEETOTAL_INLINE void read_clock(W* __restrict clock, const W* __restrict writes, W* __restrict all, std::size_t n,
                                std::size_t own, std::type_identity_t<W> value) {
  for (std::size_t i = 0; i < n; ++i) {
    const W known = with_itself(std::max(clock[i], writes[i]), i, own, value);
    clock[i] = known;
    all[i] = std::max(all[i], known);
  }
}

// A write: `clock` learns what all the address's accesses know and what it is itself; it is the address's last write.
template <class W>
TEETOTAL_INLINE void write_clock(W* __restrict clock, W* __restrict writes, W* __restrict all, std::size_t n,
                                 std::size_t own, std::type_identity_t<W> value) {
  for (std::size_t i = 0; i < n; ++i) {
    const W known = with_itself(std::max(clock[i], all[i]), i, own, value);
    clock[i] = writes[i] = all[i] = known;
  }
}

template <class W>
TEETOTAL_INLINE void copy(W* __restrict into, const W* __restrict from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) into[i] = from[i];
}

template <class W>
TEETOTAL_INLINE void clear(W* row, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) row[i] = 0;
}

}  // namespace teetotal::monitors
