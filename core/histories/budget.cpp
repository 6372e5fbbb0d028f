#include "histories/budget.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "spare_memory.hpp"

namespace teetotal::histories {
namespace {

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();  // the allocation itself has to fail

// What this process may map (`--memory`).
std::size_t of_process() {
  rlimit addresses{};
  std::size_t pages = 0;
  if (getrlimit(RLIMIT_AS, &addresses) != 0 || addresses.rlim_cur == RLIM_INFINITY) return kAny;
  if (!(std::ifstream("/proc/self/statm") >> pages)) return kAny;
  const std::size_t mapped = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return addresses.rlim_cur > mapped ? addresses.rlim_cur - mapped : 0;
}

}  // namespace

NotEnough::NotEnough(std::size_t needed, std::size_t there) {
  char text[80];
  const auto gigabytes = [](std::size_t bytes) { return static_cast<double>(bytes) / 1e9; };
  const int digits = needed < 1'000'000'000 ? 3 : 1;
  std::snprintf(text, sizeof text, "it needs %.*f GB, and there are %.*f GB to spare", digits, gigabytes(needed),
                digits, gigabytes(there));
  what_ = text;
}

std::size_t affordable(std::size_t bytes) {
  if (bytes < std::size_t{1} << 24U) return bytes;
  // A search asks again and again where there is not enough: the machine, which takes longer to answer, comes last.
  if (const std::size_t there = of_process(); bytes > there) throw NotEnough(bytes, there);
  if (const std::size_t there = spare_memory() / 10 * 9; bytes > there) throw NotEnough(bytes, there);
  return bytes;
}

}  // namespace teetotal::histories
