// What the headers of newer C++ libraries call, and libstdc++ before gcc 11 lacks: with it, what was built with a newer
// compiler runs beside an older library. Where the library has these too they do the same, and nobody else sees ours.
// They are declared by their linker names, since the headers declare them otherwise.
#include <new>

extern "C" {

[[noreturn, gnu::weak, gnu::visibility("hidden")]] void teetotal_throw_bad_array_new_length() __asm__(
    "_ZSt28__throw_bad_array_new_lengthv");
void teetotal_throw_bad_array_new_length() { throw std::bad_array_new_length(); }

// std::__exception_ptr::exception_ptr::~exception_ptr(), which is inline in newer headers, and the part that is not.
void teetotal_destroy_exception_pointer(void* pointer) __asm__("_ZNSt15__exception_ptr13exception_ptrD1Ev");
[[gnu::weak, gnu::visibility("hidden")]] void teetotal_release_exception(void* pointer) __asm__(
    "_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
void teetotal_release_exception(void* pointer) { teetotal_destroy_exception_pointer(pointer); }
}
