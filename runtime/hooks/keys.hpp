// Keys of thread-specific data, for others beside hooks_threads.cpp.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>

#include "seldom.hpp"
#include "users.hpp"

namespace teetotal::runtime {

struct Thread;

struct KeysRecord {
  std::uint32_t count = 0;
  Users numbering;  // who gets which depends on who comes first
  Seldom<std::bitset<1024>> deleted;
};

struct Keys : KeysRecord {
  using Record = KeysRecord;

  // What libraries created while they were loaded, and what the first thread has by it, is there from the beginning.
  void keep(const Thread& first);
  void begin(Thread& first);

 private:
  std::uint32_t kept_count_ = 0;
  std::map<std::uint32_t, void*> kept_specific_;
};

extern Keys keys;

}  // namespace teetotal::runtime
