// What string streams of the C++ library give as strings: their characters are new memory, which may be handed on.
// Compiled for C++17 and for C++20, which call it differently.
#include <sstream>

namespace std {

#if __cplusplus > 201703L
#define RESULT(stream) template string stream<char>::str() const&
#else
#define RESULT(stream) template string stream<char>::str() const
#endif

RESULT(basic_stringbuf);
RESULT(basic_ostringstream);
RESULT(basic_istringstream);
RESULT(basic_stringstream);

}  // namespace std
