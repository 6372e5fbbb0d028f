#include "isolation.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <type_traits>

namespace teetotal {
namespace {

template <typename T>
long word(T value) {
  if constexpr (std::is_pointer_v<T> || std::is_null_pointer_v<T>)
    return static_cast<long>(reinterpret_cast<std::intptr_t>(static_cast<const void*>(value)));
  else
    return static_cast<long>(value);
}

class Kernel {
 public:
  explicit Kernel(SystemCall call) : call_(call) {}
  template <typename... Arguments>
  bool operator()(long number, Arguments... arguments) const {
    const long all[6] = {word(arguments)...};
    return call_(number, all[0], all[1], all[2], all[3], all[4], all[5]) == 0;
  }

 private:
  SystemCall call_;
};

bool write_to(const char* path, const std::string& text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  return written;
}

// The same user and group as outside: files keep their owners.
bool same_user(uid_t user, gid_t group) {
  const auto itself = [](auto id) { return std::to_string(id) + ' ' + std::to_string(id) + " 1"; };
  return write_to("/proc/self/setgroups", "deny") && write_to("/proc/self/uid_map", itself(user)) &&
         write_to("/proc/self/gid_map", itself(group));
}

bool mounted(const Kernel& kernel, const char* what, const std::string& where, unsigned long flags,
             const std::string& options) {
  return kernel(SYS_mount, what, where.c_str(), what, flags, options.c_str());
}

bool read_only(const Kernel& kernel) {
  struct {
    std::uint64_t set = 1 /* MOUNT_ATTR_RDONLY */, clear = 0, propagation = 0, user = 0;
  } attributes;
  constexpr long kMountSetAttributes = 442, kRecursive = 0x8000;
  return kernel(SYS_mount, nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) &&
         kernel(kMountSetAttributes, AT_FDCWD, "/", kRecursive, &attributes, sizeof attributes);
}

// As overlayfs reads its options.
std::string escaped(const std::string& path) {
  std::string result;
  for (const char letter : path) {
    if (letter == ':' || letter == ',' || letter == '\\') result += '\\';
    result += letter;
  }
  return result;
}

// Whether another file system is mounted somewhere below the folder, ours aside: overlayfs would show an empty folder.
bool has_mounts_below(const std::string& folder, const std::string& own) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string word;
    for (int column = 0; column < 5; ++column) words >> word;  // the fifth: where; blanks are octal, which is as good
    if (word != own && word.starts_with(folder + '/')) return true;
  }
  return false;
}

// What is written into the folder is seen by nobody else. Where that cannot be had, it can only be read.
void cover(const Kernel& kernel, const std::string& folder, const std::string& own, const std::string& name) {
  if (has_mounts_below(folder, own)) return;
  const std::string above = own + "/above-" + name, work = own + "/work-" + name;
  if (mkdir(above.c_str(), 0700) != 0 || mkdir(work.c_str(), 0700) != 0) return;
  const std::string options =
      "lowerdir=" + escaped(folder) + ",upperdir=" + escaped(above) + ",workdir=" + escaped(work) + ",userxattr";
  mounted(kernel, "overlay", folder, 0, options);
}

// Whoever made the namespaces could undo them, and so could a program that root starts.
bool give_up_capabilities(const Kernel& kernel) {
  for (int capability = 0; capability < 64; ++capability) kernel(SYS_prctl, PR_CAPBSET_DROP, capability, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct nothing[2] = {};
  return kernel(SYS_capset, &header, nothing);
}

}  // namespace

Isolation isolate(const std::string& own, std::uint64_t megabytes, SystemCall call) {
  const Kernel kernel(call);
  Isolation result;
  const uid_t user = getuid();
  const gid_t group = getgid();
  if (!kernel(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWNS)) return result;
  result.network = true;
  if (same_user(user, group) && read_only(kernel) &&
      mounted(kernel, "tmpfs", own, MS_NOSUID | MS_NODEV, "mode=700,size=" + std::to_string(megabytes) + 'm')) {
    result.files = true;
    std::error_code unknown;
    const std::string here = std::filesystem::current_path(unknown);
    if (!here.empty() && here != "/" && !here.starts_with("/tmp/")) cover(kernel, here, own, "here");
    cover(kernel, "/tmp", own, "tmp");
    if (!here.empty()) kernel(SYS_chdir, here.c_str());  // into what covers it
  }
  return give_up_capabilities(kernel) ? result : Isolation{};
}

}  // namespace teetotal
