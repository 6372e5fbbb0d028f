// Functions of <stdlib.h>, <math.h> and <time.h> that read or write what their arguments point to: numbers from
// strings, sorting and searching, results beside the result, copies of strings.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cinttypes>
#include <cmath>

#include "touching.hpp"

namespace teetotal::runtime {
namespace {

int digit_of(char c) {
  const auto u = static_cast<unsigned char>(c);
  return std::isdigit(u) != 0 ? c - '0' : std::isalpha(u) != 0 ? std::tolower(u) - 'a' + 10 : 99;
}

// As much of a string as an integer takes, and the character behind it.
void read_integer(Touch& touch, const char* from, Text<char>& into, int base) {
  const auto next = [&] {
    const char c = touch.get(from++);
    into.add(c);
    return c;
  };
  char c = next();
  while (std::isspace(static_cast<unsigned char>(c)) != 0) c = next();
  if (c == '+' || c == '-') c = next();
  if (c == '0' && (base == 0 || base == 16)) {
    c = next();
    if (c == 'x' || c == 'X') {
      base = 16;
      c = next();
    } else if (base == 0) {
      base = 8;
    }
  }
  if (base == 0) base = 10;
  while (digit_of(c) < base) c = next();
}

// As much as a number with a point or an exponent may take, infinities and the like among them.
void read_real(Touch& touch, const char* from, Text<char>& into) {
  bool begun = false;
  for (;;) {
    const char c = touch.get(from++);
    into.add(c);
    const auto u = static_cast<unsigned char>(c);
    if (!begun && std::isspace(u) != 0) continue;
    begun = true;
    if (c == '\0' || (std::isalnum(u) == 0 && std::strchr("+-.,()_", c) == nullptr)) return;
  }
}

template <typename Number>
Number real(Touch& touch, const char* from, char** end, Number (*converted)(const char*, char**)) {
  Text<char> text(touch);
  read_real(touch, from, text);
  char* last = nullptr;
  const Number value = converted(text.data(), &last);
  if (end != nullptr) touch.put(end, const_cast<char*>(from) + (last - text.data()));
  return value;
}

template <typename Number>
Number integer(Touch& touch, const char* from, char** end, int base, Number (*converted)(const char*, char**, int)) {
  Text<char> text(touch);
  read_integer(touch, from, text, base);
  char* last = nullptr;
  const Number value = converted(text.data(), &last, base);
  if (end != nullptr) touch.put(end, const_cast<char*>(from) + (last - text.data()));
  return value;
}

// Where the elements should go is found first, by merging; then they are copied, all of them.
template <typename Compare>
void sort(const Touch& touch, void* base, std::size_t count, std::size_t size, Compare before) {
  if (count < 2 || size == 0) return;
  auto* own = static_cast<char*>(allocated(touch, count * (2 * sizeof(char*) + size)));
  if (own == nullptr) fail(*touch.self(), Failure::unsupported, "qsort of so much", touch.place());
  auto** from = reinterpret_cast<const char**>(own);
  const char** to = from + count;
  char* sorted = own + 2 * count * sizeof(char*);
  for (std::size_t i = 0; i < count; ++i) from[i] = static_cast<const char*>(base) + i * size;
  for (std::size_t width = 1; width < count; width *= 2) {
    for (std::size_t low = 0; low < count; low += 2 * width) {
      const std::size_t middle = std::min(low + width, count), high = std::min(low + 2 * width, count);
      std::size_t left = low, right = middle;
      for (std::size_t i = low; i < high; ++i) {
        const bool second = left == middle || (right < high && before(from[right], from[left]));
        to[i] = from[second ? right++ : left++];
      }
    }
    std::swap(from, to);
  }
  for (std::size_t i = 0; i < count; ++i) read_parts(*touch.self(), sorted + i * size, from[i], size, touch.place());
  write_parts(*touch.self(), base, sorted, count * size, touch.place());
}

char* duplicate(Touch& touch, const char* from, std::size_t most) {
  Text<char> text(touch);
  read_string(touch, from, text, most);
  auto* block = static_cast<char*>(allocated(touch, text.size() + 1));
  if (block != nullptr) touch.put_all(block, text.data(), text.size() + 1);
  return block;
}

}  // namespace
}  // namespace teetotal::runtime

using namespace teetotal::runtime;  // NOLINT: the hooks below are the whole rest of the file

extern "C" {

#define TOUCH Touch touch(TEETOTAL_PLACE)

// -- numbers ----------------------------------------------------------------------------------------------------------

#define INTEGER(T, name)                                      \
  T teetotal_##name(const char* from, char** end, int base) { \
    TOUCH;                                                    \
    return integer<T>(touch, from, end, base, name);          \
  }
INTEGER(long, strtol)
INTEGER(long long, strtoll)
INTEGER(unsigned long, strtoul)
INTEGER(unsigned long long, strtoull)

#define REAL(T, name)                               \
  T teetotal_##name(const char* from, char** end) { \
    TOUCH;                                          \
    return real<T>(touch, from, end, name);         \
  }
REAL(double, strtod)
REAL(float, strtof)
REAL(long double, strtold)

int teetotal_atoi(const char* from) {
  TOUCH;
  return static_cast<int>(integer<long>(touch, from, nullptr, 10, strtol));
}
long teetotal_atol(const char* from) {
  TOUCH;
  return integer<long>(touch, from, nullptr, 10, strtol);
}
double teetotal_atof(const char* from) {
  TOUCH;
  return real<double>(touch, from, nullptr, strtod);
}

#define TWO_RESULTS(T, S, name)       \
  T teetotal_##name(T x, S* second) { \
    TOUCH;                            \
    S value;                          \
    const T first = name(x, &value);  \
    touch.put(second, value);         \
    return first;                     \
  }
TWO_RESULTS(double, double, modf)
TWO_RESULTS(float, float, modff)
TWO_RESULTS(long double, long double, modfl)
TWO_RESULTS(double, int, frexp)
TWO_RESULTS(float, int, frexpf)
TWO_RESULTS(long double, int, frexpl)
TWO_RESULTS(double, int, lgamma_r)

double teetotal_remquo(double x, double y, int* quotient) {
  TOUCH;
  int value = 0;
  const double rest = remquo(x, y, &value);
  touch.put(quotient, value);
  return rest;
}
void teetotal_sincos(double x, double* sine, double* cosine) {
  TOUCH;
  touch.put(sine, std::sin(x));
  touch.put(cosine, std::cos(x));
}
int teetotal_rand_r(unsigned* seed) {
  TOUCH;
  unsigned state = touch.get(seed);
  const int value = rand_r(&state);
  touch.put(seed, state);
  return value;
}

// -- sorting and searching --------------------------------------------------------------------------------------------

void teetotal_qsort(void* base, std::size_t count, std::size_t size, int (*compare)(const void*, const void*)) {
  TOUCH;
  sort(touch, base, count, size, [=](const char* a, const char* b) { return compare(a, b) < 0; });
}
void teetotal_qsort_r(void* base, std::size_t count, std::size_t size, int (*compare)(const void*, const void*, void*),
                      void* with) {
  TOUCH;
  sort(touch, base, count, size, [=](const char* a, const char* b) { return compare(a, b, with) < 0; });
}

void* teetotal_bsearch(const void* key, const void* base, std::size_t count, std::size_t size,
                       int (*compare)(const void*, const void*)) {
  for (const auto* low = static_cast<const char*>(base); count != 0;) {
    const char* middle = low + count / 2 * size;
    const int order = compare(key, middle);
    if (order == 0) return const_cast<char*>(middle);
    if (order > 0) {
      low = middle + size;
      --count;
    }
    count /= 2;
  }
  return nullptr;
}

// -- memory -----------------------------------------------------------------------------------------------------------

char* teetotal_strdup(const char* from) {
  TOUCH;
  return duplicate(touch, from, ~std::size_t{0});
}
char* teetotal_strndup(const char* from, std::size_t most) {
  TOUCH;
  return duplicate(touch, from, most);
}
int teetotal_posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  TOUCH;
  void* block = allocated(touch, size, alignment);
  if (block == nullptr) return ENOMEM;
  touch.put(result, block);
  return 0;
}
}
