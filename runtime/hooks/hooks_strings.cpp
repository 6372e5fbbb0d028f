// <string.h>, <strings.h> and <wchar.h>: what they read and write, character by character.
#include <cctype>
#include <cwchar>

#include "touching.hpp"

namespace teetotal::runtime {
namespace {

constexpr std::size_t kNoEnd = ~std::size_t{0};

template <typename C>
std::size_t length(Touch& touch, const C* text, std::size_t most = kNoEnd) {
  std::size_t size = 0;
  while (size < most && touch.get(text + size) != 0) ++size;
  return size;
}

// With the character that ends it, if that comes before `most`: how many were copied without it.
template <typename C>
std::size_t copy_string(Touch& touch, C* to, const C* from, std::size_t most = kNoEnd) {
  for (std::size_t i = 0; i < most; ++i) {
    const C c = touch.get(from + i);
    touch.put(to + i, c);
    if (c == 0) return i;
  }
  return most;
}

template <typename C>
C* copy_padded(Touch& touch, C* to, const C* from, std::size_t size) {
  const std::size_t copied = copy_string(touch, to, from, size);
  for (std::size_t i = copied + 1; i < size; ++i) touch.put(to + i, C{0});
  return to + copied;
}

template <typename C>
C* append(Touch& touch, C* to, const C* from, std::size_t most = kNoEnd) {
  C* end = to + length(touch, to);
  const std::size_t copied = copy_string(touch, end, from, most);
  if (copied == most) touch.put(end + copied, C{0});
  return to;
}

// With an end in any case, if there is room for one: how long the whole is.
std::size_t copy_within(Touch& touch, char* to, const char* from, std::size_t room) {
  const std::size_t most = room == 0 ? 0 : room - 1;
  const std::size_t copied = copy_string(touch, to, from, most);
  if (copied < most) return copied;
  if (room != 0) touch.put(to + most, '\0');
  return most + length(touch, from + most);
}

int same(int c) { return c; }

template <typename C>
int compare(Touch& touch, const C* left, const C* right, std::size_t most = kNoEnd, int (*folded)(int) = same) {
  for (std::size_t i = 0; i < most; ++i) {
    const C a = touch.get(left + i), b = touch.get(right + i);
    if constexpr (sizeof(C) == 1) {
      const int x = folded(static_cast<unsigned char>(a)), y = folded(static_cast<unsigned char>(b));
      if (x != y) return x - y;
    } else if (a != b) {
      return a < b ? -1 : 1;
    }
    if (a == 0) return 0;
  }
  return 0;
}

template <typename C>
int compare_all(Touch& touch, const C* left, const C* right, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    const C a = touch.get(left + i), b = touch.get(right + i);
    if (a != b) return a < b ? -1 : 1;
  }
  return 0;
}

template <typename C>
const C* find(Touch& touch, const C* text, C wanted) {
  for (;; ++text) {
    const C c = touch.get(text);
    if (c == wanted) return text;
    if (c == 0) return nullptr;
  }
}

template <typename C>
const C* find_last(Touch& touch, const C* text, C wanted) {
  const C* found = nullptr;
  for (;; ++text) {
    const C c = touch.get(text);
    if (c == wanted) found = text;
    if (c == 0) return found;
  }
}

template <typename C>
const C* find_within(Touch& touch, const C* from, C wanted, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    if (touch.get(from + i) == wanted) return from + i;
  return nullptr;
}

// How many characters are of the set, or (`want` false) are not.
template <typename C>
std::size_t span(Touch& touch, const C* text, const C* set, bool want) {
  for (std::size_t i = 0;; ++i) {
    const C c = touch.get(text + i);
    if (c == 0 || (find(touch, set, c) != nullptr) != want) return i;
  }
}

template <typename C>
const C* find_string(Touch& touch, const C* text, const C* wanted, int (*folded)(int) = same) {
  const std::size_t size = length(touch, wanted);
  for (;; ++text) {
    if (compare(touch, text, wanted, size, folded) == 0) return text;
    if (touch.get(text) == 0) return nullptr;
  }
}

char* next_token(Touch& touch, char* text, const char* set, char** rest) {
  if (text == nullptr) text = touch.get(rest);
  text += span(touch, text, set, true);
  if (touch.get(text) == 0) {
    touch.put(rest, text);
    return nullptr;
  }
  char* end = text + span(touch, text, set, false);
  if (touch.get(end) != 0) touch.put(end++, '\0');
  touch.put(rest, end);
  return text;
}

template <typename C>
C* changeable(const C* pointer) {
  return const_cast<C*>(pointer);
}

const unsigned char* bytes(const void* pointer) { return static_cast<const unsigned char*>(pointer); }

}  // namespace
}  // namespace teetotal::runtime

using namespace teetotal::runtime;  // NOLINT: the hooks below are the whole rest of the file

extern "C" {

#define TOUCH Touch touch(TEETOTAL_PLACE)

// -- strings ----------------------------------------------------------------------------------------------------------

#define STRINGS(C, prefix, Wide)                                       \
  std::size_t teetotal_##prefix##len(const C* s) {                     \
    TOUCH;                                                             \
    return length(touch, s);                                           \
  }                                                                    \
  std::size_t teetotal_##prefix##nlen(const C* s, std::size_t n) {     \
    TOUCH;                                                             \
    return length(touch, s, n);                                        \
  }                                                                    \
  C* teetotal_##prefix##cpy(C* to, const C* from) {                    \
    TOUCH;                                                             \
    copy_string(touch, to, from);                                      \
    return to;                                                         \
  }                                                                    \
  C* teetotal_##prefix##ncpy(C* to, const C* from, std::size_t n) {    \
    TOUCH;                                                             \
    copy_padded(touch, to, from, n);                                   \
    return to;                                                         \
  }                                                                    \
  C* teetotal_##prefix##cat(C* to, const C* from) {                    \
    TOUCH;                                                             \
    return append(touch, to, from);                                    \
  }                                                                    \
  C* teetotal_##prefix##ncat(C* to, const C* from, std::size_t n) {    \
    TOUCH;                                                             \
    return append(touch, to, from, n);                                 \
  }                                                                    \
  int teetotal_##prefix##cmp(const C* a, const C* b) {                 \
    TOUCH;                                                             \
    return compare(touch, a, b);                                       \
  }                                                                    \
  int teetotal_##prefix##ncmp(const C* a, const C* b, std::size_t n) { \
    TOUCH;                                                             \
    return compare(touch, a, b, n);                                    \
  }                                                                    \
  C* teetotal_##prefix##chr(const C* s, Wide c) {                      \
    TOUCH;                                                             \
    return changeable(find(touch, s, static_cast<C>(c)));              \
  }                                                                    \
  C* teetotal_##prefix##rchr(const C* s, Wide c) {                     \
    TOUCH;                                                             \
    return changeable(find_last(touch, s, static_cast<C>(c)));         \
  }                                                                    \
  std::size_t teetotal_##prefix##spn(const C* s, const C* set) {       \
    TOUCH;                                                             \
    return span(touch, s, set, true);                                  \
  }                                                                    \
  std::size_t teetotal_##prefix##cspn(const C* s, const C* set) {      \
    TOUCH;                                                             \
    return span(touch, s, set, false);                                 \
  }                                                                    \
  C* teetotal_##prefix##pbrk(const C* s, const C* set) {               \
    TOUCH;                                                             \
    const C* found = s + span(touch, s, set, false);                   \
    return touch.get(found) == 0 ? nullptr : changeable(found);        \
  }                                                                    \
  C* teetotal_##prefix##str(const C* s, const C* wanted) {             \
    TOUCH;                                                             \
    return changeable(find_string(touch, s, wanted));                  \
  }
STRINGS(char, str, int)
STRINGS(wchar_t, wcs, wchar_t)

char* teetotal_stpcpy(char* to, const char* from) {
  TOUCH;
  return to + copy_string(touch, to, from);
}
char* teetotal_stpncpy(char* to, const char* from, std::size_t n) {
  TOUCH;
  return copy_padded(touch, to, from, n);
}
std::size_t teetotal_strlcpy(char* to, const char* from, std::size_t room) {
  TOUCH;
  return copy_within(touch, to, from, room);
}
std::size_t teetotal_strlcat(char* to, const char* from, std::size_t room) {
  TOUCH;
  const std::size_t before = length(touch, to, room);
  return before + copy_within(touch, to + before, from, room - before);
}
char* teetotal_strchrnul(const char* s, int c) {
  TOUCH;
  for (;; ++s)
    if (const char at = touch.get(s); at == static_cast<char>(c) || at == 0) return changeable(s);
}
int teetotal_strcasecmp(const char* a, const char* b) {
  TOUCH;
  return compare(touch, a, b, kNoEnd, std::tolower);
}
int teetotal_strncasecmp(const char* a, const char* b, std::size_t n) {
  TOUCH;
  return compare(touch, a, b, n, std::tolower);
}
char* teetotal_strcasestr(const char* s, const char* wanted) {
  TOUCH;
  return changeable(find_string(touch, s, wanted, std::tolower));
}
char* teetotal_strtok_r(char* s, const char* set, char** rest) {
  TOUCH;
  return next_token(touch, s, set, rest);
}
char* teetotal_strsep(char** rest, const char* set) {
  TOUCH;
  char* text = touch.get(rest);
  if (text == nullptr) return nullptr;
  char* end = text + span(touch, text, set, false);
  char* next = nullptr;
  if (touch.get(end) != 0) {
    touch.put(end, '\0');
    next = end + 1;
  }
  touch.put(rest, next);
  return text;
}

// -- bytes ------------------------------------------------------------------------------------------------------------

int teetotal_memcmp(const void* a, const void* b, std::size_t n) {
  TOUCH;
  Text<char> left(touch), right(touch);
  read_bytes(touch, a, n, left);
  read_bytes(touch, b, n, right);
  for (std::size_t i = 0; i < n && (i == 0 || left.data()[i - 1] == right.data()[i - 1]); ++i) {
    touch.look(static_cast<const char*>(a) + i, left.data() + i, 1);
    touch.look(static_cast<const char*>(b) + i, right.data() + i, 1);
  }
  return std::memcmp(left.data(), right.data(), n);
}
void* teetotal_memchr(const void* s, int c, std::size_t n) {
  TOUCH;
  return changeable(find_within(touch, bytes(s), static_cast<unsigned char>(c), n));
}
void* teetotal_rawmemchr(const void* s, int c) {
  TOUCH;
  return changeable(find_within(touch, bytes(s), static_cast<unsigned char>(c), kNoEnd));
}
void* teetotal_memrchr(const void* s, int c, std::size_t n) {
  TOUCH;
  while (n-- > 0)
    if (touch.get(bytes(s) + n) == static_cast<unsigned char>(c)) return changeable(bytes(s) + n);
  return nullptr;
}
void* teetotal_memmem(const void* s, std::size_t n, const void* wanted, std::size_t size) {
  TOUCH;
  for (std::size_t i = 0; i + size <= n; ++i)
    if (compare_all(touch, bytes(s) + i, bytes(wanted), size) == 0) return changeable(bytes(s) + i);
  return nullptr;
}
void* teetotal_memccpy(void* to, const void* from, int c, std::size_t n) {
  TOUCH;
  for (std::size_t i = 0; i < n; ++i) {
    const unsigned char byte = touch.get(bytes(from) + i);
    touch.put(static_cast<unsigned char*>(to) + i, byte);
    if (byte == static_cast<unsigned char>(c)) return static_cast<unsigned char*>(to) + i + 1;
  }
  return nullptr;
}
void teetotal_swab(const void* from, void* to, ssize_t n) {
  TOUCH;
  for (ssize_t i = 0; i + 1 < n; i += 2) {
    const unsigned char first = touch.get(bytes(from) + i), second = touch.get(bytes(from) + i + 1);
    touch.put(static_cast<unsigned char*>(to) + i, second);
    touch.put(static_cast<unsigned char*>(to) + i + 1, first);
  }
}
int teetotal_wmemcmp(const wchar_t* a, const wchar_t* b, std::size_t n) {
  TOUCH;
  return compare_all(touch, a, b, n);
}
wchar_t* teetotal_wmemchr(const wchar_t* s, wchar_t c, std::size_t n) {
  TOUCH;
  return changeable(find_within(touch, s, c, n));
}
wchar_t* teetotal_wmemset(wchar_t* to, wchar_t c, std::size_t n) {
  TOUCH;
  for (std::size_t i = 0; i < n; ++i) touch.put(to + i, c);
  return to;
}
}
