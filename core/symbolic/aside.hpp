// An engine that an exception ends, as when its time is over, is freed beside what follows: hundreds of thousands of
// states take up to a second to free, and nobody has that second.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

namespace teetotal::symbolic {

inline std::atomic<std::uint32_t> being_freed = 0;

// Waits until all of them are, for so many seconds at most: where it was memory that ended, whoever comes next needs
// what they had. Whether they are.
inline bool all_freed(double seconds) {
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + std::chrono::duration<double>(seconds); being_freed != 0;) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

struct Aside {
  template <class Engine>
  void operator()(Engine* engine) const {
    if (std::uncaught_exceptions() != 0) {
      try {
        ++being_freed;
        std::thread([engine] {
          delete engine;
          --being_freed;
        }).detach();
        return;
      } catch (const std::exception&) {  // no thread to be had, or no memory for one
        --being_freed;
      }
    }
    delete engine;
  }
};

template <class Engine, class... Arguments>
std::unique_ptr<Engine, Aside> freed_aside(Arguments&&... arguments) {
  return std::unique_ptr<Engine, Aside>(new Engine(std::forward<Arguments>(arguments)...));
}

}  // namespace teetotal::symbolic
