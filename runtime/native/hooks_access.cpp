// What the compiler's -fsanitize=thread calls. A plain access follows its hook; an atomic operation is done here. How
// an order of C11 becomes events is said in runtime/hooks/hooks_access.cpp.
#include "recorder.hpp"

using namespace teetotal::native;  // NOLINT: the hooks are the whole file

namespace {

using Wide = unsigned __int128;
constexpr int kRelease = 3, kSeqCst = 5;  // __ATOMIC_*
constexpr bool releases(int order) { return order >= kRelease && order <= kSeqCst; }

std::uintptr_t address_of(const volatile void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

inline void read(const void* pointer, std::size_t size, std::uintptr_t place) {
  if (Hook hook(place); hook) hook.load(address_of(pointer), size, place);
}

inline void write(const void* pointer, std::size_t size, std::uintptr_t place) {
  if (Hook hook; hook) hook.store_follows(address_of(pointer), size, place);
}

// As x86 does them, and as nobody else sees a part of: sixteen bytes by compare-and-swap.
template <typename T>
T swap_if(volatile T* target, T expected, T value) {
  return __sync_val_compare_and_swap(target, expected, value);
}

template <typename T>
T do_load(const volatile T* target) {
  if constexpr (sizeof(T) == 16)
    return swap_if(const_cast<volatile T*>(target), T{0}, T{0});
  else
    return __atomic_load_n(target, __ATOMIC_SEQ_CST);
}

template <typename T, typename Change>
T do_change(volatile T* target, T operand, Change change) {
  T old = do_load(target);
  for (;;) {
    const T seen = swap_if(target, old, change(old, operand));
    if (seen == old) return old;
    old = seen;
  }
}

template <typename T>
void do_store(volatile T* target, T value, int order) {
  if constexpr (sizeof(T) == 16) {
    do_change(target, value, [](T, T given) { return given; });
  } else if (order == kSeqCst) {
    __atomic_store_n(target, value, __ATOMIC_SEQ_CST);
  } else {
    __atomic_store_n(target, value, __ATOMIC_RELEASE);
  }
}

template <typename T>
T atomic_load(const volatile T* target, std::uintptr_t place) {
  Hook hook;
  const T value = do_load(target);
  if (hook) {
    if constexpr (sizeof(T) == 16)
      hook.range(Kind::ld, address_of(target), sizeof(T), place);
    else
      hook.load(address_of(target), sizeof(T), value, place);
  }
  return value;
}

template <typename T>
void atomic_store(volatile T* target, T value, int order, std::uintptr_t place) {
  Hook hook;
  do_store(target, value, order);
  if (!hook) return;
  if (releases(order)) hook.fence(Kind::sfence, place);
  hook.store(address_of(target), sizeof(T), static_cast<std::uint64_t>(value), place);
  if (order == kSeqCst) hook.fence(Kind::mfence, place);
}

template <typename T, typename Change>
T atomic_change(volatile T* target, T operand, Change change, std::uintptr_t place) {
  Hook hook;
  const T old = do_change(target, operand, change);
  if (hook)
    hook.change(address_of(target), sizeof(T), static_cast<std::uint64_t>(old),
                static_cast<std::uint64_t>(change(old, operand)), true, place);
  return old;
}

// What is expected is the program's memory, too, unless the compiler says it is not (`own`).
template <typename T>
bool compare_exchange(volatile T* target, T* expected, T value, std::uintptr_t place, bool own = false) {
  Hook hook;
  if (hook && !own) hook.load(address_of(expected), sizeof(T), place);
  const T wanted = *expected, old = swap_if(target, wanted, value);
  const bool done = old == wanted;
  if (!done) *expected = old;
  if (!hook) return done;
  hook.change(address_of(target), sizeof(T), static_cast<std::uint64_t>(old), static_cast<std::uint64_t>(value), done,
              place);
  if (!done && !own) hook.store(address_of(expected), sizeof(T), static_cast<std::uint64_t>(old), place);
  return done;
}

}  // namespace

extern "C" {

#define HOOK TEETOTAL_EXPORT void

HOOK __tsan_init() {}
HOOK __tsan_func_entry(void*) {}
HOOK __tsan_func_exit() {}
HOOK __tsan_ignore_thread_begin() {}
HOOK __tsan_ignore_thread_end() {}
HOOK __tsan_acquire(void*) {}
HOOK __tsan_release(void*) {}

// What libraries tell of locks of their own: the accesses that these are made of are recorded themselves.
HOOK __tsan_mutex_create(void*, unsigned) {}
HOOK __tsan_mutex_destroy(void*, unsigned) {}
HOOK __tsan_mutex_pre_lock(void*, unsigned) {}
HOOK __tsan_mutex_post_lock(void*, unsigned, int) {}
TEETOTAL_EXPORT int __tsan_mutex_pre_unlock(void*, unsigned) { return 0; }
HOOK __tsan_mutex_post_unlock(void*, unsigned) {}
HOOK __tsan_mutex_pre_signal(void*, unsigned) {}
HOOK __tsan_mutex_post_signal(void*, unsigned) {}
HOOK __tsan_mutex_pre_divert(void*, unsigned) {}
HOOK __tsan_mutex_post_divert(void*, unsigned) {}

#define OF_SIZE(prefix, bytes)                                                                 \
  HOOK __tsan_##prefix##read##bytes(void* address) { read(address, bytes, TEETOTAL_PLACE); }   \
  HOOK __tsan_##prefix##write##bytes(void* address) { write(address, bytes, TEETOTAL_PLACE); } \
  HOOK __tsan_##prefix##read_write##bytes(void* address) {                                     \
    if (Hook hook; hook) {                                                                     \
      hook.load(address_of(address), bytes, TEETOTAL_PLACE);                                   \
      hook.store_follows(address_of(address), bytes, TEETOTAL_PLACE);                          \
    }                                                                                          \
  }
#define ACCESSES(prefix) OF_SIZE(prefix, 1) OF_SIZE(prefix, 2) OF_SIZE(prefix, 4) OF_SIZE(prefix, 8) OF_SIZE(prefix, 16)
ACCESSES()
ACCESSES(unaligned_)
ACCESSES(volatile_)
ACCESSES(unaligned_volatile_)

HOOK __tsan_read_range(void* address, std::size_t size) {
  if (size != 0) read(address, size, TEETOTAL_PLACE);
}
HOOK __tsan_write_range(void* address, std::size_t size) {
  if (size != 0) write(address, size, TEETOTAL_PLACE);
}
HOOK __tsan_vptr_update(void** address, void* value) {
  if (*address != value) write(address, sizeof value, TEETOTAL_PLACE);
}
HOOK __tsan_vptr_read(void** address) { read(address, sizeof *address, TEETOTAL_PLACE); }

#define CHANGE(bits, T, name, result)                                                                           \
  TEETOTAL_EXPORT T __tsan_atomic##bits##_##name(volatile T* target, T value, int) {                            \
    return atomic_change(                                                                                       \
        target, value, []([[maybe_unused]] T old, T given) { return static_cast<T>(result); }, TEETOTAL_PLACE); \
  }
#define ATOMICS(bits, T)                                                                                            \
  TEETOTAL_EXPORT T __tsan_atomic##bits##_load(const volatile T* target, int) {                                     \
    return atomic_load(target, TEETOTAL_PLACE);                                                                     \
  }                                                                                                                 \
  HOOK __tsan_atomic##bits##_store(volatile T* target, T value, int order) {                                        \
    atomic_store(target, value, order, TEETOTAL_PLACE);                                                             \
  }                                                                                                                 \
  CHANGE(bits, T, exchange, given)                                                                                  \
  CHANGE(bits, T, fetch_add, old + given)                                                                           \
  CHANGE(bits, T, fetch_sub, old - given)                                                                           \
  CHANGE(bits, T, fetch_and, old& given)                                                                            \
  CHANGE(bits, T, fetch_or, old | given)                                                                            \
  CHANGE(bits, T, fetch_xor, old ^ given)                                                                           \
  CHANGE(bits, T, fetch_nand, ~(old & given))                                                                       \
  TEETOTAL_EXPORT int __tsan_atomic##bits##_compare_exchange_strong(volatile T* target, T* expected, T value, int,  \
                                                                    int) {                                          \
    return compare_exchange(target, expected, value, TEETOTAL_PLACE);                                               \
  }                                                                                                                 \
  TEETOTAL_EXPORT int __tsan_atomic##bits##_compare_exchange_weak(volatile T* target, T* expected, T value, int,    \
                                                                  int) {                                            \
    return compare_exchange(target, expected, value, TEETOTAL_PLACE);                                               \
  }                                                                                                                 \
  TEETOTAL_EXPORT T __tsan_atomic##bits##_compare_exchange_val(volatile T* target, T expected, T value, int, int) { \
    compare_exchange(target, &expected, value, TEETOTAL_PLACE, true);                                               \
    return expected;                                                                                                \
  }
ATOMICS(8, std::uint8_t)
ATOMICS(16, std::uint16_t)
ATOMICS(32, std::uint32_t)
ATOMICS(64, std::uint64_t)
ATOMICS(128, Wide)

HOOK __tsan_atomic_thread_fence(int order) {
  Hook hook;
  if (order == kSeqCst) __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (hook) hook.fence(order == kSeqCst ? Kind::mfence : releases(order) ? Kind::sfence : Kind::fence, TEETOTAL_PLACE);
}
HOOK __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
}
