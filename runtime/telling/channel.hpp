// What the explorer tells, and how it is watched: memory that it shares with the supervisor (supervisor.hpp), which has
// the only descriptor that leads outside. A program that closes, duplicates or writes to every descriptor there is
// changes nothing about it.
//
//   log      answers, one record each, in the order of their offsets. It lies where the kernel likes, and can be
//   neither
//            read nor written but while a record is added. A record is there once `end` says so: what a process that
//            dies had begun is written over by the next one.
//   pulse    what changes all the time: how far the search is, and whether the program runs.
//   notices  what the supervisor tells the explorer; nobody else writes there.
//   inbox    where an explorer goes on with one part of a search after the other: the request at hand. The explorer can
//            read it while it takes it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace teetotal::runtime {

// Why the program, or the search, is to be stopped. The names that others are told are in supervisor.cpp.
enum class Reason : std::uint32_t { none, hang, waits, too_large, time, interrupted };

constexpr int kCallBits = 16;
constexpr int kAnsweredSignal = SIGUSR2;  // to the supervisor

struct Pulse {
  std::atomic<std::uint64_t> beats = 0;  // odd: the program runs; even: the search
  std::atomic<std::uint64_t> steps = 0;
  std::atomic<pid_t> explorer = 0;  // the process that searches
  std::atomic<std::uint64_t> call =
      0;                               // the system call that the program is in, how many there were and 1 + its number
  std::atomic<bool> finished = false;  // the search has come to its end, as it should
  std::atomic<std::uint32_t> answered = 0;  // requests
};

struct Notices {
  std::atomic<Reason> asked = Reason::none;  // why the program is interrupted, by kWatchSignal
  std::atomic<Reason> stop = Reason::none;   // why the search is to end
  std::atomic<std::uint32_t> pauses = 0;     // how often the supervisor has stopped the explorer for a while
  std::atomic<std::uint32_t> requests = 0;   // so many are, or were, in the inbox
  std::atomic<std::uint64_t> request_size = 0;
  std::atomic<pid_t> supervisor = 0;
};

class Channel {
 public:
  static constexpr std::size_t kLog = std::size_t{1} << 36;             // reserved: what was read is given back
  static constexpr std::size_t kLargestRequest = std::size_t{1} << 32;  // reserved as well
  static constexpr std::size_t kReserved = kLog + kLargestRequest;

  // Before the explorer is forked. Throws std::runtime_error where there is no memory to share.
  void open();
  bool is_open() const { return log_ != nullptr; }

  // In the explorer: from now on only what it must write is writable.
  void protect() const;

  // In the explorer: adds a record; waits where far too much has not been read.
  void tell(std::string_view text) const;

  // In the explorer: waits for a request beyond the first so many.
  std::string wait_for_request(std::uint32_t known) const;

  // In the explorer: the request of this number is. Wakes the supervisor.
  void answered(std::uint32_t number) const;

  // In the supervisor: a request, once the one before it was answered.
  void ask(std::string_view request) const;
  bool busy() const { return notices_->requests != pulse_->answered; }

  // In the supervisor: the next record, or nothing. Throws Overwritten where it is not what a `tell` has written.
  struct Overwritten {};
  std::string_view next();
  void taken(std::string_view record);

  Pulse& pulse() const { return *pulse_; }
  Notices& notices() const { return *notices_; }

  // The explorer's shared memory: nobody unmaps it.
  bool overlaps(std::uintptr_t begin, std::uintptr_t end) const;

 private:
  struct Log;

  Pulse own_pulse_;  // where nobody watches: replay in a debugger
  Notices own_notices_;
  Pulse* pulse_ = &own_pulse_;
  Notices* notices_ = &own_notices_;
  Log* log_ = nullptr;
  char* inbox_ = nullptr;
  std::uint64_t read_ = 0;
};

extern Channel channel;

}  // namespace teetotal::runtime
