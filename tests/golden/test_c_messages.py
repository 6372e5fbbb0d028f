"""What ``check`` says about C programs, in words that their authors can act on."""

from __future__ import annotations

from pathlib import Path

import pytest

from c_programs import COMPILERS
from teetotal.answers.check import CheckAnswer
from teetotal.answers.errors import ProgramError
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.programs.c.build import Source
from teetotal.programs.c.compilers import CompileError, errors_first
from teetotal.programs.c.naming import Function, Local, Objects
from teetotal.report import terminal

TWO_THREADS = """int main(void) { pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
  pthread_join(t, 0); pthread_join(u, 0); }
"""


def run(tmp_path: Path, text: str, compiler: str | None = None, options: CheckOptions = CheckOptions()) -> CheckAnswer:
    file = tmp_path / "program.c"
    file.write_text(text)
    return check(Source((str(file),), (), compiler), options)


def told(result: CheckAnswer) -> str:
    return "\n".join(str(event) for violation in result.violations for event in violation.events)


NODES = """#include <pthread.h>
#include <stdlib.h>
struct node { int value; struct node *next; volatile int ready; };
struct node *volatile shown[2];
volatile int seen[2];
static void *f(void *p) {
  struct node mine = {1, 0, 0};
  struct node *other = malloc(sizeof(struct node));
  shown[0] = &mine;
  shown[1] = other;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  mine.ready = 1;
  seen[0] = other->ready;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  while (!seen[1]) ;
  return 0;
}
static void *g(void *p) {
  struct node *theirs = shown[0], *block = shown[1];
  if (theirs && block) { block->ready = 1; (void)theirs->ready; }
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  seen[1] = 1;
  return 0;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_stack_and_heap_objects_have_the_names_of_variables_and_types(tmp_path: Path, compiler: str) -> None:
    result = run(tmp_path, NODES + TWO_THREADS, compiler)
    assert result.models["tso"].robust is False
    text = told(result)
    assert "T1: st T1's mine.ready in f() = 1" in text
    assert "T2: ld T1's mine.ready in f() → 0" in text
    assert "T2: st node.ready = 1" in text
    assert "T1: st shown[0] = &T1's mine" in text
    assert "T2: ld shown[1] → &node" in text
    assert "0x7" not in text


def test_pointers_have_names_in_buffers_and_reasons(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        "#include <pthread.h>\nint one; int *volatile p, *volatile q;\n"
        "static void *f(void *a) { p = &one; (void)q; return 0; }\n"
        "static void *g(void *a) { q = &one; (void)p; return 0; }\n" + TWO_THREADS,
    )
    shown = "\n".join(terminal.tell(result.models["tso"].violations[0], "program.c"))
    assert "T1[p=&one]" in shown
    assert "saw the initial value, which T2's st q = &one overwrites" in shown


CHANNELS = """#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
struct pair { int first; volatile int second[2]; };
static __thread struct pair mine;
_Thread_local volatile int flag;
volatile int *p, *q;
static void *f(void *unused) { *p = 1; (void)*q; return 0; }
static void *g(void *unused) { *q = 1; (void)*p; return 0; }
int main(int count, char **arguments) {
  p = &mine.second[1], q = &flag;
  if (count > 1) {
    int file = memfd_create("shared", 0);
    ftruncate(file, 4096);
    void *pages = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    p = pages, q = p + 1;
  }
  pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
  pthread_join(t, 0); pthread_join(u, 0);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_thread_locals_have_the_names_of_their_variables_and_files_in_memory_of_their_lines(
    tmp_path: Path, compiler: str
) -> None:
    file = tmp_path / "program.c"
    file.write_text(CHANNELS)
    text = told(check(Source((str(file),), (), compiler), CheckOptions(models=("tso",))))
    assert "st T0's mine.second[1] = 1" in text
    assert "ld q → &T0's flag" in text
    text = told(check(Source((str(file),), (), compiler, ("file",)), CheckOptions(models=("tso",))))
    assert f"ld mapped[4096]+4 from {file}:16 → 0" in text


def test_blocks_of_one_type_are_numbered(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        "#include <pthread.h>\n#include <stdlib.h>\nstruct cell { int a, b; }; struct cell *x, *y;\n"
        "static void *f(void *p) { x->b = 1; (void)*(volatile int *)&y->b; return 0; }\n"
        "static void *g(void *p) { y->b = 1; (void)*(volatile int *)&x->b; return 0; }\n"
        "int main(void) { x = calloc(1, sizeof *x); y = calloc(1, sizeof(struct cell)); pthread_t t, u;\n"
        "  pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0); pthread_join(t, 0); pthread_join(u, 0); }\n",
    )
    assert {"st cell#1.b = 1", "ld cell#2.b → 0"} <= {event.text for v in result.violations for event in v.events}


def test_all_undefined_symbols_with_their_users(tmp_path: Path) -> None:
    with pytest.raises(ProgramError) as caught:
        run(tmp_path, "int f(void); int g(int); extern int h;\nstatic int k(void) { return f(); }\n"
                      "int main(void) { return k() + g(1) + h; }\n")  # fmt: skip
    said = str(caught.value)
    file = tmp_path / "program.c"
    assert f"f, used by k() at {file}:2" in said
    assert f"g, used by main() at {file}:3" in said
    assert f"h, used by main() at {file}:3" in said


@pytest.mark.parametrize("compiler", COMPILERS)
def test_errors_come_before_warnings_and_none_is_cut(tmp_path: Path, compiler: str) -> None:
    functions = "".join(f"#warning {i}\n" for i in range(30))
    with pytest.raises(CompileError) as caught:
        run(tmp_path, functions + "int main(void) { return missing; }\n", compiler)
    said = str(caught.value)
    assert "warning" in said
    assert said.index("missing") < said.index("warning")
    assert f"program.c:{30}" in said


def test_notes_stay_with_their_errors() -> None:
    said = "a.c: In function 'f':\na.c:1: warning: w\n  1 | w\na.c: In function 'g':\na.c:2: error: e\na.c:1: note: n\n"
    ordered = ["a.c: In function 'g':", "a.c:2: error: e", "a.c:1: note: n"]
    assert errors_first(said).splitlines() == [*ordered, "a.c: In function 'f':", "a.c:1: warning: w", "  1 | w"]


def test_where_a_loop_was_cut(tmp_path: Path) -> None:
    text = (
        "#include <pthread.h>\nvolatile int n;\nstatic void *f(void *p) {\n  for (;;)\n    n = n + 1;\n}\n"
        "static void *g(void *p) { return 0; }\n"
    )
    result = run(tmp_path, text + TWO_THREADS, options=CheckOptions(loop_bound=3))
    where = f"loop at {tmp_path / 'program.c'}:5 cut after 3 rounds"
    assert f"{where}, where T1 read n = 2 (line 5, written at line 5); see --loop-bound" in result.notes


def test_a_proof_about_one_thread_is_told_as_one(tmp_path: Path) -> None:
    result = run(tmp_path, "int main(void) { return 0; }")
    assert result.verdict is Verdict.SAFE
    assert any("starts no second thread" in note for note in result.notes)


def test_a_proof_about_executions_that_all_stop_is_told_as_one(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        "#include <pthread.h>\nvoid __VERIFIER_assume(int);\nstatic void *f(void *p) { __VERIFIER_assume(0); return 0; }\n"
        "static void *g(void *p) { return 0; }\n" + TWO_THREADS,
    )
    assert any("no execution comes to its end" in note for note in result.notes)


def test_what_stands_in_a_header_is_told_by_its_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = tmp_path / "system" / "primitives.h"
    header.parent.mkdir()
    header.write_text("static inline void put(volatile int *at) {\n  *at = 1;\n}\n")
    monkeypatch.setattr("teetotal.programs.c.assembly.SYSTEM", (str(header.parent),))
    result = run(
        tmp_path,
        f'#include <pthread.h>\n#include "{header}"\nvolatile int x, y;\nstatic void *f(void *p) {{\n  put(&x);\n'
        "  (void)y;\n  return 0;\n}\nstatic void *g(void *p) { y = 1; (void)x; return 0; }\n" + TWO_THREADS,
    )
    violation = result.models["tso"].violations[0]
    store = next(event for event in violation.events if event.text == "st x = 1")
    assert store.location is not None
    assert (store.location.file, store.location.line) == (str(tmp_path / "program.c"), 5)
    assert store.within == "f(), in primitives.h:2"
    assert "line 5 in f(), in primitives.h:2" in "\n".join(terminal.tell(violation, str(tmp_path / "program.c")))


def test_of_variables_in_one_place_the_innermost_has_the_name() -> None:
    objects = Objects(None)
    vars(objects)["_functions"] = [Function(0, 100, "f", None)]
    objects._locals[0] = [Local(0, 100, -16, "outer", None), Local(10, 20, -16, "inner", None)]
    assert [objects.local(place, -16) for place in (5, 15, 25)] == ["outer", "inner", "outer"]


def test_a_block_that_no_type_fits_has_no_name(tmp_path: Path) -> None:
    text = """#include <pthread.h>
#include <stdlib.h>
struct cell { int a, b; } *x, *y;
static void *f(void *p) { x->b = 1; (void)*(volatile int *)&y->b; return 0; }
static void *g(void *p) { y->b = 1; (void)*(volatile int *)&x->b; return 0; }
int main(void) {
  pthread_t t, u;
  x = calloc(1, sizeof(struct cell)EXTRA);
  y = calloc(1, sizeof(struct cell)EXTRA);
  pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0); pthread_join(t, 0); pthread_join(u, 0);
}
"""
    assert "st cell#1.b = 1" in told(run(tmp_path, text.replace("EXTRA", "")))
    assert "cell" not in told(run(tmp_path, text.replace("EXTRA", " + 4")))


ABORTING = """#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
struct Full : std::runtime_error { using std::runtime_error::runtime_error; };
struct Own : std::exception { const char *what() const noexcept override { return "own"; } };
struct Base { Base() { call(); } virtual void f() = 0; void call() { f(); } };
struct Derived : Base { void f() override {} };
static void quiet() noexcept { throw 5; }
static void work(int which) {
  switch (which) {
  case 0: throw Full("no room"); break;
  case 1: throw Own(); break;
  case 2: (void)std::string("ab").at(2); break;
  case 3: quiet(); break;
  case 4: try { throw 1; } catch (int) { std::thread t([] {}); } break;
  case 5: try { throw 1; } catch (int) { std::abort(); } break;
  case 6: Derived(); break;
  }
}
int main(int count, char **words) { std::thread t(work, std::atoi(words[1])); t.join(); }
"""
ABORTS = (
    "T1 aborts at FILE:13: nobody catches Full (no room)",
    "T1 aborts at FILE:14: nobody catches Own",
    "T1 aborts at FILE:15: nobody catches std::out_of_range (basic_string::at: __n (which is 2) >= this->size() "
    "(which is 2))",
    "T1 aborts at FILE:10: nobody catches int",
    "T1 aborts at FILE:17: std::terminate is called",
    "T1 aborts at FILE:18",
    "T1 aborts at FILE:8: a pure virtual function is called",
)


@pytest.mark.parametrize("which", range(len(ABORTS)))
def test_an_abort_is_told_with_its_reason(tmp_path: Path, which: int) -> None:
    """They were told as "T1 aborts", without a line."""
    file = tmp_path / "program.cpp"
    file.write_text(ABORTING)
    result = check(Source((str(file),), (), "gcc", (str(which),)), CheckOptions(models=("tso",)))
    assert result.violations[0].message == ABORTS[which].replace("FILE", str(file))


def test_an_address_that_the_kernel_does_not_tell_is_told(tmp_path: Path) -> None:
    """It has 0 for addresses that no program can have, which was told as a null pointer."""
    head = "#include <pthread.h>\nint *volatile p = (int *)0xdeadbeefdeadbee8, seen;\n"
    f, g = "static void *f(void *a) { seen = *p; return a; }\n", "static void *g(void *a) { return a; }\n"
    beside = run(tmp_path, head + f + g + TWO_THREADS).violations[0].message
    assert beside == f"T1: invalid access at address 0xdeadbeefdeadbee8 at {tmp_path / 'program.c'}:3"
    alone = run(tmp_path, head + "int main(void) {\n return *p; }").violations[0].message
    assert alone == f"T0: invalid access at an address that no program can have at {tmp_path / 'program.c'}:4"


@pytest.mark.parametrize(
    "code", ["return *p;", "*p = 1;", "return __atomic_load_n(p, 0);", "return strlen((char *)p);"]
)
def test_a_crash_of_main_alone_is_told_with_its_line(tmp_path: Path, code: str) -> None:
    """Loads had no line, or that of the last step before it."""
    text = f"""#include <pthread.h>
#include <string.h>
int *volatile p;
static void *f(void *a) {{ return a; }}
int main(void) {{
  pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0);
  {code}
}}
"""
    assert (run(tmp_path, text).violations[0].message or "").endswith("program.c:7")
