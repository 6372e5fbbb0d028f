// <stdio.h>, as far as memory is concerned: printf and scanf to and from strings, and what output reads.
//
// A format is gone through here, and each conversion is left to the C library, with a copy of the string that it
// prints, or with memory of our own for what it reads in.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cwchar>

#include "addresses.hpp"
#include "touching.hpp"

namespace teetotal::runtime {
namespace {

// One conversion: %[flags][width][.precision][length]letter, as the C library will get it.
struct Conversion {
  char text[64] = "%";  // a width or a precision that is an argument is put in
  std::size_t size = 1;
  char length = 0;  // 'H' for hh, 'q' for ll
  char letter = 0;
  int width = 0, precision = -1;
  bool suppressed = false;

  bool add(char c) {
    if (size + 1 >= sizeof text) return false;
    text[size++] = c;
    text[size] = '\0';
    return true;
  }
};

[[noreturn]] void refuse(const Touch& touch, const char* what) {
  if (touch.self() == nullptr) std::abort();
  fail(*touch.self(), Failure::unsupported, what, touch.place());
}

void add_all(const Touch& touch, Conversion& conversion, const char* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (!conversion.add(from[i])) refuse(touch, "a conversion of unusual length");
}

int read_digits(const Touch& touch, Conversion& conversion, const char*& at) {
  int value = 0;
  for (; std::isdigit(static_cast<unsigned char>(*at)) != 0; ++at) {
    value = value * 10 + (*at - '0');
    add_all(touch, conversion, at, 1);
  }
  if (*at == '$') refuse(touch, "a format with numbered arguments");
  return value;
}

void read_length(const Touch& touch, Conversion& conversion, const char*& at) {
  for (; *at != '\0' && std::strchr("hljztLq", *at) != nullptr; ++at) {
    conversion.length = conversion.length == 'h' ? 'H' : conversion.length == 'l' ? 'q' : *at;
    add_all(touch, conversion, at, 1);
  }
}

template <typename... Values>
void emit(Text<char>& out, const Conversion& conversion, Values... values) {
  const int size = std::snprintf(nullptr, 0, conversion.text, values...);
  if (size > 0)
    std::snprintf(out.extend(static_cast<std::size_t>(size)), static_cast<std::size_t>(size) + 1, conversion.text,
                  values...);
}

// What `*` stands for.
int given(const Touch& touch, Conversion& conversion, int value) {
  char digits[16];
  add_all(touch, conversion, digits, static_cast<std::size_t>(std::snprintf(digits, sizeof digits, "%d", value)));
  return value;
}

struct Arguments {
  std::va_list list;
  bool kept = false;  // what they are printed to is memory of the program, who may look at the digits
};

template <typename Value>
Value next_address(const Touch& touch, Arguments& arguments) {
  const auto value = va_arg(arguments.list, Value);
  if (arguments.kept) addresses.written((std::uintptr_t)value, touch.place());  // NOLINT: a pointer or a number
  return value;
}

void print_one(Touch& touch, Text<char>& out, const Conversion& how, Arguments& arguments) {
  switch (how.letter) {
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X':
      if (how.length == 0 || how.length == 'h' || how.length == 'H') return emit(out, how, va_arg(arguments.list, int));
      return emit(out, how, next_address<long>(touch, arguments));
    case 'c':
    case 'C':
      return emit(out, how, va_arg(arguments.list, int));
    case 'a':
    case 'A':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      if (how.length == 'L') return emit(out, how, va_arg(arguments.list, long double));
      return emit(out, how, va_arg(arguments.list, double));
    case 'p':
      return emit(out, how, next_address<void*>(touch, arguments));
    case 'm':
      return emit(out, how);
    case '%':
      return out.add('%');
    case 's':
    case 'S': {
      const std::size_t most = how.precision < 0 ? ~std::size_t{0} : static_cast<std::size_t>(how.precision);
      if (how.letter == 'S' || how.length == 'l') {
        const auto* from = va_arg(arguments.list, const wchar_t*);
        Text<wchar_t> wide(touch);
        if (from != nullptr) read_string(touch, from, wide, most);
        return emit(out, how, from == nullptr ? nullptr : wide.data());
      }
      const auto* from = va_arg(arguments.list, const char*);
      Text<char> text(touch);
      if (from != nullptr) read_string(touch, from, text, most);
      return emit(out, how, from == nullptr ? nullptr : text.data());
    }
    case 'n': {
      void* to = va_arg(arguments.list, void*);
      if (how.length == 'H') return touch.put(static_cast<signed char*>(to), static_cast<signed char>(out.size()));
      if (how.length == 'h') return touch.put(static_cast<short*>(to), static_cast<short>(out.size()));
      if (how.length == 0) return touch.put(static_cast<int*>(to), static_cast<int>(out.size()));
      return touch.put(static_cast<long*>(to), static_cast<long>(out.size()));
    }
    default:
      refuse(touch, "a format with an unknown conversion");
  }
}

void print(Touch& touch, Text<char>& out, const char* format, Arguments& arguments) {
  Text<char> own(touch);
  read_string(touch, format, own);
  for (const char* at = own.data(); *at != '\0';) {
    if (*at != '%') {
      out.add(*at++);
      continue;
    }
    ++at;
    Conversion how;
    for (; *at != '\0' && std::strchr("-+ #0'I", *at) != nullptr; ++at) add_all(touch, how, at, 1);
    if (*at == '*') {
      ++at;
      how.width = given(touch, how, va_arg(arguments.list, int));
    } else {
      how.width = read_digits(touch, how, at);
    }
    if (*at == '.') {
      add_all(touch, how, at++, 1);
      if (*at == '*') {
        ++at;
        how.precision = given(touch, how, va_arg(arguments.list, int));
      } else {
        how.precision = read_digits(touch, how, at);
      }
    }
    read_length(touch, how, at);
    how.letter = *at;
    if (*at != '\0') add_all(touch, how, at++, 1);
    print_one(touch, out, how, arguments);
  }
}

int print_to(Touch& touch, char* to, std::size_t room, const char* format, Arguments& arguments) {
  Text<char> out(touch);
  arguments.kept = true;
  print(touch, out, format, arguments);
  if (room != 0) {
    const std::size_t size = std::min(room - 1, out.size());
    touch.put_all(to, out.data(), size);
    touch.put(to + size, '\0');
  }
  return static_cast<int>(out.size());
}

int print_on(Touch& touch, std::FILE* stream, const char* format, Arguments& arguments) {
  Text<char> out(touch);
  print(touch, out, format, arguments);
  std::fwrite(out.data(), 1, out.size(), stream);
  return static_cast<int>(out.size());
}

int print_anew(Touch& touch, char** to, const char* format, Arguments& arguments) {
  Text<char> out(touch);
  arguments.kept = true;
  print(touch, out, format, arguments);
  auto* block = static_cast<char*>(allocated(touch, out.size() + 1));
  if (block == nullptr) return -1;
  touch.put_all(block, out.data(), out.size() + 1);
  touch.put(to, block);
  return static_cast<int>(out.size());
}

// -- reading ----------------------------------------------------------------------------------------------------------

constexpr std::size_t kMostTargets = 16;

struct Target {
  void* to = nullptr;
  std::size_t size = 0;  // 0: a string, as long as it is
  bool counts = true;    // what %n stores is not counted
};

struct Targets {
  Target all[kMostTargets];
  char* own[kMostTargets] = {};
  std::size_t count = 0;
};

std::size_t size_read(const Conversion& how) {
  switch (how.letter) {
    case 'a':
    case 'e':
    case 'f':
    case 'g':
    case 'A':
    case 'E':
    case 'F':
    case 'G':
      return how.length == 'L' || how.length == 'q' ? sizeof(long double) : how.length == 'l' ? 8 : 4;
    case 'c':
      return static_cast<std::size_t>(std::max(how.width, 1));
    case 's':
    case '[':
      return 0;
    case 'p':
      return 8;
    default:
      return how.length == 'H' ? 1 : how.length == 'h' ? 2 : how.length == 0 ? 4 : 8;
  }
}

void find_targets(const Touch& touch, const char* at, std::size_t longest, Targets& targets, Arguments& arguments) {
  while ((at = std::strchr(at, '%')) != nullptr) {
    ++at;
    Conversion how;
    if (*at == '*') how.suppressed = true, ++at;
    how.width = read_digits(touch, how, at);
    if (*at == 'm') refuse(touch, "scanf that allocates");
    read_length(touch, how, at);
    how.letter = *at;
    if (*at == '\0') return;
    ++at;
    if (how.letter == '[') {
      if (*at == '^') ++at;
      if (*at == ']') ++at;
      while (*at != '\0' && *at != ']') ++at;
    }
    if (how.letter == '%' || how.suppressed) continue;
    const bool characters = std::strchr("cs[CS", how.letter) != nullptr;
    if (how.letter == 'C' || how.letter == 'S' || (characters && how.length != 0))
      refuse(touch, "scanf of wide strings");
    if (targets.count == kMostTargets) refuse(touch, "scanf of so many values");
    Target& target = targets.all[targets.count];
    target = {va_arg(arguments.list, void*), size_read(how), how.letter != 'n'};
    const std::size_t room = std::max<std::size_t>(16, std::max(longest + 1, target.size));
    auto* own = static_cast<char*>(memory.allocate(touch.self()->number, room, 0, touch.place()));
    if (own == nullptr) refuse(touch, "a text that is too long");
    std::memset(own, -1, room);
    targets.own[targets.count++] = own;
  }
}

int scan(Touch& touch, const char* from, const char* format, Arguments& arguments) {
  Text<char> text(touch), own(touch);
  read_string(touch, from, text);
  read_string(touch, format, own);
  if (touch.self() == nullptr) return std::vsscanf(text.data(), own.data(), arguments.list);
  Targets targets;
  find_targets(touch, own.data(), text.size(), targets, arguments);
  char** p = targets.own;
  const int read = std::sscanf(text.data(), own.data(), p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9],
                               p[10], p[11], p[12], p[13], p[14], p[15]);
  int left = read;
  for (std::size_t i = 0; i < targets.count; ++i) {
    const Target& target = targets.all[i];
    long first = 0;
    std::memcpy(&first, p[i], std::clamp<std::size_t>(target.size, 1, 8));
    if (target.counts ? left-- <= 0 : static_cast<signed char>(p[i][0]) == -1 && p[i][1] == p[i][0]) continue;
    const std::size_t size = target.size == 0 ? std::strlen(p[i]) + 1 : target.size;
    auto* to = static_cast<char*>(target.to);
    if (target.size == 8) {
      touch.put(reinterpret_cast<long*>(to), first);
    } else if (target.size == 4) {
      touch.put(reinterpret_cast<int*>(to), static_cast<int>(first));
    } else if (target.size == 2) {
      touch.put(reinterpret_cast<short*>(to), static_cast<short>(first));
    } else {
      touch.put_all(to, p[i], size);
    }
  }
  return read;
}

}  // namespace
}  // namespace teetotal::runtime

using namespace teetotal::runtime;  // NOLINT: the hooks below are the whole rest of the file

extern "C" {

// With the arguments as such, and as a list of them.
#define WITH_ARGUMENTS(name, call, last, ...)            \
  int teetotal_##name(__VA_ARGS__, ...) {                \
    Touch touch(TEETOTAL_PLACE);                         \
    Arguments arguments;                                 \
    va_start(arguments.list, last);                      \
    const int done = call;                               \
    va_end(arguments.list);                              \
    return done;                                         \
  }                                                      \
  int teetotal_v##name(__VA_ARGS__, std::va_list list) { \
    Touch touch(TEETOTAL_PLACE);                         \
    Arguments arguments;                                 \
    va_copy(arguments.list, list);                       \
    const int done = call;                               \
    va_end(arguments.list);                              \
    return done;                                         \
  }
WITH_ARGUMENTS(printf, print_on(touch, stdout, format, arguments), format, const char* format)
WITH_ARGUMENTS(fprintf, print_on(touch, to, format, arguments), format, std::FILE* to, const char* format)
WITH_ARGUMENTS(sprintf, print_to(touch, to, ~std::size_t{0}, format, arguments), format, char* to, const char* format)
WITH_ARGUMENTS(snprintf, print_to(touch, to, room, format, arguments), format, char* to, std::size_t room,
               const char* format)
WITH_ARGUMENTS(asprintf, print_anew(touch, to, format, arguments), format, char** to, const char* format)
WITH_ARGUMENTS(sscanf, scan(touch, text, format, arguments), format, const char* text, const char* format)
WITH_ARGUMENTS(__printf_chk, print_on(touch, stdout, format, arguments), format, int, const char* format)
WITH_ARGUMENTS(__fprintf_chk, print_on(touch, to, format, arguments), format, std::FILE* to, int, const char* format)
WITH_ARGUMENTS(__sprintf_chk, print_to(touch, to, ~std::size_t{0}, format, arguments), format, char* to, int,
               std::size_t, const char* format)
WITH_ARGUMENTS(__asprintf_chk, print_anew(touch, to, format, arguments), format, char** to, int, const char* format)
WITH_ARGUMENTS(__snprintf_chk, print_to(touch, to, room, format, arguments), format, char* to, std::size_t room, int,
               std::size_t, const char* format)

int teetotal_puts(const char* from) {
  Touch touch(TEETOTAL_PLACE);
  Text<char> text(touch);
  read_string(touch, from, text);
  return std::puts(text.data());
}
int teetotal_fputs(const char* from, std::FILE* stream) {
  Touch touch(TEETOTAL_PLACE);
  Text<char> text(touch);
  read_string(touch, from, text);
  return std::fputs(text.data(), stream);
}
std::size_t teetotal_fwrite(const void* from, std::size_t size, std::size_t count, std::FILE* stream) {
  Touch touch(TEETOTAL_PLACE);
  Text<char> text(touch);
  read_bytes(touch, from, size * count, text);
  return std::fwrite(text.data(), size, count, stream);
}
void teetotal_perror(const char* from) {
  Touch touch(TEETOTAL_PLACE);
  Text<char> text(touch);
  if (from != nullptr) read_string(touch, from, text);
  std::perror(from == nullptr ? nullptr : text.data());
}
ssize_t teetotal_write(int file, const void* from, std::size_t size) {
  Touch touch(TEETOTAL_PLACE);
  Text<char> text(touch);
  read_bytes(touch, from, size, text);
  if (file != STDOUT_FILENO && file != STDERR_FILENO && process.current != nullptr) {
    unseen_call("write to a file", touch.place());
    fence_before_call(*process.current, touch.place());  // who reads it has taken a lock of the kernel's after this
  }
  return write(file, text.data(), size);
}
}
