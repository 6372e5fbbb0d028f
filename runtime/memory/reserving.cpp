#include "reserving.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "calls.hpp"
#include "channel.hpp"
#include "memory.hpp"

namespace teetotal::runtime {
namespace {

constexpr std::uintptr_t kPage = 4096;
constexpr std::size_t kOwn = std::size_t{1} << 30;  // libraries, the search, and what else a process has

}  // namespace

void check_machine() {
  if (access("/proc/self/stat", R_OK) != 0)
    throw std::runtime_error(
        "a C program is watched through /proc, which is not there: mount it (mount -t proc proc /proc)");
  constexpr std::size_t kNeeded =
      kMaxThreads * (kHeapStride + kHeapStride / kGrain + kStackStride) + Channel::kReserved + kOwn;
  rlimit allowed{};
  if (getrlimit(RLIMIT_AS, &allowed) != 0 || allowed.rlim_cur >= kNeeded) return;
  char text[200];
  std::snprintf(
      text, sizeof text,
      "a C program is explored in %.1f TB of addresses, of which little is used, and this process may have %.3g "
      "GB: raise the limit (ulimit -v unlimited)",
      static_cast<double>(kNeeded) / 1e12, static_cast<double>(allowed.rlim_cur) / 1e9);
  throw std::runtime_error(text);
}

bool reserve(std::uintptr_t address, std::size_t size) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  auto* const wanted = reinterpret_cast<void*>(address);
  if (mmap(wanted, size, PROT_READ | PROT_WRITE, kFlags, -1, 0) == wanted) return true;
  if (mmap(wanted, size, PROT_READ, kFlags, -1, 0) == wanted) return false;
  throw std::runtime_error(std::string("the memory that a C program is explored in cannot be reserved: ") +
                           std::strerror(errno));
}

bool open_up(std::uintptr_t begin, std::size_t size) {
  const std::uintptr_t first = begin / kPage * kPage, last = (begin + size + kPage - 1) / kPage * kPage;
  return kernel(SYS_mprotect, first, last - first, PROT_READ | PROT_WRITE) == 0;
}

void* reserve_shared(std::size_t size) {
  void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages != MAP_FAILED) return pages;
  // Of a file in memory only what is there is counted.
  const int file = memfd_create("teetotal-shared", MFD_CLOEXEC);
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  if (file >= 0 && ftruncate(file, static_cast<off_t>(size)) == 0)
    pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  std::signal(SIGXFSZ, before);
  if (file >= 0) close(file);
  return pages == MAP_FAILED ? nullptr : pages;
}

}  // namespace teetotal::runtime
