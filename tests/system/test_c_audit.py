"""Everything that is compiled into a C program is seen, or named: store buffering through each way to reach memory.

One source for all that is seen, built once for each compiler: each case is a store and a load, between two threads. What
is named stands in another, which only needs to be built.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from c_programs import COMPILERS, compiled, explore
from teetotal.answers.check import CheckAnswer
from teetotal.answers.errors import TeetotalError
from teetotal.checking import check
from teetotal.cli import teetotal
from teetotal.programs.c.audit import unaccounted, unseen_in
from teetotal.programs.c.build import Source, unseen
from teetotal.programs.c.objects import Object

HEAD = """#include <assert.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdlib.h>
struct large { long a, b, c; }; struct small { long a, b; }; struct fields { unsigned a : 3, b : 9; };
static struct large make_large(void) { struct large s = {1, 2, 3}; return s; }
static struct small make_small(void) { struct small s = {1, 2}; return s; }
static long take_large(struct large s) { return s.a; }
static long take_small(struct small s) { return s.a; }
__attribute__((no_sanitize("thread"), noinline)) static void stores(volatile long *p) { *p = 1; }
__attribute__((no_sanitize("thread"), noinline)) static long loads(volatile long *p) { return *p; }
__attribute__((no_sanitize("thread"), noinline)) static void both(volatile long *p, volatile long *q) { *p = 1; *q = 1; }
void written(volatile long *p);
asm(".text; .globl written; written: movq $1, (%rdi); ret");
static void *at(volatile void *p) { return (void *)p; }
"""
STORE, LOAD = "*p = 1", "r = *p"
SEEN = {
    "plain": (STORE, LOAD),
    "mov": ('asm volatile("movq $1, %0" : "=m"(*p))', 'asm volatile("movq %1, %0" : "=r"(r) : "m"(*p))'),
    "intel": (
        'asm volatile(".intel_syntax noprefix; mov qword ptr [rdi], 1; .att_syntax prefix" :: "D"(p) : "memory")',
        LOAD,
    ),
    "stos": ('{ void *d = at(p); asm volatile("stosq" : "+D"(d) : "a"(1) : "memory"); }', LOAD),
    "rep stos": (
        '{ void *d = at(p); long n = 1; asm volatile("rep; stosq" : "+D"(d), "+c"(n) : "a"(1) : "memory"); }',
        LOAD,
    ),
    "backwards": (
        '{ void *d = at(p); long n = 1; asm volatile("std; rep stosq; cld" : "+D"(d), "+c"(n) : "a"(1) : "memory"); }',
        LOAD,
    ),
    "movs": (
        '{ long one = 1; void *d = at(p), *s = &one; asm volatile("movsq" : "+D"(d), "+S"(s) :: "memory"); }',
        '{ long n = 1; void *d = &r, *s = at(p); asm volatile("rep movsq" : "+D"(d), "+S"(s), "+c"(n) :: "memory"); }',
    ),
    "lods": (STORE, '{ void *s = at(p); asm volatile("lodsq" : "=a"(r), "+S"(s) :: "memory"); }'),
    "push and pop": (
        'asm volatile("pushq $1; popq %0" : "=m"(*p))',
        'asm volatile("pushq %1; popq %0" : "=r"(r) : "m"(*p))',
    ),
    "bytes": ('asm volatile(".byte 0x90, 0x48, 0xc7, 0x07, 1, 0, 0, 0" :: "D"(p) : "memory")', LOAD),
    "macro": ('asm volatile(".macro m%=\\n movq $1, (%%rdi)\\n .endm\\n m%=" :: "D"(p) : "memory")', LOAD),
    "repetition": ('asm volatile(".rept 1\\n movq $1, (%%rdi)\\n .endr" :: "D"(p) : "memory")', LOAD),
    "characters": (
        "asm volatile(\"pushq $'#';popq %%rax; pushq $';'; popq %%rax; movb $'\\\"', %0 # it's\" : \"=m\"(*p) :: \"rax\")",
        LOAD,
    ),
    "add": ('asm volatile("addq $1, %0" : "+m"(*p))', LOAD),
    "bts": ('{ long n = 0; asm volatile("btsq %1, %0" : "+m"(*p) : "r"(n)); }', LOAD),
    "cmp": (STORE, '{ char c; asm volatile("cmpq $1, %1; sete %0" : "=r"(c) : "m"(*p)); r = c; }'),
    "goto": ('asm goto("movq $1, (%0); jmp %l1" :: "r"(p) : "memory" : out); out:;', LOAD),
    "thread pointer": (
        'asm volatile("movq $1, %%fs:(%0)" :: "r"((char *)at(p) - (char *)__builtin_thread_pointer()) : "memory")',
        LOAD,
    ),
    "storel": ("_mm_storel_pi((__m64 *)p, _mm_set1_ps(1))", LOAD),
    "memset": ("__builtin_memset(at(p), 1, 8)", "__builtin_memcpy(&r, at(p), 8)"),
    "fst": ('asm volatile("fld1; fstpl %0" : "=m"(*p))', LOAD),
    "long double": ("*(volatile long double *)p = 1", "r = *(volatile long double *)p != 0"),
    "add with carry": ("_addcarry_u64(0, 1, 2, (unsigned long long *)p)", LOAD),
    "not instrumented": ("stores(p)", "r = loads(p)"),
    "below the stack pointer": ("both(p, p + 1)", LOAD),
    "on top": ("written(p)", LOAD),
    "large struct": ("*(struct large *)p = make_large()", "r = take_large(*(struct large *)p)"),
    "small struct": ("*(struct small *)p = make_small()", "r = take_small(*(struct small *)p)"),
    "bit-field": ("((volatile struct fields *)p)->b = 1", "r = ((volatile struct fields *)p)->b"),
}
FENCED = {
    "xchg": ('{ long one = 1; asm volatile("xchgq %0, %1" : "+r"(one), "+m"(*p)); }', LOAD),
    "lock": ('asm volatile("lock; addq $1, %0" : "+m"(*p))', LOAD),
    "lock on its own line": ('asm volatile("lock\\n incq %0" : "+m"(*p))', LOAD),
    "cmpxchg": ('{ long o = 0; asm volatile("lock cmpxchgq %2, %0" : "+m"(*p), "+a"(o) : "r"(1L)); }', LOAD),
    "mfence": (STORE + '; asm volatile("mfence")', LOAD),
    "on the stack": (STORE + '; asm volatile("lock; orq $0, (%%rsp)" ::: "memory")', LOAD),
    "on a local variable": (STORE + '; { long mine = 0; asm volatile("lock; incq %0" : "+m"(mine)); }', LOAD),
}
NAMED = {
    "cmpsb": '{ void *d = at(p), *s = d; asm volatile("cmpsb" : "+D"(d), "+S"(s) :: "memory", "cc"); }',
    "xlatb": 'asm volatile("xlatb" : "=a"(r) : "b"(p), "a"(0) : "memory");',
    "maskmovdqu": "_mm_maskmoveu_si128(_mm_set1_epi32(1), _mm_set1_epi32(1), (char *)p);",
    "xsave": 'asm volatile("xsave %0" : "=m"(*p) : "a"(1), "d"(0));',
    "streaming store": "_mm_stream_si32((int *)p, 1);",
    "rdtsc": 'asm volatile("rdtsc" : "=a"(r) :: "rdx");',
    "cpuid": 'asm volatile("cpuid" : "=a"(r) : "a"(0) : "rbx", "rcx", "rdx");',
    "syscall": 'asm volatile("syscall" : "=a"(r) : "a"(39) : "rcx", "r11", "memory");',
    "gs:[": 'asm volatile("movq %%gs:16, %0" : "=r"(r));',
    "lea rsp": 'asm volatile("leaq 8(%0), %%rsp" :: "r"(p));',
    "movq $2": 'asm volatile("jmp .+9; movq $2, (%0)" :: "r"(p) : "memory");',
    "movq $3": '{ long n = 1; asm volatile("1: movq $3, (%0); loop 1b" :: "r"(p), "c"(n) : "memory"); }',
}
RUN = """
static volatile long x[2] __attribute__((aligned(64))), y[2] __attribute__((aligned(64)));
static void *first(void *unused) { store(x); return (void *)load(y); }
static void *second(void *unused) { store(y); return (void *)load(x); }
int main(int n, char **given) {
  store = stored[atoi(given[1])], load = loaded[atoi(given[1])];
  pthread_t t, u; void *a, *b;
  pthread_create(&t, 0, first, 0); pthread_create(&u, 0, second, 0);
  pthread_join(t, &a); pthread_join(u, &b);
  assert(a || b);
}
"""
CASES = {**SEEN, **FENCED}
PUTS_REGISTERS_BY = "on a local variable"


def source() -> str:
    parts = [HEAD]
    for number, (store, load) in enumerate(CASES.values()):
        parts.append(f"static void s{number}(volatile long *p) {{ {store}; }}\n")
        parts.append(f"static long l{number}(volatile long *p) {{ long r; {load}; return r; }}\n")
    for kind, names, arguments in (("void", "stored", "s"), ("long", "loaded", "l")):
        listed = ", ".join(f"{arguments}{number}" for number in range(len(CASES)))
        parts.append(f"static {kind} (*const {names}[])(volatile long *) = {{{listed}}};\n")
    parts.append("static void (*store)(volatile long *); static long (*load)(volatile long *);")
    return "".join(parts) + RUN


@pytest.fixture(scope="module", params=COMPILERS)
def program(request: pytest.FixtureRequest) -> Iterator[Path]:
    with compiled(source(), compiler=request.param) as built:
        yield built


def test_nothing_of_it_is_named(program: Path) -> None:
    assert unseen(program) == []


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_was_built_passes_its_own_audit(compiler: str) -> None:
    """As if somebody else had built it. Where clang puts registers by, beside variables that others may know, only its
    assembly says that these are no variables."""
    of = {name: f"s{number}()" for number, name in enumerate(CASES)}
    puts_by = {of[PUTS_REGISTERS_BY], "main()"} if compiler == "clang" else set()
    copies = {of[name] for name in ("large struct", "small struct")} if compiler == "clang" else set()  # clang 19's
    with compiled(source(), compiler=compiler) as built:
        found = set(unseen_in(Object((built.parent / "0.o").read_bytes())))
        assert puts_by <= found <= puts_by | copies


@pytest.mark.parametrize("name", CASES)
def test_each_store_is_buffered(program: Path, name: str) -> None:
    """On TSO both loads may find nothing, unless the store is a locked instruction or followed by a fence."""
    arguments = [str(list(CASES).index(name))]
    for model, fails in (("sc", False), ("tso", name in SEEN)):
        end, told = explore(program, f"model={model}", arguments=arguments)
        assert end["complete"]
        assert {line["what"] for line in told if line["type"] == "failure"} == ({"assertion"} if fails else set())
    end, told = explore(program, "model=sc", "monitor=exact-tso", "monitor=exact-pso", arguments=arguments)
    found = {line["monitor"] for line in told if line["type"] == "violation"}
    assert found == ({"exact-tso", "exact-pso"} if name in SEEN else set())


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_cannot_be_followed_is_named(compiler: str) -> None:
    lines = [f"void f{number}(volatile long *p) {{ long r = 0; {code} }}" for number, code in enumerate(NAMED.values())]
    first = HEAD.count("\n") + 1
    with compiled(HEAD + "\n".join(lines) + "\nint main(void) { return 0; }\n", compiler=compiler) as built:
        told = unseen(built)
    for number, name in enumerate(NAMED):
        own = [line for line in told if f"program.c:{first + number} in f{number}(): " in line]
        assert own, (name, told)
        assert any(name in line for line in own), own
    assert len(told) == len(NAMED) + 1  # the jump that counts bytes, too


LIBRARY = """
struct s { int a[9]; } from, to;
void wr(volatile int *p) { asm volatile("movl $1, %0" : "=m"(*p)); }
int rd(volatile int *p) { return *p; }
int pure(int n) { return 3 * n; }
void copy(void) { to = from; }
"""
USER = """#include <pthread.h>
volatile int x, y; void wr(volatile int *); int rd(volatile int *);
void *f(void *p) { wr(&x); rd(&y); return 0; }
void *g(void *p) { wr(&y); rd(&x); return 0; }
int main(void) {
  pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0); pthread_join(t, 0); pthread_join(u, 0);
}
"""
BY_HAND = """#define ONE 1
	.text
	.globl wr, rd
wr:	movl $ONE, (%rdi); ret
rd:	movl (%rdi), %eax  /* a comment
	on two lines */
	ret
	.section .note.GNU-stack, "", @progbits
"""


def checked(folder: Path, *flags: str, files: tuple[str, ...] = (), compiler: str | None = None) -> CheckAnswer:
    (folder / "user.c").write_text(USER)
    return check(Source((str(folder / "user.c"), *files), flags, compiler))


def robust_on_tso(result: CheckAnswer) -> bool | None:
    return result.models["tso"].robust


@pytest.mark.parametrize("compiler", COMPILERS)
def test_libraries_are_named_unless_each_access_has_a_hook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: str
) -> None:
    """An object, an archive, a shared library; and again with the flags that we tell."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    Path("lib.c").write_text(LIBRARY)
    subprocess.run([compiler, "-fPIC", "-c", "lib.c"], check=True)
    subprocess.run(["ar", "rcs", "liblib.a", "lib.o"], check=True)
    subprocess.run([compiler, "-shared", "-o", "libs.so", "lib.o"], check=True)
    linked = ("wr", "rd", "copy") if compiler == "gcc" else ("wr", "rd")  # clang calls memcpy, which is seen
    for flags, where, functions in (
        (("lib.o",), "lib.o", linked),
        (("-L.", "-llib"), "liblib.a(lib.o)", linked),
        (("libs.so",), "libs.so", ("rd", "wr")),
    ):
        result = checked(tmp_path, *flags, compiler=compiler)
        named = "; ".join(f"{name}() in {where}, which was not built for checking" for name in functions)
        assert any(note.startswith(f"what cannot be seen: {named}") for note in result.notes)
        assert robust_on_tso(result) is None
    told = CliRunner().invoke(teetotal, ["cflags", "--cc", compiler], standalone_mode=False).output
    subprocess.run([compiler, *shlex.split(told), "-c", "lib.c"], check=True)
    result = checked(tmp_path, "lib.o", compiler=compiler)
    if compiler == "gcc":
        assert robust_on_tso(result) is False
        assert not any("cannot be seen" in note for note in result.notes)
    else:  # which cannot be told to use another assembler
        assert "what cannot be seen: wr() in lib.o, which was not built for checking" in result.notes


LOCAL = """#include <pthread.h>
struct part { long a, b; }; struct whole { long head; struct part part; long tail; };
static long take(struct part p) { return p.b; }
static struct part make(void) { struct part p = {1, 1}; return p; }
volatile long x;
static volatile long *at(void *p) { return &((struct whole *)p)->part.b; }
#ifdef PASSED
static void *f(void *p) { *at(p) = 1; return (void *)x; }
#define BESIDE x = 1; take(mine.part)
#else
static void *f(void *p) { x = 1; return (void *)*at(p); }
#define BESIDE mine.part = make(); x
#endif
int main(void) {
  struct whole mine; pthread_t t;
  pthread_create(&t, 0, f, &mine); BESIDE; pthread_join(t, 0);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", [("-DPASSED",), ()])
def test_parts_of_a_local_struct_that_registers_carry(tmp_path: Path, flags: tuple[str, ...], compiler: str) -> None:
    """gcc moves them from and to the frame as if they were scalars, although their address was taken."""
    (tmp_path / "program.c").write_text(LOCAL)
    assert robust_on_tso(check(Source((str(tmp_path / "program.c"),), flags, compiler))) is False


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("suffix", [".S", ".s"])
def test_assembly_files_are_sources(tmp_path: Path, suffix: str, compiler: str) -> None:
    (tmp_path / f"hand{suffix}").write_text(BY_HAND)
    assert robust_on_tso(checked(tmp_path, files=(str(tmp_path / f"hand{suffix}"),), compiler=compiler)) is False


@pytest.mark.parametrize("compiler", COMPILERS)
def test_addresses_are_compared_in_any_syntax(tmp_path: Path, compiler: str) -> None:
    """What asks which of two comes first was written in the other one, and clang's assembler refused it."""
    file = tmp_path / "p.c"
    file.write_text(
        "int less(char *p, char *q) { return p < q; }\nchar a, b;\nint main(void) { return less(&a, &b) > 1; }\n"
    )
    result = check(Source((str(file),), ("-masm=intel",), compiler))
    assert result.complete


ONE_BY_ONE = """
static long x[2] __attribute__((aligned(16))), ones[2] = {1, 1};
static void *copy(void *p) {
  long *to = x, *from = ones, n = 2;
  asm volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(n) :: "memory"); return 0;
}
static void *fill(void *p) {
  long *to = x, n = 2;
  asm volatile("rep stosq" : "+D"(to), "+c"(n) : "a"(1L) : "memory"); return 0;
}
int main(void) {
  pthread_t t; pthread_create(&t, 0, WHAT, 0);
  long first = *(volatile long *)&x[0], second = *(volatile long *)&x[1];
  assert(first == second); pthread_join(t, 0);
}
"""


@pytest.mark.parametrize("what", ["copy", "fill"])
def test_what_is_repeated_is_done_one_by_one(tmp_path: Path, what: str) -> None:
    (tmp_path / "p.c").write_text(HEAD + ONE_BY_ONE.replace("WHAT", what))
    result = check(Source((str(tmp_path / "p.c"),)))
    assert [violation.kind for violation in result.violations] == ["assertion"]


BEYOND = {
    "hooks of one's own": (
        "static void __tsan_write4(void *p) {} static void store(int *p) { *p = 1; }",
        "__tsan_write4",
    ),
    "code behind a comment": (
        """__attribute__((section(".text#"))) static const unsigned char code[] = {0xc7, 7, 1, 0, 0, 0, 6};
        static void store(int *p) { if (p == 0) ((void (*)(int *))code)(p); }""",
        "the bytes c7 07 01",
    ),
}


@pytest.mark.parametrize("name", BEYOND)
def test_what_replaces_or_hides_is_named(tmp_path: Path, name: str) -> None:
    text, named = BEYOND[name]
    (tmp_path / "p.c").write_text(text + "int x; int main(void) { store(&x); }")
    result = check(Source((str(tmp_path / "p.c"),), compiler="gcc"))
    assert result.verdict.value == "inconclusive"
    assert any(named in note for note in result.notes)


ELSEWHERE = {
    "another address popped into the frame pointer": (
        """#define store(p) asm volatile("subq $128, %%rsp; pushq %%rbp; pushq %0; popq %%rbp; jmp 1f;"\\
        "1: movq $1, (%%rbp); popq %%rbp; addq $128, %%rsp" :: "a"(p) : "memory")
        """
    ),
    "a section of code opened again": (
        """asm(".pushsection mine,\\"ax\\"; store: nop; .popsection; .pushsection mine; movq $1, (%rdi); ret; .popsection");
        void store(long *);
        """
    ),
    "more than the frame has, added to the stack pointer": (
        """#define store(p) asm volatile("movq %%rsp, %%rax; subq %0, %%rax; negq %%rax; movq $1, (%%rsp, %%rax)" \\
        :: "r"(p) : "rax", "memory")
        """
    ),
    "what a program fills up with": (
        """#define store(p) asm volatile(".balign 8; nop; nop; nop; nop; .balignl 8, 0x900107c6" :: "D"(p) : "memory")
        """
    ),
}
LAID = """static long x, y;
static void *first(void *p) { store(&x); return (void *)y; }
static void *second(void *p) { y = 1; return (void *)x; }
int main(void) { pthread_t t, u; pthread_create(&t, 0, first, 0); pthread_create(&u, 0, second, 0); }
"""


@pytest.mark.parametrize("name", ELSEWHERE)
def test_where_code_lies_and_where_jumps_lead(tmp_path: Path, name: str) -> None:
    (tmp_path / "p.c").write_text(HEAD + ELSEWHERE[name] + LAID)
    assert robust_on_tso(check(Source((str(tmp_path / "p.c"),), compiler="gcc"))) is False


def test_a_library_is_not_the_systems_because_of_its_name(tmp_path: Path) -> None:
    """Of the C library's y1 it is known that it touches nothing."""
    (tmp_path / "l.c").write_text("void y1(long *p) { *p = 1; }")
    subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-o", tmp_path / "libutil.so", tmp_path / "l.c"], check=True)
    (tmp_path / "p.c").write_text("long x; void y1(long *); int main(void) { y1(&x); }")
    flags = ("-w", f"-L{tmp_path}", "-lutil", f"-Wl,-rpath,{tmp_path}")
    result = check(Source((str(tmp_path / "p.c"),), flags, compiler="gcc"))
    assert any("y1() in libutil.so" in note for note in result.notes)


@pytest.mark.parametrize("where", ["crtmine.o", "libgcc.a(lib.o)"])
def test_an_object_is_not_the_compilers_because_of_its_name(tmp_path: Path, where: str) -> None:
    """And what is not understood of one is named as well: wr is a byte that is no instruction, and nothing else."""
    (tmp_path / "lib.s").write_text(
        '.text\n.globl wr, rd\nwr: .byte 6\nrd: ret\n.section .note.GNU-stack, "", @progbits\n'
    )
    file, _, member = where.partition("(")
    made = tmp_path / (member[:-1] or file)
    subprocess.run(["gcc", "-c", "-o", made, tmp_path / "lib.s"], check=True)
    if member:
        subprocess.run(["ar", "rcs", tmp_path / file, made], check=True)
    result = checked(tmp_path, str(tmp_path / file), compiler="gcc")
    assert any(f"wr() in {where}, which was not built for checking" in note for note in result.notes), result.notes
    assert robust_on_tso(result) is None


SEGMENT = """
static long x, y;
static long *self(void) { long *p; asm("movq %%fs:0, %0" : "=r"(p)); return p; }
static void *first(void *p) { *(long __seg_fs *)((char *)&x - (char *)self()) = 1; return (void *)y; }
static void *second(void *p) { y = 1; return (void *)x; }
int main(void) { pthread_t t, u; pthread_create(&t, 0, first, 0); pthread_create(&u, 0, second, 0); }
"""


def test_an_address_in_a_segment_is_where_it_is(tmp_path: Path) -> None:
    """gcc announces it without its segment."""
    (tmp_path / "p.c").write_text(HEAD + SEGMENT)
    result = check(Source((str(tmp_path / "p.c"),), compiler="gcc"))
    assert robust_on_tso(result) is False


CLONES = """__attribute__((target_clones("avx2", "default"))) int add(int *p) { return *p + 1; }
int x; int main(void) { return add(&x) - 1; }"""
NESTED = """static void call(void (*f)(void)) { f(); }
int main(void) { int n = 0; void put(void) { n = 1; } call(put); return n; }"""


def test_clones_are_loaded_and_trampolines_refused(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(CLONES)
    assert check(Source((str(tmp_path / "p.c"),), compiler="gcc")).verdict.value == "safe"
    (tmp_path / "p.c").write_text(NESTED)
    with pytest.raises(TeetotalError, match="a nested function whose address is taken"):
        check(Source((str(tmp_path / "p.c"),), compiler="gcc"))


RACES = {
    "an update is a load and a store": (
        'static void *f(void *p) { asm volatile("addq $1, %0" : "+m"(x[0])); return 0; }', "x[0] == 2"
    ),
    "a bit beyond the operand": (
        'static void *f(void *p) { long n = 64; asm volatile("btsq %1, %0" : "+m"(x[0]) : "r"(n));'
        " return 0; }", "x[1] == 1 && seen == 1"
    ),
    "backwards": (
        'static void *f(void *p) { long *to = &x[1], n = 2; asm volatile("std; rep stosq; cld"'
        ' : "+D"(to), "+c"(n) : "a"(1L) : "memory"); return 0; }', "x[0] == 1 && seen == 1"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RACES)
def test_where_assembly_reads_and_writes(tmp_path: Path, name: str) -> None:
    """What is asserted fails in some execution, and only there where another thread comes between."""
    code, holds = RACES[name]
    place = "x[1]" if "beyond" in name else "x[0]"
    main = "pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, {}, 0); pthread_join(t, 0);"
    other = "f" if "update" in name else "g"
    (tmp_path / "p.c").write_text(
        f"{HEAD}static volatile long x[4] __attribute__((aligned(16))), seen; {code}\n"
        f"static void *g(void *p) {{ seen = {place}; return 0; }}\n"
        f"int main(void) {{ {main.format(other)} pthread_join(u, 0); assert({holds}); (void)g; }}\n"
    )
    result = check(Source((str(tmp_path / "p.c"),)))
    assert [violation.kind for violation in result.models["sc"].violations] == ["assertion"]


def test_a_failed_cmpxchg_is_a_read(tmp_path: Path) -> None:
    """Two of them in either order are one execution."""
    failing = """static long x; static void *f(void *p) {
      long old = 5; asm volatile("lock cmpxchgq %2, %0" : "+m"(x), "+a"(old) : "r"(1L)); return 0; }
    int main(void) { pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, f, 0);
      pthread_join(t, 0); pthread_join(u, 0); }"""
    with compiled(HEAD + failing) as program:
        assert explore(program)[0]["executions"] == 1


def test_code_that_the_linker_tells_nothing_of_is_named() -> None:
    with compiled("int main(void) { return 0; }") as program:
        assert any("bytes of code in .text, whose origin" in line for line in unaccounted(program, "", []))


@pytest.mark.parametrize(("section", "named"), [(r"\.plt\S*", False), (r"\.text", True)])
def test_what_the_linker_makes_is_its_own_where_it_makes_stubs(tmp_path: Path, section: str, named: bool) -> None:
    """GNU's from 2.47 on says so; before, it named the first file, whatever that was."""
    (tmp_path / "p.c").write_text('int puts(const char *); int main(void) { return puts(""); }')
    made = ["gcc", "-fPIC", "-c", str(tmp_path / "p.c"), "-o", str(tmp_path / "p.o")]
    subprocess.run(made, check=True)
    linked = ["-shared", f"-Wl,-Map={tmp_path}/map", str(tmp_path / "p.o"), "-o", str(tmp_path / "p.so")]
    subprocess.run(["gcc", *linked], check=True)
    text = (tmp_path / "map").read_text()
    newer, count = re.subn(rf"(?m)^( {section}\s+0x\S+\s+0x\S*[1-9a-f]\S*) .*$", r"\1 linker stubs", text)
    assert count
    found = unaccounted(tmp_path / "p.so", newer, [str(tmp_path / "p.o")])
    assert any("linker stubs" in line for line in found) is named


def test_constants_of_the_sanitizers_headers_replace_no_hook(tmp_path: Path) -> None:
    """Those of GCC 16 for C++ have them."""
    text = """static const unsigned __tsan_mutex_not_static = 1 << 8; int x;
int main(void) { x = 1; return __tsan_mutex_not_static == 0; }"""
    (tmp_path / "p.c").write_text(text)
    assert check(Source((str(tmp_path / "p.c"),), compiler="gcc")).verdict.value == "safe"
