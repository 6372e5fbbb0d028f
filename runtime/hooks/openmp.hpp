// The state of hooks_openmp.cpp.
#pragma once

#include <cstdint>

namespace teetotal::runtime {

struct OpenMpRecord {
  std::uint32_t team_size = 0;           // that the program has asked for
  alignas(16) int critical_section = 0;  // whether a thread is in one
  alignas(16) int atomic_region = 0;
};

struct OpenMp : OpenMpRecord {
  using Record = OpenMpRecord;
};

extern OpenMp openmp;

// Of a thread: the team of its parallel region, its number there, and the single constructs that it has met.
struct OpenMpThread {
  void* team = nullptr;
  std::uint32_t number = 0;
  int singles = 0;
};

}  // namespace teetotal::runtime
