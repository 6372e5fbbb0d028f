// As older_library.cpp. The headers of gcc 11 and later have std::exception_ptr's copies and destructor inline, which
// call two functions that older libraries lack; those have the whole of both. In either case it is the library's own
// functions that are called, and never the copies that the compiler made of them here. The explorer shows them to what
// it loads.
#include <dlfcn.h>

#include <cstddef>

namespace {

template <class Function>
Function* of_library(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

[[gnu::weak]] void teetotal_release_exception(void** pointer) __asm__(
    "_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
void teetotal_release_exception(void** pointer) {
  using Release = void(void**);
  static Release* const part = of_library<Release>("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
  static Release* const destructor = of_library<Release>("_ZNSt15__exception_ptr13exception_ptrD1Ev");
  (part != nullptr ? part : destructor)(pointer);
}

[[gnu::weak]] void teetotal_hold_exception(void** pointer) __asm__("_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv");
void teetotal_hold_exception(void** pointer) {
  using Part = void(void**);
  using Copy = void(void**, void* const*);
  static Part* const part = of_library<Part>("_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv");
  static Copy* const copy = of_library<Copy>("_ZNSt15__exception_ptr13exception_ptrC1ERKS0_");
  if (part != nullptr) return part(pointer);
  void* held = nullptr;
  copy(&held, pointer);  // and is not destroyed
}
}
