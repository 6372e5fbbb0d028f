#include "isolation.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "mounts.hpp"

namespace teetotal {
namespace {

namespace fs = std::filesystem;

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

bool mounted(const Kernel& kernel, const char* what, const fs::path& where, unsigned long flags,
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

bool below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end() && path != folder;
}

// Builds, in `own`, folders that look like others; what is written into them is kept in `own`.
//
// As a rule that is one overlay. But the kernel makes none of a folder below which something is mounted: an ordinary
// user could see with it what is hidden there. Such a folder is made anew, with an overlay for each folder in it, and
// so on. What cannot be had so is there as it is, and can only be read.
class Covers {
 public:
  Covers(const Kernel& kernel, fs::path own) : kernel_(kernel), own_(std::move(own)), mounts_(mounts()) {}

  // Where it is now; empty where it could not be made.
  fs::path of(const fs::path& folder) {
    const fs::path cover = fresh("cover");
    return !cover.empty() && build(folder, cover) ? cover : fs::path();
  }

  // A folder whose owner has no name here can be written to all the same, if it is covered by itself.
  bool overlay(const fs::path& folder, const fs::path& cover) {
    const fs::path above = fresh("above"), work = fresh("work");
    const std::string options =
        "lowerdir=" + escaped(folder) + ",upperdir=" + escaped(above) + ",workdir=" + escaped(work) + ",userxattr";
    return mounted(kernel_, "overlay", cover, 0, options);
  }

  bool has_mounts_below(const fs::path& folder) const {
    return std::ranges::any_of(mounts_,
                               [&](const Mount& mount) { return mount.where != own_ && below(mount.where, folder); });
  }

 private:
  static constexpr std::uintmax_t kLargestCopy = 1 << 16;
  static constexpr std::size_t kMostEntries = 500;  // each is a mount, or a copy

  fs::path fresh(const char* what) {
    const fs::path folder = own_ / (what + std::to_string(count_++));
    return mkdir(folder.c_str(), 0700) == 0 ? folder : fs::path();
  }

  bool as_it_is(const fs::path& path, const fs::path& cover) const {
    return kernel_(SYS_mount, path.c_str(), cover.c_str(), nullptr, MS_BIND | MS_REC, nullptr);
  }

  bool build(const fs::path& folder, const fs::path& cover) {
    if (access(folder.c_str(), W_OK) != 0 && errno != EROFS) return as_it_is(folder, cover);
    if (!has_mounts_below(folder)) return overlay(folder, cover) || as_it_is(folder, cover);
    std::error_code failed;
    std::vector<fs::directory_entry> entries;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
      if (entry->path() != own_) entries.push_back(*entry);
    if (failed || entries.size() > kMostEntries) return as_it_is(folder, cover);
    fs::permissions(cover, fs::status(folder, failed).permissions(), failed);
    return std::ranges::all_of(entries, [&](const fs::directory_entry& entry) {
      std::error_code gone;
      return add(entry, cover / entry.path().filename()) || !fs::exists(entry.symlink_status(gone));
    });
  }

  bool add(const fs::directory_entry& entry, const fs::path& cover) {
    std::error_code failed;
    if (entry.is_symlink(failed)) {
      fs::copy_symlink(entry.path(), cover, failed);
      return !failed;
    }
    if (entry.is_directory(failed)) return mkdir(cover.c_str(), 0700) == 0 && build(entry.path(), cover);
    const bool small = entry.is_regular_file(failed) && entry.file_size(failed) <= kLargestCopy && !failed;
    if (small && fs::copy_file(entry.path(), cover, failed)) return true;
    const int file = open(cover.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0) close(file);
    return as_it_is(entry.path(), cover);
  }

  const Kernel& kernel_;
  fs::path own_;
  std::vector<Mount> mounts_;
  int count_ = 0;
};

// What is written into the working folder and into /tmp is seen by nobody else. Where that cannot be had, they can only
// be read. All is built, and held on to, before anything is put in its place, which may hide `own`.
void cover(const Kernel& kernel, const fs::path& own, const fs::path& here) {
  const fs::path tmp = "/tmp";
  Covers covers(kernel, own);
  std::vector<std::pair<int, fs::path>> made;
  const auto add = [&](const fs::path& folder) {
    const fs::path cover = covers.of(folder);
    if (!cover.empty()) made.emplace_back(open(cover.c_str(), O_PATH | O_CLOEXEC), folder);
    return cover;
  };
  const fs::path temporary = add(tmp);
  if (!below(here, tmp)) {
    if (here != tmp && here.has_relative_path()) add(here);
  } else if (!temporary.empty() && !covers.has_mounts_below(here)) {
    covers.overlay(here, temporary / here.lexically_relative(tmp));
  }
  for (const auto& [cover, folder] : made) {
    if (kernel(SYS_fchdir, cover)) kernel(SYS_mount, ".", folder.c_str(), nullptr, MS_BIND | MS_REC, nullptr);
    close(cover);
  }
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
    const std::string here = fs::current_path(unknown);
    cover(kernel, own, here);
    if (!here.empty()) kernel(SYS_chdir, here.c_str());  // into what covers it
  }
  return give_up_capabilities(kernel) ? result : Isolation{};
}

}  // namespace teetotal
