"""``teetotal check`` and ``teetotal replay`` on C programs, as their users call them."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from interrupts import hear_interrupts

EXAMPLE = Path(__file__).parents[2] / "examples" / "dekker.c"
FENCED = Path(__file__).parents[2] / "benchmarks" / "programs" / "dekker.c"

GUARDED = """#include <pthread.h>
struct pair { volatile int a, b; };
void *f(void *p) { struct pair *pair = p; pair->a = 1; int r = pair->b; return 0; }
int main(void) {
  struct pair pair = {0, 0};
  pthread_t t;
  pthread_create(&t, 0, f, &pair);
  pair.b = 1;
  int r = pair.a;
  pthread_join(t, 0);
  return 0;
}
"""


@pytest.fixture
def teetotal(run: Callable[..., tuple[int, str, str]]) -> Callable[..., str]:
    """The command line, in this process: all that it says."""

    def call(*arguments: str, expect: int) -> str:
        status, output, errors = run(*arguments)
        assert status == expect, output + errors
        return output + errors

    return call


def test_dekker_is_told_with_its_lines() -> None:
    done = subprocess.run([sys.executable, "-m", "teetotal", "check", str(EXAMPLE)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")
    told = done.stdout
    assert "TSO: NOT ROBUST" in told
    assert f"breaks under TSO and PSO: T2's assertion shared == me fails at {EXAMPLE}:24" in told.splitlines()[0]
    assert "  14 │     flag[me] = 1;\n     │     ^^^^ T" in told
    assert "a cycle through T1 (lines 25, 26) and T2 (lines 15, 25)" in told
    assert "T1: st flag[0] = 1" in told
    assert "9 SC executions (5 blocked)" in told


OPTIONS = """#include <assert.h>
#include <pthread.h>
int __VERIFIER_nondet_int(void);
volatile int x, y, z;
void *f(void *p) { x = 1; int r = y; for (int i = 0; i < 4; i++) z = r; return 0; }
void *g(void *p) { y = 1; int r = x; assert(__VERIFIER_nondet_int() < 3 || r || !z); return 0; }
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
  pthread_join(t, 0); pthread_join(u, 0);
}
"""


def test_options_reach_the_runtime(tmp_path: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    file = tmp_path / "options.c"
    file.write_text(OPTIONS)

    def checked(*options: str) -> dict[str, object]:
        return json.loads(run("check", "--json", *options, str(file))[1])  # type: ignore[no-any-return]

    plain = checked()
    assert (plain["complete"], plain.get("goal", "robust")) == (True, "robust")
    assert checked("--goal", "safe")["goal"] == "safe"
    few = checked("--executions", "3")
    assert (few["executions"], few["complete"]) == (3, False)
    assert checked("--loop-bound", "2")["complete"] is False
    more = checked("--nondet", "0", "2")["executions"]
    assert isinstance(more, int)
    assert isinstance(plain["executions"], int)
    assert more > plain["executions"]


def test_json_has_the_keys_of_the_contract(teetotal: Callable[..., str]) -> None:
    result = json.loads(teetotal("check", "--json", str(EXAMPLE), expect=1))
    assert (result["verdict"], result["complete"], result["executions"], result["blocked"]) == (
        "violation",
        True,
        9,
        5,
    )
    assert result["models"]["sc"] == {"verdict": "safe", "robust": True, "safe": True}
    violation = result["models"]["tso"]["violations"][0]
    assert violation["monitor"] == "exact-tso"
    assert {"events", "cycle", "locations", "replay", "steps", "message"} <= violation.keys()


@pytest.mark.parametrize("goal", ["robust", "safe"])
def test_every_violation_can_be_replayed_on_the_program_itself(goal: str, teetotal: Callable[..., str]) -> None:
    result = json.loads(teetotal("check", "--json", "--goal", goal, str(EXAMPLE), expect=1))
    assert len(result["violations"]) > 1
    for violation in result["violations"]:
        again = json.loads(teetotal(*shlex.split(violation["replay"])[1:], "--json", expect=1))
        assert again["events"] == violation["events"]
        assert again["steps"] == violation["steps"]
        if violation["kind"] == "assertion":
            assert "assertion (shared == me)" in again["message"]


CHOOSING = """#include <assert.h>
#include <pthread.h>
int __VERIFIER_nondet_int(void);
volatile int x, y, z;
void *h(void *p) { z = __VERIFIER_nondet_int(); return 0; }
void *f(void *p) {
  pthread_t t;
  pthread_create(&t, 0, h, 0);
  x = __VERIFIER_nondet_int();
  return (void *)(long)pthread_join(t, 0);
}
int main(void) {
  pthread_t t, u;
  y = __VERIFIER_nondet_int();
  pthread_create(&t, 0, f, 0); pthread_create(&u, 0, f, 0);
  pthread_join(t, 0); pthread_join(u, 0);
  assert(y != -1 || x != 1 || z != 2);
}
"""


@pytest.mark.parametrize("goal", ["robust", "safe"])
def test_a_replay_knows_the_values_that_were_chosen(tmp_path: Path, goal: str, teetotal: Callable[..., str]) -> None:
    """Threads are called by who created them: which of two is the third of all depends on the schedule."""
    file = tmp_path / "choosing.c"
    file.write_text(CHOOSING)
    found = json.loads(
        teetotal("check", "--json", "--model", "tso", "--goal", goal, "--nondet", "-1", "2", str(file), expect=1)
    )
    assert len(found["violations"]) > 0
    for violation in found["violations"]:
        again = json.loads(teetotal(*shlex.split(violation["replay"])[1:], "--json", expect=1))
        first, second = ([{**e, "order": 0} for e in told["events"]] for told in (violation, again))
        assert first == second
        assert "assertion (y != -1 || x != 1 || z != 2)" in again["message"]
    for wrong in ("n==", "n+0=", "n0+0=99999999999999999999"):
        assert "is not a schedule token" in teetotal("replay", f"1s{wrong}:0", str(file), expect=2)


def test_sharing_a_stack_is_seen_and_replayed(tmp_path: Path, teetotal: Callable[..., str]) -> None:
    file = tmp_path / "guarded.c"
    file.write_text(GUARDED)
    result = json.loads(teetotal("check", "--json", str(file), expect=1))
    assert result["models"]["tso"]["robust"] is False
    violation = result["models"]["tso"]["violations"][0]
    assert "k0." in violation["replay"]
    again = json.loads(teetotal(*shlex.split(violation["replay"])[1:], "--json", expect=1))
    assert again["cycle"] == violation["cycle"]


def test_flags_arguments_compiler_and_each(tmp_path: Path, teetotal: Callable[..., str]) -> None:
    models = ("--model", "tso,pso")
    told = teetotal("check", *models, "--each", str(FENCED), str(EXAMPLE), "--json", "--", "-DFENCED", expect=1)
    assert [json.loads(line)["verdict"] for line in told.splitlines()] == ["safe", "violation"]
    file = tmp_path / "arguments.c"
    file.write_text("#include <assert.h>\nint main(int n, char **v) { assert(n < 3); return 0; }")
    assert json.loads(teetotal("check", "--json", str(file), "--args", "a", expect=0))["verdict"] == "safe"
    result = json.loads(teetotal("check", "--json", str(file), "--args", "a", "--args", "b", "--", "-DX=1", expect=1))
    assert result["violations"][0]["replay"].endswith("--args a --args b -- -DX=1")


BUSY = """#include <pthread.h>
volatile int x;
void *f(void *p) { for (int i = 0; i < 12; i++) { int r = x; x = i; } return 0; }
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, f, 0); pthread_create(&u, 0, f, 0);
  pthread_join(t, 0); pthread_join(u, 0);
}
"""


@pytest.mark.parametrize("how", ["all", "preemptions:5", "random:1000000"])
def test_progress_has_an_estimate_on_a_terminal_and_is_silent_elsewhere(tmp_path: Path, how: str) -> None:
    file = tmp_path / "busy.c"
    file.write_text(BUSY)
    command = [sys.executable, "-m", "teetotal", "check", "--explore", how, str(file)]
    if how != "all":
        command += ["--workers", "1"]
    else:
        piped = subprocess.run([*command, "--time", "0.5"], capture_output=True, text=True, check=False)
        assert piped.stderr == ""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 160, 0, 0))
    estimate = re.compile(rb"SC executions, [\d,]+ a second, \d+% done, about \d+ s to go")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=follower, preexec_fn=hear_interrupts) as process:
        os.close(follower)
        shown, seen = b"", False
        with contextlib.suppress(OSError):  # how a terminal's end is told
            while part := os.read(leader, 4096):
                shown += part
                if not seen and estimate.search(shown):
                    seen = True
                    process.send_signal(signal.SIGINT)
        os.close(leader)
    assert seen, shown
    assert process.returncode == 130
    assert shown.split(b"\r\x1b[K")[-1].strip() == b"interrupted"


def test_bad_input(tmp_path: Path, teetotal: Callable[..., str]) -> None:
    bad = tmp_path / "bad.c"
    bad.write_text("int main( {")
    assert "does not compile" in teetotal("check", str(bad), expect=2)
    missing = tmp_path / "undefined.c"
    missing.write_text("void nowhere(void); int main(void) { nowhere(); return 0; }")
    assert "nowhere" in teetotal("check", str(missing), expect=2)
    no_main = tmp_path / "no_main.c"
    no_main.write_text("int x;")
    assert "no function main" in teetotal("check", str(no_main), expect=2)
    assert "belongs to another program" in teetotal("replay", "1t:7.7.7", str(EXAMPLE), expect=2)
    assert "there is no such location then" in teetotal("replay", "1p:0c5", str(EXAMPLE), expect=2)


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
def test_a_debugger_stops_at_the_last_step() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "teetotal", "replay", "--gdb", "1t:0x2.1x3.2x2.2c.2", str(EXAMPLE)],
        input="info locals\nquit\n", capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert "SIGTRAP" in done.stdout, done.stdout + done.stderr
    assert "while (flag[other])" in done.stdout
    assert "other = 0" in done.stdout


@pytest.mark.parametrize("option", ["--memory", "--executions", "--loop-bound", "--seed", "--spurious"])
def test_a_number_that_is_too_large_is_refused(option: str, teetotal: Callable[..., str]) -> None:
    assert "is not in the range" in teetotal("check", option, "9" * 30, str(EXAMPLE), expect=2)


def test_a_range_without_a_number_is_refused(teetotal: Callable[..., str]) -> None:
    """``--nondet 5 2`` explored nothing, and called that safe."""
    assert "has no value" in teetotal("check", "--nondet", "5", "2", str(EXAMPLE), expect=2)
    assert "is not in the range" in teetotal("check", "--nondet", "0", str(2**31), str(EXAMPLE), expect=2)


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--time", "nan"),
        ("check", "--triage", "nan"),
        ("verify", "--memory", "nan"),
        ("record", "program", "--native", "--every", "nan"),
    ],
)
def test_what_is_not_a_number_is_refused(arguments: tuple[str, ...], teetotal: Callable[..., str]) -> None:
    assert "nan is not a number" in teetotal(*arguments, str(EXAMPLE), expect=2)
