// Functions of the C library that copy, and those that hand out memory: a block begins a new life of its addresses, so
// that threads that have them one after the other do not share them.
#include <sys/mman.h>

#include "real.hpp"
#include "recorder.hpp"

using namespace teetotal::native;  // NOLINT: the hooks are the whole file

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
}

namespace {

thread_local std::uintptr_t asked_by_new = 0;  // operator new asks malloc

void note(const void* block, std::size_t size, std::uintptr_t place) {
  const std::uintptr_t asked = asked_by_new;
  asked_by_new = 0;
  if (block == nullptr || block == MAP_FAILED || !recording_now()) return;
  if (Hook hook; hook) hook.block(block, size, asked != 0 ? asked : place);
}

// For calls that come before the library's function is found.
void* move_slowly(void* to, const void* from, std::size_t size) {
  auto* target = static_cast<volatile char*>(to);
  const auto* source = static_cast<const volatile char*>(from);
  const bool up = reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from) >= size;
  for (std::size_t done = 0; done < size; ++done) {
    const std::size_t at = up ? done : size - 1 - done;
    target[at] = source[at];
  }
  return to;
}
void* fill_slowly(void* to, int value, std::size_t size) {
  auto* target = static_cast<volatile char*>(to);
  for (std::size_t at = 0; at < size; ++at) target[at] = static_cast<char>(value);
  return to;
}
Real<void*(void*, const void*, std::size_t)> move("memmove", move_slowly);
Real<void*(void*, int, std::size_t)> fill("memset", fill_slowly);

void copied(Hook& hook, const void* to, const void* from, std::size_t size, std::uintptr_t place) {
  if (from != nullptr) hook.range(Kind::ld, reinterpret_cast<std::uintptr_t>(from), size, place);
  hook.range(Kind::st, reinterpret_cast<std::uintptr_t>(to), size, place);
}

void* moved(void* to, const void* from, std::size_t size, std::uintptr_t place) {
  if (recording_now() && size != 0) [[unlikely]]
    if (Hook hook; hook) {
      move(to, from, size);
      copied(hook, to, from, size, place);
      return to;
    }
  return move(to, from, size);
}

}  // namespace

extern "C" {

TEETOTAL_EXPORT void* memcpy(void* to, const void* from, std::size_t size) {
  return moved(to, from, size, TEETOTAL_PLACE);
}
TEETOTAL_EXPORT void* memmove(void* to, const void* from, std::size_t size) {
  return moved(to, from, size, TEETOTAL_PLACE);
}
TEETOTAL_EXPORT void* memset(void* to, int value, std::size_t size) {
  if (recording_now() && size != 0) [[unlikely]]
    if (Hook hook; hook) {
      fill(to, value, size);
      copied(hook, to, nullptr, size, TEETOTAL_PLACE);
      return to;
    }
  return fill(to, value, size);
}
TEETOTAL_EXPORT void* __tsan_memcpy(void* to, const void* from, std::size_t size) {
  return moved(to, from, size, TEETOTAL_PLACE);
}
TEETOTAL_EXPORT void* __tsan_memmove(void* to, const void* from, std::size_t size) {
  return moved(to, from, size, TEETOTAL_PLACE);
}
TEETOTAL_EXPORT void* __tsan_memset(void* to, int value, std::size_t size) { return memset(to, value, size); }

// The first calls come from the search for the next one.
TEETOTAL_EXPORT void* malloc(std::size_t size) {
  static Real<void*(std::size_t)> real("malloc", __libc_malloc);
  void* block = real(size);
  note(block, size, TEETOTAL_PLACE);
  return block;
}
TEETOTAL_EXPORT void* calloc(std::size_t count, std::size_t size) {
  static Real<void*(std::size_t, std::size_t)> real("calloc", __libc_calloc);
  void* block = real(count, size);
  note(block, count * size, TEETOTAL_PLACE);
  return block;
}
TEETOTAL_EXPORT void* realloc(void* old, std::size_t size) {
  static Real<void*(void*, std::size_t)> real("realloc");
  void* block = real(old, size);
  if (block != old) note(block, size, TEETOTAL_PLACE);  // else what is in it goes on
  return block;
}
TEETOTAL_EXPORT void* memalign(std::size_t alignment, std::size_t size) {
  static Real<void*(std::size_t, std::size_t)> real("memalign");
  void* block = real(alignment, size);
  note(block, size, TEETOTAL_PLACE);
  return block;
}
TEETOTAL_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) {
  static Real<void*(std::size_t, std::size_t)> real("aligned_alloc");
  void* block = real(alignment, size);
  note(block, size, TEETOTAL_PLACE);
  return block;
}
TEETOTAL_EXPORT int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  static Real<int(void**, std::size_t, std::size_t)> real("posix_memalign");
  const int problem = real(block, alignment, size);
  if (problem == 0) note(*block, size, TEETOTAL_PLACE);
  return problem;
}
TEETOTAL_EXPORT void* mmap(void* where, std::size_t size, int protection, int flags, int file, off_t offset) {
  static Real<void*(void*, std::size_t, int, int, int, off_t)> real("mmap");
  void* block = real(where, size, protection, flags, file, offset);
  note(block, size, TEETOTAL_PLACE);
  return block;
}
TEETOTAL_EXPORT void* mmap64(void* where, std::size_t size, int protection, int flags, int file, off_t offset) {
  static Real<void*(void*, std::size_t, int, int, int, off_t)> real("mmap64");
  void* block = real(where, size, protection, flags, file, offset);
  note(block, size, TEETOTAL_PLACE);
  return block;
}

// operator new and new[], as they are called where size_t is long.
TEETOTAL_EXPORT void* _Znwm(std::size_t size) {
  static Real<void*(std::size_t)> real("_Znwm");
  asked_by_new = TEETOTAL_PLACE;
  return real(size);
}
TEETOTAL_EXPORT void* _Znam(std::size_t size) {
  static Real<void*(std::size_t)> real("_Znam");
  asked_by_new = TEETOTAL_PLACE;
  return real(size);
}
}
