#include "recorder.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

#include "copies.hpp"

namespace teetotal::native {

namespace {

Header idle;
Header* prepared = nullptr;  // what we were given, until there are several threads
Record* records = nullptr;
Turn turn;
std::atomic<std::uint32_t> next_number = 1;
thread_local Thread* own = nullptr;
thread_local bool has_ended = false;

std::uint64_t value_at(std::uintptr_t address, std::size_t size) {
  switch (size) {
    case 1:
      return *reinterpret_cast<const volatile std::uint8_t*>(address);
    case 2:
      return *reinterpret_cast<const volatile std::uint16_t*>(address);
    case 4:
      return *reinterpret_cast<const volatile std::uint32_t*>(address);
    default:
      return *reinterpret_cast<const volatile std::uint64_t*>(address);
  }
}

constexpr bool has_value(std::size_t size) { return size == 1 || size == 2 || size == 4 || size == 8; }

Thread* registered(std::uint32_t number) {
  for (Thread& slot : threads) {
    bool free = false;
    if (slot.used.load() || !slot.used.compare_exchange_strong(free, true)) continue;
    slot.number = number;
    slot.kernel_id = static_cast<pid_t>(syscall(SYS_gettid));
    slot.random = (window->seed + 1) * 0x9e3779b97f4a7c15U ^ (number + 1) * 0xbf58476d1ce4e5b9U;
    if (slot.random == 0) slot.random = 1;
    own = &slot;
    slot.pending.size = 0;
    slot.hooks_left = 1;
    slot.last = {};
    slot.busy = false;
    return own;
  }
  window->too_many_threads = 1;
  window->mode.store(dormant);
  return nullptr;
}

// In a child process: the window is its parent's.
void stay_out() {
  window = &idle;
  prepared = nullptr;
}

[[gnu::constructor]] void prepare() {
  const char* told = getenv("TEETOTAL_RECORD");
  if (told == nullptr) return;
  const int file = atoi(told);
  unsetenv("TEETOTAL_RECORD");  // not for those that this process starts
  struct stat found;
  if (fstat(file, &found) != 0 || found.st_size < static_cast<off_t>(kHeaderBytes + kMapsBytes)) return;
  void* mapped = mmap(nullptr, static_cast<std::size_t>(found.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  auto* header = static_cast<Header*>(mapped);
  if (mapped == MAP_FAILED || header->magic != kMagic) return;
  records = reinterpret_cast<Record*>(static_cast<char*>(mapped) + kHeaderBytes + kMapsBytes);
  prepared = header;
  pthread_atfork(nullptr, nullptr, stay_out);
}

void append(const Record& record) {
  const std::uint64_t count = window->count.load(std::memory_order_relaxed);
  if (window->mode.load() != recording || count >= window->capacity) return;
  records[count] = record;
  window->count.store(count + 1, std::memory_order_release);
  if (count + 1 != window->capacity) return;
  constexpr timespec kMoment{0, 200'000};
  if (window->goes_on.load() == 0)
    window->mode.store(dormant);
  else
    while (window->count.load() != 0) nanosleep(&kMoment, nullptr);
}

}  // namespace

Header* window = &idle;

void attach() {
  if (prepared == nullptr) return;
  Header* header = prepared;
  prepared = nullptr;
  char* maps = reinterpret_cast<char*>(header) + kHeaderBytes;
  if (const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC); file >= 0) {
    for (std::size_t size = 0; size < kMapsBytes - 1;) {
      const ssize_t more = read(file, maps + size, kMapsBytes - 1 - size);
      if (more <= 0) break;
      size += static_cast<std::size_t>(more);
    }
    close(file);
  }
  window = header;
  begin_thread(0);
  header->attached = 1;
}

std::uint32_t new_number() { return next_number.fetch_add(1); }

void begin_thread(std::uint32_t number) {
  if (window != &idle) registered(number);
}

void end_thread() {
  has_ended = true;
  if (own == nullptr) return;
  Thread* slot = own;
  own = nullptr;
  slot->used.store(false);
}

void finish(Thread& thread) {
  const Pending done = thread.pending;
  if (done.size == 0) return;
  thread.pending.size = 0;
  std::uint64_t value = 0;
  bool known = false;
  if (has_value(done.size)) {  // it may have been unmapped since then
    const iovec here{&value, done.size}, there{reinterpret_cast<void*>(done.address), done.size};
    known = process_vm_readv(getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(done.size);
  }
  const auto flags = static_cast<std::uint8_t>(wrote | (known ? valued : 0));
  append({done.address, 0, value, done.place, done.size, thread.number, Kind::st, flags, 0});
}

Hook::Hook(std::uintptr_t place) {
  if (!recording_now() || has_ended) [[likely]]
    return;
  Thread* self = own != nullptr ? own : registered(new_number());
  if (self == nullptr || self->busy) return;
  self->busy = true;
  const bool copies = place != 0 && self->pending.size != 0 && writes_nothing(self->pending.place, place);
  if (copies ? turn.take_again(*self) : turn.take(*self)) {
    if (recording_now()) {
      self_ = self;
      return;
    }
    self->pending.size = 0;
    turn.give_up(*self);
  }
  self->busy = false;
}

Hook::~Hook() {
  if (self_ == nullptr) return;
  if (!recording_now()) {  // that was the last of this window
    self_->pending.size = 0;
    turn.give_up(*self_);
  } else if (aside_) {
    turn.give(*self_);
  } else {
    turn.keep(*self_);
  }
  self_->busy = false;
}

void Hook::add(const Record& record) {
  self_->last = {};
  append(record);
}

void Hook::load(std::uintptr_t address, std::size_t size, std::uintptr_t place) {
  if (has_value(size)) return load(address, size, value_at(address, size), place);
  range(Kind::ld, address, size, place);
}

// One that repeats, with nothing between, is a round of a loop in which nothing happens: the first may stand for both.
void Hook::load(std::uintptr_t address, std::size_t size, std::uint64_t value, std::uintptr_t place) {
  const Load now{address, place, value};
  if (self_->last == now) {
    window->repeated.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  self_->last = now;
  append({address, value, 0, place, size, self_->number, Kind::ld, valued, 0});
}

void Hook::store(std::uintptr_t address, std::size_t size, std::uint64_t value, std::uintptr_t place) {
  const auto flags = static_cast<std::uint8_t>(wrote | (has_value(size) ? valued : 0));
  add({address, 0, value, place, size, self_->number, Kind::st, flags, 0});
}

void Hook::store_follows(std::uintptr_t address, std::size_t size, std::uintptr_t place) {
  self_->last = {};
  self_->pending = {address, place, size};
}

void Hook::change(std::uintptr_t address, std::size_t size, std::uint64_t read, std::uint64_t written, bool writes,
                  std::uintptr_t place) {
  const auto flags = static_cast<std::uint8_t>((writes ? wrote : 0) | (has_value(size) ? valued : 0));
  add({address, read, written, place, size, self_->number, Kind::rmw, flags, 0});
}

void Hook::range(Kind kind, std::uintptr_t address, std::size_t size, std::uintptr_t place) {
  const auto flags = static_cast<std::uint8_t>(kind == Kind::st ? wrote : 0);
  add({address, 0, 0, place, size, self_->number, kind, flags, 0});
}

void Hook::fence(Kind kind, std::uintptr_t place) { add({0, 0, 0, place, 0, self_->number, kind, 0, 0}); }

void Hook::synchronise(Kind kind, const void* object, std::uintptr_t place, bool writes) {
  const auto flags = static_cast<std::uint8_t>(synchronises | (writes && kind != Kind::ld ? wrote : 0));
  add({reinterpret_cast<std::uintptr_t>(object), 0, 0, place, 1, self_->number, kind, flags, 0});
}

void Hook::thread(std::uint32_t number, std::uintptr_t place) {
  add({number, 0, 0, place, 1, self_->number, Kind::rmw, wrote | synchronises | of_thread, 0});
}

void Hook::block(const void* begin, std::size_t size, std::uintptr_t place) {
  append({reinterpret_cast<std::uintptr_t>(begin), size, 0, place, 1, self_->number, Kind::block, 0, 0});
}

}  // namespace teetotal::native
