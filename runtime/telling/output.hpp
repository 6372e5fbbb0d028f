// Answers as lines of JSON, for teetotal.engines.runtime.driver, which reads them as they come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "monitors/report.hpp"
#include "naming.hpp"
#include "system.hpp"

namespace teetotal::runtime {

const char* word_for(Failure failure);

class Output {
 public:
  // To a file descriptor, to whoever supervises, or to nobody.
  static constexpr int kChannel = -1, kNowhere = -2;
  explicit Output(int file) : file_(file) {}

  void line(const std::string& text) const;

  static std::string quoted(std::string_view text);
  static std::string base64(std::string_view bytes);

  // What was done before that made it a fault: [words, thread, place]; no words where there is nothing to tell.
  static std::string cause(const Fault& fault);

  // What replays must know from the beginning, quoted. `k`: a number (whose stacks are visible as a whole; above 32
  // bits, whose thread-locals others touch) and the grains of stacks that others touch, and the cells there that end
  // (lifetimes.hpp), hexadecimal. `n`: the values that the program asked for (choices.hpp). Empty: nothing.
  static std::string context();

  // The steps up to `end`: [thread, kind, tag, cell, place, wrote, before, after, verb, place in a library or 0].
  static std::string steps(const Controlled& system, std::size_t end);

  // What the cells of those steps are, and of those that threads stand before: number: [tag, address, size, region,
  // block, block size, block's place, mixed]. On a stack, the last three but one are its owner and the frame.
  static std::string cells(const Controlled& system, std::size_t end, const Frames& frames);

  // What a monitor reports, with the execution up to the deciding event.
  static std::string violation(const Controlled& system, const std::string& monitor, const monitors::Report& report,
                               const Frames& frames);

  // What was met that no hook follows: [words, place], …
  static std::string unseen();

  // Which step was not as before, what the thread stands before now, and what it sees: [kind, tag, address, place].
  static std::string divergence(const Nondeterministic& found);

 private:
  int file_;
};

}  // namespace teetotal::runtime
