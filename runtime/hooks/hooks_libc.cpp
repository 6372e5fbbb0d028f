// The rest of the C library that must be under control: memory, ends of the program, time and chance.
//
// Memory is the program's where the program or a C++ library asks for it. The C library and the dynamic linker keep
// their own, which outlives an execution: buffers of files, for instance.
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include "accesses.hpp"
#include "exceptions.hpp"
#include "given_stacks.hpp"
#include "hooks_signals.hpp"
#include "real.hpp"
#include "synchronisation.hpp"
#include "unwritten.hpp"

// The explorer's own memory: the C library's, or the address sanitizer's, which then sees what becomes of it.
#ifdef TEETOTAL_SANITIZE
#define OWN(name) __interceptor_##name
#else
#define OWN(name) __libc_##name
#endif
extern "C" {
void* OWN(malloc)(std::size_t);
void OWN(free)(void*);
void* OWN(calloc)(std::size_t, std::size_t);
void* OWN(realloc)(void*, std::size_t);
void* OWN(memalign)(std::size_t, std::size_t);
}

namespace teetotal::runtime {
namespace {

struct Range {
  std::uintptr_t begin = 0, end = 0;
};
Range foreign[3];  // the C library, the dynamic linker, this executable

[[gnu::noinline]] void find_foreign() {
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void*) {
        const char* slash = std::strrchr(info->dlpi_name, '/');
        const char* name = slash == nullptr ? info->dlpi_name : slash + 1;
        int which = -1;
        if (*name == '\0' && foreign[2].end == 0) which = 2;
        if (std::strncmp(name, "libc.so", 7) == 0) which = 0;
        if (std::strncmp(name, "ld-linux", 8) == 0) which = 1;
        if (which < 0) return 0;
        Range range{~std::uintptr_t{0}, 0};
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr) & header = info->dlpi_phdr[i];
          if (header.p_type != PT_LOAD) continue;
          range.begin = std::min<std::uintptr_t>(range.begin, info->dlpi_addr + header.p_vaddr);
          range.end = std::max<std::uintptr_t>(range.end, info->dlpi_addr + header.p_vaddr + header.p_memsz);
        }
        foreign[which] = range;
        return 0;
      },
      nullptr);
}

// Whether the program asks, rather than the C library on its own behalf.
bool for_program(std::uintptr_t place) {
  if (process.current == nullptr) return false;
  if (foreign[0].end == 0) find_foreign();
  for (const Range& range : foreign) {
    if (place - range.begin >= range.end - range.begin) continue;
    ++libraries.changes;
    return false;
  }
  return true;
}

}  // namespace

bool of_executable(std::uintptr_t address) {
  if (foreign[0].end == 0) find_foreign();
  return address - foreign[2].begin < foreign[2].end - foreign[2].begin;
}

bool of_library(std::uintptr_t address) {
  if (foreign[0].end == 0) find_foreign();
  return std::ranges::any_of(foreign, [&](const Range& r) { return address - r.begin < r.end - r.begin; });
}

bool library_between(std::uintptr_t begin, std::uintptr_t end) {
  if (foreign[0].end == 0) find_foreign();
  return std::ranges::any_of(foreign, [&](const Range& r) { return begin < r.end && r.begin < end; });
}

namespace {

// Frees memory that is not the program's.
void release_outside(void* pointer) {
  if (process.current != nullptr) ++libraries.changes;
  OWN(free)(pointer);
}

constexpr std::size_t kPage = 4096;

enum class Content : std::uint8_t { unwritten, zero };
constexpr std::size_t kFromKernel = 128 << 10;  // the C library asks the kernel for larger blocks, which are zero then

void* allocate(std::size_t size, std::size_t alignment, std::uintptr_t place, Content content = Content::unwritten) {
  if (!callers.empty()) place = callers.teller(place, __builtin_frame_address(0));
  void* block = memory.allocate(process.current->number, size, alignment, place);
  if (block == nullptr) {
    errno = ENOMEM;
  } else if (content == Content::unwritten && size < kFromKernel) {
    std::memset(block, runtime::unwritten.fill, size);
  }
  ++process.current->asked.changes;
  return block;
}

void release(void* pointer, std::uintptr_t place) {
  Thread* self = process.current;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (self == nullptr) return;  // at the end of everything
  const Block block = memory.block(address);
  if (block.address != address) fail(*self, Failure::misuse, "frees what was not allocated", place);
  const std::uintptr_t told = callers.empty() ? place : callers.teller(place, __builtin_frame_address(0));
  if (!process.unwatched()) end_life(*self, block.address, block.address + block.size, Verb::free, place, told);
  check_unused(*self, block.address, block.address + block.size, "frees memory", place);
  check_no_stack(*self, block.address, block.address + block.size, place);
  const Block now = memory.block(address);
  if (now.freed) fail(*self, {Failure::freed, "frees it again", "freed it", objects.ended_by[now.end]}, place);
  memory.release(now, static_cast<std::uint32_t>(mark_end(*self, told)) & 0xFFFF);
  if (!process.alone) lifetimes.freed.insert(address);
}

// Of memory outside of the heap, before the C library gets it: its own allocations alone are left there.
void check_allocated(const void* pointer, std::uintptr_t place) {
  if (process.current == nullptr) return;
  if (of_program(pointer) || of_library(reinterpret_cast<std::uintptr_t>(pointer)))
    fail(*process.current, Failure::misuse, "frees what was not allocated", place);
}

// As the C library does it: to no size, memory is freed.
void* resize(void* pointer, std::size_t size, std::uintptr_t place) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (pointer == nullptr) return for_program(place) ? allocate(size, 0, place) : OWN(malloc)(size);
  if (!in_heap(address)) {
    check_allocated(pointer, place);
    if (process.current != nullptr) ++libraries.changes;
    return OWN(realloc)(pointer, size);
  }
  const Block old = memory.block(address);
  if (size == 0 || old.address != address) {
    release(pointer, place);
    return nullptr;
  }
  void* block = allocate(size, 0, place);
  if (block == nullptr) return nullptr;
  copy(block, pointer, std::min(size, old.size), place);
  release(pointer, place);
  return block;
}

// Time is a thread's own: it goes on with each look at it, and while the thread sleeps or waits in vain, and does not
// depend on the schedule. Thread::clock counts microseconds.
constexpr std::uint64_t kSecond = 1'000'000;
constexpr std::uint64_t kEpoch = 1'000'000'000;  // what the clock shows in the beginning, in seconds

timespec now(Thread& self) {
  remarks.note("the program reads the clock: time passes only when a thread looks, sleeps, or waits in vain");
  const std::uint64_t ticks = ++self.asked.clock;
  return {static_cast<time_t>(kEpoch + ticks / kSecond), static_cast<long>(ticks % kSecond * 1000)};
}

// Where nobody looks at the clock it does not matter how late it is: who sleeps until something happens only waits.
int sleep_for(std::uint64_t microseconds) {
  if (process.current != nullptr && program.reads_clock) process.current->asked.clock += microseconds;
  return 0;
}

std::uint64_t microseconds_of(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec + 999) / 1000;
}

}  // namespace

int out_of_time(Thread& self, const timespec* limit) {
  const std::uint64_t then = microseconds_of(*limit), beginning = kEpoch * kSecond;
  if (then > beginning && program.reads_clock) self.asked.clock = std::max(self.asked.clock, then - beginning);
  return ETIMEDOUT;
}

namespace {

[[noreturn]] void unsupported(const char* what, std::uintptr_t place) {
  if (process.current == nullptr) _exit(70);
  fail(*process.current, Failure::unsupported, what, place);
}

int guard_lock(Thread& self, char* guard, std::uintptr_t place) {
  constexpr int kHeld = 1;
  synchronise(self, Verb::lock, Kind::lock, Tag::mutex, guard + 4, place,
              {.enabled = [](const Thread& t) { return *reinterpret_cast<const int*>(t.operation.address) != kHeld; },
               .waiting = Waiting::lock});
  *reinterpret_cast<int*>(guard + 4) = kHeld;
  return 0;
}

void guard_unlock(Thread& self, char* guard, std::uintptr_t place) {
  synchronise(self, Verb::unlock, Kind::unlock, Tag::mutex, guard + 4, place);
  *reinterpret_cast<int*>(guard + 4) = 0;
}

}  // namespace
}  // namespace teetotal::runtime

using namespace teetotal;           // NOLINT: the hooks below are the whole rest of the file
using namespace teetotal::runtime;  // NOLINT

void* operator new(std::size_t size) {
  const std::uintptr_t place = TEETOTAL_PLACE;
  void* block = for_program(place) ? allocate(size, 0, place) : OWN(malloc)(size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void* operator new[](std::size_t size) {
  const std::uintptr_t place = TEETOTAL_PLACE;
  void* block = for_program(place) ? allocate(size, 0, place) : OWN(malloc)(size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  const std::uintptr_t place = TEETOTAL_PLACE;
  const auto bytes = static_cast<std::size_t>(alignment);
  void* block = for_program(place) ? allocate(size, bytes, place) : OWN(memalign)(bytes, size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  const std::uintptr_t place = TEETOTAL_PLACE;
  const auto bytes = static_cast<std::size_t>(alignment);
  void* block = for_program(place) ? allocate(size, bytes, place) : OWN(memalign)(bytes, size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
#define DELETE(...)                                           \
  {                                                           \
    if (pointer == nullptr) return;                           \
    if (in_heap(reinterpret_cast<std::uintptr_t>(pointer))) { \
      release(pointer, TEETOTAL_PLACE);                       \
    } else {                                                  \
      release_outside(pointer);                               \
    }                                                         \
  }
void operator delete(void* pointer) noexcept DELETE() void operator delete[](void* pointer) noexcept
    DELETE() void operator delete(void* pointer, std::size_t) noexcept
    DELETE() void operator delete[](void* pointer, std::size_t) noexcept
    DELETE() void operator delete(void* pointer, std::align_val_t) noexcept
    DELETE() void operator delete[](void* pointer, std::align_val_t) noexcept
    DELETE() void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept
    DELETE() void operator delete[](void* pointer, std::size_t, std::align_val_t) noexcept DELETE()

        extern "C" {
  void* malloc(std::size_t size) {
    const std::uintptr_t place = TEETOTAL_PLACE;
    return for_program(place) ? allocate(size, 0, place) : OWN(malloc)(size);
  }
  void* calloc(std::size_t count, std::size_t size) {
    const std::uintptr_t place = TEETOTAL_PLACE;
    if (!for_program(place)) return OWN(calloc)(count, size);
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes)) {
      errno = ENOMEM;
      return nullptr;
    }
    return allocate(bytes, 0, place, Content::zero);
  }
  void* realloc(void* pointer, std::size_t size) { return resize(pointer, size, TEETOTAL_PLACE); }
  void* reallocarray(void* pointer, std::size_t count, std::size_t size) {
    const std::uintptr_t place = TEETOTAL_PLACE;
    std::size_t bytes = 0;
    if (!__builtin_mul_overflow(count, size, &bytes)) return resize(pointer, bytes, place);
    errno = ENOMEM;
    return nullptr;
  }
  void free(void* pointer) {
    if (pointer == nullptr) return;
    if (in_heap(reinterpret_cast<std::uintptr_t>(pointer))) return release(pointer, TEETOTAL_PLACE);
    check_allocated(pointer, TEETOTAL_PLACE);
    release_outside(pointer);
  }
  std::size_t teetotal_malloc_usable_size(void* pointer) {
    unseen_call("malloc_usable_size, which is not the same for each allocator,", TEETOTAL_PLACE);
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    return in_heap(address) ? memory.block(address).size : 0;
  }
  int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
    const std::uintptr_t place = TEETOTAL_PLACE;
    *result = for_program(place) ? allocate(size, alignment, place) : OWN(memalign)(alignment, size);
    return *result == nullptr ? ENOMEM : 0;
  }
  void* aligned_alloc(std::size_t alignment, std::size_t size) {
    const std::uintptr_t place = TEETOTAL_PLACE;
    return for_program(place) ? allocate(size, alignment, place) : OWN(memalign)(alignment, size);
  }
  void* memalign(std::size_t alignment, std::size_t size) {
    const std::uintptr_t place = TEETOTAL_PLACE;
    return for_program(place) ? allocate(size, alignment, place) : OWN(memalign)(alignment, size);
  }

  // -- pages: memory of the program's own is its heap's, beginning with zeros
  // ---------------------------------------------------------------------------

  void* teetotal_mmap(void* wanted, std::size_t size, int protection, int flags, int file, off_t offset) {
    const std::uintptr_t place = TEETOTAL_PLACE;
    constexpr int kKinds = MAP_PRIVATE | MAP_SHARED, kHints = MAP_NORESERVE | MAP_POPULATE | MAP_STACK;
    const bool usual = (flags & ~(kKinds | kHints)) == MAP_ANONYMOUS && (flags & kKinds) != 0 && size != 0;
    if (process.current != nullptr && usual && protection == (PROT_READ | PROT_WRITE))
      if (void* pages = allocate((size + kPage - 1) / kPage * kPage, kPage, place, Content::zero)) return pages;
    unseen_call("mmap of libc.so.6", place);
    if (process.current != nullptr) fence_before_call(*process.current, place);
    void* pages = mmap(wanted, size, protection, flags, file, offset);
    if (pages != MAP_FAILED)
      memory.add_mapping({.address = reinterpret_cast<std::uintptr_t>(pages), .size = size, .place = place});
    return pages;
  }
  int teetotal_munmap(void* pages, std::size_t size) {
    const std::uintptr_t place = TEETOTAL_PLACE;
    const auto address = reinterpret_cast<std::uintptr_t>(pages);
    const std::size_t room = (size + kPage - 1) / kPage * kPage;
    const Block block = in_heap(address) ? memory.block(address) : Block{};
    if (block.address == address && block.size == room && room != 0) {
      release(pages, place);
      return 0;
    }
    unseen_call("munmap of libc.so.6", place);
    if (process.current != nullptr) fence_before_call(*process.current, place);
    const bool part =
        !block.freed && address - block.address < block.size && room <= block.address + block.size - address;
    return part ? 0 : munmap(pages, size);  // a part of what it has stays as it is
  }

  // -- ends
  // -------------------------------------------------------------------------------------------------------------

  void __assert_fail(const char* condition, const char*, unsigned, const char*) {
    if (process.current == nullptr) _exit(70);
    fail(*process.current, Failure::assertion, condition, TEETOTAL_PLACE);
  }
  void abort() {
    if (process.current == nullptr) _exit(70);
    Aborting aborting = aborting_at(TEETOTAL_PLACE);
    raise_abort(*process.current, std::move(aborting.why), aborting.place);
    fail(*process.current, Failure::aborted, "", aborting.place);  // its handler has returned
  }
  int __cxa_guard_acquire(char* guard) {
    Thread* self = process.current;
    if (self == nullptr || !of_program(guard)) return *guard == 0;
    look_at(guard, Tag::byte, Order::acq_rel, TEETOTAL_PLACE);
    if (*guard != 0) return 0;
    guard_lock(*self, guard, TEETOTAL_PLACE);
    if (*guard == 0) return 1;
    guard_unlock(*self, guard, TEETOTAL_PLACE);
    return 0;
  }
  void __cxa_guard_release(char* guard) {
    Thread* self = process.current;
    if (self == nullptr || !of_program(guard)) {
      *guard = 1;
      return;
    }
    if (!process.unwatched()) {
      sfence(*self, TEETOTAL_PLACE);
      const auto address = reinterpret_cast<std::uintptr_t>(guard);
      self->operation = {.kind = Kind::st,
                         .writes = Writes::always,
                         .tag = Tag::byte,
                         .order = unchecked(Order::release),
                         .address = address,
                         .place = TEETOTAL_PLACE};
      visible(*self);
    }
    *guard = 1;
    guard_unlock(*self, guard, TEETOTAL_PLACE);
  }
  void __cxa_guard_abort(char* guard) {
    if (Thread* self = process.current; self != nullptr && of_program(guard))
      guard_unlock(*self, guard, TEETOTAL_PLACE);
  }

  // -- processes, time, chance
  // --------------------------------------------------------------------------------------------

  pid_t fork() { unsupported("fork", TEETOTAL_PLACE); }
  pid_t vfork() { unsupported("vfork", TEETOTAL_PLACE); }
  int system(const char*) { unsupported("system", TEETOTAL_PLACE); }
  int execve(const char*, char* const*, char* const*) { unsupported("execve", TEETOTAL_PLACE); }
  int execv(const char*, char* const*) { unsupported("execv", TEETOTAL_PLACE); }
  int execvp(const char*, char* const*) { unsupported("execvp", TEETOTAL_PLACE); }

  int clock_gettime(clockid_t clock, timespec * time) {
    if (process.current == nullptr) return real().clock_gettime(clock, time);
    *time = now(*process.current);
    return 0;
  }
  int gettimeofday(timeval * time, void*) {
    timespec precise{};
    clock_gettime(CLOCK_REALTIME, &precise);
    *time = {precise.tv_sec, precise.tv_nsec / 1000};
    return 0;
  }
  time_t time(time_t* result) {
    timespec precise{};
    clock_gettime(CLOCK_REALTIME, &precise);
    if (result != nullptr) *result = precise.tv_sec;
    return precise.tv_sec;
  }
  clock_t clock() { return process.current == nullptr ? 0 : static_cast<clock_t>(++process.current->asked.clock); }
  int usleep(useconds_t microseconds) {
    if (process.current == nullptr) {
      timespec wanted{0, static_cast<long>(microseconds) * 1000};
      return static_cast<int>(syscall(SYS_nanosleep, &wanted, nullptr));
    }
    return sleep_for(microseconds);
  }
  unsigned sleep(unsigned seconds) { return static_cast<unsigned>(sleep_for(seconds * kSecond)); }
  int nanosleep(const timespec* time, timespec*) { return sleep_for(microseconds_of(*time)); }
  int thrd_sleep(const timespec* time, timespec*) { return sleep_for(microseconds_of(*time)); }
  int clock_nanosleep(clockid_t, int flags, const timespec* time, timespec*) {
    if ((flags & TIMER_ABSTIME) == 0) return sleep_for(microseconds_of(*time));
    if (process.current != nullptr) out_of_time(*process.current, time);
    return 0;
  }
}
