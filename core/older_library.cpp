// What the headers of newer C++ libraries call, and libstdc++ before gcc 11 lacks: with it, what was built with a newer
// compiler runs beside an older library. Nobody else sees it. It is declared by its linker name, since the headers
// declare it otherwise.
#include <new>

extern "C" {

[[noreturn, gnu::weak, gnu::visibility("hidden")]] void teetotal_throw_bad_array_new_length() __asm__(
    "_ZSt28__throw_bad_array_new_lengthv");
void teetotal_throw_bad_array_new_length() { throw std::bad_array_new_length(); }
}
