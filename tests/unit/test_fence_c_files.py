"""``teetotal fence`` on programs of several C files: patches of them and their headers, and how they are written."""

from __future__ import annotations

import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from fencing_tools import COMPILERS, NEEDS_COMPILER, TWO_THREADS
from interrupts import PATIENCE, hear_interrupts, let_work
from teetotal.answers.costs import Costs
from teetotal.answers.errors import TeetotalError
from teetotal.answers.options import FenceOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.cli import teetotal as command
from teetotal.fences import edits
from teetotal.fences.c_files import CFiles
from teetotal.fences.fencing import fence
from teetotal.programs.c import Source

HEADER = """/* A lock for two. */
#ifndef LOCK_H
#define LOCK_H

extern volatile int flag[N], turn;

static inline void lock(int me) {
    flag[me] = 1;
    turn = 1 - me;
    while (flag[1 - me] && turn == 1 - me) {
    }
}

void unlock(int me);

#endif
"""
MAIN = """#include "../include/lock.h"
#ifdef NOWHERE
#include <stddef.h>
#endif
#include <assert.h>
#include <pthread.h>

static volatile int inside;
volatile int flag[N], turn;

static void *thread(void *argument) {
    int me = argument != 0;
    lock(me);
    inside = me;
    assert(inside == me);
    unlock(me);
    return 0;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, thread, 0);
    pthread_create(&threads[1], 0, thread, threads);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
"""
OTHER = """#include <lock.h>

void unlock(int me) {
    flag[me] = 0;
}
"""
FLAGS = ("-Iinclude", "-DN=2")
FILES = ("source/main.c", "with space/other.c")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {"include/lock.h": HEADER, FILES[0]: MAIN, FILES[1]: OTHER}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def robust() -> bool:
    result = check(Source(FILES, FLAGS))
    return result.models["tso"].robust is True and result.models["pso"].robust is True


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
@NEEDS_COMPILER
def test_fences_in_files_and_headers_in_one_patch(project: Path) -> None:
    answer = fence(FILES, FenceOptions(flags=FLAGS))
    assert answer.answer.verdict is Verdict.SAFE
    assert answer.answer.input == "source/main.c with space/other.c"
    assert [(f.file, f.line, f.kind) for f in answer.answer.fences] == [
        ("include/lock.h", 8, "sfence"),
        ("include/lock.h", 9, "mfence"),
        ("source/main.c", 14, "sfence"),
    ]
    done = subprocess.run(
        ["patch", "-p1", "-s"], input=answer.answer.diff, cwd=project, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout
    for name, text in answer.texts.items():
        assert (project / name).read_text() == text
    assert robust()
    header, main = (project / "include/lock.h").read_text(), (project / FILES[0]).read_text()
    assert "#define LOCK_H\n\n#include <stdatomic.h>\n\nextern" in header
    assert "#include <pthread.h>\n#include <stdatomic.h>\n" in main
    for compiler in COMPILERS:
        for file in FILES:
            subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *FLAGS, file], check=True)
    for placed in answer.answer.fences:  # none can go
        assert placed.patched_line is not None
        text = (project / placed.file).read_text()
        lines = text.split("\n")
        assert "atomic_thread_fence" in lines[placed.patched_line - 1]
        (project / placed.file).write_text("\n".join(lines[: placed.patched_line - 1] + lines[placed.patched_line :]))
        assert not robust()
        (project / placed.file).write_text(text)


@NEEDS_COMPILER
@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("-Iinclude",), '"lock.h"'),
        (("-iquote", "include"), '"lock.h"'),
        (("-I", "include"), "<lock.h>"),
        (("-I.",), "<include/lock.h>"),
        (("-include", "include/lock.h"), "<stddef.h>"),
    ],
)
def test_headers_are_found_however_they_are_included(project: Path, flags: tuple[str, ...], words: str) -> None:
    (project / "include" / "half.h").write_bytes("/* zwölf */ #define HALF 1\n".encode("latin-1"))  # stays as it is
    (project / "include" / "lock.h").write_text(HEADER.replace("extern", '#include "half.h"\nextern', 1))
    (project / FILES[0]).write_text(MAIN.replace('"../include/lock.h"', words))
    (project / FILES[1]).write_text(OTHER.replace("<lock.h>", words))
    answer = fence(FILES, FenceOptions(flags=(*flags, "-DN=2")))
    assert answer.answer.verdict is Verdict.SAFE
    assert [(f.file, f.kind) for f in answer.answer.fences] == [
        ("include/lock.h", "sfence"),
        ("include/lock.h", "mfence"),
        ("source/main.c", "sfence"),
    ]


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
@NEEDS_COMPILER
def test_from_another_directory_names_stay_as_given(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project / "source")
    answer = fence(("../source/main.c", "../with space/other.c"), FenceOptions(flags=("-I", "../include", "-DN=2")))
    header = str(project / "include" / "lock.h")
    assert {f.file for f in answer.answer.fences} == {"../source/main.c", header}
    done = subprocess.run(
        ["patch", "-p1", "-s", "-d", "/"], input=answer.answer.diff, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout
    monkeypatch.chdir(project)
    assert robust()


@NEEDS_COMPILER
def test_where_temporary_files_lie_below(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of copies are then told relative to the current directory."""
    (project / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(project / "temporary"))
    answer = fence(FILES, FenceOptions(flags=FLAGS, compiler=shutil.which("clang")))
    assert "include/lock.h:9, include/lock.h:10, include/lock.h:8" in answer.answer.fences[0].breaks
    assert list((project / "temporary").iterdir()) == []


@NEEDS_COMPILER
def test_a_header_in_another_encoding_is_left_alone_and_named(project: Path) -> None:
    (project / "include" / "lock.h").write_bytes(HEADER.replace("two", "zwölf").encode("latin-1"))
    answer = fence(FILES, FenceOptions(flags=FLAGS))
    assert answer.answer.verdict is Verdict.VIOLATION
    assert "include/lock.h:1: not a text file in UTF-8; so no fences there" in answer.answer.notes
    (project / "include" / "lock.h").write_text(HEADER.replace("two", "zwölf → €"))
    assert fence(FILES, FenceOptions(flags=FLAGS)).answer.verdict is Verdict.SAFE


@NEEDS_COMPILER
def test_violations_can_be_replayed_on_the_files_themselves(project: Path) -> None:
    answer = fence(FILES, FenceOptions(flags=FLAGS))
    replays = [violation.replay for violation in answer.answer.violations if violation.replay]
    assert len(replays) >= 3
    for line in replays[:3]:
        program, *arguments = shlex.split(line)
        assert program == "teetotal"
        run = CliRunner().invoke(command, arguments, standalone_mode=False)
        assert run.return_value == 1, run.output
        assert "contradiction" in run.output


@NEEDS_COMPILER
def test_headers_of_the_system_are_left_alone(project: Path) -> None:
    (project / "system").mkdir()
    shutil.move(project / "include" / "lock.h", project / "system" / "lock.h")
    (project / FILES[0]).write_text(MAIN.replace('"../include/lock.h"', "<lock.h>"))
    answer = fence(FILES, FenceOptions(flags=("-isystem", "system", "-DN=2")))
    assert answer.answer.verdict is Verdict.VIOLATION
    assert any(
        "system/lock.h:9 and system/lock.h:10: ld flag" in note and "by hand" in note for note in answer.answer.notes
    )


@NEEDS_COMPILER
def test_a_header_for_c_and_cpp_gets_words_of_both(project: Path) -> None:
    shutil.move(project / FILES[0], project / "source" / "main.cpp")
    (project / "include" / "lock.h").write_text(
        HEADER.replace("void unlock", '#ifdef __cplusplus\nextern "C"\n#endif\nvoid unlock')
    )
    files = ("source/main.cpp", FILES[1])
    answer = fence(files, FenceOptions(flags=FLAGS))
    assert answer.answer.verdict is Verdict.SAFE
    assert "__atomic_thread_fence(__ATOMIC_SEQ_CST);" in answer.texts["include/lock.h"]
    assert "std::atomic_thread_fence(std::memory_order_release);" in answer.texts[files[0]]


def test_several_files_are_c(tmp_path: Path) -> None:
    with pytest.raises(TeetotalError, match=r"a\.litmus: several files are the C"):
        fence((str(tmp_path / "a.c"), str(tmp_path / "a.litmus")))


# -- messages ------------------------------------------------------------------------------------------------------


@NEEDS_COMPILER
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "int main(void) { return 1 }",
            r"bad\.c does not compile:\nbad\.c: In function|bad\.c does not compile:\nbad\.c:1",
        ),
        ('#include "nowhere.h"\nint main(void) { return 0; }', r"bad\.c does not compile:\nbad\.c:1:10:"),
        (
            "int nothing(void);\nint main(void) { return nothing(); }",
            r"bad\.c cannot be loaded: nobody defines\n +nothing",
        ),
    ],
)
def test_what_is_wrong_is_told_of_the_user_s_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.c").write_text(text)
    with pytest.raises(TeetotalError, match=said) as error:
        fence("bad.c")
    assert "teetotal-fence-" not in str(error.value)


SB = (
    """#include <pthread.h>
#define MB() __sync_synchronize()
#define FULL do { MB(); } while (0)
#define NONE() ((void)0)
static volatile int x, y;
static int r[2];
static void *left(void *argument) {
    x = 1;
    MB();
    r[0] = y;
    return argument;
}
static void *right(void *argument) {
    y = 1;
    NONE();
    FULL;
    MB();
    r[1] = x;
    return argument;
}
"""
    + TWO_THREADS
)


@NEEDS_COMPILER
def test_fences_behind_macros_are_fences(tmp_path: Path) -> None:
    path = tmp_path / "sb.c"
    path.write_text(SB)
    assert [(f.kind, f.line) for f in fence(str(path)).answer.unnecessary] == [("mfence", 16), ("mfence", 17)]
    removed = fence(str(path), FenceOptions(remove=True))
    assert len(removed.answer.removed) == 1
    assert removed.answer.verdict is Verdict.SAFE
    assert "    NONE();\n" in removed.text
    # a name of the kernel's that means something else here
    path.write_text(SB.replace("NONE()", "smp_mb()"))
    assert [f.line for f in fence(str(path)).answer.unnecessary] == [16, 17]


def test_a_header_of_the_system_is_one_however_it_is_found(tmp_path: Path) -> None:
    """Behind ``-I``, where the compiler does not say so."""
    path = tmp_path / "a.c"
    path.write_text("int main(void) { return 0; }\n")
    files = CFiles(Source((str(path),), ("-I/opt/some/include",)), Costs(), strengthen=False)
    assert not files._is_own("/opt/some/include/some.h")
    assert files._is_own(str(tmp_path / "a.h"))


def test_a_macro_of_two_meanings_is_no_fence(tmp_path: Path) -> None:
    """What a header's macro is depends on who includes it: nobody is told that it is a fence that could go."""
    head = "#pragma once\nstatic inline void order(void) {\n    BARRIER();\n}\n"
    (tmp_path / "order.h").write_text(head)
    full = "#define BARRIER() __atomic_thread_fence(__ATOMIC_SEQ_CST)\n"
    (tmp_path / "a.c").write_text('#define BARRIER()\n#include "order.h"\nvoid nothing(void) { order(); }\n')
    (tmp_path / "b.c").write_text(f'{full}#include "order.h"\nint main(void) {{ order(); return 0; }}\n')
    files = CFiles(Source((str(tmp_path / "a.c"), str(tmp_path / "b.c"))), Costs(), strengthen=False)
    assert files.existing == frozenset()


STRICT = ("-std=gnu11", "-Wall", "-Wextra", "-Wpedantic", "-Wdeclaration-after-statement", "-Wshadow", "-Werror")


@NEEDS_COMPILER
@pytest.mark.parametrize("compiler", COMPILERS)
def test_strict_flags(tmp_path: Path, compiler: str) -> None:
    """The compiler may not mind the marks in the copies; it has to mind the patch."""
    path = tmp_path / "sb.c"
    plain = SB.replace("    MB();\n", "").replace("    FULL;\n", "").replace("    NONE();\n", "")
    path.write_text(plain)
    answer = fence(str(path), FenceOptions(flags=STRICT, compiler=compiler))
    assert answer.answer.verdict is Verdict.SAFE
    path.write_text(
        plain.replace("    x = 1;\n    r[0] = y;", "    int one = (x = 1);\n    int seen = y;\n    r[0] = seen + one;")
    )
    with pytest.raises(TeetotalError, match="the fences that were found do not compile as they would be written"):
        fence(str(path), FenceOptions(flags=STRICT, compiler=compiler))


@NEEDS_COMPILER
def test_two_accesses_of_one_statement_on_two_lines(tmp_path: Path) -> None:
    path = tmp_path / "sb.c"
    path.write_text(
        SB.replace("    x = 1;\n    MB();\n    r[0] = y;", "    r[0] = (x = 1,\n        (void)r[0],\n        y);")
    )
    answer = fence(str(path), FenceOptions(compiler=shutil.which("clang")))
    assert answer.answer.verdict is Verdict.VIOLATION
    assert any(str(path) in note and ("by hand" in note or "two statements" in note) for note in answer.answer.notes)
    assert answer.answer.violations[0].replay.startswith("teetotal replay")


def test_the_limit_of_all_sets_is_told_exactly(tmp_path: Path) -> None:
    path = tmp_path / "mp.litmus"
    path.write_text(
        "X86_64 MP\n{ uint64_t x; uint64_t y; uint64_t z; }\n P0 | P1 ;\n movq $1,(x) | movq (y),%rax ;\n"
        " movq $2,(z) | movq (x),%rcx ;\n movq $1,(y) | ;\nexists (1:rax=1 /\\ 1:rcx=0)\n"
    )
    everything = fence(str(path), FenceOptions(every=True)).answer
    count = len(everything.sets)
    assert count > 1
    assert not any("more than" in note for note in everything.notes)
    assert fence(str(path), FenceOptions(every=True, most=count)).answer.notes == []
    fewer = fence(str(path), FenceOptions(every=True, most=count - 1)).answer
    assert fewer.sets == everything.sets[:-1]
    assert fewer.notes == [f"there are more than these {count - 1} sets; see --most"]


# -- writing -------------------------------------------------------------------------------------------------------


@NEEDS_COMPILER
def test_write_patches_each_file_with_a_backup(project: Path) -> None:
    run = CliRunner().invoke(command, ["fence", *FILES, "--write", "--json", "--", *FLAGS], standalone_mode=False)
    assert run.return_value == 0
    result = json.loads(run.output)
    assert set(result["backups"]) == {"source/main.c", "include/lock.h"}
    assert result["backup"] == result["backups"]["source/main.c"]
    assert Path(result["backups"]["include/lock.h"]).read_text() == HEADER
    assert (project / FILES[1]).read_text() == OTHER
    assert not (project / "with space" / "other.c.orig").exists()
    assert robust()


def everything_in(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()}


def test_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = {str(tmp_path / name): name for name in "abc"}
    for path, text in old.items():
        Path(path).write_text(text)
    before = everything_in(tmp_path)
    replace, calls = os.replace, []

    def replacing(source: str, target: str) -> None:
        calls.append(target)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", replacing)
    with pytest.raises(TeetotalError, match="c cannot be written: No space left on device; nothing was changed"):
        edits.write(dict.fromkeys(old, "new"), old)
    assert everything_in(tmp_path) == before
    monkeypatch.undo()
    Path(next(iter(old))).write_text("edited meanwhile")
    with pytest.raises(TeetotalError, match="has changed since it was read"):
        edits.write(dict.fromkeys(old, "new"), old)


def test_where_nothing_can_be_written_the_answer_is_told_and_the_file_stays(tmp_path: Path) -> None:
    """A limit on the size of files stands for a full disk."""
    path = tmp_path / "sb.litmus"
    path.write_text(
        "X86_64 SB\n{ uint64_t x; uint64_t y; }\n P0            | P1            ;\n movq $1,(x)   | movq $1,(y)   ;\n"
        " movq (y),%rax | movq (x),%rax ;\nexists (0:rax=0 /\\ 1:rax=0)\n"
    )
    before = everything_in(tmp_path)
    done = subprocess.run(
        [sys.executable, "-B", "-m", "teetotal", "fence", str(path), "--write"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )
    assert done.returncode == 2
    assert "+ mfence        | mfence        ;" in done.stdout
    assert f"{path} cannot be written: File too large; nothing was changed" in done.stderr
    assert everything_in(tmp_path) == before


@NEEDS_COMPILER
def test_ctrl_c_leaves_everything_as_it_was(project: Path) -> None:
    before = everything_in(project)
    child = subprocess.Popen(
        [sys.executable, "-m", "teetotal", "fence", *FILES, "--goal", "safe", "--all", "--write", "--", *FLAGS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hear_interrupts,
    )
    let_work(child, 0.7)
    child.send_signal(signal.SIGINT)
    out, error = child.communicate(timeout=PATIENCE)
    assert child.returncode == 130
    assert "interrupted" in error
    assert everything_in(project) == before
    assert "Traceback" not in error + out
