// How std::atomic waits and notifies, for C++ libraries that do not inline it: libstdc++'s from GCC 16 on. What waits
// is counted in memory of the library's, which nobody instruments and no execution finds as the first did. So programs
// that wait are linked with this file, compiled as they are, which does what the headers of GCC 11 to 15 did inline.
#include <bits/atomic_timed_wait.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>

#line 1 "/usr/include/c++/bits/atomic_waits.cc"  // to those who report: the library's
namespace std::__detail {
namespace {

using Flags = __wait_flags;

// Many objects share one. The version is what those wait at whose own object is no word of the kernel's.
struct State {
  alignas(64) int waiting = 0;
  alignas(64) int version = 0;
};
State states[16];

State& state_of(const void* object) { return states[(reinterpret_cast<__UINTPTR_TYPE__>(object) >> 2) % 16]; }

bool is_word(const void* object, const __wait_args_base& how) {
  return how._M_obj_size == sizeof(int) && reinterpret_cast<__UINTPTR_TYPE__>(object) % __platform_wait_alignment == 0;
}

int load(const int* word, int order) {
  switch (order) {
    case __ATOMIC_RELAXED:
      return __atomic_load_n(word, __ATOMIC_RELAXED);
    case __ATOMIC_SEQ_CST:
      return __atomic_load_n(word, __ATOMIC_SEQ_CST);
    default:
      return __atomic_load_n(word, __ATOMIC_ACQUIRE);
  }
}

__wait_result_type wait(const void* object, __wait_args_base& how, const timespec* until) {
  const auto* word = static_cast<const int*>(how._M_obj);
  const int old = static_cast<int>(how._M_old);
  if (how & Flags::__do_spin) {
    const int now = load(word, how._M_order);
    const bool same = now == old;
    if (!same || how & Flags::__spin_only)
      return {static_cast<__UINT32_TYPE__>(now), true, static_cast<unsigned char>(same), 0};
  }
  State& state = state_of(object);
  const bool counted = how & Flags::__track_contention;
  if (counted) __atomic_fetch_add(&state.waiting, 1, __ATOMIC_SEQ_CST);
  const int wanted = until == nullptr ? FUTEX_WAIT_PRIVATE : FUTEX_WAIT_BITSET_PRIVATE;
  const bool late = syscall(SYS_futex, word, wanted, old, until, nullptr, FUTEX_BITSET_MATCH_ANY) != 0 &&
                    until != nullptr && errno == ETIMEDOUT;
  if (counted) __atomic_fetch_sub(&state.waiting, 1, __ATOMIC_RELEASE);
  return {0, false, late, 0};
}

}  // namespace

bool __wait_args::_M_setup_proxy_wait(const void* object) {
  if (object != nullptr) {
    if (is_word(object, *this)) return false;
    State& state = state_of(object);
    _M_wait_state = &state;
    _M_obj = &state.version;
    _M_obj_size = sizeof state.version;
  }
  _M_old =
      static_cast<__UINT32_TYPE__>(__atomic_load_n(&static_cast<State*>(_M_wait_state)->version, __ATOMIC_ACQUIRE));
  return true;
}

__wait_result_type __wait_impl(const void* object, __wait_args_base& how) { return wait(object, how, nullptr); }

__wait_result_type __wait_until_impl(const void* object, __wait_args_base& how, const chrono::nanoseconds& until) {
  const auto seconds = chrono::floor<chrono::seconds>(until);
  const timespec limit{static_cast<time_t>(seconds.count()), static_cast<long>((until - seconds).count())};
  return wait(object, how, &limit);
}

void __notify_impl(const void* object, bool all, const __wait_args_base& how) {
  State& state = state_of(object);
  const void* word = object;
  if (!is_word(object, how)) {
    word = &state.version;
    all = true;  // some may wait for another object
    __atomic_fetch_add(&state.version, 1, __ATOMIC_SEQ_CST);
  }
  if (how & Flags::__track_contention && __atomic_load_n(&state.waiting, __ATOMIC_SEQ_CST) == 0) return;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, all ? __INT_MAX__ : 1);
}

}  // namespace std::__detail
