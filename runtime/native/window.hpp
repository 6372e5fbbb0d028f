// The file that a recorded program and who records it both have in memory: src/teetotal/record/windows.py reads it.
//
// A header, the text of /proc/self/maps as it was when recording began, and records of a fixed size. `count` is raised
// when a record is whole, so that the records before it are, whatever becomes of the program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace teetotal::native {

constexpr std::uint64_t kMagic = 0x3144524f43455254;  // "TRECORD1"
constexpr std::size_t kHeaderBytes = 4096, kMapsBytes = 1 << 18;

enum Mode : std::uint32_t { dormant = 0, recording = 1 };

struct Header {
  std::uint64_t magic = 0;
  std::uint64_t capacity = 0;                 // records
  std::uint64_t seed = 0;                     // of the schedule
  std::atomic<std::uint64_t> count = 0;       // records that are whole
  std::atomic<std::uint64_t> repeated = 0;    // loads that were left out, since they repeat
  std::atomic<std::uint32_t> mode = dormant;  // set by who records; to dormant by the program, when the window is full
  std::uint32_t attached = 0;                 // a second thread was started
  std::uint32_t too_many_threads = 0;
  std::atomic<std::uint32_t> goes_on = 0;  // when the window is full: wait until it has been taken, and fill it again
};

// As core/event.hpp numbers them, and what is no event.
enum class Kind : std::uint8_t { ld, st, rmw, mfence, sfence, lock, unlock, fence, block = 16 };

enum Flag : std::uint8_t {
  wrote = 1,
  valued = 2,
  synchronises = 4,  // the address is that of an object, whose values are not told
  of_thread = 8,     // the address is a thread's number
};

struct Record {
  std::uint64_t address;
  std::uint64_t read;  // of a block: its size
  std::uint64_t written;
  std::uint64_t place;  // where the hook returns to
  std::uint64_t size;
  std::uint32_t thread;
  Kind kind;
  std::uint8_t flags;
  std::uint16_t unused;
};
static_assert(sizeof(Record) == 48);

}  // namespace teetotal::native
