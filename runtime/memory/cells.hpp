// From what a program touches to dense numbers: the locations that searches and monitors know.
//
// A cell is a range of bytes that is always accessed as a whole, or an object that threads synchronise on (a mutex, a
// thread, …), which has a number of its own beside its bytes. An access that overlaps a cell without being equal to it
// makes them one cell, which is then `mixed`. Where one that had a number grows by that, alone or with others,
// `changed` is set: numbers given so far are void, steps of copies were cut otherwise, and the search begins again.
// Copies and fills of memory adapt to the cells that other accesses make: what they cut out by themselves is soft, and
// gives way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace teetotal::runtime {

// What a number stands for. Data comes first: its tag is the binary logarithm of its size.
enum class Tag : std::uint8_t {
  byte,
  half,
  word,
  oct,
  vector,
  mutex = 8,
  condition,
  semaphore,
  barrier,
  thread,
  rwlock,
  futex
};

constexpr bool is_data(Tag tag) { return tag <= Tag::vector; }
// Whether it lies in memory of the program, and ends with that. Those who wake others at a futex do not look at it.
constexpr bool is_object(Tag tag) { return !is_data(tag) && tag != Tag::thread && tag != Tag::futex; }
constexpr std::uint32_t size_of(Tag tag) { return is_data(tag) ? 1U << static_cast<unsigned>(tag) : 0; }

struct Cell {
  std::uintptr_t address;
  std::uint32_t size;  // 0: an object
  Tag tag;
  bool mixed = false;  // accessed in parts, or as part of something larger
};

class Cells {
 public:
  Cells() { table_.resize(1024); }

  // The number of what (address, tag) touches.
  std::uint32_t number(std::uintptr_t address, Tag tag) {
    const std::uint64_t key = key_of(address, tag);
    for (std::size_t at = slot(key);; at = (at + 1) & (table_.size() - 1)) {
      if (table_[at].key == key) return table_[at].number;
      if (table_[at].key == 0) return add(address, tag);
    }
  }

  struct Piece {
    std::uintptr_t address;
    Tag tag;

    auto operator<=>(const Piece&) const = default;
  };
  // Ranges are gone through one by one: threads are parked on the way, and what they hold must lie on their stacks.

  // The first part of a range that is copied or filled: a cell, old or new, or a part of one that has no simple size.
  Piece piece(std::uintptr_t address, std::uintptr_t end);

  // The first cell that begins in a range, and the first object that lies there, from (begin, tag) on. Not one that is
  // a futex: to wake those who wait there is no use of it.
  std::optional<Piece> first_inside(std::uintptr_t begin, std::uintptr_t end) const;
  std::optional<Piece> first_object(std::uintptr_t begin, Tag tag, std::uintptr_t end) const;

  const Cell& operator[](std::uint32_t number) const { return cells_[number]; }
  std::size_t size() const { return cells_.size(); }

  bool changed = false;
  bool frozen =
      false;  // what is not known stays unknown, and has the number of another: a thread is only supposed there

  // New numbers, for what is known by now.
  void renumber();

  // The same cell in another process, in which everything has the same address, and its number there. Where other
  // accesses have made something else of that memory, `changed` is set.
  std::uint64_t name(std::uint32_t number) const;
  std::uint32_t named(std::uint64_t name);

  // Of data: where each cell begins, its size, and whether it is soft.
  std::vector<std::array<std::uintptr_t, 3>> layout() const;

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t number = 0;
  };
  static std::uint64_t key_of(std::uintptr_t address, Tag tag) {
    return (address << 4) | static_cast<std::uint64_t>(tag) | 1ULL << 63;
  }
  std::size_t slot(std::uint64_t key) const { return (key * 0x9E3779B97F4A7C15ULL >> 20) & (table_.size() - 1); }
  std::uint32_t add(std::uintptr_t address, Tag tag);
  void insert(std::uint64_t key, std::uint32_t number);

  std::vector<Slot> table_;
  std::size_t used_ = 0;
  std::vector<Cell> cells_;
  struct Extent {
    std::uint32_t size;
    bool mixed;
    bool soft;
    std::uint32_t number;
  };
  void number_soft(std::map<std::uintptr_t, Extent>::iterator it);
  std::map<std::uintptr_t, Extent> extents_;          // of data, by their first byte; they do not overlap
  std::set<std::pair<std::uintptr_t, Tag>> objects_;  // all that were ever met
};

extern Cells cells;

}  // namespace teetotal::runtime
