"""Programs on which seeing through LLVM's IR could go wrong, each with what goes wrong if it does.

Store buffering through one way to reach memory must be found under TSO; a loop that does more than wait must not be taken
for one that only waits; what has no hook must be named.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from c_checks import HEAD, run
from teetotal.answers.check import CheckAnswer
from teetotal.answers.options import CheckOptions

pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="programs are seen through LLVM's IR with clang")

BUFFERED = """
static void *first(void *p) {{ {store}; return (void *)(long)y; }}
static void *second(void *p) {{ y = 1; return (void *)(long)({load}); }}
int main(void) {{
  pthread_t t, u; void *a, *b;
  pthread_create(&t, 0, first, 0); pthread_create(&u, 0, second, 0);
  pthread_join(t, &a); pthread_join(u, &b);
}}
"""


VERSIONS = [f"clang-{version}" for version in (22, 21, 20, 19, 18, 17, 16, 15) if shutil.which(f"clang-{version}")]
COMPILERS = ["clang", *VERSIONS[:1]]
"""The system's, and the newest."""
used: list[str] = []


@pytest.fixture(autouse=True, params=COMPILERS)
def _through_ir(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEETOTAL_SEE", "ir")
    used[:] = [request.param]


def checked(tmp_path: Path, text: str, *, suffix: str = ".c", flags: tuple[str, ...] = ()) -> CheckAnswer:
    options = CheckOptions(models=("tso",), goal="both", seconds=60, triage=0, shorten=False)
    return run(tmp_path, HEAD + text, suffix=suffix, flags=flags, compiler=used[0], options=options)


def kinds(answer: CheckAnswer) -> set[str]:
    return {violation.kind for violation in answer.violations}


THROUGH = {
    "a function that promises to read nothing": (
        "int x, y; __attribute__((const)) static int get(void) { return x; }",
        "x = 1",
        "get()",
    ),
    "a struct that a call copies": (
        "struct s { long a[5]; } x; int y; static long get(struct s given) { return given.a[3]; }",
        "x.a[3] = 1",
        "get(x)",
    ),
    "a struct that is assigned": (
        "struct s { long a[5]; } x, one = {{0, 0, 0, 1}}; int y;"
        "static long get(struct s *to) { *to = x; return to->a[3]; }",
        "x = one",
        "({ struct s mine; get(&mine); })",
    ),
    "a bit-field": ("struct { unsigned a : 3, b : 9; } x; int y;", "x.b = 1", "x.b"),
    "a bit-field that clang widens": ("struct { unsigned long a : 40, b : 9; } x; int y;", "x.b = 1", "x.b"),
    "memset and memcpy of a constant size": (
        "long x; int y;",
        "__builtin_memset(&x, 1, sizeof x)",
        "({ long r; __builtin_memcpy(&r, &x, sizeof r); r; })",
    ),
    "an address counted from the thread pointer": (
        "long x; int y; static long *self(void) { long *p; asm(\"movq %%fs:0, %0\" : \"=r\"(p)); return p; }",
        "*(long __attribute__((address_space(257))) *)((char *)&x - (char *)self()) = 1",
        "x",
    ),
    "a long double": ("long double x; int y;", "x = 1", "x != 0"),
    "a vector of three": (
        "typedef float v __attribute__((ext_vector_type(3))); v x; int y;",
        "x = (v){1, 1, 1}",
        "x[2] != 0",
    ),
    "an integer of odd size": ("_BitInt(37) x; int y;", "x = 1", "x != 0"),
    "code that nobody instruments": (
        "int x, y; __attribute__((no_sanitize(\"thread\"))) static void put(void) { x = 1; }",
        "put()",
        "x",
    ),
    "a variable on another thread's stack, aligned beyond its frame": (
        "struct { int v; } *where; int y;\n#define x where->v",
        "x = 1",
        "x",
    ),
    "a pointer kept in a struct that is passed in registers": (
        "int x, y; struct two { int *p, *q; }; static void put(struct two t) { *t.q = 1; }",
        "put((struct two){&y, &x})",
        "x",
    ),
    "assembly outside of functions": (
        "int x, y; void put(int *); asm(\".text; .globl put; put: movl $1, (%rdi); ret\");",
        "put(&x)",
        "x",
    ),
    "assembly in another syntax": (
        "int x, y;",
        'asm volatile(".intel_syntax noprefix; mov dword ptr [rdi], 1; .att_syntax prefix" :: "D"(&x) : "memory")',
        "x",
    ),
    "assembly with words for the assembler": (
        "int x, y;",
        'asm volatile(".if 1\\n movl $1, %0\\n .endif\\n .rept 1\\n nop\\n .endr" : "=m"(x))',
        "x",
    ),
    "a naked function": (
        "int x, y; __attribute__((naked)) static void put(int *p) { asm(\"movl $1, (%rdi); ret\"); }",
        "put(&x)",
        "x",
    ),
    "the last call of a function": (
        "int x, y; static int set(int *p, int n) { *p = n; return 0; }"
        "static int put(int *p, int n) { int mine[4] = {n}; int *q = mine; q[1] = n; "
        "__attribute__((musttail)) return set(p, n); }",
        "put(&x, 1)",
        "x",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", THROUGH)
def test_store_buffering_is_found_through(tmp_path: Path, name: str) -> None:
    head, store, load = THROUGH[name]
    text = head + BUFFERED.format(store=store, load=load)
    if "where->" in head:
        text = text.replace("int main(void) {", "int main(void) { __attribute__((aligned(64))) struct { int v; } own = {0};"
                            " where = (void *)&own;")  # fmt: skip
    answer = checked(tmp_path, text)
    assert answer.models["tso"].robust is False, answer.notes


@pytest.mark.parametrize("change", ["min", "max"])
def test_an_rmw_that_no_hook_does_is_a_fence(tmp_path: Path, change: str) -> None:
    store = f"__atomic_fetch_{change}(&x, 1, __ATOMIC_RELAXED)"
    answer = checked(tmp_path, "int x = 2, y;" + BUFFERED.format(store=store, load='({ asm volatile("mfence"); x; })'))
    assert answer.models["tso"].robust is True, answer.notes


COUNTED = {
    "a variable whose address a function is given": (
        "static int waits(int *n) { ++*n; return !flag; }",
        "int n = 0; while (waits(&n)) {} assert(n < 3);",
    ),
    "a thread-local variable": ("static _Thread_local int n;", "while (!flag) n++; assert(n < 3);"),
    "the depth of a recursion": (
        "static int depth(int n) { return flag ? n : depth(n + 1); }",
        "int n = depth(0); assert(n < 3);",
    ),
    "the height of the stack": (
        "",
        "char *top = __builtin_alloca(16); while (!flag) { char *now = __builtin_alloca(16); assert(top - now < 64); }",
    ),
    "jumps back by longjmp": (
        "#include <setjmp.h>\nstatic jmp_buf again;",
        "volatile int n = 0; setjmp(again); if (!flag) { n++; longjmp(again, 1); } assert(n < 3);",
    ),
    "a part of a private struct": (
        "struct s { int a; char b[9]; };",
        "struct s mine = {0}; while (!flag) mine.b[4]++; assert(mine.b[4] < 3);",
    ),
    "a long double": ("", "long double n = 0; while (!flag) n = n + 1; assert(n < 3);"),
    "a bit-field": (
        "struct s { unsigned n : 3, m : 5; };",
        "struct s mine = {0}; while (!flag) mine.m++; assert(mine.m < 3);",
    ),
    "a variable-length array": (
        "",
        "int size = 4 + flag; int mine[size]; mine[1] = 0; while (!flag) mine[1]++; assert(mine[1] < 3);",
    ),
    "a private copy": (
        "struct s { int a, b; };",
        "struct s x = {0}, y; while (!flag) { y = x; y.a++; x = y; } assert(x.a < 3);",
    ),
    "a jump to an address": ("", "int n = 0; void *to[] = {&&a, &&b}; a: n++; goto *to[flag]; b: assert(n < 3);"),
    "assembly in a register": ("", 'int n = 0; while (!flag) asm("incl %0" : "+r"(n)); assert(n < 3);'),
    "assembly in memory": ("", 'int n = 0; while (!flag) asm("incl %0" : "+m"(n)); assert(n < 3);'),
    "errno": ("#include <errno.h>", "errno = 0; while (!flag) errno++; assert(errno < 3);"),
    "what longjmp gives": (
        "#include <setjmp.h>\nstatic jmp_buf again;",
        "int n = setjmp(again); if (!flag) longjmp(again, n + 1); assert(n < 3);",
    ),
    "an argument by value": (
        "struct s { int a[6]; }; static int f(struct s x) { while (!flag) x.a[2]++; return x.a[2]; }",
        "struct s x = {{0}}; assert(f(x) < 3);",
    ),
    "an argument by value that others know": (
        "struct s { int a[6]; }; static void up(int *p) { ++*p; }"
        "static int f(struct s x) { while (!flag) up(&x.a[2]); return x.a[2]; }",
        "struct s x = {{0}}; assert(f(x) < 3);",
    ),
    "a struct that a function returns": (
        "struct s { int a[6]; }; static struct s next(struct s x) { x.a[1]++; return x; }",
        "struct s x = {{0}}; while (!flag) x = next(x); assert(x.a[1] < 3);",
    ),
    "how many arguments were taken": (
        "#include <stdarg.h>\nstatic int f(int n, ...) {"
        " va_list l; va_start(l, n); int r = 0; while (!flag) r = va_arg(l, int); va_end(l); return r; }",
        "assert(f(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 1, 1, 1) < 3);",
    ),
    "two functions that call each other": (
        "static int b(int); static int a(int n) { return flag ? n : b(n + 1); } static int b(int n) { return a(n); }",
        "assert(a(0) < 3);",
    ),
    "a variable of an enclosing call": (
        "static void spin(int *n) { while (!flag) (*n)++; } static void between(int *n) { int own = 4; spin(n); own++; }",
        "int n = 0; between(&n); assert(n < 3);",
    ),
}  # fmt: skip
COUNTING = """
static volatile int flag;
{head}
static void *waiting(void *p) {{ {wait} return 0; }}
static void *setting(void *p) {{ flag = 1; return 0; }}
RUN(waiting, setting)
"""


@pytest.mark.parametrize("name", COUNTED)
def test_a_loop_does_not_only_wait_that_changes(tmp_path: Path, name: str) -> None:
    head, wait = COUNTED[name]
    answer = checked(tmp_path, COUNTING.format(head=head, wait=wait))
    assert "assertion" in kinds(answer), answer.notes


CATCHING = """
#include <stdexcept>
static volatile int flag;
static void look() { if (!flag) throw std::runtime_error("not yet"); }
static void *waiting(void *) {
  int n = 0;
  for (;;) { try { look(); break; } catch (const std::exception &) { n++; } }
  assert(n < 3);
  return nullptr;
}
static void *setting(void *) { flag = 1; return nullptr; }
RUN(waiting, setting)
"""


def test_a_loop_does_not_only_wait_that_counts_exceptions(tmp_path: Path) -> None:
    answer = checked(tmp_path, CATCHING, suffix=".cpp")
    assert "assertion" in kinds(answer), answer.notes


WAITING = {
    "a value that is dead": ("while (x != 4) {}", 1),
    "a value that is read before the loop": ("int r = x; while (r != 4) r = x;", 5),
    "a function that looks": ("while (look(&x) != 4) {}", 1),
    "a copy in a struct": ("struct s { int a, b; } mine; do mine = (struct s){x, 0}; while (mine.a != 4);", 1),
}
STORES = """
static int look(volatile int *p) { int r = *p; return r; }
static volatile int x;
static void *waiting(void *p) { WAIT return 0; }
static void *setting(void *p) { x = 1; x = 2; x = 3; x = 4; return 0; }
RUN(waiting, setting)
"""


@pytest.mark.parametrize("name", WAITING)
def test_stores_that_a_loop_does_not_wait_for_are_one_execution(tmp_path: Path, name: str) -> None:
    """Or, where something is read before the loop begins, one for each value that this can see."""
    wait, executions = WAITING[name]
    answer = checked(tmp_path, STORES.replace("WAIT", wait))
    assert answer.complete
    assert answer.executions == executions


GIVEN = """
static volatile int flag, which; static int seen[2];
static void spin(void) { while (!flag) {} }
static void *waiting(void *p) { spin(); seen[(long)p] = 1; return 0; }
static void *choosing(void *p) { which = 1; return 0; }
static void *setting(void *p) { flag = 1; return 0; }
int main(void) {
  pthread_t t, u, v; pthread_create(&t, 0, choosing, 0); ALONE
  long chosen = which;
  pthread_create(&u, 0, waiting, (void *)chosen); pthread_create(&v, 0, setting, 0);
  pthread_join(u, 0); pthread_join(v, 0); assert(seen[chosen]); assert(!seen[1]); JOINED
}
"""


@pytest.mark.parametrize("name", ["while others run", "alone"])
def test_what_a_thread_is_given_is_part_of_where_it_stands(tmp_path: Path, name: str) -> None:
    """Two executions in which it stands before the same load, and goes on elsewhere."""
    alone, joined = ("", "pthread_join(t, 0);") if name == "while others run" else ("pthread_join(t, 0);", "")
    answer = checked(tmp_path, GIVEN.replace("ALONE", alone).replace("JOINED", joined))
    assert {
        violation.message.split(" fails")[0] for violation in answer.violations if violation.kind == "assertion"
    } == {"T0's assertion !seen[1]"}
    assert not any("did not do the same" in note for note in answer.notes)


NAMED = {
    "a streaming store": (
        "#include <immintrin.h>\nstatic int x; static void put(void) { _mm_stream_si32(&x, 1); }",
        "_mm_stream_si32",
    ),
    "a masked store": (
        "#include <immintrin.h>\nstatic char x[16]; static void put(void) { "
        "__m128i m = _mm_set1_epi32(-1); _mm_maskmoveu_si128(m, m, x); }",
        "_mm_maskmoveu_si128",
    ),
    "a system call of another kind": (
        'static void put(void) { asm volatile("int $0x80" :: "a"(20) : "memory"); }',
        "int $0x80",
    ),
    "a hook of its own": ("int x; void __tsan_write4(void *p) {} static void put(void) { x = 1; }", "__tsan_write4"),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_what_has_no_hook_is_named(tmp_path: Path, name: str) -> None:
    head, word = NAMED[name]
    answer = checked(tmp_path, head + "static void *f(void *p) { put(); return 0; } RUN(f, f)")
    assert answer.verdict.value == "inconclusive"
    assert any(word in note for note in answer.notes), answer.notes


FRAMES = """
static int *where; static atomic_int ready;
static void *using(void *p) { if (ready) return (void *)(long)*where; return 0; }
static void leaves(int n) { __attribute__((aligned(64))) int mine[4] = {n}; where = &mine[n]; ready = 1; }
static void *leaving(void *p) { leaves(1); return 0; }
RUN(using, leaving)
"""


def test_a_frame_that_is_realigned_ends_where_its_function_returns(tmp_path: Path) -> None:
    assert "use after return" in kinds(checked(tmp_path, FRAMES))


COROUTINE = """
#include <coroutine>
#include <exception>
struct task {
  struct promise_type {
    int value = 0; std::exception_ptr thrown;
    task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int v) { value = v; return {}; }
    void return_void() {} void unhandled_exception() { thrown = std::current_exception(); }
  };
  std::coroutine_handle<promise_type> handle;
};
static int x, y;
static task work() { int own = 1; x = own; co_yield y; throw 1; }
static void *first(void *) { auto t = work(); t.handle.resume(); t.handle.resume(); t.handle.destroy(); return nullptr; }
static void *second(void *) { y = 1; return (void *)(long)x; }
RUN(first, second)
"""


def test_store_buffering_is_found_through_a_coroutine(tmp_path: Path) -> None:
    flags = ("-std=c++20", "-stdlib=libstdc++")
    answer = checked(tmp_path, COROUTINE, suffix=".cpp", flags=flags)
    assert answer.models["tso"].robust is False, answer.notes
    assert kinds(answer) <= {"robustness", "race"}


ORDERS = {
    "two variables in a constant expression": "assert(&one < &other || &one == &other)",
    "an address as a fraction": "assert((double)(long)&one != (double)(long)&other + 4096)",
}


@pytest.mark.parametrize("name", ORDERS)
def test_addresses_as_numbers_bar_a_proof(tmp_path: Path, name: str) -> None:
    """Clang leaves the one to the linker, and does the other by vectors: both were called safe."""
    text = f"int one, other; static void *f(void *p) {{ {ORDERS[name]}; return 0; }} RUN(f, f)"
    assert checked(tmp_path, text).verdict.value == "inconclusive"


BOUNDS = """
static volatile int where; static void *setting(void *p) { where = 4; return 0; }
static void *using(void *p) { int before[4] = {0}, mine[4] = {0}, behind[4] = {0}; ACCESS; return 0; }
RUN(using, setting)
"""


@pytest.mark.parametrize("access", ["mine[where] = 1", "if (mine[where]) behind[0] = 1", "mine[where / 4 * -1] = 1"])
def test_a_private_array_has_bounds(tmp_path: Path, access: str) -> None:
    """Beyond them another local of the function may lie, or none: nothing else would notice."""
    answer = checked(tmp_path, BOUNDS.replace("ACCESS", access))
    assert "crash" in kinds(answer)
    assert any("beyond a local variable" in violation.message for violation in answer.violations)
    assert "crash" not in kinds(checked(tmp_path, BOUNDS.replace("ACCESS", access.replace("where", "(where & 3)"))))


MACROS = {
    "that a race detector is there": "#if defined __SANITIZE_THREAD__ || __has_feature(thread_sanitizer)",
    "that nothing is optimised": "#ifndef __OPTIMIZE__",
}


@pytest.mark.parametrize("name", MACROS)
def test_what_is_explored_is_the_program_that_is_built(tmp_path: Path, name: str) -> None:
    """Another one was, whose fences are there where nobody builds them."""
    fence = f"\n{MACROS[name]}\n__atomic_thread_fence(__ATOMIC_SEQ_CST);\n#endif\n"
    text = "int x, y; static void *f(void *p) { x = 1; FENCE return (void *)(long)y; }"
    text += "static void *g(void *p) { y = 1; FENCE return (void *)(long)x; } RUN(f, g)"
    answer = checked(tmp_path, text.replace("FENCE", fence), flags=("-O2",))
    assert answer.models["tso"].robust is False
