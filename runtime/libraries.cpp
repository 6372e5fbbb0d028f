#include "libraries.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <string_view>

namespace teetotal::runtime {

namespace {

// Sorted. Output is among them: what a stream holds back is nothing that a program can ask for.
constexpr std::string_view kStateless[] = {
    "__assert_fail",
    "__ctype_b_loc",
    "__ctype_tolower_loc",
    "__ctype_toupper_loc",
    "__cxa_finalize",
    "__errno_location",
    "__fprintf_chk",
    "__memcpy_chk",
    "__memmove_chk",
    "__memset_chk",
    "__printf_chk",
    "__snprintf_chk",
    "__sprintf_chk",
    "__stack_chk_fail",
    "__strcat_chk",
    "__strcpy_chk",
    "__strncpy_chk",
    "__vfprintf_chk",
    "__vsnprintf_chk",
    "_longjmp",
    "_setjmp",
    "abs",
    "atof",
    "atoi",
    "atol",
    "atoll",
    "bcmp",
    "bsearch",
    "bzero",
    "div",
    "fflush",
    "ffs",
    "fprintf",
    "fputc",
    "fputs",
    "fwrite",
    "getpid",
    "imaxabs",
    "isalnum",
    "isalpha",
    "isdigit",
    "islower",
    "isspace",
    "isupper",
    "labs",
    "ldiv",
    "llabs",
    "lldiv",
    "longjmp",
    "memccpy",
    "memchr",
    "memcmp",
    "memcpy",
    "memmove",
    "mempcpy",
    "memrchr",
    "memset",
    "perror",
    "printf",
    "putc",
    "putchar",
    "puts",
    "qsort",
    "setjmp",
    "snprintf",
    "sprintf",
    "stderr",
    "stdout",
    "stpcpy",
    "strcasecmp",
    "strcat",
    "strchr",
    "strcmp",
    "strcpy",
    "strcspn",
    "strlen",
    "strncasecmp",
    "strncat",
    "strncmp",
    "strncpy",
    "strnlen",
    "strpbrk",
    "strrchr",
    "strspn",
    "strstr",
    "strtod",
    "strtol",
    "strtoll",
    "strtoul",
    "strtoull",
    "tolower",
    "toupper",
    "vfprintf",
    "vprintf",
    "vsnprintf",
};
static_assert(std::ranges::is_sorted(kStateless));

bool harmless(const char* name, unsigned char type) {
  if (type == STT_TLS) return false;
  void* symbol = dlsym(RTLD_DEFAULT, name);
  Dl_info where{}, here{};
  if (symbol == nullptr || dladdr(symbol, &where) == 0 || where.dli_fname == nullptr) return symbol == nullptr;  // weak
  dladdr(reinterpret_cast<const void*>(&imports_keep_nothing), &here);
  if (where.dli_fbase == here.dli_fbase) return true;
  const std::string_view path = where.dli_fname;
  const std::string_view library = path.substr(path.rfind('/') + 1);
  if (library.starts_with("libstdc++.") || library.starts_with("libm.") || library.starts_with("libgcc_s."))
    return true;
  if (library.starts_with("ld-linux")) return std::string_view(name) == "__tls_get_addr";
  return library.starts_with("libc.") && std::ranges::binary_search(kStateless, std::string_view(name));
}

// The imported symbols of an object come first in its table: what can be found in it by hash comes behind them.
std::size_t imports(const ElfW(Dyn) * dynamic) {
  for (; dynamic->d_tag != DT_NULL; ++dynamic)
    if (dynamic->d_tag == DT_GNU_HASH) return reinterpret_cast<const std::uint32_t*>(dynamic->d_un.d_ptr)[1];
  return 0;
}

}  // namespace

bool imports_keep_nothing(const void* inside) {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(inside, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) return false;
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  }
  const std::size_t count = imports(map->l_ld);
  if (symbols == nullptr || names == nullptr || count == 0) return false;
  for (std::size_t i = 1; i < count; ++i) {
    const ElfW(Sym) & symbol = symbols[i];
    if (symbol.st_shndx == SHN_UNDEF && !harmless(names + symbol.st_name, ELF64_ST_TYPE(symbol.st_info))) return false;
  }
  return true;
}

}  // namespace teetotal::runtime
