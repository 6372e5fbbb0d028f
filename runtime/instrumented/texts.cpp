// Strings and string streams of the C++ library, as its headers have them, instrumented as the program is.
#include <istream>
#include <ostream>
#include <sstream>
#include <string>

namespace std {

template class basic_string<char>;
template class basic_string<wchar_t>;

template basic_ostream<char>& operator<<(basic_ostream<char>&, const basic_string<char>&);

}  // namespace std
