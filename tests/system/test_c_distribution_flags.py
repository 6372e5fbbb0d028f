"""Programs and libraries compiled with what distributions compile with are decided as without: what the C library's headers
make of names (``__memcpy_chk`` for ``memcpy``) is done by the same function of ours, on every version of the library."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from c_programs import COMPILERS
from teetotal.answers.check import CheckAnswer
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.programs.c.build import Source, library_flags

FLAGS = (
    "-O2", "-Wall", "-Wformat", "-Wformat-security", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3", "-D_FILE_OFFSET_BITS=64",
    "-D_TIME_BITS=64", "-fstack-protector-strong", "-fstack-clash-protection", "-fcf-protection=full",
    "-D_GLIBCXX_ASSERTIONS", "-fPIE", "-pie", "-Wl,-z,now", "-Wl,-z,relro", "-Wl,--as-needed",
)  # fmt: skip
WRITES = {
    "memcpy": "memcpy(text[own], from, size)",
    "memmove": "memmove(text[own], from, size)",
    "memset": "memset(text[own], 'x', size)",
    "mempcpy": "mempcpy(text[own], from, size)",
    "explicit_bzero": "explicit_bzero(text[own], size)",
    "strcpy": "strcpy(text[own], from)",
    "stpcpy": "stpcpy(text[own], from)",
    "strncpy": "strncpy(text[own], from, size)",
    "stpncpy": "stpncpy(text[own], from, size)",
    "strcat": "strcat(text[own], from)",
    "strncat": "strncat(text[own], from, size)",
    "sprintf": 'sprintf(text[own], "%d", number)',
    "snprintf": 'snprintf(text[own], size, "%s", from)',
    "vsnprintf": "varied(own, from, number)",
    "wcscpy": "wcscpy(signs[own], wide)",
    "wmemset": "wmemset(signs[own], L'x', size)",
    "sscanf": 'sscanf(from, "%3s", text[own])',
    "strtol": "numbers[own] = strtol(digits, 0, 10)",
    "longjmp": "*(volatile char *)text[own] = 1; longjmp(*back, 1)",
}
"""What writes an object of its own, that the other thread reads: a text, if nothing else."""
OTHERS = {"wcscpy": "signs[!own][0]", "wmemset": "signs[!own][0]", "strtol": "numbers[!own]"}
LIBRARY = """#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
extern char text[2][32], *from, *digits; extern wchar_t signs[2][8], *wide; extern size_t size;
extern int number; extern long numbers[2];
void varied(int, const char *, ...);
void print(int own, const char *format, va_list list) { vsnprintf(text[own], size, format, list); }
"""
OWN_FRAMES = "pass_dynamic_object_size"
"""In the names of functions that fortified headers have for clang from glibc 2.40 on: where they print, a list of arguments
in their frames is named."""
PROGRAM = (
    """#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <wchar.h>
char text[2][32], letters[] = "abc", numerals[] = "16", *from = letters, *digits = numerals;
wchar_t signs[2][8], letters_too[] = L"abc", *wide = letters_too;
size_t size = 4; int number = 7; long numbers[2]; volatile int seen;
void print(int, const char *, va_list);
void varied(int own, const char *format, ...) {
  va_list list; va_start(list, format); print(own, format, list); va_end(list);
}
"""
    + "void WRITE(int, jmp_buf *);\n"
    + """static void *run(void *given) {
  int own = *(int *)given;
  jmp_buf here;
  if (!JUMPS || setjmp(here) == 0) WRITE(own, &here);
  if (FENCED) atomic_thread_fence(memory_order_seq_cst);
  seen = READ;
  return 0;
}
int main(void) {
  static int own[] = {0, 1};
  pthread_t t, u;
  pthread_create(&t, 0, run, &own[0]); pthread_create(&u, 0, run, &own[1]);
  pthread_join(t, 0); pthread_join(u, 0);
}
"""
)


def checked(tmp_path: Path, compiler: str, *flags: str) -> CheckAnswer:
    file = tmp_path / "program.c"
    file.write_text(PROGRAM)
    return check(Source((str(file),), flags, compiler), CheckOptions(models=("tso",), goal="robust"))


def robust(tmp_path: Path, compiler: str, *flags: str) -> bool | None:
    answer = checked(tmp_path, compiler, *flags)
    assert not any("cannot be seen" in note for note in answer.notes), answer.notes
    assert answer.complete
    return answer.models["tso"].robust


def built(folder: Path, compiler: str, name: str) -> str:
    """The object that a compiler makes of one of these functions with a distribution's flags."""
    source, made = folder / f"{name}.c", folder / f"{name}.o"
    source.write_text(LIBRARY + f"void write_{name}(int own, jmp_buf *back) {{ {WRITES[name]}; }}\n")
    ours = library_flags(Source((str(source),), compiler=compiler))
    theirs = [one for one in FLAGS if not one.startswith(("-fstack-protector", "-pie", "-fPIE", "-Wl,"))]
    subprocess.run([compiler, *ours, *theirs, "-fPIC", "-c", str(source), "-o", str(made)], check=True)
    return str(made)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_libraries_call_what_is_fortified(tmp_path: Path, compiler: str) -> None:
    """Else the other tests show nothing."""
    called: set[str] = set()
    for name in ("strcpy", "strcat", "vsnprintf", "longjmp"):
        made = built(tmp_path, compiler, name)
        listed = subprocess.run(["nm", "-u", made], capture_output=True, text=True, check=True).stdout
        called |= {line.split()[-1] for line in listed.splitlines()}
    assert {"__strcpy_chk", "__strcat_chk", "__vsnprintf_chk", "__longjmp_chk"} <= called


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", WRITES)
def test_a_fortified_function_does_what_the_plain_one_does(tmp_path: Path, compiler: str, name: str) -> None:
    made = built(tmp_path, compiler, name)
    flags = (
        made,
        f"-DWRITE=write_{name}",
        f"-DJUMPS={name == 'longjmp':d}",
        f"-DREAD={OTHERS.get(name, 'text[!own][0]')}",
    )
    if (
        OWN_FRAMES in subprocess.run(["nm", made], capture_output=True, text=True, check=True).stdout
        and "printf" in name
    ):
        answer = checked(tmp_path, compiler, *flags, "-DFENCED=1")
        assert any(OWN_FRAMES in note and "cannot be seen" in note for note in answer.notes)
        assert answer.models["tso"].robust is None
        return
    assert robust(tmp_path, compiler, *flags, "-DFENCED=0") is False
    assert robust(tmp_path, compiler, *flags, "-DFENCED=1") is True


BROKEN = """#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
static char text[8]; static volatile int ready;
static void *send(void *unused) { snprintf(text, sizeof text, "%s", "ab"); ORDER; ready = 1; return unused; }
int main(void) {
  pthread_t t; char copy[8] = ""; int array[4] = {0};
  pthread_create(&t, 0, send, 0);
  if (ready) { strcpy(copy, text); assert(strcmp(copy, "ab") == 0); }
  pthread_join(t, 0);
  return array[0];
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    "flags",
    [
        ("-Werror", *FLAGS),
        ("-O2", "-Wp,-U_FORTIFY_SOURCE,-D_FORTIFY_SOURCE=3,-DMORE=1", "-Werror"),
        ("-O2", "-D", "_FORTIFY_SOURCE=2", "-Werror", "-fstack-protector-all"),
    ],
    ids=["all", "fedora", "words"],
)
def test_a_program_is_decided_as_without_the_flags(tmp_path: Path, compiler: str, flags: tuple[str, ...]) -> None:
    file = tmp_path / "program.c"
    file.write_text(BROKEN)
    for order, verdict in (("", Verdict.VIOLATION), ("__sync_synchronize()", Verdict.SAFE)):
        plain, flagged = (
            check(Source((str(file),), (f"-DORDER={order}", *given), compiler), CheckOptions(models=("pso",)))
            for given in ((), flags)
        )
        assert (plain.verdict, flagged.verdict) == (verdict, verdict), flagged.notes
        assert plain.models["pso"].executions == flagged.models["pso"].executions


CXX = """#include <cassert>
#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
int main() {
  std::mutex mutex; std::condition_variable filled; std::vector<std::string> texts;
  std::thread sender([&] {
    std::lock_guard<std::mutex> hold(mutex);
    texts.push_back("a text that does not fit into the object itself");
    filled.notify_one();
  });
  {
    std::unique_lock<std::mutex> hold(mutex);
    filled.wait(hold, [&] { return !texts.empty(); });
    assert(texts[0].size() == 47);
  }
  sender.join();
  std::promise<int> promise; auto future = promise.get_future();
  promise.set_value_at_thread_exit(3);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", [FLAGS, ("-static-libstdc++", "-static-libgcc")], ids=["hardened", "static"])
def test_a_program_in_cxx_is_decided_as_without_the_flags(
    tmp_path: Path, compiler: str, flags: tuple[str, ...]
) -> None:
    file = tmp_path / "program.cpp"
    file.write_text(CXX)
    answer = check(Source((str(file),), flags, compiler), CheckOptions(models=("tso",)))
    assert answer.verdict is Verdict.SAFE, answer.notes
