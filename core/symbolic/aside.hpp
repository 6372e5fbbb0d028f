// An engine that an exception ends, as when its time is over, is freed beside what follows: hundreds of thousands of
// states take up to a second to free, and nobody has that second.
#pragma once

#include <exception>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

namespace teetotal::symbolic {

struct Aside {
  template <class Engine>
  void operator()(Engine* engine) const {
    if (std::uncaught_exceptions() != 0) {
      try {
        std::thread([engine] { delete engine; }).detach();
        return;
      } catch (const std::system_error&) {  // no thread to be had
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
