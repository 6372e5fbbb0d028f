// Which assertions of the program some execution has come to: those that none comes to say nothing.
//
// The build lists where each is decided (programs/c/assertions.py). A breakpoint stands there until it is met for the
// first time: after that nothing is left of it, so that asking costs nothing where it would matter.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace teetotal::runtime {

class Assertions {
 public:
  // From a file with the place and size of the list.
  void read(const std::string& file, std::uintptr_t base);

  // Whether a trap behind this address is one of ours; then the code is as it was, and can go on there.
  bool met(std::uintptr_t place);

  // Offsets in the program, where something was met.
  const std::vector<std::uintptr_t>& evaluated() const { return evaluated_; }

 private:
  std::uintptr_t base_ = 0;
  std::map<std::uintptr_t, std::uint8_t> armed_;  // place → what stands there
  std::vector<std::uintptr_t> evaluated_;
};

extern Assertions assertions;

}  // namespace teetotal::runtime
