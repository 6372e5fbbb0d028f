"""What threads synchronise on ends with the memory that it lies in, and calls of the C library look at memory as well as
the program's own accesses do: each use after that end is found, in whatever order the two come."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from c_programs import COMPILERS, explore
from teetotal.programs.c.build import Source, build

OBJECTS = {
    "semaphore": ("sem_t", "sem_init(o, 0, 1)", "sem_post(o)", "sem_trywait(o)"),
    "mutex": ("pthread_mutex_t", "pthread_mutex_init(o, 0)", "pthread_mutex_lock(o)", "pthread_mutex_trylock(o)"),
    "rwlock": ("pthread_rwlock_t", "pthread_rwlock_init(o, 0)", "pthread_rwlock_wrlock(o)", "pthread_rwlock_tryrdlock(o)"),
    "condition": ("pthread_cond_t", "pthread_cond_init(o, 0)", "pthread_cond_signal(o)", "pthread_cond_broadcast(o)"),
    "barrier": ("pthread_barrier_t", "pthread_barrier_init(o, 0, 1)", "pthread_barrier_wait(o)"),
    "spinlock": ("pthread_spinlock_t", "pthread_spin_init(o, 0)", "pthread_spin_lock(o)", "pthread_spin_trylock(o)"),
    "once": ("pthread_once_t", "*o = PTHREAD_ONCE_INIT", "pthread_once(o, nothing)"),
}  # fmt: skip
"""The type, how it begins, how it is used."""

CALLS = {
    "memset": "memset(at, 1, 4)",
    "memcpy to it": "memcpy(at, &other, 4)",
    "memcpy from it": "memcpy(&other, at, 4)",
    "a struct": "all = *(struct all *)at",
    "strlen": "other = strlen((char *)at)",
    "snprintf": 'snprintf((char *)at, 4, "%d", 12)',
    "sem_getvalue": "sem_getvalue(&count, at)",
    "pthread_join": "pthread_join(t, (void **)at); return",
    "pthread_create": "pthread_create((pthread_t *)at, 0, nobody, 0)",
    "pthread_key_create": "pthread_key_create((pthread_key_t *)at, 0)",
    "a limit": "sem_timedwait(&count, (struct timespec *)at)",
    "clock_gettime": "clock_gettime(CLOCK_REALTIME, (struct timespec *)at)",
}

WHERE = ("thread", "frame", "heap")


def source() -> str:
    parts = [
        "#define _GNU_SOURCE\n#include <pthread.h>\n#include <semaphore.h>\n#include <stdatomic.h>\n#include <stdio.h>\n"
        "#include <stdlib.h>\n#include <string.h>\n#include <time.h>\n",
        "static void nothing(void) {}\nstatic void *nobody(void *unused) { return unused; }\n"
        "static int *volatile at; static int other; static struct all { int ints[16]; } all; static sem_t count;\n"
        "__attribute__((noinline)) static void leaves(void) { int here[2] = {0}; at = here; }\n",
    ]
    cases = list[str]()

    def case(body: str) -> None:
        parts.append(f"static void case{len(cases)}(pthread_t t) {{ {body} }}\n")
        cases.append(f"case {len(cases)}: case{len(cases)}(t); break;")

    for name, (kind, begin, *uses) in OBJECTS.items():
        parts += [
            f"static _Thread_local {kind} local_{name}; static {kind} *_Atomic lent_{name};\n"
            f"static void tell_{name}({kind} *o) {{ {begin}; lent_{name} = o; }}\n"
            f"static void *thread_{name}(void *unused) {{ tell_{name}(&local_{name}); return 0; }}\n"
            f"static void *frame_{name}(void *unused) {{ {kind} here; tell_{name}(&here); return 0; }}\n"
            f"static void *heap_{name}(void *unused) {{ {kind} *o = malloc(sizeof *o); tell_{name}(o);"
            " free((void *)o); return 0; }\n"
            f"static void leaves_{name}(void) {{ {kind} here, *o = &here; {begin}; lent_{name} = o; }}\n"
        ]
        for use in uses:
            take = f"{kind} *o = lent_{name}; if (o) {use};"
            for where in WHERE:
                case(f"pthread_create(&t, 0, {where}_{name}, 0); {take} pthread_join(t, 0);")
            begun = "pthread_create(&t, 0, nobody, 0);"
            case(f"{begun} leaves_{name}(); {take} pthread_join(t, 0);")
            case(f"{begun} {kind} *o = malloc(sizeof *o); {begin}; free((void *)o); {use}; pthread_join(t, 0);")
    for call in CALLS.values():
        case(f"pthread_create(&t, 0, nobody, 0); leaves(); {call}; pthread_join(t, 0);")
    parts.append(
        "int main(int argc, char **argv) { pthread_t t; sem_init(&count, 0, 1);"
        f" switch (atoi(argv[1])) {{ {' '.join(cases)} }} }}\n"
    )
    return "".join(parts)


NAMES = [
    *(
        f"{name}: {use}, {where}"
        for name, (_, _, *uses) in OBJECTS.items()
        for use in uses
        for where in (*WHERE, "its own frame", "freed before")
    ),
    *CALLS,
]


@pytest.fixture(scope="module", params=COMPILERS)
def program(request: pytest.FixtureRequest) -> Iterator[Path]:
    with TemporaryDirectory() as directory:
        file = Path(directory) / "program.c"
        file.write_text(source())
        yield build(Source((str(file),), (), request.param), Path(directory))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_a_use_after_the_end_is_found(program: Path, name: str, model: str) -> None:
    _, told = explore(program, f"model={model}", arguments=[str(NAMES.index(name))])
    expected = "use after free" if name.endswith(("heap", "freed before")) else "use after return"
    failures = {answer["what"] for answer in told if answer["type"] == "failure"}
    assert expected in failures, failures
