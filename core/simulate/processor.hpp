// A processor: does one access after the other, stores perhaps by way of a buffer.
//
// An access takes effect when its line is there; with a buffer, a store takes effect when it leaves it, and a load that
// finds a store of its own there takes that. Without buffers this is SC, with them TSO (Burnim, Sen, Stergiou, Fig. 2).
#pragma once

#include <deque>
#include <vector>

#include "event.hpp"
#include "simulate/cache.hpp"

namespace teetotal::simulate {

struct Access {
  Kind kind;
  std::uint32_t address;
  Word value;
};

class Processor {
 public:
  Processor(Node self, Node home, const Settings& settings, Network& network, std::vector<Access> program);

  void start();
  void wake(Wake what);
  void receive(const Message& message) { cache_.receive(message); }
  bool done() const { return next_ == program_.size() && buffer_.empty(); }
  const std::vector<Word>& results() const { return results_; }

 private:
  void go_on();                        // with the program
  void drain();                        // the buffer
  bool perform(const Access& access);  // false: it has to wait
  bool load(const Access& access);
  bool write(std::uint32_t address, Word value);
  void arrived(Line line);
  Line line_of(std::uint32_t address) const { return address / settings_.words; }
  std::uint32_t word_of(std::uint32_t address) const { return address % settings_.words; }

  struct Store {
    std::uint32_t address;
    Word value;
  };
  const Node self_;
  const Settings& settings_;
  Network& network_;
  Cache cache_;
  const std::vector<Access> program_;
  std::size_t next_ = 0;
  std::deque<Store> buffer_;
  std::size_t leaving_ = 0;  // which store of the buffer is the next to leave
  bool waits_ = false, drains_ = false, drain_waits_ = false;
  std::vector<Word> results_;
};

}  // namespace teetotal::simulate
