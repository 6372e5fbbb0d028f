// What is to be said about the answer, beside it: what the program does that makes it weaker.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace teetotal::runtime {

struct Remarks {
  std::vector<std::string> oddities;                        // each once
  std::set<std::pair<std::string, std::uintptr_t>> unseen;  // what it did that no hook follows, and where: no proof
  bool incomplete = false;                                  // executions may be missing
  bool assembly = false;  // locked instructions that are no operations of C11 were met

  void note(const std::string& oddity);

  // As note, where it also means that executions may be missing.
  void weaken(const std::string& oddity) {
    incomplete = true;
    note(oddity);
  }
};

extern Remarks remarks;

}  // namespace teetotal::runtime
