// Strings of the C++ library, as its headers have them, and what puts them into streams and takes them out,
// instrumented as the program is. A stream itself is left to the library: see `arguments` in imports.txt.
#include <istream>
#include <ostream>
#include <string>

namespace std {

template basic_ostream<char>& operator<<(basic_ostream<char>&, const basic_string<char>&);
template basic_ostream<char>& operator<<(basic_ostream<char>&, const char*);
template basic_istream<char>& getline(basic_istream<char>&, basic_string<char>&);

// Up to `delimiter`, which is taken out and left away.
template <>
basic_istream<char>& getline(basic_istream<char>& stream, basic_string<char>& text, char delimiter) {
  const istream::sentry ready(stream, true);
  if (!ready) return stream;
  text.erase();
  ios_base::iostate state = ios_base::goodbit;
  bool any = false;
  for (;; any = true) {
    const int next = stream.rdbuf()->sbumpc();
    if (next == char_traits<char>::eof()) state |= any ? ios_base::eofbit : ios_base::eofbit | ios_base::failbit;
    if (state != ios_base::goodbit || static_cast<char>(next) == delimiter) break;
    text.push_back(static_cast<char>(next));
  }
  stream.setstate(state);
  return stream;
}

template <>
basic_istream<char>& operator>>(basic_istream<char>& stream, basic_string<char>& text) {
  const istream::sentry ready(stream);
  if (!ready) return stream;
  text.erase();
  ios_base::iostate state = ios_base::goodbit;
  streamsize left = stream.width() > 0 ? stream.width() : static_cast<streamsize>(text.max_size());
  for (; left > 0; --left) {
    const int next = stream.rdbuf()->sgetc();
    if (next == char_traits<char>::eof()) state |= ios_base::eofbit;
    if (state != ios_base::goodbit || isspace(static_cast<char>(next), stream.getloc())) break;
    text.push_back(static_cast<char>(next));
    stream.rdbuf()->sbumpc();
  }
  stream.width(0);
  if (text.empty()) state |= ios_base::failbit;
  stream.setstate(state);
  return stream;
}

}  // namespace std
