// Strings of the C++ library, as its headers have them, and what string streams give as strings (new memory, which may
// be handed on), instrumented as the program is. The standards call some of the functions differently: hence
// standard_17.cpp and standard_14.cpp.
#include <sstream>
#include <string>

namespace std {

template class basic_string<char>;
template class basic_string<wchar_t>;

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
