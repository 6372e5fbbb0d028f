// The one hash table of our own: open addressing with linear probing, for what is only ever added. It knows neither
// keys nor hashes: whoever asks says both, so that an entry need be no more than the number of something that lies
// elsewhere.
//
// Entry: `Entry{}` is free, and `free()` says so. kPercent: how full the table may be; fuller takes less memory and
// more comparisons.
//
// Why not std::unordered_map: a node for each entry. 100,000 additions with three searches after each take 71 million
// instructions with it and 31 to 34 million with this (callgrind, g++ 12, -O3, hashes of 64 bits with a value of one
// byte or eight); two million take 1.6 to 2 seconds and 0.4 to 0.5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace teetotal {

template <typename Entry, std::size_t kPercent>
class OpenTable {
 public:
  // With room for so many entries.
  explicit OpenTable(std::size_t entries = 0) {
    std::size_t size = kFirst;
    while (100 * entries > kPercent * size) size *= 2;
    entries_.resize(size);
  }

  // The entry with that hash for which `same` holds, or the free one that is its place.
  template <typename Same>
  Entry& at(std::uint64_t hash, Same same) {
    return entries_[place(hash, same)];
  }
  template <typename Same>
  const Entry& at(std::uint64_t hash, Same same) const {
    return entries_[place(hash, same)];
  }

  // What it takes with so many entries, and while it is made larger.
  std::size_t bytes(std::size_t used) const {
    return (100 * used <= kPercent * entries_.size() ? 1 : 3) * entries_.size() * sizeof(Entry);
  }

  // Before another entry than those `used` ones is made. Entries lie elsewhere afterwards.
  template <typename HashOf>
  void make_room(std::size_t used, HashOf hash_of) {
    if (100 * (used + 1) <= kPercent * entries_.size()) return;
    const auto old = std::exchange(entries_, std::vector<Entry>(2 * entries_.size()));
    for (const Entry& entry : old)
      if (!entry.free()) at(hash_of(entry), [](const Entry&) { return false; }) = entry;
  }

 private:
  static constexpr std::size_t kFirst = 64;  // a power of two

  template <typename Same>
  std::size_t place(std::uint64_t hash, Same same) const {
    const std::size_t mask = entries_.size() - 1;
    std::size_t at = hash & mask;
    while (!entries_[at].free() && !same(entries_[at])) at = (at + 1) & mask;
    return at;
  }

  std::vector<Entry> entries_;
};

}  // namespace teetotal
