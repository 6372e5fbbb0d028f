// What the compiler's -fsanitize=thread calls: plain and volatile accesses, atomic operations, fences.
//
// A hook of a plain access is called before the access and carries no value. An atomic operation is done here. How an
// order of C11 becomes events (TSO, PSO): any load is ld; a store is st, after an sfence if it releases, before an
// mfence if it is seq_cst; an rmw is rmw, after an sfence if it releases and an rmw does not flush everything; a fence
// is mfence if seq_cst, sfence if it releases, else one that only C11 knows. The order itself goes with the operation.
#include <algorithm>
#include <cstring>
#include <string>

#include "accesses.hpp"
#include "addresses.hpp"
#include "known_steps.hpp"
#include "local_state.hpp"
#include "unwritten.hpp"

namespace teetotal::runtime {
namespace {

constexpr int kRelease = 3, kAcqRel = 4, kSeqCst = 5;  // __ATOMIC_*
constexpr bool releases(int order) { return order >= kRelease && order <= kSeqCst; }

// Of an __ATOMIC_ constant: relaxed, consume, acquire, release, acq_rel, seq_cst from 0.
constexpr Order order_of(int order) {
  return order <= 0 ? Order::relaxed : order >= kSeqCst ? Order::seq_cst : static_cast<Order>(std::max(order, 2));
}

// A load on its own stack that is meant for others: it may spin here until they come, and nobody would see it.
bool spins(const Thread& self, Kind kind, std::uintptr_t address, std::size_t size, std::uintptr_t place) {
  if (process.alone || kind != Kind::ld || stack_owner(address) != self.number) return false;
  if (local_states.loads_own(place)) return false;
  touch_stack(address, size);
  return true;
}

// Whether others may see a part of it: x86 promises that nobody does inside of a quadword, or of 16 aligned bytes where
// a vector is accessed. (Intel's: inside of a line of the cache.)
constexpr bool torn(std::uintptr_t address, std::size_t size) {
  const std::size_t unit = size <= 8 ? 8 : size;
  return address % unit + size > unit;
}

[[gnu::always_inline]] inline void access(Kind kind, const void* pointer, Tag tag, std::uintptr_t place,
                                          bool plain = true, Order order = Order::na) {
  Thread* self = process.current;
  if (self == nullptr) return;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (hidden(*self, address, place, size_of(tag)) && (plain || !spins(*self, kind, address, size_of(tag), place))) {
    if (kind == Kind::ld) look_for_unwritten(*self, pointer, tag, place);
    return;
  }
  if (self->suspicion.address != 0) [[unlikely]]
    decide_suspicion(*self, kind == Kind::st ? address : 0, place);
  if (torn(address, size_of(tag))) [[unlikely]]
    return announce(*self, kind == Kind::st ? address : 0, kind == Kind::ld ? address : 0, size_of(tag), place,
                    Announced::parts);
  operate(*self, kind, kind == Kind::st ? Writes::always : Writes::never, address, tag, place, 0, plain, false, true,
          order);
  if (process.alone && kind == Kind::ld) untold_loads.add(pointer, tag);
  if (kind == Kind::ld) look_for_unwritten(*self, pointer, tag, place);
}

template <typename T>
[[gnu::always_inline]] inline void before_atomic(const volatile T* target, Kind kind, Writes writes,
                                                 std::uintptr_t place, bool single, int order, Wide expected = 0,
                                                 Order failure = Order::na, Wide operand = 0) {
  Thread* self = process.current;
  if (self == nullptr) return;
  const auto address = reinterpret_cast<std::uintptr_t>(target);
  if (hidden(*self, address, place, sizeof(T)) && !spins(*self, kind, address, sizeof(T), place)) return;
  if (self->suspicion.address != 0) [[unlikely]]
    decide_suspicion(*self, 0, place);
  if (kind == Kind::rmw) self->operand = operand;
  operate(*self, kind, writes, address, tag_for(sizeof(T)), place, expected, false, false, single, order_of(order),
          failure);
  if (process.alone && kind == Kind::ld) untold_loads.add(const_cast<const T*>(target), tag_for(sizeof(T)));
  if (kind != Kind::st) look_for_unwritten(*self, const_cast<const T*>(target), tag_for(sizeof(T)), place);
}

// What atomic operations take from memory besides, and give back to it.
template <typename T>
[[gnu::always_inline]] inline T taken(const void* from, std::uintptr_t place) {
  access(Kind::ld, from, tag_for(sizeof(T)), place);
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename T>
[[gnu::always_inline]] inline void give(void* to, T value, std::uintptr_t place) {
  access(Kind::st, to, tag_for(sizeof(T)), place);
  std::memcpy(to, &value, sizeof value);
}

inline void before_rmw(int order, std::uintptr_t place) {
  if (rules.rmw_needs_marker && releases(order) && process.current != nullptr) sfence(*process.current, place);
}

template <typename T>
[[gnu::always_inline]] inline T atomic_load(const volatile T* target, int order, std::uintptr_t place,
                                            bool single = true) {
  before_atomic(target, Kind::ld, Writes::never, place, single, order);
  return *target;
}

template <typename T>
[[gnu::always_inline]] inline void atomic_store(volatile T* target, T value, int order, std::uintptr_t place) {
  Thread* self = process.current;
  // What nobody else can see orders nothing: an optimising compiler takes such a store out, and its fence with it.
  if (self != nullptr && hidden(*self, reinterpret_cast<std::uintptr_t>(target), place, sizeof(T))) self = nullptr;
  if (self != nullptr && releases(order)) sfence(*self, place);
  before_atomic(target, Kind::st, Writes::always, place, true, order);
  *target = value;
  if (self != nullptr && order == kSeqCst) mfence(*self, place);
}

template <typename T, typename Change>
[[gnu::always_inline]] inline T atomic_change(volatile T* target, int order, std::uintptr_t place, T operand,
                                              Change change, bool single = true) {
  before_rmw(order, place);
  before_atomic(target, Kind::rmw, Writes::always, place, single, order, 0, Order::na, static_cast<Wide>(operand));
  const T old = *target;
  *target = change(old, operand);
  return old;
}

// Also a weak one: it fails only where it must. `to`: where the old value goes then.
template <typename T>
[[gnu::always_inline]] inline T compare_exchange_value(volatile T* target, T wanted, T value, int order, int failure,
                                                       std::uintptr_t place, const void* to = nullptr,
                                                       bool single = true) {
  before_rmw(order, place);
  const Wide operand = static_cast<Wide>(value) ^ static_cast<Wide>(reinterpret_cast<std::uintptr_t>(to)) << 64U;
  before_atomic(target, Kind::rmw, swap_writes(), place, single, order, static_cast<Wide>(wanted), order_of(failure),
                operand);
  const T old = *target;
  if (old == wanted)
    *target = value;
  else if constexpr (sizeof(T) == sizeof(std::uintptr_t))
    if (in_heap(wanted)) addresses.expected(wanted, place);
  return old;
}

// What is expected lies in memory that others may share: it is read before, and written where the swap fails.
template <typename T>
[[gnu::always_inline]] inline bool compare_exchange(volatile T* target, T* expected, T value, int order, int failure,
                                                    std::uintptr_t place, bool single = true) {
  const T wanted = taken<T>(expected, place);
  const T old = compare_exchange_value(target, wanted, value, order, failure, place, expected, single);
  if (old == wanted) return true;
  give(expected, old, place);
  return false;
}

// For atomic objects that the compiler knows by their size alone: structs, mostly.
template <typename Do>
void of_size(std::size_t size, std::uintptr_t place, Do action) {
  switch (size) {
    case 1:
      return action(std::uint8_t{});
    case 2:
      return action(std::uint16_t{});
    case 4:
      return action(std::uint32_t{});
    case 8:
      return action(std::uint64_t{});
    case 16:
      return action(Wide{});
    default:
      if (process.current == nullptr) return;
      fail(*process.current, Failure::unsupported,
           "an atomic operation on " + std::to_string(size) + " bytes, which needs a lock,", place);
  }
}

}  // namespace

void look_at(const void* data, Tag tag, Order order, std::uintptr_t place) {
  access(Kind::ld, data, tag, place, false, unchecked(order));
}

}  // namespace teetotal::runtime

using namespace teetotal;           // NOLINT: the hooks below are the whole rest of the file
using namespace teetotal::runtime;  // NOLINT

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_ignore_thread_begin() {}
void __tsan_ignore_thread_end() {}
void __tsan_acquire(void*) {}
void __tsan_release(void*) {}

// What libraries tell a race detector of locks of their own (a bit of std::atomic<std::shared_ptr> of libstdc++ 13 and
// newer, for instance). The accesses that such a lock is made of are seen themselves, so that nothing is to be believed
// here.
void __tsan_mutex_create(void*, unsigned) {}
void __tsan_mutex_destroy(void*, unsigned) {}
void __tsan_mutex_pre_lock(void*, unsigned) {}
void __tsan_mutex_post_lock(void*, unsigned, int) {}
int __tsan_mutex_pre_unlock(void*, unsigned) { return 0; }
void __tsan_mutex_post_unlock(void*, unsigned) {}
void __tsan_mutex_pre_signal(void*, unsigned) {}
void __tsan_mutex_post_signal(void*, unsigned) {}
void __tsan_mutex_pre_divert(void*, unsigned) {}
void __tsan_mutex_post_divert(void*, unsigned) {}

#define ACCESS(name, kind, bytes, tag, plain) \
  void __tsan_##name##bytes(void* address) { access(kind, address, tag, TEETOTAL_PLACE, plain); }
#define ACCESSES(prefix, plain)                          \
  ACCESS(prefix##read, Kind::ld, 1, Tag::byte, plain)    \
  ACCESS(prefix##read, Kind::ld, 2, Tag::half, plain)    \
  ACCESS(prefix##read, Kind::ld, 4, Tag::word, plain)    \
  ACCESS(prefix##read, Kind::ld, 8, Tag::oct, plain)     \
  ACCESS(prefix##read, Kind::ld, 16, Tag::vector, plain) \
  ACCESS(prefix##write, Kind::st, 1, Tag::byte, plain)   \
  ACCESS(prefix##write, Kind::st, 2, Tag::half, plain)   \
  ACCESS(prefix##write, Kind::st, 4, Tag::word, plain)   \
  ACCESS(prefix##write, Kind::st, 8, Tag::oct, plain)    \
  ACCESS(prefix##write, Kind::st, 16, Tag::vector, plain)
ACCESSES(, true)
ACCESSES(volatile_, false)
ACCESSES(unaligned_volatile_, false)

// What may lie anywhere. Where it is aligned by chance, it may be a struct whose members others know: as a range does.
#define UNALIGNED(name, bytes, tag, kind, to, from)                                                                   \
  void __tsan_unaligned_##name##bytes(void* pointer) {                                                                \
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);                                                   \
    if (address % bytes != 0) return access(kind, pointer, tag, TEETOTAL_PLACE);                                      \
    if (process.current != nullptr) announce(*process.current, to, from, bytes, TEETOTAL_PLACE, Announced::compiler); \
  }
#define UNALIGNED_BOTH(bytes, tag)                  \
  UNALIGNED(read, bytes, tag, Kind::ld, 0, address) \
  UNALIGNED(write, bytes, tag, Kind::st, address, 0)
UNALIGNED_BOTH(2, Tag::half)
UNALIGNED_BOTH(4, Tag::word)
UNALIGNED_BOTH(8, Tag::oct)
UNALIGNED_BOTH(16, Tag::vector)

// An rmw that the running code does itself, right behind the hook: one that no other hook does.
void teetotal_before_change(void* target, std::uint64_t size, int order) {
  const std::uintptr_t place = TEETOTAL_PLACE;
  of_size(size, place, [&]<typename T>(T) {
    before_rmw(order, place);
    before_atomic(static_cast<const volatile T*>(target), Kind::rmw, Writes::always, place, false, order);
  });
}

char teetotal_look_at_guard(const char* guard) {
  look_at(guard, Tag::byte, Order::acq_rel, TEETOTAL_PLACE);
  return *guard;
}

void __tsan_vptr_update(void** address, void*) { access(Kind::st, address, Tag::oct, TEETOTAL_PLACE); }
void __tsan_vptr_read(void** address) { access(Kind::ld, address, Tag::oct, TEETOTAL_PLACE); }

#define ATOMICS(bits, T)                                                                                              \
  T __tsan_atomic##bits##_load(const volatile T* a, int order) { return atomic_load(a, order, TEETOTAL_PLACE); }      \
  void __tsan_atomic##bits##_store(volatile T* a, T v, int order) { atomic_store(a, v, order, TEETOTAL_PLACE); }      \
  T __tsan_atomic##bits##_exchange(volatile T* a, T v, int order) {                                                   \
    return atomic_change(a, order, TEETOTAL_PLACE, v, [](T, T given) { return given; });                              \
  }                                                                                                                   \
  T __tsan_atomic##bits##_fetch_add(volatile T* a, T v, int order) {                                                  \
    return atomic_change(a, order, TEETOTAL_PLACE, v, [](T old, T given) { return static_cast<T>(old + given); });    \
  }                                                                                                                   \
  T __tsan_atomic##bits##_fetch_sub(volatile T* a, T v, int order) {                                                  \
    return atomic_change(a, order, TEETOTAL_PLACE, v, [](T old, T given) { return static_cast<T>(old - given); });    \
  }                                                                                                                   \
  T __tsan_atomic##bits##_fetch_and(volatile T* a, T v, int order) {                                                  \
    return atomic_change(a, order, TEETOTAL_PLACE, v, [](T old, T given) { return static_cast<T>(old & given); });    \
  }                                                                                                                   \
  T __tsan_atomic##bits##_fetch_or(volatile T* a, T v, int order) {                                                   \
    return atomic_change(a, order, TEETOTAL_PLACE, v, [](T old, T given) { return static_cast<T>(old | given); });    \
  }                                                                                                                   \
  T __tsan_atomic##bits##_fetch_xor(volatile T* a, T v, int order) {                                                  \
    return atomic_change(a, order, TEETOTAL_PLACE, v, [](T old, T given) { return static_cast<T>(old ^ given); });    \
  }                                                                                                                   \
  T __tsan_atomic##bits##_fetch_nand(volatile T* a, T v, int order) {                                                 \
    return atomic_change(a, order, TEETOTAL_PLACE, v, [](T old, T given) { return static_cast<T>(~(old & given)); }); \
  }                                                                                                                   \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* a, T* c, T v, int order, int failure) {               \
    return compare_exchange(a, c, v, order, failure, TEETOTAL_PLACE);                                                 \
  }                                                                                                                   \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* a, T* c, T v, int order, int failure) {                 \
    return compare_exchange(a, c, v, order, failure, TEETOTAL_PLACE);                                                 \
  }                                                                                                                   \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T* a, T c, T v, int order, int failure) {                     \
    return compare_exchange_value(a, c, v, order, failure, TEETOTAL_PLACE);                                           \
  }
ATOMICS(8, std::uint8_t)
ATOMICS(16, std::uint16_t)
ATOMICS(32, std::uint32_t)
ATOMICS(64, std::uint64_t)
ATOMICS(128, Wide)

// The names are those of builtins, which nobody may define; hence their names for the linker only.
void generic_load(std::size_t, const void*, void*, int) asm("__atomic_load");
void generic_store(std::size_t, void*, const void*, int) asm("__atomic_store");
void generic_exchange(std::size_t, void*, const void*, void*, int) asm("__atomic_exchange");
bool generic_compare_exchange(std::size_t, void*, void*, const void*, int, int) asm("__atomic_compare_exchange");

void generic_load(std::size_t size, const void* from, void* to, int order) {
  const std::uintptr_t place = TEETOTAL_PLACE;
  of_size(size, place, [&]<typename T>(T) {
    give(to, atomic_load(static_cast<const volatile T*>(from), order, place, false), place);
  });
}
void generic_store(std::size_t size, void* to, const void* from, int order) {
  const std::uintptr_t place = TEETOTAL_PLACE;
  of_size(size, place,
          [&]<typename T>(T) { atomic_store(static_cast<volatile T*>(to), taken<T>(from, place), order, place); });
}
void generic_exchange(std::size_t size, void* target, const void* from, void* old, int order) {
  const std::uintptr_t place = TEETOTAL_PLACE;
  of_size(size, place, [&]<typename T>(T) {
    const T value = taken<T>(from, place);
    const T before =
        atomic_change(static_cast<volatile T*>(target), order, place, value, [](T, T given) { return given; }, false);
    give(old, before, place);
  });
}
bool generic_compare_exchange(std::size_t size, void* target, void* expected, const void* from, int order,
                              int failure) {
  const std::uintptr_t place = TEETOTAL_PLACE;
  bool done = false;
  of_size(size, place, [&]<typename T>(T) {
    const T value = taken<T>(from, place);
    done = compare_exchange(static_cast<volatile T*>(target), static_cast<T*>(expected), value, order, failure, place,
                            false);
  });
  return done;
}

void __tsan_atomic_thread_fence(int order) {
  Thread* self = process.current;
  if (self == nullptr) return;
  if (order == kSeqCst) {
    mfence(*self, TEETOTAL_PLACE, Order::seq_cst);
  } else if (order == kRelease || order == kAcqRel) {
    sfence(*self, TEETOTAL_PLACE, order_of(order));
  } else if (order > 0) {
    fence(*self, TEETOTAL_PLACE, Order::acquire);
  }
}
void __tsan_atomic_signal_fence(int) {}
}
