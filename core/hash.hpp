// Hashing of short sequences of words, and of bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace teetotal {

inline std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(hash ^ word) * 0x9E3779B97F4A7C15ULL;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t hash_words(std::span<const std::int64_t> words) {
  std::uint64_t hash = 0x243F6A8885A308D3ULL ^ words.size();
  for (const std::int64_t word : words) hash = mix(hash, static_cast<std::uint64_t>(word) + 0x13198A2E03707344ULL);
  return hash;
}

inline std::uint64_t hash_bytes(std::span<const std::uint8_t> bytes) {
  std::uint64_t hash = 0x243F6A8885A308D3ULL ^ bytes.size();
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    const std::size_t left = bytes.size() - at;
    std::memcpy(&word, bytes.data() + at, left < sizeof word ? left : sizeof word);
    hash = mix(hash, word + 0x13198A2E03707344ULL);
  }
  return hash;
}

}  // namespace teetotal
