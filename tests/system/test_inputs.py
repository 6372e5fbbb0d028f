"""Bad, large and hostile input: every verb ends in its time, with a status that was meant and a text that can be read."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fuzz_inputs import LATE, Ending, import_all, run
from interrupts import PATIENCE
from teetotal.answers.errors import ParseError
from teetotal.cli import stdin
from teetotal.histories import readers
from teetotal.programs import files
from teetotal.scale import supervision
from teetotal.scale.supervision import room

CORPUS = Path(__file__).parents[1] / "corpus"
SB = (CORPUS / "SB.litmus").read_text()
THREADS = """from teetotal import program, st, ld
def left():
    yield st("x", 1)
    r = yield ld("y")
def right():
    yield st("y", 1)
    r = yield ld("x")
test = program(left(), right(), x=0, y=0)
"""
C = """#include <pthread.h>
#include <assert.h>
int x, y;
void *f(void *unused) { x = 1; int r = y; return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); y = 1; int s = x; pthread_join(t, 0); BODY return 0; }
"""


import_all()


def teetotal(folder: Path, *arguments: str) -> Ending:
    return run(list(arguments), folder)


def in_a_shell(folder: Path, *arguments: str, before: str = ":", redirect: str = "", **environment: str) -> Ending:
    """A call of its own, with streams closed or limits set."""
    done = subprocess.run(
        ["bash", "-c", f'{before}; exec "$@" {redirect}', "bash", sys.executable, "-m", "teetotal", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )  # fmt: skip
    return Ending(done.returncode, 0.0, done.stdout, done.stderr)


def refused(folder: Path, *arguments: str) -> str:
    done = teetotal(folder, *arguments)
    assert done.status == 2, done
    assert "Traceback" not in done.stderr
    return done.stderr


# ---- Python files that end Python

ENDS = {
    "_exit": ("import os; os._exit(0)", 2, "ends Python by itself"),
    "exit": ("import sys; sys.exit(0)", 2, "ends Python by itself"),
    "interrupt": ("raise KeyboardInterrupt", 2, "KeyboardInterrupt"),
    "abort": ("import os; os.abort()", 2, "SIGABRT"),
    "helper": (THREADS.replace('st("x", 1)', 'st("x", __import__("os")._exit(0))'), 2, "ends Python by itself"),
    "recursion": ("def f(): f()\nf()", 2, "RecursionError"),
    "memory": ("kept = []\nwhile True: kept.append(bytes(1 << 20))", 3, "memory"),
    "encoding": ("# coding: rot13\n", 2, "not a Python file"),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_python_file_that_ends_python_is_no_verdict(name: str, tmp_path: Path) -> None:
    text, status, why = ENDS[name]
    (tmp_path / "it.py").write_text(text)
    # Python that is short of memory loses exceptions (SystemError), and this process, which is copied, may be large.
    limit = ["--memory", "100"] if name == "memory" else []
    done = teetotal(tmp_path, "check", *limit, "it.py")
    assert done.status == status
    assert why in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_only_a_status_that_is_told_counts() -> None:
    """Whoever ends the interpreter with status 0 has not found anything safe."""
    code = "import os; from teetotal.scale import supervision; print(supervision.run(lambda: os._exit(0)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.returncode) == ("2\n", 0)
    assert "its process ended with status 0, before it had an answer" in done.stderr


def test_threads_that_a_file_leaves_running_keep_nobody_waiting(tmp_path: Path) -> None:
    (tmp_path / "it.py").write_text(
        f"import threading\nthreading.Thread(target=threading.Event().wait).start()\n{THREADS}"
    )
    assert teetotal(tmp_path, "check", "it.py").status == 1


# ---- budgets

ENDLESS = {
    "import.py": "while True:\n    try:\n        while True: pass\n    except BaseException: pass\n",
    "number.py": "x = 10 ** 10 ** 9\n",
    "child.py": "import subprocess; subprocess.run(['sleep', '1000'])\n",
    "long.pml": "byte x; active proctype A() { " + "x = 1; " * 30_000 + "}\n",
}


@pytest.mark.parametrize(("verb", "name"), [*(("check", name) for name in ENDLESS), ("fence", "import.py")])
def test_time_is_kept_before_anything_is_explored(verb: str, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(ENDLESS[name])
    done = teetotal(tmp_path, verb, "--json", "--time", "0.2", name)
    assert done.status == 3
    assert done.seconds < LATE
    answer = json.loads(done.stdout)
    assert (answer["input"], answer["verdict"], answer["complete"]) == (name, "inconclusive", False)


def test_time_is_counted_from_the_start_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert supervision.left_of(2) == 2  # whoever calls us has begun long ago
    monkeypatch.setattr(supervision, "_began", time.monotonic() - 0.5)
    assert 1.4 < supervision.left_of(2) <= 1.5
    assert supervision.left_of(0.5) == 0.25  # there is time for some work
    age = "from teetotal.scale.processes import age; import time; time.sleep(0.1); print(age())"
    told = subprocess.run([sys.executable, "-c", age], capture_output=True, text=True, check=True).stdout
    assert 0.1 <= float(told) < PATIENCE


def test_the_limits_of_one_piece_of_work_are_not_those_of_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    watches: list[supervision.Watch] = []
    monkeypatch.setattr(supervision, "_tell", lambda told: watches.append(told.watch))
    with supervision.watching(60, late="too late", blame="a file"):
        assert (watches[-1].late, watches[-1].blame) == ("too late", "a file")
        assert watches[-1].until is not None
    assert watches[-1] == supervision.Watch()


def test_work_that_looks_at_the_clock_may_tell_what_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float | None] = []
    monkeypatch.setattr(supervision, "_tell", lambda message: told.append(message.watch.until))
    began = time.monotonic()
    with supervision.watching(2):
        supervision.looks_at_the_clock()
    supervision.looks_at_the_clock()  # there is no limit to move
    reading, working, after = told
    assert reading is not None
    assert working is not None
    assert 2.2 <= reading - began < working - began - 0.5
    assert after is None


def test_one_file_that_takes_too_long_does_not_keep_the_others(tmp_path: Path) -> None:
    (tmp_path / "import.py").write_text(ENDLESS["import.py"])
    (tmp_path / "ends.py").write_text("import os; os._exit(1)")
    (tmp_path / "SB.litmus").write_text(SB)
    done = teetotal(tmp_path, "check", "--time", "1", "import.py", "ends.py", "SB.litmus")
    assert done.status == 2
    assert "import.py: inconclusive: the time given by --time is over" in done.stdout
    assert "SB: violation" in done.stdout
    assert "ends.py:1: ends Python by itself: its process ended with status 1" in done.stderr


def test_memory_is_kept_by_what_grows_fast(tmp_path: Path) -> None:
    (tmp_path / "it.py").write_text("kept = []\nwhile True: kept.append(b'x' * (1 << 20))")
    measured = (
        "import resource, subprocess, sys\n"
        "command = [sys.executable, '-m', 'teetotal', 'check', '--memory', '100', 'it.py']\n"
        "done = subprocess.run(command, capture_output=True)\n"
        "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )  # by a process of its own: the memory of what starts one counts as its own, and that of tests is large
    done = subprocess.run([sys.executable, "-c", measured], cwd=tmp_path, capture_output=True, text=True, check=True)
    status, kilobytes = map(int, done.stdout.split())
    assert status == 3
    assert 100 << 10 < kilobytes < room(100) >> 10


LARGE = {
    "threads.litmus": ("X86_64 T\n{ }\n" + " | ".join(f"P{n}" for n in range(50_000)) + " ;\n", "at most 1,000"),
    "threads.py": (THREADS.replace("left(), right()", "*[left() for _ in range(5_000)]"), "at most 1,000"),
    "array.py": ("from teetotal import array\na = array('a', 10**9)\n", "at most 1,048,576"),
    "array.pml": ("byte a[1000000000]; active proctype A() { a[0] = 1 }", "at most 1,048,576"),
    "processes.pml": ("byte x; active [100000000] proctype A() { x = 1 }", "more than 255 processes"),
    "number.pml": (f"int x = {'9' * 5000}; active proctype A() {{ x = 1 }}", "a number of 5000 digits"),
    "parens.pml": (f"int x; active proctype A() {{ x = {'(' * 3000}1{')' * 3000} }}", "nested too deeply"),
    "macro.pml": (
        "#define A0 x = 1; x = 1\n" + "".join(f"#define A{n + 1} A{n}; A{n}\n" for n in range(40)) + "byte x; A40",
        "more than 50,000 tokens",
    ),
    "inline.pml": (
        "byte x; inline f0() { x = 1; x = 1 }\n"
        + "".join(f"inline f{n + 1}() {{ f{n}(); f{n}() }}\n" for n in range(40))
        + "active proctype A() { f40() }",
        "more than 50,000 tokens",
    ),
    "init.pml": (
        "int x; proctype A() { x = 1 } init { do :: x < 2000000000 -> x++ :: else -> break od; run A() }",
        "more than 100,000 steps",
    ),
    "character.pml": (r"byte x; active proctype A() { x = '\x' }", "is not supported"),
    "sparse.litmus": ("\0" * ((16 << 20) + 1), "larger than 16 MB"),
}


@pytest.mark.parametrize("name", LARGE)
def test_what_is_too_large_is_refused_at_once(name: str, tmp_path: Path) -> None:
    text, why = LARGE[name]
    (tmp_path / name).write_text(text)
    assert why in refused(tmp_path, "check", name)


# ---- files that are none


@pytest.mark.parametrize("suffix", ["litmus", "py", "pml", "c"])
def test_odd_files_are_refused(suffix: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / f"pipe.{suffix}")
    (tmp_path / f"endless.{suffix}").symlink_to("/dev/zero")
    (tmp_path / f"loop.{suffix}").symlink_to(f"loop.{suffix}")
    names = [f"{name}.{suffix}" for name in ("pipe", "endless", "loop", "missing")]
    told = refused(tmp_path, "check", "--each", *names)
    for name, why in zip(names, ("not a regular", "not a regular", "Too many levels", "no such file"), strict=True):
        assert f"{name}: {why}" in told
    for name in names:
        assert name in refused(tmp_path, "fence", name)


def test_histories_from_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in refused(tmp_path, "history", "pipe")
    assert "not a regular file" in refused(tmp_path, "history", "/dev/zero")


def test_answers_from_pipes_and_devices_without_an_end_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "h.axe").write_text("0: M[0] := 1\n")
    for verb in (["report"], ["history", "h.axe", "--given-witness"]):
        assert "/dev/zero: not a regular file" in refused(tmp_path, *verb, "/dev/zero")
        assert "pipe: a pipe that nobody writes to" in refused(tmp_path, *verb, "pipe")


def test_answers_come_through_pipes_that_end(tmp_path: Path) -> None:
    (tmp_path / "SB.litmus").write_text(SB)
    made = f"{sys.executable} -m teetotal check --json SB.litmus"
    done = in_a_shell(tmp_path, "report", "-o", "page.html", redirect=f"<({made})")
    assert (done.status, done.stderr) == (0, "page.html: 1 answer\n")


@pytest.mark.parametrize(
    ("verb", "source", "why"),
    [
        ("report", "/dev/zero", "standard input: not a text"),
        ("report", "<(yes)", "standard input: more than 1024 MB, the most that is read of a pipe"),
        ("history", "/dev/zero", "stdin: this looks like no history"),
        ("history", "<(yes)", "stdin: this looks like no history"),
    ],
)
def test_standard_input_without_an_end_is_refused(verb: str, source: str, why: str, tmp_path: Path) -> None:
    done = in_a_shell(tmp_path, verb, "-", redirect=f"< {source}")
    assert (done.status, done.stdout) == (2, "")
    assert why in done.stderr


def test_histories_are_no_longer_read_than_there_is_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def affordable(size: int) -> None:
        if size > 10 << 20:
            raise MemoryError

    monkeypatch.setattr(readers._core, "affordable", affordable)
    endless = iter(lambda: b"0: M[0] := 1\n" * 1000, b"")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=SimpleNamespace(read=lambda _: next(endless))))
    with pytest.raises(ParseError, match=r"stdin: too large for this machine's memory"):
        stdin._keep(str(tmp_path / "kept"), partial(stdin._refuse_no_history, "stdin", "axe"))


def test_a_checkpoint_does_not_wait_for_a_program_that_is_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.c")
    assert "pipe.c: not a regular file" in refused(tmp_path, "check", "--checkpoint", "kept", "pipe.c")


# ---- streams, limits and encodings


@pytest.mark.parametrize("redirect", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_change_no_verdict(redirect: str, tmp_path: Path) -> None:
    (tmp_path / "SB.litmus").write_text(SB)
    assert in_a_shell(tmp_path, "check", "SB.litmus", redirect=redirect).status == 1


def test_nowhere_to_write_is_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "SB.litmus").write_text(SB)
    assert in_a_shell(tmp_path, "check", "SB.litmus", redirect=">/dev/full 2>/dev/full").status == 2


@pytest.mark.parametrize("limit", ["-n 7", "-v 100000", "-v 400000"])
def test_low_limits_are_no_verdict(limit: str, tmp_path: Path) -> None:
    (tmp_path / "SB.py").write_text(THREADS)
    done = in_a_shell(tmp_path, "check", "SB.py", before=f"ulimit {limit}")
    assert done.status in (2, 3) or "violation" in done.stdout, done


def test_no_place_to_be_is_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    ending = in_a_shell(tmp_path, "check", str(CORPUS / "SB.litmus"), before="cd gone; rmdir ../gone")
    assert (ending.status, ending.stderr) == (2, "teetotal: the working directory: No such file or directory\n")


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    for suffix, text in {b"litmus": SB, b"py": THREADS, b"c": C.replace("BODY", "")}.items():
        name = b"caf\xe9." + suffix
        (tmp_path / os.fsdecode(name)).write_text(text)
        done = teetotal(tmp_path, "check", os.fsdecode(name))
        assert done.status == 1
        assert f"caf\\udce9.{suffix.decode()}" in done.stdout
        if suffix != b"c":  # a compiler each time
            answer = json.loads(teetotal(tmp_path, "check", "--json", os.fsdecode(name)).stdout)
            assert os.fsencode(answer["input"]) == name
    assert in_a_shell(tmp_path, "check", os.fsdecode(b"caf\xe9.litmus"), PYTHONIOENCODING="ascii").status == 1


def test_no_control_character_reaches_the_terminal(tmp_path: Path) -> None:
    odd = "odd\x1b[31m\x9b\u202e.litmus"
    (tmp_path / odd).write_text(SB)
    (tmp_path / "bad.litmus").write_text(SB.replace("exists (", "exists (0:\x1b[31m=1 /\\ "))
    (tmp_path / "raises.py").write_text("raise ValueError('\\x1b[31m')")
    (tmp_path / "broken.c").write_text('#error "\x1b[31m"\n')
    for arguments in (["check", odd], ["fence", odd], ["replay", "\x1b[31m", odd], ["check", "no\x1b[31m"],
                      ["check", "bad.litmus"], ["check", "raises.py"], ["check", "broken.c"], ["\x1b[31m"],
                      ["check", "--json", odd], ["reproduce", "\x1b[31m"]):  # fmt: skip
        done = teetotal(tmp_path, *arguments)
        assert done.status in (0, 1, 2)
        shown = done.stdout + done.stderr
        assert "1b" in shown, arguments
        assert not {"\x1b", "\x9b", "\u202e"} & set(shown), arguments


def test_names_of_several_lines_are_shown_in_one(tmp_path: Path) -> None:
    """So that no file's name can look like a verdict."""
    (tmp_path / "in\nside").mkdir()
    name, inside = "it\nSB: safe.litmus", "in\nside/it\nSB: safe.litmus"
    for path in (name, inside):
        (tmp_path / path).write_text(SB)
    for arguments in (["check", name], ["check", "."], ["fence", name], ["replay", "1t:0", name], ["check", f"no{name}"],
                      ["history", name], ["monitor", name], ["verify", name]):  # fmt: skip
        done = teetotal(tmp_path, *arguments)
        assert done.status in (0, 1, 2)
        assert "it\\x0aSB: safe" in done.output, arguments
        assert not {"it", "in"} & set(done.output.splitlines()), arguments
    assert "in\\x0aside" in teetotal(tmp_path, "check", ".").stdout
    answers = map(json.loads, teetotal(tmp_path, "check", "--json", name, "in\nside").stdout.splitlines())
    assert [answer["input"] for answer in answers] == [name, inside]


def test_a_history_s_name_of_several_lines_is_shown_in_one(tmp_path: Path) -> None:
    """Where an answer is told that is taken apart into lines, with its proof and with its witness."""
    name = "it\nconsistent   sc   it"
    (tmp_path / name).write_text("T0: st x = 1\nT0: ld y -> 0\nT1: st y = 1\nT1: ld x -> 0\n")
    (tmp_path / "results").write_text(teetotal(tmp_path, "history", "--model", "tso", "--json", name).stdout)
    for arguments in ([], ["--model", "tso", "--witness"], ["--given-witness", "results"]):
        done = teetotal(tmp_path, "history", *arguments, name)
        assert done.status in (0, 1)
        assert "it\\x0aconsistent   sc   it" in done.stdout
        assert not [line for line in done.stdout.splitlines() if line.startswith("consistent   sc")]


# ---- C


def test_c_programs_may_say_what_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "it.c").write_bytes(C.replace("BODY", 'assert(!"\xff");').encode("latin-1"))
    done = teetotal(tmp_path, "check", "it.c")
    assert done.status == 1
    assert "\\udcff" in done.stdout  # as every byte that is no text
    answer = json.loads(teetotal(tmp_path, "check", "--json", "it.c").stdout)
    assert "\udcff" in answer["violations"][0]["message"]


FLAGS = ["-fsyntax-only", "-E", "-S", "-c", "-oX", "-shared", "-static", "-m32"]


@pytest.mark.parametrize("flag", FLAGS)
def test_flags_that_make_something_else_are_refused(flag: str, tmp_path: Path) -> None:
    (tmp_path / "it.c").write_text(C.replace("BODY", ""))
    assert f"{flag} after --" in refused(tmp_path, "check", "it.c", "--", flag)


def test_compilers_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "it.c").write_text(C.replace("BODY", ""))
    assert "names no compiler" in refused(tmp_path, "check", "--cc", " ", "it.c")
    assert "makes no code" in refused(tmp_path, "check", "--cc", "true", "it.c")


# ---- what the fuzzer has found

FOUND = {
    "head.litmus": SB.replace(" P0", ' P0"', 1),
    "syntax.py": THREADS.replace("def left", "def left("),
    "bracket.py": THREADS + "x = " + "(" * 300,
}


@pytest.mark.parametrize("name", FOUND)
def test_fence_refuses_damaged_texts(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FOUND[name])
    assert name in refused(tmp_path, "fence", name)


def test_threads_named_over_several_lines(tmp_path: Path) -> None:
    (tmp_path / "SB.litmus").write_text(SB.replace(" P0", " P0x0\n", 1))
    assert teetotal(tmp_path, "fence", "SB.litmus").status == 0


CELLS = """X86_64 SB
{ }
 P0 | P1 ;
 movl
 $1,(x)
   | movl $1,(y) ;
   | mfence
   ;
 movl (y),%eax | movl (x),
 %eax ;
exists (0:eax=0 /\\ 1:eax=0)
"""


def test_cells_over_several_lines_have_gaps(tmp_path: Path) -> None:
    (tmp_path / "SB.litmus").write_text(CELLS)
    done = teetotal(tmp_path, "fence", "--json", "SB.litmus")
    assert done.status == 0
    assert [fence["after"] for fence in json.loads(done.stdout)["fences"]] == ["movl $1,(x)"]


def test_damaged_inputs() -> None:
    """``make fuzz`` tries thousands; C takes a compiler each time, and is left to it."""
    fuzzer = [sys.executable, str(Path(__file__).parents[1] / "fuzz_inputs.py"), "75", "--seed", "1", "--without", ".c"]
    done = subprocess.run(fuzzer, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("trust", [(), ("--trust",)])
def test_what_a_python_file_writes_is_not_among_the_answers(tmp_path: Path, trust: tuple[str, ...]) -> None:
    writes = 'import os\nos.write(1, b\'{"verdict": "safe"}\\n\')\nos.system("echo started")\nprint("printed")\n'
    (tmp_path / "writes.py").write_text(writes + THREADS)
    done = in_a_shell(tmp_path, "check", "writes.py", "--json", *trust)
    assert json.loads(done.stdout)["input"] == "writes.py"
    assert done.stderr.split("\n") == ['{"verdict": "safe"}', "started", "printed", ""]


def test_a_folder_that_cannot_be_looked_into_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tests would be passed over in silence; one that is gone meanwhile has none."""
    for name in ("open", "closed", "gone"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.litmus").write_text("")
    errors: dict[str, OSError] = {
        "closed": PermissionError(errno.EACCES, "no", "closed"),
        "gone": FileNotFoundError(errno.ENOENT, "no", "gone"),
    }
    scandir = os.scandir

    def scanned(path: str) -> Any:
        if (error := errors.get(Path(path).name)) is not None:
            raise error
        return scandir(path)

    monkeypatch.setattr(os, "scandir", scanned)
    found, problems = files.find([str(tmp_path)])
    assert found == [str(tmp_path / "open" / "t.litmus")]
    assert [problem.message for problem in problems] == ["closed: cannot be looked into: no"]


@pytest.mark.parametrize("question", [("check", "SB.litmus"), ("--version",), ("schema",)])
def test_a_disk_without_room_for_anything_is_no_verdict(tmp_path: Path, question: tuple[str, ...]) -> None:
    """Not for a scratch folder either; status 1, which Python has for its own errors, would be a violation."""

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    (tmp_path / "SB.litmus").write_text(SB)
    with (tmp_path / "out").open("w") as out:
        command = [sys.executable, "-m", "teetotal", *question]
        done = subprocess.run(
            command, cwd=tmp_path, stdout=out, stderr=subprocess.PIPE, text=True, check=False, preexec_fn=no_room
        )
    assert done.returncode == 2
    assert done.stderr == "teetotal: cannot write: File too large; the answer above is cut off\n"


def test_a_process_that_cannot_be_started_is_no_verdict() -> None:
    code = "import os; from teetotal.cli import main; os.fork = lambda: os.open('/nowhere', 0); main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "schema"], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (2, "teetotal: /nowhere: No such file or directory\n")
