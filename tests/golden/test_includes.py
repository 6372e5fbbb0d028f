"""Each C++ file includes what it uses, so that it compiles whatever else the headers of a library include.

Standard headers include each other as their version likes: a file that takes ``std::uint32_t`` from ``<vector>`` compiles
with one libstdc++ and not with the next. So the standard headers that a name comes from must be among those that the file,
or a file of ours that it includes, names.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("core", "core/bindings", "runtime", "runtime/hooks", "runtime/memory", "runtime/schedule", "runtime/telling")
FILES = sorted(
    path.relative_to(ROOT)
    for room in ("core", "runtime")
    for end in ("hpp", "cpp")
    for path in (ROOT / room).rglob(f"*.{end}")
)

HEADERS = {
    "algorithm": "all_of any_of none_of find find_if find_if_not sort stable_sort lower_bound upper_bound binary_search "
    "reverse unique fill rotate includes equal copy_n set_union set_difference max_element min_element is_sorted replace "
    "count clamp max min ranges::all_of ranges::any_of ranges::none_of ranges::find ranges::find_if ranges::upper_bound "
    "ranges::lower_bound ranges::count_if ranges::count ranges::fill ranges::max_element ranges::min_element "
    "ranges::sort ranges::stable_sort ranges::reverse ranges::replace ranges::equal ranges::max",
    "array": "array",
    "atomic": "atomic atomic_flag memory_order_relaxed memory_order_acquire memory_order_release",
    "bit": "bit_cast countr_zero has_single_bit rotl popcount bit_width countl_zero bit_ceil",
    "bitset": "bitset",
    "cctype": "tolower isspace isdigit isalpha isalnum",
    "charconv": "to_chars from_chars",
    "chrono": "chrono::steady_clock chrono::milliseconds chrono::duration chrono::system_clock chrono::seconds "
    "chrono::nanoseconds chrono::microseconds chrono::duration_cast",
    "climits": "INT_MAX INT_MIN UINT_MAX LONG_MAX CHAR_BIT PATH_MAX PTHREAD_DESTRUCTOR_ITERATIONS PTHREAD_KEYS_MAX",
    "cmath": "sin cos sqrt log pow",
    "condition_variable": "condition_variable notify_all_at_thread_exit",
    "csignal": "signal",
    "cstdarg": "va_list",
    "cstdint": "uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t uintptr_t intptr_t",
    "cstdio": "FILE snprintf fclose fopen fwrite fscanf fputs fprintf fflush vsscanf vfscanf ungetc sscanf setvbuf rewind "
    "puts perror ftell fseek fread fgets fgetc feof",
    "cstdlib": "abort getenv free malloc exit",
    "cstring": "memcpy memset memcmp memmove strchr strlen strncpy strncmp strcmp strerror strrchr",
    "deque": "deque",
    "exception": "exception exception_ptr terminate terminate_handler set_terminate get_terminate uncaught_exceptions "
    "rethrow_exception",
    "filesystem": "filesystem::read_symlink filesystem::current_path",
    "fstream": "ifstream ofstream",
    "functional": "function not_fn greater less",
    "initializer_list": "initializer_list",
    "iostream": "cin cout cerr",
    "iterator": "prev next make_move_iterator istreambuf_iterator back_inserter",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": "unique_ptr shared_ptr weak_ptr make_unique make_shared make_unique_for_overwrite",
    "mutex": "mutex unique_lock scoped_lock lock_guard adopt_lock",
    "new": "bad_alloc align_val_t new_handler set_new_handler get_new_handler nothrow",
    "numeric": "partial_sum iota accumulate",
    "optional": "optional nullopt",
    "queue": "priority_queue queue",
    "random": "random_device mt19937 mt19937_64",
    "set": "set multiset",
    "span": "span",
    "sstream": "istringstream ostringstream stringstream",
    "stdexcept": "runtime_error invalid_argument logic_error out_of_range",
    "string": "string to_string stoull stoll stod stoul stoi getline",
    "string_view": "string_view",
    "system_error": "errc error_code",
    "thread": "thread this_thread::sleep_for",
    "tuple": "tuple tie",
    "type_traits": "conditional_t type_identity_t is_pointer_v is_null_pointer_v remove_reference_t is_same_v",
    "typeinfo": "type_info",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_set",
    "utility": "move exchange pair make_pair swap forward",
    "vector": "vector",
}
"""Where the standard says that a name of it is declared. ``size_t`` is declared in nearly all, and not asked for."""

ALSO = {
    "cstdarg": {"stdarg.h"}, "cstdint": {"stdint.h"}, "cstdio": {"stdio.h"}, "cstdlib": {"stdlib.h"},
    "cstring": {"string.h"}, "csignal": {"signal.h"}, "climits": {"limits.h"}, "cctype": {"ctype.h"},
    "initializer_list": {"vector", "string", "map", "set"},
}  # fmt: skip
"""Headers that declare the same, as the standard has it."""

SYSTEM = {
    r"SYS_\w+": "sys/syscall.h",
    r"(?:PROT|MAP|MADV)_[A-Z]\w*": "sys/mman.h",
    r"FUTEX_\w+": "linux/futex.h",
    r"PR_[A-Z]\w*": "sys/prctl.h",
    r"RLIMIT_\w+": "sys/resource.h",
    r"W(?:IF(?:EXITED|SIGNALED|STOPPED)|EXITSTATUS|TERMSIG|STOPSIG)": "sys/wait.h",
    r"AT_HWCAP\w*": "sys/auxv.h",
    r"RTLD_\w+": "dlfcn.h",
    r"(?:STDIN|STDOUT|STDERR)_FILENO": "unistd.h",
}
"""The kernel's and the C library's constants, and the headers that have them."""

HOMES = {name: header for header, names in HEADERS.items() for name in names.split()}
_NAME = re.compile(r"\bstd::((?:ranges::|chrono::|this_thread::|filesystem::)?\w+)|\b([A-Z]{3,}_[A-Z_]+)\b")
_INCLUDE = re.compile(r'^\s*#\s*include\s+(?:<(?P<system>[^>]+)>|"(?P<own>[^"]+)")', re.MULTILINE)
_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def found(name: str, near: Path) -> Path | None:
    for folder in (near.parent, *map(Path, ROOMS)):
        if (ROOT / folder / name).is_file():
            return Path(*(ROOT / folder / name).resolve().relative_to(ROOT).parts)
    return None


def own_includes(file: Path) -> set[Path]:
    """The files of ours that one includes."""
    text = (ROOT / file).read_text()
    return {other for one in _INCLUDE.finditer(text) if one["own"] and (other := found(one["own"], file)) is not None}


@cache
def included(file: Path) -> frozenset[str]:
    """The system's headers that a file names, or one of ours that it includes."""
    named = {one["system"] for one in _INCLUDE.finditer((ROOT / file).read_text()) if one["system"] is not None}
    return frozenset(named).union(*(included(other) for other in own_includes(file)))


def missing(file: Path) -> set[str]:
    text = _COMMENT.sub(
        "", "\n".join(line for line in (ROOT / file).read_text().splitlines() if "#include" not in line)
    )
    here = included(file)
    used = {one[1] or one[2] for one in _NAME.finditer(text)}
    constants = {(one[0], home) for names, home in SYSTEM.items() for one in re.finditer(rf"\b{names}\b", text)}
    return {
        f"<{HOMES[name]}> for {name}"
        for name in used & set(HOMES)
        if HOMES[name] not in here and not ALSO.get(HOMES[name], set()) & here
    } | {f"<{home}> for {name}" for name, home in constants if home not in here}


def test_each_file_includes_what_it_uses() -> None:
    assert not {str(file): wanting for file in FILES if (wanting := missing(file))}
