// What a program changes in its process and would last into the next execution: it is put back before that begins.
//
// Snapshots hold nothing of it, so those taken before a change are not used any more (`Process::outside`). Limits and
// priorities are the explorer's own: they stay as they are, and that is named.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <clocale>
#include <exception>
#include <new>
#include <string>

#include "process.hpp"
#include "real.hpp"

namespace teetotal::runtime {
namespace {

struct {
  bool changed = false;
  bool known = false;  // the rest of this is
  char directory[PATH_MAX];
  mode_t mask;
  std::terminate_handler at_terminate;
  std::new_handler without_memory;
} lasting;

// Before a change by the program.
void about_to_change() {
  ++process.outside;
  lasting.changed = true;
  if (lasting.known) return;
  lasting.known = true;
  syscall(SYS_getcwd, lasting.directory, sizeof lasting.directory);
  lasting.mask = static_cast<mode_t>(syscall(SYS_umask, 0));
  syscall(SYS_umask, lasting.mask);
  lasting.at_terminate = std::get_terminate();
  lasting.without_memory = std::get_new_handler();
}

int not_done(const char* what, std::uintptr_t place) {
  if (process.current != nullptr)
    process.unseen.insert({std::string(what) + ", which is not done: it would last beyond the execution", place});
  return 0;
}

}  // namespace

void put_lasting_back() {
  if (!lasting.changed) return;
  lasting.changed = false;
  syscall(SYS_chdir, lasting.directory);
  syscall(SYS_umask, lasting.mask);
  real().setlocale(LC_ALL, "C");
  real().uselocale(LC_GLOBAL_LOCALE);
  real().set_terminate(lasting.at_terminate);
  real().set_new_handler(lasting.without_memory);
}

}  // namespace teetotal::runtime

using namespace teetotal;           // NOLINT: the hooks below are the whole rest of the file
using namespace teetotal::runtime;  // NOLINT

std::terminate_handler std::set_terminate(std::terminate_handler handler) noexcept {
  if (process.current != nullptr) about_to_change();
  return real().set_terminate(handler);
}
std::new_handler std::set_new_handler(std::new_handler handler) noexcept {
  if (process.current != nullptr) about_to_change();
  return real().set_new_handler(handler);
}

extern "C" {

int chdir(const char* path) {
  if (process.current != nullptr) about_to_change();
  return static_cast<int>(syscall(SYS_chdir, path));
}
int fchdir(int directory) {
  if (process.current != nullptr) about_to_change();
  return static_cast<int>(syscall(SYS_fchdir, directory));
}
mode_t umask(mode_t mask) {
  if (process.current != nullptr) about_to_change();
  return static_cast<mode_t>(syscall(SYS_umask, mask));
}
char* setlocale(int category, const char* locale) {
  if (process.current != nullptr && locale != nullptr) about_to_change();
  return real().setlocale(category, locale);
}
locale_t uselocale(locale_t locale) {
  if (process.current != nullptr && locale != nullptr) about_to_change();
  return real().uselocale(locale);
}
int setrlimit(__rlimit_resource_t, const rlimit*) noexcept { return not_done("setrlimit", TEETOTAL_PLACE); }
int setpriority(__priority_which_t, id_t, int) noexcept { return not_done("setpriority", TEETOTAL_PLACE); }
int nice(int) { return not_done("nice", TEETOTAL_PLACE); }
}
