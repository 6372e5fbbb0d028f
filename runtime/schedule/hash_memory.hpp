// Hashing of what lies in memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "hash.hpp"

namespace teetotal::runtime {

inline constexpr std::uintptr_t kWord = sizeof(std::uint64_t);

inline std::uint64_t word_at(std::uintptr_t address, std::size_t size = kWord) {
  std::uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), size);
  return value + 0x9E37;
}

inline std::uint64_t hash_range(std::uint64_t hash, std::uintptr_t at, std::uintptr_t end) {
  std::array<std::uint64_t, 4> lanes{hash, hash + 1, hash + 2, hash + 3};
  if (constexpr std::uintptr_t together = lanes.size() * kWord; end - at >= 2 * together) {
    // Four words at a time, each with a hash of its own: one multiplication need not wait for another.
    for (; at + together <= end; at += together)
      for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] = mix(lanes[i], word_at(at + i * kWord));
    hash = mix(mix(mix(lanes[0], lanes[1]), lanes[2]), lanes[3]);
  }
  // The last word may be a part: thread-locals have any size.
  for (; at < end; at += kWord) hash = mix(hash, word_at(at, std::min(end - at, kWord)));
  return hash;
}

}  // namespace teetotal::runtime
