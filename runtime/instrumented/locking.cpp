// std::lock of several objects of one type, which programs/c/locking.py lets programs call here: hooks_together.cpp.
#include <pthread.h>

#include <mutex>

extern "C" bool teetotal_lock_together(pthread_mutex_t* const* mutexes, std::size_t count);

namespace {

using Owner = std::unique_lock<std::mutex>;

template <typename... Mutexes>
void lock_mutexes(Mutexes&... mutexes) {
  pthread_mutex_t* const all[]{mutexes.native_handle()...};
  if (!teetotal_lock_together(all, sizeof...(mutexes))) std::lock(mutexes...);
}

template <typename... Owners>
void lock_owners(Owners&... owners) {
  if (((owners.mutex() == nullptr || owners.owns_lock()) || ...)) return std::lock(owners...);  // which throws
  lock_mutexes(*owners.mutex()...);
  ((owners = Owner(*owners.mutex(), std::adopt_lock)), ...);
}

}  // namespace

extern "C" {
void __teetotal_lock_2(std::mutex& a, std::mutex& b) { lock_mutexes(a, b); }
void __teetotal_lock_3(std::mutex& a, std::mutex& b, std::mutex& c) { lock_mutexes(a, b, c); }
void __teetotal_lock_4(std::mutex& a, std::mutex& b, std::mutex& c, std::mutex& d) { lock_mutexes(a, b, c, d); }
void __teetotal_lock_owners_2(Owner& a, Owner& b) { lock_owners(a, b); }
void __teetotal_lock_owners_3(Owner& a, Owner& b, Owner& c) { lock_owners(a, b, c); }
void __teetotal_lock_owners_4(Owner& a, Owner& b, Owner& c, Owner& d) { lock_owners(a, b, c, d); }
}
