"""Local variables that are read before anybody has written them are named, and others never are."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from c_programs import COMPILERS, compiled, explore
from teetotal.programs.c.audit import unseen_in
from teetotal.programs.c.build import Source, build, library_flags, unseen
from teetotal.programs.c.elf import has_bit_fields
from teetotal.programs.c.objects import Object

HEAD = """#include <alloca.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noinline)) static
int choice, g; volatile int other;
struct pair { int a, b; }; struct words { long a, b, c; };
struct padded { char c; long l; short h; }; struct some { long l; int unused[4]; };
APART int get(int *p) { return *p; }
APART void set(int *p) { *p = 3; }
APART void take(int v) { other = v; }
APART void leave(void) { volatile int a[20]; for (int i = 0; i < 20; i++) a[i] = 0; }
APART int add(int n, ...) { va_list l; va_start(l, n); int s = 0; while (n--) s += va_arg(l, int); va_end(l); return s; }
#define CASE(n) case n: v = n + 1; break;
APART int pick(int k) { int v; switch (k) { CASE(0) CASE(1) CASE(2) CASE(3) CASE(4) default: v = 6; } return v; }
APART int pick_few(int k) { int v; switch (k) { CASE(1) CASE(2) } return v; }
APART struct some make(void) { struct some s; s.l = 3; return s; }
APART struct pair half(void) { struct pair p; p.a = 1; return p; }
struct small { char c; int i; }; APART struct small pass(struct small s) { return s; }
APART long sum(struct padded s) { return s.c + s.l + s.h; }
"""
UNWRITTEN = {
    "scalar": "int x; if (choice) x = 1; if (x == 77) abort();",
    "floating": "double d; if (choice) d = 1; if (d > 1e300) abort();",
    "copied": "int x, y; if (choice) x = 1; y = x; int z = y; if (z == 77) abort();",
    "changed": "int x; x++; if (x == 77) abort();",
    "changed bits": "int x; x |= 1; if (x == 77) abort();",
    "field": "struct pair s; s.a = 1; if (s.b == 77) abort();",
    "field of a copy": "struct words s, t; s.a = 1; t = s; if (t.b == 77) abort();",
    "element": "int a[5]; a[0] = 1; if (a[choice + 3] == 77) abort();",
    "in a large frame": "char b[5000]; b[0] = 1; if (b[4000 + choice] == 77) abort();",
    "by address": "int x; if (get(&x) == 77) abort();",
    "where others have been": "leave(); int a[20]; if (a[choice + 4] == 77) abort();",
    "after a loop": "int x; for (int i = 0; i < choice; i++) x = i; if (x == 77) abort();",
    "after a switch": "if (pick_few(choice) == 77) abort();",
    "stored for others": "int x; if (choice) x = 1; __atomic_store_n(&g, x, 0);",
    "argument": "int x; take(x);",
    "volatile": "volatile int x; if (x == 77) abort();",
    "upper half": "union { int low; long whole; } u; u.low = 0; if (u.whole == 0) abort();",
    "lower half": "union { long whole; struct pair halves; } u; u.halves.b = 5; if (u.whole == 77) abort();",
    "long double": "long double d; if (choice) d = 1; if (d > 1e300L) abort();",
    "register": "register int x; if (choice) x = 1; if (x == 77) abort();",
    "half of what a call returned": "struct pair s = half(); if (s.b == 77) abort();",
    "end of a string": "char text[9]; text[0] = 65; if (strlen(text) == 8) abort();",
    "holes that are compared": "struct padded s, t; s.c = t.c = 1; s.l = t.l = 2; s.h = t.h = 3;"
    "if (memcmp(&s, &t, sizeof s)) abort();",
    "alloca": "int *a = alloca(16 + choice); if (get(a + 2) == 77) abort();",
    "array of any size": "int n = choice + 4, a[n]; if (get(a + 2) == 77) abort();",
}
WRITTEN = {
    "through a pointer": "int x; set(&x); if (x != 3) abort();",
    "on each path": "int s = 0; for (int i = 0; i < 7; i++) s += pick(i); if (s != 27) abort();",
    "where it is used": "int c = choice, x, y = 0; if (!c) x = 2; if (!c) y = x; if (y != 2) abort();",
    "in another round": "int best; for (int i = 0; i < 3; i++) { if (i == 0 || i < best) best = i; } if (best) abort();",
    "by a jump": "int x, n = 0; again: x = n++; if (x < 3) goto again; if (x != 3) abort();",
    "between an addition and its carry": "unsigned __int128 x; if (choice < 99) x = 5; x += 1; if (x >> 64) abort();",
    "by computed jumps": "void *to[] = {&&a, &&b}; int x; goto *to[choice]; a: x = 1; goto *to[x]; b: get(&x);",
    "arguments": "if (add(3, 1, 2, 3) != 6) abort();",
    "array": "int a[40] = {1}, b[500]; for (int i = 0; i < 500; i++) b[i] = i; if (a[39] + b[499] != 499) abort();",
    "bytes": "char b[300]; memset(b, 7, sizeof b); if (b[299] != 7) abort();",
    "the fill itself": "unsigned char c[2]; c[0] = 0xA5; c[1] = 0x5A; if (c[choice] + c[choice + 1] != 255) abort();",
    "struct with holes": "struct padded s, t; s.c = 1; s.l = 2; s.h = 3; t = s; if (t.c + t.l + t.h != 6) abort();",
    "struct in part": "struct some s = make(), t = s; if (t.l != 3) abort();",
    "struct with holes as an argument": "struct padded s; s.c = 1; s.l = 2; s.h = 3; if (sum(s) != 6) abort();",
    "small struct with holes": "struct small s; s.c = 1; s.i = 2; struct small t = pass(s); if (t.c + t.i != 3) abort();",
    "array of any size, twice": "for (int n = 1; n < 40; n += 13) { int a[n]; a[n - 1] = n; int *b = alloca(n + 9);"
    "b[0] = n; if (get(a + n - 1) != n || get(b) != n) abort(); }",
    "by assembly": 'int x, y; __asm__("movl $5, %0; movl $6, %1" : "=r"(x), "=m"(y)); if (x + y != 11) abort();',
    "by a library": 'char b[9]; if (strlen(strcpy(b, "abc")) != 3) abort(); pthread_mutex_t m; pthread_mutex_init(&m, 0);',
}
BITS = """struct { unsigned a : 3, b : 5; long c : 40; } b;
  b.a = other; b.b = 2; b.c = other; b.c = 0; if (b.a || b.b != 2 || b.c) abort();"""
MAIN = """static void *thread(void *p) { ((void (*)(void))p)(); return 0; }
int main(int n, char **given) {
  pthread_t t; void (*code)(void) = all[atoi(given[1])];
  pthread_create(&t, 0, thread, code); code(); pthread_join(t, 0);
}
"""


def source(bodies: list[str]) -> str:
    functions = "".join(f"APART void f{number}(void) {{ {body} }}\n" for number, body in enumerate(bodies))
    table = ", ".join(f"f{number}" for number in range(len(bodies)))
    return f"{HEAD}{functions}static void (*const all[])(void) = {{{table}}};\n{MAIN}"


@pytest.fixture(scope="module", params=COMPILERS)
def program(request: pytest.FixtureRequest) -> Iterator[Path]:
    with compiled(source([*UNWRITTEN.values(), *WRITTEN.values()]), compiler=request.param) as built:
        yield built


@pytest.mark.parametrize("name", [*UNWRITTEN, *WRITTEN])
def test_named_where_it_is_read(name: str, program: Path) -> None:
    number = [*UNWRITTEN, *WRITTEN].index(name)
    end, told = explore(program, arguments=[str(number)])
    assert not [one for one in told if one["type"] == "failure"]
    assert end["complete"]
    assert bool(end["unseen"]) is (name in UNWRITTEN)
    assert all("nobody has written" in str(one) for one in end["unseen"])


@pytest.mark.parametrize("compiler", COMPILERS)
def test_to_store_to_a_bit_field_is_no_read_of_its_neighbours(compiler: str) -> None:
    with compiled(source([BITS, UNWRITTEN["scalar"]]), compiler=compiler) as program:
        assert [bool(explore(program, arguments=[one])[0]["unseen"]) for one in ("0", "1")] == [False, True]


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(("flags", "known"), [([], True), (["-gdwarf-4"], True), (["-gz"], False)])
def test_bit_fields_are_known_by_their_shape(compiler: str, flags: list[str], known: bool) -> None:
    """And may be there where debugging information is compressed."""
    for text, has in (("struct { int a; } s;", False), ("struct { int a : 3; } s;", True)):
        with compiled(f"{text}\nint main(void) {{ return s.a; }}\n", compiler=compiler, flags=flags) as program:
            assert has_bit_fields(program) is has or (not known and not has)


REGISTER = 'register long x __asm__("r12") = 5; __asm__("" : "+r"(x)); if (x != 5) abort();'
OLD = "register i; for (i = 0; i < 3; i++) ; if (i != 3) abort();"


@pytest.mark.parametrize("body", [REGISTER, OLD])
def test_registers_for_assembly_stay_and_old_declarations_compile(body: str) -> None:
    with compiled(source([body]), flags=["-w", "-Wno-error=implicit-int"]) as program:
        end, told = explore(program, arguments=["0"])
    assert end["complete"]
    assert [one["type"] for one in told] == ["loaded"]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_flag_takes_the_frames_away(compiler: str) -> None:
    flags = ["-fomit-frame-pointer", "-momit-leaf-frame-pointer"]
    with compiled(source([UNWRITTEN["scalar"]]), compiler=compiler, flags=flags) as program:
        assert explore(program, arguments=["0"])[0]["unseen"]


LIBRARY = """
static void set(int *to, int value) { if (value) *to = value; }
int sometimes(int given) { int found; if (given) found = given; return found + 1; }
int always(int given) { int found; if (given) found = given; else found = 7; return found + 1; }
int large(int given) {
  char room[700]; int places[100], last;
  for (int i = 0; i < 100; i++) places[i] = i;
  room[given] = 1;
  set(&last, given);
  return given ? places[given] + last + room[given] : 0;
}
int late(int given) { int first; set(&first, given); return given > 2 ? first : 0; }
"""
USER = """
#include <pthread.h>
#include <stdlib.h>
int sometimes(int), always(int), large(int), late(int);
volatile int x;
static void *f(void *unused) { return (void *)(long)x; }
int main(int count, char **given) {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  int number = atoi(given[1]);
  x = always(number) + large(number) + late(number) + (count > 2 ? sometimes(number) : 0);
  pthread_join(t, 0);
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_libraries_that_are_built_for_checking_are_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / "lib.c").write_text(LIBRARY)
    (tmp_path / "user.c").write_text(USER)
    source = Source((str(tmp_path / "user.c"),), (str(tmp_path / "lib.o"),), "gcc")
    subprocess.run(["gcc", *library_flags(source), "-c", "lib.c"], cwd=tmp_path, check=True)
    assert unseen_in(Object((tmp_path / "lib.o").read_bytes())) == []
    program = build(source, tmp_path)
    assert unseen(program) == []
    for given, named in ([["1"], 0], [["0"], 0], [["3", "sometimes"], 0], [["0", "sometimes"], 1]):
        end, _ = explore(program, "monitor=exact-tso", arguments=given)
        assert [what for what, _ in end["unseen"]] == ["a read of memory that nobody has written"] * named, given


def test_what_assembly_loads_may_be_unwritten() -> None:
    """Of the heap, also where no hook of the compiler's looks: such programs were proved."""
    text = """
#include <pthread.h>
#include <stdlib.h>
int *volatile p; volatile int x;
static int get(int *from) { int r; __asm__ volatile("ADD" : "=&r"(r), "+m"(*from) : "r"(from)); return r; }
static void *f(void *unused) { if (get(p) == 77) abort(); x = 1; return 0; }
int main(void) { pthread_t t; p = malloc(4); WRITTEN pthread_create(&t, 0, f, 0); x = 2; pthread_join(t, 0); }
"""
    for code in (
        "movl (%2), %0",
        "xorl %0, %0; addl (%2), %0",
        "xorl %0, %0; cmpl $77, (%2); setz %b0",
        "xorl %0, %0; lock; xaddl %0, (%2)",
    ):
        for written, named in (("", 1), ("*p = 3;", 0)):
            with compiled(text.replace("ADD", code).replace("WRITTEN", written)) as program:
                end, _ = explore(program, "monitor=exact-tso")
                unseen = [what for what, _ in end["unseen"]]
                assert unseen == ["a read of memory that nobody has written"] * named, (code, written)
