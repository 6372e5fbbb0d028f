// What a program changes in its process and would last into the next execution: it is put back before that begins.
//
// Snapshots hold nothing of it, so those taken before a change are not used any more (`libraries.changes`). Limits and
// priorities are the explorer's own: they stay as they are, and that is named.
//
// Files that are read, and arguments that are parsed (getopt), while there is one thread: each execution does that
// anew, and finds the same. What they write to memory nobody else can see then. Any other use of files is named.
#include <dlfcn.h>
#include <getopt.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <clocale>
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <new>
#include <set>
#include <string>

#include "accesses.hpp"
#include "calls.hpp"
#include "imports.hpp"
#include "process.hpp"
#include "real.hpp"

namespace teetotal::runtime {
namespace {

struct {
  bool changed = false;
  bool known = false;  // whether what follows was asked for
  char directory[PATH_MAX];
  mode_t mask;
  std::terminate_handler at_terminate;
  std::new_handler without_memory;
  bool options = false;        // some were parsed
  std::set<std::FILE*> files;  // open, to be read
} lasting;

// Before a change by the program.
void about_to_change() {
  ++libraries.changes;
  lasting.changed = true;
  if (lasting.known) return;
  lasting.known = true;
  kernel(SYS_getcwd, lasting.directory, sizeof lasting.directory);
  lasting.mask = static_cast<mode_t>(kernel(SYS_umask, 0));
  kernel(SYS_umask, lasting.mask);
  lasting.at_terminate = std::get_terminate();
  lasting.without_memory = std::get_new_handler();
}

int not_done(const char* what, std::uintptr_t place) {
  if (process.current != nullptr)
    remarks.unseen.insert({std::string(what) + ", which is not done: it would last beyond the execution", place});
  return 0;
}

// -- files and arguments ----------------------------------------------------------------------------------------------

// File systems whose files are what the kernel likes to tell.
constexpr unsigned long kOfKernel[] = {0x9FA0, 0x62656572, 0x27E0EB, 0x63677270, 0x64626720, 0x74726163, 0x73636673};

bool is_constant(std::FILE* file) {
  const OwnBusiness unasked;
  struct stat about{};
  struct statfs where{};
  return fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode) && fstatfs(fileno(file), &where) == 0 &&
         std::ranges::find(kOfKernel, static_cast<unsigned long>(where.f_type)) == std::end(kOfKernel);
}

// Something that the C library does on behalf of the program; `repeats`: in each execution alike.
template <typename Function>
auto done(const char* name, bool repeats, std::uintptr_t place, Function function) {
  if (Thread* self = process.current; self != nullptr && !repeats) {
    unseen_call(std::string(name) + " of libc.so.6", place);
    fence_before_call(*self, place);
    return function();
  }
  const OwnBusiness unasked;
  if (process.current != nullptr) about_to_change();
  return function();
}

template <typename Function>
auto on_file(const char* name, std::FILE* file, std::uintptr_t place, Function function) {
  return done(name, process.unwatched() && lasting.files.contains(file), place, function);
}

template <typename Function>
int parsed(const char* name, std::uintptr_t place, Function function) {
  lasting.options = true;
  return done(name, process.unwatched(), place, function);
}

void put_files_back() {
  ++libraries.changes;
  for (std::FILE* file : lasting.files) std::fclose(file);
  lasting.files.clear();
  if (!lasting.options) return;
  lasting.options = false;
  char name[] = "";
  char* const nothing[] = {name, nullptr};
  // By name, or the linker would make them ours.
  const auto set = [](const char* variable, auto value) {
    *static_cast<decltype(value)*>(dlsym(RTLD_DEFAULT, variable)) = value;
  };
  set("optind", 0);  // it forgets what it was at
  getopt(1, nothing, "");
  set("optind", 1);
  set("opterr", 1);
  set("optopt", int{'?'});
  set("optarg", static_cast<char*>(nullptr));
}

}  // namespace

void put_lasting_back() {
  if (!lasting.changed) return;
  lasting.changed = false;
  put_files_back();
  kernel(SYS_chdir, lasting.directory);
  kernel(SYS_umask, lasting.mask);
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
  unordered_call("std::set_terminate", TEETOTAL_PLACE);
  return real().set_terminate(handler);
}
std::new_handler std::set_new_handler(std::new_handler handler) noexcept {
  if (process.current != nullptr) about_to_change();
  unordered_call("std::set_new_handler", TEETOTAL_PLACE);
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
std::FILE* teetotal_fopen(const char* path, const char* mode) {
  const std::uintptr_t place = TEETOTAL_PLACE;
  const auto open = [&] { return std::fopen(path, mode); };
  if (process.current == nullptr || !process.unwatched() || mode[0] != 'r' ||
      std::string(mode).find('+') != std::string::npos)
    return done("fopen", process.current == nullptr, place, open);
  std::FILE* file = done("fopen", true, place, open);
  if (file == nullptr) return nullptr;
  if (is_constant(file)) {
    remarks.note(std::string(path) + " was read before there were other threads: the answer is about what it holds");
    lasting.files.insert(file);
  } else {
    unseen_call("fopen of libc.so.6", place);
  }
  return file;
}
int teetotal_fclose(std::FILE* file) {
  const bool ours = lasting.files.contains(file);
  return done("fclose", process.unwatched() && ours, TEETOTAL_PLACE, [&] {
    lasting.files.erase(file);
    return std::fclose(file);
  });
}
std::size_t teetotal_fread(void* to, std::size_t size, std::size_t count, std::FILE* file) {
  return on_file("fread", file, TEETOTAL_PLACE, [&] { return std::fread(to, size, count, file); });
}
char* teetotal_fgets(char* to, int size, std::FILE* file) {
  return on_file("fgets", file, TEETOTAL_PLACE, [&] { return std::fgets(to, size, file); });
}
std::size_t teetotal___fread_chk(void* to, std::size_t, std::size_t size, std::size_t count, std::FILE* file) {
  return on_file("fread", file, TEETOTAL_PLACE, [&] { return std::fread(to, size, count, file); });
}
char* teetotal___fgets_chk(char* to, std::size_t, int size, std::FILE* file) {
  return on_file("fgets", file, TEETOTAL_PLACE, [&] { return std::fgets(to, size, file); });
}
int teetotal_fgetc(std::FILE* file) {
  return on_file("fgetc", file, TEETOTAL_PLACE, [&] { return std::fgetc(file); });
}
int teetotal_ungetc(int character, std::FILE* file) {
  return on_file("ungetc", file, TEETOTAL_PLACE, [&] { return std::ungetc(character, file); });
}
int teetotal_fscanf(std::FILE* file, const char* format, ...) {
  va_list given;
  va_start(given, format);
  const int result = on_file("fscanf", file, TEETOTAL_PLACE, [&] { return std::vfscanf(file, format, given); });
  va_end(given);
  return result;
}
int teetotal_fseek(std::FILE* file, long offset, int from) {
  return on_file("fseek", file, TEETOTAL_PLACE, [&] { return std::fseek(file, offset, from); });
}
long teetotal_ftell(std::FILE* file) {
  return on_file("ftell", file, TEETOTAL_PLACE, [&] { return std::ftell(file); });
}
void teetotal_rewind(std::FILE* file) {
  on_file("rewind", file, TEETOTAL_PLACE, [&] { std::rewind(file); });
}
int teetotal_feof(std::FILE* file) {
  return on_file("feof", file, TEETOTAL_PLACE, [&] { return std::feof(file); });
}
int teetotal_getopt(int count, char* const* arguments, const char* known) {
  return parsed("getopt", TEETOTAL_PLACE, [&] { return getopt(count, arguments, known); });
}
int teetotal_getopt_long(int count, char* const* arguments, const char* known, const option* words, int* which) {
  return parsed("getopt_long", TEETOTAL_PLACE, [&] { return getopt_long(count, arguments, known, words, which); });
}
int teetotal_getopt_long_only(int count, char* const* arguments, const char* known, const option* words, int* which) {
  return parsed("getopt_long_only", TEETOTAL_PLACE,
                [&] { return getopt_long_only(count, arguments, known, words, which); });
}
int setrlimit(__rlimit_resource_t, const rlimit*) noexcept { return not_done("setrlimit", TEETOTAL_PLACE); }
int setpriority(__priority_which_t, id_t, int) noexcept { return not_done("setpriority", TEETOTAL_PLACE); }
int nice(int) { return not_done("nice", TEETOTAL_PLACE); }
}
