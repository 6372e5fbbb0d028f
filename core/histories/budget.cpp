#include "histories/budget.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace teetotal::histories {
namespace {

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();  // the allocation itself has to fail

std::size_t of_machine() {
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key; file.ignore(std::numeric_limits<std::streamsize>::max(), '\n'))
    if (std::size_t kilobytes = 0; key == "MemAvailable:" && file >> kilobytes) return 1024 * kilobytes;
  return kAny;
}

// What this process may map (`--memory`).
std::size_t of_process() {
  rlimit addresses{};
  std::size_t pages = 0;
  if (getrlimit(RLIMIT_AS, &addresses) != 0 || addresses.rlim_cur == RLIM_INFINITY) return kAny;
  if (!(std::ifstream("/proc/self/statm") >> pages)) return kAny;
  const std::size_t mapped = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return addresses.rlim_cur > mapped ? addresses.rlim_cur - mapped : 0;
}

// The value of a name in a file that has one a line; 0 where it is not there.
std::size_t value_of(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::size_t value = 0;
  for (std::string key; file >> key >> value;)
    if (key == name) return value;
  return 0;
}

// What the control groups that this process is in may have, as a container's: the smallest, from its own to the root.
// What is kept of files that nobody reads now does not count.
std::size_t of_groups() {
  std::ifstream groups("/proc/self/cgroup");
  std::size_t least = kAny;
  for (std::string line; std::getline(groups, line);) {
    const std::size_t second = line.find(':', line.find(':') + 1);
    const bool unified = line.starts_with("0::");
    if (second == std::string::npos || !(unified || line.substr(0, second).ends_with(":memory"))) continue;
    const std::string root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    for (std::string path = line.substr(second + 1); !path.empty(); path.resize(path.rfind('/'))) {
      const std::string folder = root + path + '/';
      std::size_t most = 0, used = 0;
      if (!(std::ifstream(folder + (unified ? "memory.max" : "memory.limit_in_bytes")) >> most) ||
          !(std::ifstream(folder + (unified ? "memory.current" : "memory.usage_in_bytes")) >> used))
        continue;
      used -= std::min(used, value_of(folder + "memory.stat", unified ? "inactive_file" : "total_inactive_file"));
      least = std::min(least, most > used ? most - used : 0);
    }
  }
  return least;
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
  const std::size_t there = std::min(of_process(), std::min(of_machine(), of_groups()) / 10 * 9);
  if (bytes > there) throw NotEnough(bytes, there);
  return bytes;
}

}  // namespace teetotal::histories
