#include "histories/budget.hpp"

#include <cstdio>
#include <fstream>

namespace teetotal::histories {
namespace {

std::size_t available_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key; file.ignore(std::numeric_limits<std::streamsize>::max(), '\n'))
    if (std::size_t kilobytes = 0; key == "MemAvailable:" && file >> kilobytes) return 1024 * kilobytes;
  return std::numeric_limits<std::size_t>::max();  // no such system: the allocation itself has to fail
}

}  // namespace

NotEnough::NotEnough(std::size_t needed, std::size_t there) {
  char text[80];
  const auto gigabytes = [](std::size_t bytes) { return static_cast<double>(bytes) / 1e9; };
  std::snprintf(text, sizeof text, "it needs %.1f GB, and there are %.1f GB to spare", gigabytes(needed),
                gigabytes(there));
  what_ = text;
}

std::size_t affordable(std::size_t bytes) {
  if (bytes < std::size_t{1} << 28) return bytes;
  if (const std::size_t there = available_memory() / 10 * 9; bytes > there) throw NotEnough(bytes, there);
  return bytes;
}

}  // namespace teetotal::histories
