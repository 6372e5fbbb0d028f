"""What a program does before it starts a thread, in the C library's own memory: no reason to prove nothing. And what each
execution begins with is what the first one began with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from c_programs import compiled, explore

PROGRAM = r"""
#include <assert.h>
#include <getopt.h>
#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int rounds, verbose, number;
static char line[64];
static FILE *file;
atomic_int x, y;
static void *other(void *when) {
  x = 1;
  if (!strcmp(when, "beside")) fgetc(file);
  if (!strcmp(when, "parse")) { char *given[] = {"", "-a", 0}; optind = 0; getopt(2, given, "a"); }
  return (void *)(long)y;
}
int main(int count, char **given) {
  setlocale(LC_ALL, "");
  static const struct option words[] = {{"verbose", no_argument, &verbose, 1}, {"rounds", 1, 0, 'n'}, {0, 0, 0, 0}};
  assert(optind == 1 && !optarg);
  for (int option; (option = getopt_long(count, given, "n:v", words, 0)) != -1;) {
    if (option == 'n') rounds = atoi(optarg);
    if (option == 'v') verbose++;
  }
  assert(optind == count - 2 && rounds == 3 && verbose == 1);
  char *when = given[optind + 1];
  file = strcmp(when, "stdin") ? fopen(given[optind], strcmp(when, "update") ? "r" : "r+") : stdin;
  if (!file || !fgets(line, sizeof line, file) || fscanf(file, "%d", &number) != 1) return 0;
  if (!strcmp(when, "before")) fclose(file);
  pthread_t t;
  pthread_create(&t, 0, other, when);
  y = 1;
  int seen = x;
  pthread_join(t, 0);
  assert(number == 42 && !strncmp(line, "hello", 5));
  if (!strcmp(when, "behind")) fclose(file);
  return seen & 0;
}
"""


@pytest.fixture(scope="module")
def program() -> Iterator[Path]:
    with compiled(PROGRAM) as built:
        yield built


def told(program: Path, file: str, when: str) -> tuple[bool, list[str], list[str]]:
    """Whether all was explored, what is named, and what is noted."""
    end, found = explore(program, "monitor=exact-tso", arguments=["-n", "3", file, when, "-v"])
    assert [one for one in found if one["type"] != "loaded"] == []
    return end["complete"], [what for what, _ in end["unseen"]], end["oddities"]


@pytest.mark.parametrize("when", ["before", "behind", "never"])
def test_files_that_are_read_before_there_are_threads(program: Path, when: str, tmp_path: Path) -> None:
    """And closed then, later, or not at all: each execution opens and parses anew."""
    file = tmp_path / "numbers"
    file.write_text("hello\n42\nmore\n")
    about = f"{file} was read before there were other threads: the answer is about what it holds"
    assert told(program, str(file), when) == (True, [], [about])


@pytest.mark.parametrize(
    ("when", "named"),
    [("beside", "fgetc"), ("parse", "getopt"), ("update", "fopen"), ("stdin", "fgets")],
)
def test_what_others_might_notice_is_named(program: Path, when: str, named: str, tmp_path: Path) -> None:
    file = tmp_path / "numbers"
    file.write_text("hello\n42\nmore\n")
    assert f"{named} of libc.so.6" in told(program, str(file), when)[1]


@pytest.mark.parametrize("file", ["/proc/self/status", "/dev/zero"])
def test_what_is_never_the_same_is_named(program: Path, file: str) -> None:
    assert "fopen of libc.so.6" in told(program, file, "never")[1]


LARGE = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static int big[200000] = {[0 ... 199999] = 7};
static atomic_int x;
static void *f(void *p) { x = 1; return 0; }
int main(void) {
  pthread_t t; pthread_create(&t, 0, f, 0); int r = x; (void)r; pthread_join(t, 0);
  for (int i = 0; i < 200000; i += 1000) { assert(big[i] == 7); big[i] = 8; }
}
"""


def test_every_page_of_much_data_is_as_it_was_written() -> None:
    with compiled(LARGE) as program:
        end, told = explore(program)
    assert [answer for answer in told if answer["type"] == "failure"] == []
    assert end["executions"] == 2


FORGOTTEN = """
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int x;
static void *f(void *p) { x = 1; return 0; }
int main(void) {
  pthread_t t; pthread_create(&t, 0, f, 0); int r = x; pthread_join(t, 0);
  char *p = malloc(16);
  if (r == WHEN) { char *more = malloc(64); more[8] = 1; } else { p[40] = 1; }
}
"""


@pytest.mark.parametrize("snapshots", [0, 1])
@pytest.mark.parametrize("when", [0, 1])
def test_what_another_execution_has_allocated_is_nothing_here(when: int, snapshots: int) -> None:
    """Whichever of the two comes first."""
    with compiled(FORGOTTEN, flags=[f"-DWHEN={when}"]) as program:
        _, told = explore(program, f"snapshots={snapshots}")
    assert len([answer for answer in told if answer["type"] == "failure"]) == 1
