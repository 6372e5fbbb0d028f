// For functions of libraries that are done here instead: what one call reads and writes, in order, as operations.
//
// The functions are those of the C standard, read as loops over characters. The program's calls come here by the name
// teetotal_NAME (imports.hpp), so that libraries keep their own.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "accesses.hpp"
#include "unwritten.hpp"

namespace teetotal::runtime {

class Touch {
 public:
  explicit Touch(std::uintptr_t place) : self_(process.current), place_(place) {}

  template <typename T>
  T get(const T* from) {
    before(Kind::ld, from, sizeof(T));
    T value;
    std::memcpy(&value, from, sizeof value);
    if constexpr (sizeof(T) <= sizeof(unwritten.pattern)) look(from, &value, sizeof value);
    return value;
  }

  // Whether what was read has ever been written.
  void look(const void* from, const void* value, std::size_t size) const {
    if (std::memcmp(value, &unwritten.pattern, size) != 0 || self_ == nullptr) [[likely]]
      return;
    const auto address = reinterpret_cast<std::uintptr_t>(from);
    if (in_heap(address) || stack_owner(address) < kMaxThreads) weigh_unwritten(address, place_);
  }

  template <typename T>
  void put(T* to, T value) {
    before(Kind::st, to, sizeof(T));
    std::memcpy(to, &value, sizeof value);
  }

  // Bytes, one by one.
  void put_all(char* to, const char* from, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) put(to + i, from[i]);
  }

  Thread* self() const { return self_; }
  std::uintptr_t place() const { return place_; }

 private:
  void before(Kind kind, const void* pointer, std::size_t size) {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    if (self_ == nullptr || imports.read_only(address) || hidden_from_call(*self_, address, place_, size)) return;
    const Tag tag = size == 1   ? Tag::byte
                    : size == 2 ? Tag::half
                    : size == 4 ? Tag::word
                    : size == 8 ? Tag::oct
                                : Tag::vector;
    operate(*self_, kind, kind == Kind::st ? Writes::always : Writes::never, address, tag, place_, 0, true, part_);
    part_ = true;
  }

  Thread* self_;
  std::uintptr_t place_;
  bool part_ = false;  // all that one call does is one visit of its place
};

// Characters of our own while others run: on the thread's stack, or in its heap, which goes back with the rest.
template <typename Char>
class Text {
 public:
  explicit Text(const Touch& touch) : touch_(touch) {}
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  void add(Char c) { *extend(1) = c; }

  // Room for so many more and a zero behind them, which the caller fills.
  Char* extend(std::size_t count) {
    while (size_ + count + 1 > room_) grow();
    size_ += count;
    data_[size_] = 0;
    return data_ + size_ - count;
  }
  const Char* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  void grow() {
    if (touch_.self() == nullptr) std::abort();  // nothing of the program runs
    void* larger = memory.allocate(touch_.self()->number, 4 * room_ * sizeof(Char), 0, touch_.place());
    if (larger == nullptr) fail(*touch_.self(), Failure::unsupported, "a text that is too long", touch_.place());
    std::memcpy(larger, data_, (size_ + 1) * sizeof(Char));
    data_ = static_cast<Char*>(larger);
    room_ *= 4;
  }

  const Touch& touch_;
  Char small_[128] = {};
  Char* data_ = small_;
  std::size_t size_ = 0, room_ = 128;
};

// Memory that the program may keep, and free.
inline void* allocated(const Touch& touch, std::size_t size, std::size_t alignment = 0) {
  if (touch.self() == nullptr) return nullptr;
  ++touch.self()->asked.changes;
  void* block = memory.allocate(touch.self()->number, size, alignment, touch.place());
  if (block == nullptr) errno = ENOMEM;
  return block;
}

// Bytes of the program, in parts of whatever size others access them in.
inline void read_bytes(const Touch& touch, const void* from, std::size_t size, Text<char>& into) {
  if (touch.self() != nullptr) read_parts(*touch.self(), into.extend(size), from, size, touch.place());
}

// A string of the program, as far as `most`.
template <typename Char>
void read_string(Touch& touch, const Char* from, Text<Char>& into, std::size_t most = ~std::size_t{0}) {
  for (std::size_t i = 0; i < most; ++i) {
    const Char c = touch.get(from + i);
    if (c == 0) return;
    into.add(c);
  }
}

}  // namespace teetotal::runtime
