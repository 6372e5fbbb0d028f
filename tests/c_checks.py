"""C programs as text, checked: for tests that ask about many small ones."""

from __future__ import annotations

from pathlib import Path

from teetotal.answers.check import CheckAnswer
from teetotal.answers.options import CheckOptions
from teetotal.checking import check
from teetotal.programs.c.build import Source

HEAD = """#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#define RUN(f, g) int main(void) { pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0); \\
  pthread_join(t, 0); pthread_join(u, 0); END }
#ifndef END
#define END
#endif
"""


def run(tmp_path: Path, text: str, *, suffix: str = ".c", flags: tuple[str, ...] = (), compiler: str | None = None,
        arguments: tuple[str, ...] = (), options: CheckOptions = CheckOptions()) -> CheckAnswer:  # fmt: skip
    file = tmp_path / f"program{suffix}"
    file.write_text(text)
    return check(Source((str(file),), flags, compiler, arguments), options)
