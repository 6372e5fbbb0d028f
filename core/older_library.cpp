// What the headers of newer C++ libraries call and libstdc++ before gcc 11 lacks: with it, a wheel that was built with a
// newer compiler runs beside an older library. Where the library has it, this is the same, and seen by nobody else.
#include <cstddef>
#include <new>

namespace std {

[[noreturn, gnu::weak, gnu::visibility("hidden")]] void __throw_bad_array_new_length();
void __throw_bad_array_new_length() { throw bad_array_new_length(); }

}  // namespace std
