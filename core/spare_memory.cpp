// Control groups as in the kernel's Documentation/admin-guide: cgroup-v2.rst and cgroup-v1/memory.rst.
//
//   /proc/self/cgroup     which group this process is in, for each hierarchy of groups
//   /proc/self/mountinfo  where a hierarchy is mounted, and which of its groups the mount begins with: in a container
//                         that is often the container's own group, so that the path in the first file is not to be
//                         found below the mount
//
// A group has its own limit, and each group above it has one, too; the least counts. The use that a group reports
// includes files that are kept in memory only because nothing else needs it, often nearly all of the limit.

#include "spare_memory.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "mounts.hpp"

namespace teetotal {
namespace {

namespace fs = std::filesystem;
using Statistics = std::map<std::string, std::size_t>;

// One version of control groups: the names of its files, and of lines in memory.stat. The lists of active and inactive
// files hold no shared memory and nothing that is locked; of them, what is yet to be written cannot go at once.
struct Version {
  const char* type;  // of the file system
  std::vector<std::string> limits;
  const char* used;
  std::vector<std::string> reclaimable;
  std::vector<std::string> unwritten;
};

const Version kSecond = {"cgroup2",
                         {"memory.max", "memory.high"},
                         "memory.current",
                         {"active_file", "inactive_file", "slab_reclaimable"},
                         {"file_dirty", "file_writeback"}};
const Version kFirst = {"cgroup",
                        {"memory.limit_in_bytes"},
                        "memory.usage_in_bytes",
                        {"total_active_file", "total_inactive_file"},
                        {"total_dirty", "total_writeback"}};

std::size_t available(const fs::path& root) {
  std::ifstream file(root / "proc/meminfo");
  for (std::string key; file >> key; file.ignore(std::numeric_limits<std::streamsize>::max(), '\n'))
    if (std::size_t kilobytes = 0; key == "MemAvailable:" && file >> kilobytes) return 1024 * kilobytes;
  return kUnknownMemory;
}

// Empty where the file is not there or says that there is no limit ("max").
std::optional<std::size_t> number_in(const fs::path& path) {
  std::size_t value = 0;
  if (!(std::ifstream(path) >> value)) return {};
  return value;
}

std::size_t sum_of(const Statistics& statistics, const std::vector<std::string>& names) {
  std::size_t sum = 0;
  for (const std::string& name : names)
    if (const auto found = statistics.find(name); found != statistics.end()) sum += found->second;
  return sum;
}

std::size_t spare_in_group(const fs::path& group, const Version& version) {
  std::size_t limit = kUnknownMemory;
  for (const std::string& name : version.limits) limit = std::min(limit, number_in(group / name).value_or(limit));
  const std::optional<std::size_t> used = number_in(group / version.used);
  if (limit == kUnknownMemory || !used) return kUnknownMemory;
  Statistics statistics;
  std::ifstream file(group / "memory.stat");
  std::size_t value = 0;
  for (std::string key; file >> key >> value;) statistics[key] = value;
  std::size_t files = sum_of(statistics, version.reclaimable);
  files -= std::min(files, sum_of(statistics, version.unwritten));
  const std::size_t kept = *used - std::min(*used, files);
  return limit > kept ? limit - kept : 0;
}

// Where the hierarchy that limits memory is mounted; where /proc does not say, at the usual place.
Mount mount_of(const fs::path& root, const Version& version, bool unified) {
  for (const Mount& mount : mounts(root))
    if (mount.type == version.type && (unified || ("," + mount.options + ",").find(",memory,") != std::string::npos))
      return mount;
  return {"/", unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory", version.type, ""};
}

// The group and those above it, as far as they can be seen.
std::size_t spare_in_groups(const fs::path& root, const Version& version, bool unified, const fs::path& group) {
  const Mount mount = mount_of(root, version, unified);
  fs::path below = group.lexically_relative(mount.begin);
  if (below.empty() || *below.begin() == "..") below = ".";  // not below the mount: the nearest that can be seen
  fs::path folder = root / mount.where.relative_path();
  std::size_t least = spare_in_group(folder, version);
  for (const fs::path& part : below) {
    folder /= part;
    least = std::min(least, spare_in_group(folder, version));
  }
  return least;
}

}  // namespace

std::size_t spare_memory(const fs::path& root) {
  std::size_t least = available(root);
  std::ifstream groups(root / "proc/self/cgroup");
  if (!groups) least = std::min(least, spare_in_groups(root, kSecond, true, "/"));
  for (std::string line; std::getline(groups, line);) {  // NUMBER:CONTROLLERS:GROUP
    std::istringstream parts(line);
    std::string number, controllers, group;
    std::getline(std::getline(std::getline(parts, number, ':'), controllers, ':'), group);
    const bool unified = number == "0" && controllers.empty();
    if (!unified && ("," + controllers + ",").find(",memory,") == std::string::npos) continue;
    least = std::min(least, spare_in_groups(root, unified ? kSecond : kFirst, unified, group));
  }
  return least;
}

}  // namespace teetotal
