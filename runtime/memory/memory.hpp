// The memory of the program: its variables, its heap, and how both go back to the beginning.
//
// Variables: the writable segments of the loaded object are copied once and put back before each execution; large ones
// are mapped from a file in memory, so that the kernel puts back what was written. So are those of libraries that are
// loaded with it: what they remember (that a key was created, a list of threads) is of one execution.
//
// Heap: each thread allocates from a range of its own at a fixed address, upwards, so that an address depends on what
// the thread itself did, not on the schedule. Nothing is given out twice in one execution. A byte of shadow for every
// 16 bytes of heap tells what they are, so that the use of freed memory is seen at the access.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fiber.hpp"

namespace teetotal::runtime {

inline constexpr std::uintptr_t kHeap = 0x6500'0000'0000;
inline constexpr std::size_t kHeapStride = std::size_t{16} << 30;
inline constexpr std::uintptr_t kShadow = 0x6800'0000'0000;
inline constexpr std::size_t kGrain = 16;

// What the heap's shadow says of each grain, with how many bytes of it are behind the end of its block above that.
enum class Grain : std::uint8_t { unused = 0, first = 1, more = 2, freed_first = 3, freed_more = 4 };
inline constexpr unsigned kKinds = 7, kBehind = 3;

struct Block {
  std::uintptr_t address = 0;
  std::size_t size = 0;
  std::uintptr_t place = 0;  // who asked for it
  bool freed = false;
  std::uint32_t end = 0;  // who freed it: see `objects.ended_by`
};

inline bool in_heap(std::uintptr_t address) { return address - kHeap < kMaxThreads * kHeapStride; }

struct Region {
  std::uintptr_t begin;
  std::size_t size;
};

using Used = std::array<std::size_t, kMaxThreads>;  // of each thread's heap

class Memory {
 public:
  void prepare();                         // before anything of the program is loaded
  void adopt_object(const void* inside);  // the segments of the loaded object around an address, and of its libraries
  void keep_heap();                       // what was allocated so far is there from the beginning
  void reset();

  // For snapshots: where the program may have written so far, if that can be copied (what the kernel puts back cannot).
  bool copyable() const;
  void written(std::vector<Region>& into, std::uint32_t threads) const;
  const Used& used() const { return used_; }
  void shrink(const Used& used, std::uint32_t threads);  // what was allocated since is given out anew

  void* allocate(std::uint32_t thread, std::size_t size, std::size_t alignment, std::uintptr_t place);
  Block block(std::uintptr_t address) const;  // around an address; size 0 and address 0 where there is none
  void release(const Block& block, std::uint32_t end);

  // Of files, as far as the C library was asked for them. The latest around an address; size 0 where there is none.
  void add_mapping(const Block& pages) { mappings_.push_back(pages); }
  Block mapping(std::uintptr_t address) const;

  // Zeros, by whichever way is quick.
  static void clear(std::uintptr_t begin, std::size_t size);

  static std::uint8_t& shadow(std::uintptr_t address) {
    return *reinterpret_cast<std::uint8_t*>(kShadow + (address - kHeap) / kGrain);
  }
  static Grain grain(std::uintptr_t address) { return static_cast<Grain>(shadow(address) & kKinds); }
  // Whether so many bytes are a block's that is in use. They lie in one grain, or are not looked at behind it.
  static bool in_use(std::uintptr_t address, std::size_t size) {
    const unsigned told = shadow(address), kind = told & kKinds;
    return kind - 1U < 2U && (told == kind || address % kGrain + size + (told >> kBehind) <= kGrain);
  }

  bool in_object(std::uintptr_t address) const { return address - object_begin_ < object_end_ - object_begin_; }
  // Whether it lies in the object, where nothing can be written.
  bool is_constant(std::uintptr_t address) const {
    return in_object(address) && std::ranges::none_of(segments_, [address](const Segment& segment) {
             return address - segment.begin < segment.size;
           });
  }
  std::uintptr_t object_begin() const { return object_begin_; }

  // Thread-local variables: of the program, and of each library that is loaded with it.
  struct Locals {
    std::size_t module, size, image_size;
    const void* image;
  };
  std::vector<Locals> library_locals;
  std::size_t tls_module = 0, tls_size = 0, tls_image_size = 0;
  const void* tls_image = nullptr;

 private:
  struct Segment {
    std::uintptr_t begin;
    std::size_t size;
    std::vector<std::byte> saved;  // empty: the kernel puts it back
  };
  void adopt_segment(std::uintptr_t begin, std::uintptr_t end);
  void open(std::uint32_t thread, std::size_t size, std::uintptr_t place);

  std::vector<std::uintptr_t> of_explorer_;  // where the libraries lie that were there before
  std::vector<Segment> segments_;
  std::vector<Block> mappings_;
  std::uintptr_t object_begin_ = 0, object_end_ = 0;
  Used used_{};
  Used open_{};           // so much of it can be written to
  std::size_t kept_ = 0;  // of thread 0: allocated while loading
  std::vector<std::byte> kept_heap_, kept_shadow_;
};

extern Memory memory;

}  // namespace teetotal::runtime
