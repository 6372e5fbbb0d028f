#include "cells.hpp"

#include <algorithm>
#include <iterator>

#include "process.hpp"

namespace teetotal::runtime {

Cells cells;

namespace {

constexpr std::uint32_t kUnnumbered = ~0U;

Tag tag_of(std::uint32_t size) {
  return static_cast<Tag>(size >= 16 ? 4 : size >= 8 ? 3 : size >= 4 ? 2 : size >= 2 ? 1 : 0);
}

}  // namespace

std::uint32_t Cells::add(std::uintptr_t address, Tag tag) {
  if (frozen) return 0;
  const Lasting kept;
  const std::uint64_t key = key_of(address, tag);
  if (!is_data(tag)) {
    cells_.push_back({address, 0, tag});
    objects_.insert({address, tag});
    insert(key, static_cast<std::uint32_t>(cells_.size() - 1));
    return static_cast<std::uint32_t>(cells_.size() - 1);
  }
  std::uintptr_t begin = address, end = address + size_of(tag);
  bool mixed = false;
  std::uint32_t number = kUnnumbered;
  auto it = extents_.upper_bound(begin);
  if (it != extents_.begin() && std::prev(it)->first + std::prev(it)->second.size > begin) --it;
  while (it != extents_.end() && it->first < end) {
    const Extent extent = it->second;
    const std::uintptr_t first = it->first, last = it->first + extent.size;
    const bool equal = first == address && last == address + size_of(tag);
    it = extents_.erase(it);
    if (extent.soft && !equal) {  // gives way; what remains of it stays soft, on either side
      changed = changed || extent.number != kUnnumbered;
      if (first < begin) extents_[first] = {static_cast<std::uint32_t>(begin - first), false, true, kUnnumbered};
      if (last > end) extents_[end] = {static_cast<std::uint32_t>(last - end), false, true, kUnnumbered};
      continue;
    }
    if (extent.number != kUnnumbered) {
      changed = changed || begin < first || last < end;
      number = extent.number;
    }
    mixed = mixed || extent.mixed || !equal;
    begin = std::min(begin, first);
    end = std::max(end, last);
    it = extents_.lower_bound(begin);
  }
  if (number == kUnnumbered) {
    number = static_cast<std::uint32_t>(cells_.size());
    cells_.push_back({});
  }
  cells_[number] = {begin, static_cast<std::uint32_t>(end - begin), tag, mixed};
  extents_[begin] = {static_cast<std::uint32_t>(end - begin), mixed, false, number};
  insert(key, number);
  return number;
}

void Cells::insert(std::uint64_t key, std::uint32_t number) {
  if (2 * ++used_ > table_.size()) {
    std::vector<Slot> old(2 * table_.size());
    old.swap(table_);
    for (const Slot& entry : old) {
      if (entry.key == 0) continue;
      std::size_t at = slot(entry.key);
      while (table_[at].key != 0) at = (at + 1) & (table_.size() - 1);
      table_[at] = entry;
    }
  }
  std::size_t at = slot(key);
  while (table_[at].key != 0) at = (at + 1) & (table_.size() - 1);
  table_[at] = {key, number};
}

Cells::Piece Cells::piece(std::uintptr_t address, std::uintptr_t end) {
  auto it = extents_.upper_bound(address);
  if (it != extents_.begin() && std::prev(it)->first + std::prev(it)->second.size > address) --it;
  const bool known = it != extents_.end() && it->first <= address;
  const std::uintptr_t until = std::min(end, it == extents_.end() ? end
                                             : known              ? it->first + it->second.size
                                                                  : it->first);
  if (known && it->first == address && until == it->first + it->second.size) {
    const Tag tag = tag_of(it->second.size);
    if (size_of(tag) == it->second.size) {
      number_soft(it);
      return {address, tag};
    }
  }
  std::uint32_t step = 8;
  while (step > 1 && (address % step != 0 || address + step > until)) step /= 2;
  if (!known) number_soft(extents_.insert_or_assign(address, Extent{step, false, true, kUnnumbered}).first);
  return {address, tag_of(step)};
}

// The number of a soft piece is given here, so that `add` does not make it hard.
void Cells::number_soft(std::map<std::uintptr_t, Extent>::iterator it) {
  if (it->second.number != kUnnumbered) return;
  const Tag tag = tag_of(it->second.size);
  it->second.number = static_cast<std::uint32_t>(cells_.size());
  cells_.push_back({it->first, it->second.size, tag});
  insert(key_of(it->first, tag), it->second.number);
}

std::optional<Cells::Piece> Cells::first_inside(std::uintptr_t begin, std::uintptr_t end) const {
  for (auto it = extents_.lower_bound(begin); it != extents_.end() && it->first < end; ++it)
    if (it->second.number != kUnnumbered) return Piece{it->first, tag_of(it->second.size)};
  return std::nullopt;
}

std::optional<Cells::Piece> Cells::first_object(std::uintptr_t begin, Tag tag, std::uintptr_t end) const {
  for (auto it = objects_.lower_bound({begin, tag}); it != objects_.end() && it->first < end; ++it)
    if (!objects_.contains({it->first, Tag::futex})) return Piece{it->first, it->second};
  return std::nullopt;
}

void Cells::renumber() {
  changed = false;
  cells_.clear();
  std::fill(table_.begin(), table_.end(), Slot{});
  used_ = 0;
  for (auto& [address, extent] : extents_) {
    if (extent.number == kUnnumbered) continue;
    const Tag tag = tag_of(extent.size);
    extent.number = static_cast<std::uint32_t>(cells_.size());
    cells_.push_back({address, extent.size, tag, extent.mixed});
    if (size_of(tag) == extent.size) insert(key_of(address, tag), extent.number);
  }
  for (const auto& [address, tag] : objects_) {
    cells_.push_back({address, 0, tag});
    insert(key_of(address, tag), static_cast<std::uint32_t>(cells_.size() - 1));
  }
}

namespace {

constexpr unsigned kAddressAt = 16, kSizeAt = 5, kSoftAt = 4;
constexpr std::uint32_t kMostSize = (1U << (kAddressAt - kSizeAt)) - 1;  // larger ones have no name that fits

}  // namespace

std::uint64_t Cells::name(std::uint32_t number) const {
  const Cell& cell = cells_[number];
  const auto extent = extents_.find(cell.address);
  const bool soft = is_data(cell.tag) && extent != extents_.end() && extent->second.soft;
  return std::uint64_t{cell.address} << kAddressAt | std::uint64_t{std::min(cell.size, kMostSize)} << kSizeAt |
         std::uint64_t{soft} << kSoftAt | static_cast<std::uint64_t>(cell.tag);
}

std::uint32_t Cells::named(std::uint64_t name) {
  const auto address = static_cast<std::uintptr_t>(name >> kAddressAt);
  const auto size = static_cast<std::uint32_t>(name >> kSizeAt) & kMostSize;
  const auto tag = static_cast<Tag>(name & ((1U << kSoftAt) - 1));
  const bool soft = (name >> kSoftAt & 1U) != 0;
  if (!is_data(tag)) return number(address, tag);
  auto it = extents_.find(address);
  if (it == extents_.end() || it->second.size != size || size == kMostSize) {
    const auto after = extents_.lower_bound(address);
    const bool before = after != extents_.begin() && std::prev(after)->first + std::prev(after)->second.size > address;
    if (size == kMostSize || before || (after != extents_.end() && after->first < address + size)) {
      changed = true;
      return 0;
    }
    it = extents_.insert({address, {size, size_of(tag) != size, soft, kUnnumbered}}).first;
  }
  if (it->second.number != kUnnumbered) return it->second.number;
  it->second.number = static_cast<std::uint32_t>(cells_.size());
  cells_.push_back({address, size, tag, it->second.mixed});
  if (size_of(tag) == size) insert(key_of(address, tag), it->second.number);
  return it->second.number;
}

std::vector<std::array<std::uintptr_t, 3>> Cells::layout() const {
  std::vector<std::array<std::uintptr_t, 3>> told;
  for (const auto& [address, extent] : extents_)
    if (extent.number != kUnnumbered) told.push_back({address, extent.size, extent.soft});
  return told;
}

}  // namespace teetotal::runtime
