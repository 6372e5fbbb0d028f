// The interconnect and the clock: messages that take a random while, so that they overtake each other, and wake-ups.
#pragma once

#include <array>
#include <cstdint>
#include <queue>
#include <vector>

#include "hash.hpp"

namespace teetotal::simulate {

using Word = std::int64_t;
using Line = std::uint32_t;
using Node = std::uint32_t;  // a cache, by the number of its processor; the home comes after them

constexpr std::uint32_t most_words = 8;
using Data = std::array<Word, most_words>;  // of a line

// The same numbers everywhere for the same seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint32_t below(std::uint32_t bound) {
    state_ += 0x9E3779B97F4A7C15ULL;
    return static_cast<std::uint32_t>(mix(0x243F6A8885A308D3ULL, state_) >> 32) % bound;
  }

 private:
  std::uint64_t state_;
};

struct Message {
  enum class Type : std::uint8_t {
    get_shared,      // cache → home: to read
    get_modified,    // cache → home: to write
    put,             // owner → home: wants to give the line up
    probe,           // home → cache: give the line up, or (invalidate: no) share it
    response,        // cache → who collects: done; an owner sends the data
    copy_back,       // owner → home: the data, too, where nobody owns it from now on
    grant,           // home → requester: data, and how many responses to wait for
    unblock,         // requester → home: has it
    writeback_ack,   // home → owner: now is the time
    writeback_data,  // owner → home: the data, or, if it lost the line meanwhile, none
  };
  Type type;
  Node from, to;
  Line line;
  std::uint32_t request = 0;  // whose number all that belongs to it bears
  Node collector = 0;         // of a probe
  bool invalidate = false;    // of a probe
  bool has_data = false;
  bool had_copy = false;       // of a response
  bool exclusive = false;      // of a grant
  std::uint32_t expected = 0;  // of a grant
  Data data{};
};

enum class Wake : std::uint8_t { none, program, buffer };  // what a processor goes on with

struct Happening {
  std::uint64_t time, number;
  Wake wake;  // of the processor message.to; or the message arrives
  Message message;
  bool operator<(const Happening& other) const {  // the queue's largest is the first to come
    return time != other.time ? time > other.time : number > other.number;
  }
};

class Network {
 public:
  Network(std::uint64_t seed, std::uint32_t delay) : random(seed), delay_(delay) {}

  Random random;
  void send(const Message& message) { add(1 + random.below(delay_ + 1), Wake::none, message); }
  void wake(Node processor, Wake what, std::uint32_t within) {
    add(1 + random.below(within + 1), what, {Message::Type::probe, processor, processor, 0});
  }
  bool next(Happening& out) {
    if (queue_.empty()) return false;
    out = queue_.top();
    queue_.pop();
    now_ = out.time;
    return true;
  }

 private:
  void add(std::uint64_t after, Wake wake, const Message& message) {
    queue_.push({now_ + after, number_++, wake, message});
  }
  std::priority_queue<Happening> queue_;
  std::uint64_t now_ = 0, number_ = 0;
  const std::uint32_t delay_;
};

}  // namespace teetotal::simulate
