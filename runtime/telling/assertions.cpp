#include "assertions.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <fstream>

#include "calls.hpp"
#include "process.hpp"

namespace teetotal::runtime {

namespace {

constexpr std::uint8_t kBreakpoint = 0xCC;
constexpr std::uintptr_t kCodePage = 4096;

struct Entry {
  std::int32_t place, call;
};

// Into code, which can be written for no longer than this takes.
void put(std::uintptr_t place, std::uint8_t byte) {
  const std::uintptr_t page = place & ~(kCodePage - 1);
  kernel(SYS_mprotect, page, kCodePage, PROT_READ | PROT_WRITE | PROT_EXEC);
  *reinterpret_cast<volatile std::uint8_t*>(place) = byte;
  kernel(SYS_mprotect, page, kCodePage, PROT_READ | PROT_EXEC);
}

}  // namespace

Assertions assertions;

void Assertions::read(const std::string& file, std::uintptr_t base) {
  base_ = base;
  std::ifstream line(file);
  std::uintptr_t begin = 0, size = 0;
  line >> std::hex >> begin >> size;
  for (std::uintptr_t at = base + begin; at < base + begin + size; at += sizeof(Entry)) {
    const auto distance = std::intptr_t{reinterpret_cast<const Entry*>(at)->place};
    const std::uintptr_t place = at + static_cast<std::uintptr_t>(distance);
    if (armed_.try_emplace(place, *reinterpret_cast<const std::uint8_t*>(place)).second) put(place, kBreakpoint);
  }
}

bool Assertions::met(std::uintptr_t place) {
  const auto found = armed_.find(place);
  if (found == armed_.end()) return false;
  const Lasting marks;
  put(place, found->second);
  evaluated_.push_back(place - base_);
  armed_.erase(found);
  return true;
}

}  // namespace teetotal::runtime
