// Whose line an operation is on: code of the C++ library is compiled into the program, and tells nobody anything.
//
// Where an operation's place lies in a function of the library, the place to tell is the nearest caller that is not.
// The code is compiled without optimisation, and the hooks keep frame pointers, so a walk along these finds it;
// functions in shared libraries may break the chain, and then the place stays as it is. What the compiler put inline is
// found later, by its debugging information (teetotal.programs.c.symbols).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace teetotal::runtime {

class Callers {
 public:
  // The library's functions: lines with their begin and end, hexadecimal, relative to where the object lies, and
  // whether they wait with a limit (1) or not (0); sorted.
  void read(const std::string& file, std::uintptr_t base);

  bool empty() const { return library_.empty(); }

  // The place to tell for an operation at `place`, seen from a hook with this frame.
  std::uintptr_t teller(std::uintptr_t place, const void* frame) const;

  // How many frames above this one the program's own code is; 1 where that cannot be told.
  int frames_up(const void* frame) const;

  // Whether a function of the library that waits with a limit makes the call which returns here.
  bool waits_with_limit(std::uintptr_t place) const;

 private:
  struct Range {
    std::uintptr_t begin, end;
    bool limited;
  };
  struct Caller {
    std::uintptr_t place = 0;  // 0: none was found
    int frames = 1;            // between it and where the search began
  };
  const Range* range_of(std::uintptr_t place) const;
  bool of_library(std::uintptr_t place) const { return range_of(place) != nullptr; }
  bool of_program(std::uintptr_t place) const;
  Caller nearest(const void* frame) const;

  std::vector<Range> library_;
};

extern Callers callers;

}  // namespace teetotal::runtime
