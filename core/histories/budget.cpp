#include "histories/budget.hpp"

#include <fstream>
#include <new>
#include <string>

namespace teetotal::histories {
namespace {

std::size_t available_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key; file.ignore(std::numeric_limits<std::streamsize>::max(), '\n'))
    if (std::size_t kilobytes = 0; key == "MemAvailable:" && file >> kilobytes) return 1024 * kilobytes;
  return std::numeric_limits<std::size_t>::max();  // no such system: the allocation itself has to fail
}

}  // namespace

std::size_t affordable(std::size_t bytes) {
  if (bytes >= std::size_t{1} << 28 && bytes > available_memory() / 10 * 9) throw std::bad_alloc();
  return bytes;
}

}  // namespace teetotal::histories
