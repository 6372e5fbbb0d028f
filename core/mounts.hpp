// The file systems that this process sees, as /proc/self/mountinfo lists them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace teetotal {

struct Mount {
  std::filesystem::path begin;  // the folder of the file system that is seen
  std::filesystem::path where;
  std::string type;
  std::string options;  // of the file system itself
};

// In the order in which they were mounted. `root` is where /proc is looked for; none, where it is not there.
std::vector<Mount> mounts(const std::filesystem::path& root = "/");

}  // namespace teetotal
