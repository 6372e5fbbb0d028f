// Where a monitor's rows of words are kept: in place, or so that events can be taken back.
//
// In place: one array for threads, one for addresses. Copied: an event never changes a row but writes a new one, behind
// the others; taking the event back is pointing to the old rows again. Rows that nothing was written to are all the
// same row of zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "clocks.hpp"

namespace teetotal::monitors {

struct Layout {
  std::size_t thread_words;    // plain words of a thread's row, at least common_thread_words
  std::size_t thread_clocks;   // clocks after them, the first of which is hb
  std::size_t address_words;   // plain words of an address's row, at least common_address_words
  std::size_t address_clocks;  // clocks after them, the first two of which are hb_writes and hb_all
  bool note_is_position;       // a Write's note is 1 + the position of another write in the list, 0 for none
  bool readers;                // lists carry readers

  constexpr std::size_t thread_width(std::size_t stride) const { return thread_words + thread_clocks * stride; }
  constexpr std::size_t address_width(std::size_t stride) const { return address_words + address_clocks * stride; }
};

template <Layout L>
class RowsInPlace {
 public:
  explicit RowsInPlace(std::size_t stride)
      : stride_(stride), thread_width_(L.thread_width(stride)), address_width_(L.address_width(stride)) {}

  std::size_t stride() const { return stride_; }
  TEETOTAL_INLINE Word* thread(std::size_t p) { return threads_words_.data() + p * thread_width_; }
  TEETOTAL_INLINE Word* address(std::size_t a) { return addresses_words_.data() + a * address_width_; }

  void grow(std::size_t threads, std::size_t addresses) {
    threads_words_.resize(threads * thread_width_);
    addresses_words_.resize(addresses * address_width_);
  }

  void widen(std::size_t stride) {
    threads_words_ = relaid(threads_words_, L.thread_words, L.thread_clocks, stride);
    addresses_words_ = relaid(addresses_words_, L.address_words, L.address_clocks, stride);
    stride_ = stride;
    thread_width_ = L.thread_width(stride);
    address_width_ = L.address_width(stride);
  }

  TEETOTAL_INLINE void begin_event() {}
  TEETOTAL_INLINE void copy_thread(std::size_t, std::size_t) {}
  TEETOTAL_INLINE void copy_address(std::size_t, std::size_t) {}

  std::size_t words() const { return threads_words_.capacity() + addresses_words_.capacity(); }

 private:
  std::vector<Word> relaid(const std::vector<Word>& rows, std::size_t words, std::size_t clocks, std::size_t to) const {
    const std::size_t narrow = words + clocks * stride_, wide = words + clocks * to;
    std::vector<Word> result(rows.size() / narrow * wide);
    for (std::size_t row = 0; row < rows.size() / narrow; ++row) {
      const Word* from = &rows[row * narrow];
      Word* into = &result[row * wide];
      copy(into, from, words);
      for (std::size_t k = 0; k < clocks; ++k) copy(into + words + k * to, from + words + k * stride_, stride_);
    }
    return result;
  }

  std::size_t stride_, thread_width_, address_width_;
  std::vector<Word> threads_words_, addresses_words_;
};

template <Layout L, class Word>
class RowsCopied {
 public:
  explicit RowsCopied(std::size_t stride)
      : stride_(stride), zeros_(std::max(L.thread_width(stride), L.address_width(stride))) {}

  std::size_t stride() const { return stride_; }
  TEETOTAL_INLINE Word* thread(std::size_t p) { return threads_[p]; }
  TEETOTAL_INLINE Word* address(std::size_t a) { return addresses_[a]; }

  void grow(std::size_t threads, std::size_t addresses) {
    threads_.resize(threads, zeros_.data());
    addresses_.resize(addresses, zeros_.data());
  }

  TEETOTAL_INLINE void begin_event() {
    if (count_ == events_.size()) [[unlikely]]
      grow_log();
    events_[count_++] = {changed_, used_};
  }

  // The row is about to change. `n` is the stride, which the caller may know at compile time.
  TEETOTAL_INLINE void copy_thread(std::size_t p, std::size_t n) {
    changes_[changed_++] = {2 * p, threads_[p]};
    threads_[p] = copied(threads_[p], L.thread_width(n));
  }
  TEETOTAL_INLINE void copy_address(std::size_t a, std::size_t n) {
    changes_[changed_++] = {2 * a + 1, addresses_[a]};
    addresses_[a] = copied(addresses_[a], L.address_width(n));
  }

  // Takes events back until so many are left.
  void undo(std::size_t events) {
    const Mark mark = events_[events];
    while (changed_ > mark.changes) {
      const Change& change = changes_[--changed_];
      (change.what % 2 == 0 ? threads_ : addresses_)[change.what / 2] = change.row;
    }
    used_ = mark.used;
    count_ = events;
  }

  std::size_t words() const {
    return chunks_.size() * kChunk * sizeof(Word) / sizeof(monitors::Word) + threads_.capacity() +
           addresses_.capacity() + 2 * changes_.capacity() + 2 * events_.capacity();
  }

 private:
  struct Change {
    std::size_t what;  // 2p for a thread, 2a + 1 for an address
    Word* row;         // that it had
  };
  struct Mark {
    std::size_t changes, used;
  };
  static constexpr std::size_t kChunk = std::size_t{1} << 16;  // words; a row is much smaller
  struct alignas(64) Chunk {                                   // so that what is copied at a time is in one cache line
    Word words[kChunk];
  };

  TEETOTAL_INLINE Word* copied(const Word* row, std::size_t size) {
    if (used_ % kChunk + size > kChunk || used_ / kChunk == chunks_.size()) [[unlikely]]
      next_chunk(size);
    Word* fresh = chunks_[used_ / kChunk]->words + used_ % kChunk;
    used_ += size;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < size; ++i) fresh[i] = row[i];
    return fresh;
  }

  static constexpr std::size_t kMostChanges = 3;  // of one event: two threads' rows and an address's

  [[gnu::noinline]] void grow_log() {
    events_.resize(2 * events_.size() + 64);
    changes_.resize(kMostChanges * events_.size());
  }

  [[gnu::noinline]] void next_chunk(std::size_t size) {
    if (used_ % kChunk + size > kChunk) used_ = (used_ / kChunk + 1) * kChunk;
    if (used_ / kChunk == chunks_.size()) chunks_.push_back(std::make_unique_for_overwrite<Chunk>());
  }

  std::size_t stride_;
  std::vector<Word> zeros_;
  std::vector<Word*> threads_, addresses_;
  // Each number beside its array, not beside another number: loaded together with one that was just stored, it would
  // have to wait for that.
  std::vector<Change> changes_;
  std::size_t changed_ = 0;  // so many of them count
  std::vector<Mark> events_;
  std::size_t count_ = 0;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::size_t used_ = 0;  // words, chunk after chunk
};

}  // namespace teetotal::monitors
