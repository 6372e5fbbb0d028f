// A map from hashes of 64 bits to values. The hashes are odd, so that 0 can mark a free entry. Single values are never
// taken out. To add one moves the others: what `find` returned is not valid any more.
#pragma once

#include <array>
#include <bit>

#include "open_table.hpp"

namespace teetotal::runtime {

template <typename Value>
class Hashed {
 public:
  const Value* find(std::uint64_t hash) const {
    const Entry& found = entries_.at(begin(hash), [=](const Entry& other) { return other.hash() == hash; });
    return found.free() ? nullptr : &found.value;
  }

  // The value that is there already for this hash, or else the given one, now added.
  const Value& add(std::uint64_t hash, const Value& value) {
    entries_.make_room(size_, [](const Entry& other) { return begin(other.hash()); });
    Entry& found = entries_.at(begin(hash), [=](const Entry& other) { return other.hash() == hash; });
    if (found.free()) {
      found = {std::bit_cast<Halves>(hash), value};
      ++size_;
    }
    return found.value;
  }

  std::size_t size() const { return size_; }

  void clear() { *this = {}; }

 private:
  using Halves = std::array<std::uint32_t, 2>;
  struct Entry {
    Halves halves{};  // of the hash: so that a value of one byte takes three more beside it, and not seven
    Value value{};
    std::uint64_t hash() const { return std::bit_cast<std::uint64_t>(halves); }
    bool free() const { return hash() == 0; }
  };

  static std::uint64_t begin(std::uint64_t hash) { return hash >> 1U; }

  OpenTable<Entry, 75> entries_;
  std::size_t size_ = 0;
};

}  // namespace teetotal::runtime
