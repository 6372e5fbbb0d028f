// Answers as lines of JSON, for teetotal.programs.c.runtime, which reads them as they come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "naming.hpp"
#include "system.hpp"

namespace teetotal::runtime {

const char* word_for(Failure failure);

class Output {
 public:
  explicit Output(int file) : file_(file) {}

  void line(const std::string& text) const;

  static std::string quoted(std::string_view text);

  // The steps up to `end`: [thread, kind, tag, cell, place, wrote, before, after, verb, place in a library or 0].
  static std::string steps(const Controlled& system, std::size_t end);

  // What the cells of those steps are, and of those that threads stand before: number: [tag, address, size, region,
  // block, block size, block's place, mixed]. On a stack, the last three but one are its owner and the frame.
  static std::string cells(const Controlled& system, std::size_t end, const Frames& frames);

 private:
  int file_;
};

}  // namespace teetotal::runtime
