#include "cells.hpp"

#include <algorithm>

namespace teetotal::runtime {

namespace {

constexpr std::uint32_t kUnnumbered = ~0U;

Tag tag_of(std::uint32_t size) {
  return static_cast<Tag>(size >= 16 ? 4 : size >= 8 ? 3 : size >= 4 ? 2 : size >= 2 ? 1 : 0);
}

}  // namespace

std::uint32_t Cells::add(std::uintptr_t address, Tag tag) {
  const std::uint64_t key = key_of(address, tag);
  if (!is_data(tag)) {
    cells_.push_back({address, 0, tag});
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
    changed = changed || (number != kUnnumbered && extent.number != kUnnumbered);
    if (extent.number != kUnnumbered) number = extent.number;
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

Cells::Pieces Cells::pieces(std::uintptr_t address, std::size_t size) {
  Pieces result;
  const std::uintptr_t end = address + size;
  while (address < end) {
    auto it = extents_.upper_bound(address);
    if (it != extents_.begin() && std::prev(it)->first + std::prev(it)->second.size > address) --it;
    if (it != extents_.end() && it->first <= address && it->first + it->second.size <= end && it->first == address) {
      result.push_back({address, tag_of(it->second.size)});  // at its first byte: the number is that of the whole cell
      address += it->second.size;
      continue;
    }
    std::uintptr_t until = it != extents_.end() && it->first > address ? std::min(it->first, end) : end;
    if (it != extents_.end() && it->first <= address) until = std::min(it->first + it->second.size, end);
    std::uint32_t step = 8;
    while (step > 1 && (address % step != 0 || address + step > until)) step /= 2;
    if (it == extents_.end() || it->first > address) extents_[address] = {step, false, true, kUnnumbered};
    result.push_back({address, tag_of(step)});
    address += step;
  }
  // Numbers of soft pieces: given here, so that `add` does not make them hard.
  for (const Piece& piece : result) {
    auto it = extents_.find(piece.address);
    if (it == extents_.end() || it->second.number != kUnnumbered || it->second.size != size_of(piece.tag)) continue;
    it->second.number = static_cast<std::uint32_t>(cells_.size());
    cells_.push_back({piece.address, it->second.size, piece.tag});
    insert(key_of(piece.address, piece.tag), it->second.number);
  }
  return result;
}

Cells::Pieces Cells::inside(std::uintptr_t address, std::size_t size) const {
  Pieces result;
  for (auto it = extents_.lower_bound(address); it != extents_.end() && it->first < address + size; ++it)
    if (it->second.number != kUnnumbered) result.push_back({it->first, tag_of(it->second.size)});
  return result;
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
}

}  // namespace teetotal::runtime
