// What hooks do while a window is open: take the turn, record, keep the turn until the next hook.
#pragma once

#include <cstddef>
#include <cstdint>

#include "turn.hpp"
#include "window.hpp"

#define TEETOTAL_EXPORT __attribute__((visibility("default")))
#define TEETOTAL_PLACE reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))

namespace teetotal::native {

extern Header* window;  // until a second thread starts, one in which nothing is recorded

inline bool recording_now() { return window->mode.load(std::memory_order_relaxed) == recording; }

// A hook, from where it has the turn to where it returns. Empty where nothing is recorded.
class Hook {
 public:
  Hook() : Hook(0) {}
  // Before a load at `place`. If no instruction since the hook before writes, the store which that one announced is
  // still to come: the two are a copy.
  explicit Hook(std::uintptr_t place);
  ~Hook();
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;
  explicit operator bool() const { return self_ != nullptr; }

  void load(std::uintptr_t address, std::size_t size, std::uintptr_t place);  // reads what is there
  void load(std::uintptr_t address, std::size_t size, std::uint64_t value, std::uintptr_t place);
  void store(std::uintptr_t address, std::size_t size, std::uint64_t value, std::uintptr_t place);
  void store_follows(std::uintptr_t address, std::size_t size, std::uintptr_t place);
  void change(std::uintptr_t address, std::size_t size, std::uint64_t read, std::uint64_t written, bool writes,
              std::uintptr_t place);
  void range(Kind kind, std::uintptr_t address, std::size_t size, std::uintptr_t place);
  void fence(Kind kind, std::uintptr_t place);
  void synchronise(Kind kind, const void* object, std::uintptr_t place, bool writes = true);
  void thread(std::uint32_t number, std::uintptr_t place);
  void block(const void* begin, std::size_t size, std::uintptr_t place);
  // Before a call that may block: others may have the turn.
  void step_aside() { aside_ = true; }

 private:
  void add(const Record& record);
  Thread* self_ = nullptr;
  bool aside_ = false;
};

inline void step_aside() {
  if (Hook hook; hook) hook.step_aside();
}

// Somebody's store that follows a hook is done.
void finish(Thread& thread);

void begin_thread(std::uint32_t number);  // of the calling thread
void end_thread();
std::uint32_t new_number();
void attach();  // there will be a second thread

}  // namespace teetotal::native
