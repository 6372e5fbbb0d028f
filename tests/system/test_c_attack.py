"""Programs that once got a wrong answer."""

from __future__ import annotations

from ctypes import CDLL, byref, c_double, c_long, c_uint, c_ushort
from pathlib import Path

import pytest

from c_programs import COMPILERS
from teetotal.answers.check import CheckAnswer
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.programs.c.build import Source


def checked(tmp_path: Path, code: str, **options: object) -> CheckAnswer:
    path = tmp_path / "test.c"
    path.write_text(code)
    return check(Source((str(path),)), CheckOptions(**options))  # type: ignore[arg-type]


def test_many_threads_are_no_crash(tmp_path: Path) -> None:
    """Malloc counted the processors when the explorer needed memory in the ninth thread: a system call amid a hook."""
    threads = """
        #include <assert.h>
        #include <pthread.h>
        static int x[12];
        static void *store(void *at) { *(int *)at = 1; return 0; }
        int main(void) {
          pthread_t t[12];
          for (int i = 0; i < 12; i++) pthread_create(&t[i], 0, store, &x[i]);
          for (int i = 0; i < 12; i++) { pthread_join(t[i], 0); assert(x[i] == 1); }
        }"""
    assert checked(tmp_path, threads).verdict is Verdict.SAFE


WRITES = {  # for their caller, in what `x` is: another thread sees either
    "pthread_create": ("pthread_t x;", "pthread_create(&x, 0, nothing, 0);"),
    "thrd_create": ("thrd_t x;", "thrd_create(&x, idle, 0);"),
    "pthread_join": ("void *x;", "pthread_t u; pthread_create(&u, 0, nothing, 0); pthread_join(u, &x);"),
    "thrd_join": ("int x;", "thrd_t u; thrd_create(&u, idle, 0); thrd_join(u, &x);"),
    "pthread_key_create": ("pthread_key_t x;", "pthread_key_create(&x, 0);"),
    "sem_getvalue": ("int x;", "sem_t s; sem_init(&s, 0, 1); sem_getvalue(&s, &x);"),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("claim", ["x == 0", "x != 0"])
def test_what_synchronisation_writes_for_its_caller_is_seen(tmp_path: Path, name: str, claim: str) -> None:
    variable, call = WRITES[name]
    code = f"""
        #include <assert.h>
        #include <pthread.h>
        #include <semaphore.h>
        #include <threads.h>
        static {variable}
        static void *nothing(void *p) {{ return (void *)1; }}
        static int idle(void *p) {{ return 1; }}
        static void *reader(void *p) {{ assert({claim}); return 0; }}
        int main(void) {{ pthread_t t; pthread_create(&t, 0, reader, 0); {call} pthread_join(t, 0); }}"""
    assert checked(tmp_path, code).verdict is Verdict.VIOLATION


def test_a_store_of_sem_getvalue_can_be_late(tmp_path: Path) -> None:
    code = """
        #include <pthread.h>
        #include <semaphore.h>
        static sem_t s; static int x; static volatile int y; int a, b;
        static void *other(void *p) { y = 1; a = x; return 0; }
        int main(void) {
          pthread_t t; sem_init(&s, 0, 1); pthread_create(&t, 0, other, 0);
          sem_getvalue(&s, &x); b = y; pthread_join(t, 0);
        }"""
    assert checked(tmp_path, code).models["tso"].robust is False


def test_a_post_beyond_the_greatest_value_is_refused(tmp_path: Path) -> None:
    """It counted on, below zero: the C library gives up with EOVERFLOW, after a look that is no fence."""
    code = """
        #include <assert.h>
        #include <semaphore.h>
        static sem_t s;
        int main(void) { sem_init(&s, 0, 0x7fffffff); assert(sem_post(&s) == -1); }"""
    result = checked(tmp_path, code)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert any("posted beyond the greatest value" in note for note in result.notes)


def test_a_new_thread_finds_its_handle(tmp_path: Path) -> None:
    code = """
        #include <assert.h>
        #include <pthread.h>
        static pthread_t t, u;
        static void *looks(void *p) { assert(pthread_equal(*(pthread_t *)p, pthread_self())); return 0; }
        int main(void) {
          pthread_create(&t, 0, looks, &t); pthread_create(&u, 0, looks, &u); pthread_join(t, 0); pthread_join(u, 0);
        }"""
    assert checked(tmp_path, code).verdict is Verdict.SAFE


@pytest.mark.parametrize(("buffer", "verdict"), [("text", Verdict.INCONCLUSIVE), ("0", Verdict.SAFE)])
def test_a_buffer_that_a_stream_keeps_is_named(tmp_path: Path, buffer: str, verdict: Verdict) -> None:
    code = f"""
        #include <pthread.h>
        #include <stdio.h>
        static char text[64];
        static void *other(void *p) {{ return (void *)(long)text[0]; }}
        int main(void) {{
          pthread_t t; setvbuf(stdout, {buffer}, {"_IOFBF" if buffer != "0" else "_IONBF"}, sizeof text);
          pthread_create(&t, 0, other, 0); putchar('a'); pthread_join(t, 0);
        }}"""
    result = checked(tmp_path, code)
    assert result.verdict is verdict
    assert any("setvbuf" in note for note in result.notes) is (verdict is Verdict.INCONCLUSIVE)


def test_a_load_is_told_with_what_it_saw_on_the_relaxed_machine(tmp_path: Path) -> None:
    """The execution that the monitor watched saw the address, and the story told that."""
    code = """
        #include <pthread.h>
        int a, r; int *volatile p, *q; volatile int y;
        static void *other(void *at) { y = 1; q = p; return 0; }
        int main(void) { pthread_t t; pthread_create(&t, 0, other, 0); p = &a; r = y; pthread_join(t, 0); }"""
    told = {event.text for event in checked(tmp_path, code).models["tso"].violations[0].events}
    assert {"st p = &a", "ld p → 0", "ld y → 0"} <= told


def test_a_wide_value_is_no_error(tmp_path: Path) -> None:
    code = """
        #include <pthread.h>
        typedef int vector __attribute__((vector_size(16)));
        static vector x; static const vector ones = {1, 1, 1, 1}; static volatile int y; int a, b;
        static void *other(void *p) { y = 1; a = x[0]; return 0; }
        int main(void) { pthread_t t; pthread_create(&t, 0, other, 0); x = ones; b = y; pthread_join(t, 0); }"""
    assert checked(tmp_path, code).models["tso"].robust is False


ATOMIC_OPERANDS = {  # each writes to X or Y what `one` holds, beside an atomic operation on something else
    "a swap that fails": ("int", "__atomic_compare_exchange_n(&one, &{}, 5, 0, 5, 5)"),
    "a swap of pairs that fails": ("struct pair", "__atomic_compare_exchange(&one, &{}, &other, 0, 5, 5)"),
    "a load of a pair": ("struct pair", "__atomic_load(&one, &{}, 0)"),
    "an exchange of pairs": ("struct pair", "__atomic_exchange(&own, &one, &{}, 0)"),
}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", ATOMIC_OPERANDS)
def test_what_atomic_operations_take_and_give_besides_is_seen(tmp_path: Path, name: str, compiler: str) -> None:
    """What is expected, and where an old value goes, is memory like any other: store buffering through it was robust."""
    kind, call = ATOMIC_OPERANDS[name]
    source = tmp_path / "test.c"
    source.write_text(
        f"""
        #include <pthread.h>
        struct pair {{ int a, b; }};
        {kind} X, Y, other, one = {"1" if kind == "int" else "{1, 1}"}; int seen[2];
        static int first({kind} *of) {{ return *(int *)of; }}
        static void *left(void *p) {{
          {kind} own = one; {call.format("X")}; seen[0] = first(&Y); return first(&own) ? p : 0; }}
        static void *right(void *p) {{
          {kind} own = one; {call.format("Y")}; seen[1] = first(&X); return first(&own) ? p : 0; }}
        int main(void) {{
          pthread_t t, u;
          pthread_create(&t, 0, left, 0); pthread_create(&u, 0, right, 0);
          pthread_join(t, 0); pthread_join(u, 0);
        }}"""
    )
    answer = check(Source((str(source),), (), compiler), CheckOptions(models=("tso",)))
    assert answer.models["tso"].robust is False


def test_the_class_that_an_object_has_already_is_stored_again(tmp_path: Path) -> None:
    """The store was left out, and with it the order in which it comes last: one class alone was proved to be possible."""
    source = tmp_path / "test.cpp"
    source.write_text(
        """
        #include <cassert>
        #include <new>
        #include <pthread.h>
        struct A { virtual int kind() { return 1; } };
        struct B : A { int kind() override { return 2; } };
        alignas(B) char room[sizeof(B)];
        static void *again(void *p) { new (room) B; return p; }
        static void *other(void *p) { new (room) A; return p; }
        int main() {
          new (room) B;
          pthread_t t, u;
          pthread_create(&t, 0, again, 0); pthread_create(&u, 0, other, 0);
          pthread_join(t, 0); pthread_join(u, 0);
          assert(reinterpret_cast<A *>(room)->kind() == 1);
        }"""
    )
    assert check(Source((str(source),)), CheckOptions(models=("tso",))).verdict is Verdict.VIOLATION


def test_numbers_of_a_state_that_the_caller_keeps_are_those_of_the_c_library(tmp_path: Path) -> None:
    """They were others: a branch that the program takes was not explored, and one that it does not take was."""
    text = """
        #include <assert.h>
        #include <stdlib.h>
        int main(void) {
          unsigned seed = 1; unsigned short a[3] = {1, 2, 3}, b[3] = {1, 2, 3}, c[3] = {1, 2, 3};
          assert(rand_r(&seed) == FIRST && nrand48(a) == SECOND && jrand48(b) == THIRD && erand48(c) == FOURTH);
        }"""
    library = CDLL(None)
    library.erand48.restype, library.nrand48.restype, library.jrand48.restype = c_double, c_long, c_long
    numbers = {"FIRST": library.rand_r(byref(c_uint(1)))}
    for name, function in (("SECOND", library.nrand48), ("THIRD", library.jrand48), ("FOURTH", library.erand48)):
        numbers[name] = function((c_ushort * 3)(1, 2, 3))
    for name, number in numbers.items():
        text = text.replace(name, repr(number))
    assert checked(tmp_path, text).verdict is Verdict.SAFE
