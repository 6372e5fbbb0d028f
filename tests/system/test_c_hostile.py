"""C programs that try to hurt the explorer, the supervisor or whoever runs them: each by its name.

All are one source, built once; the argument chooses what thread 2 does where it runs before thread 1. Around it is store
buffering, so that there is a violation to be told whatever else happens; with fences there is none, and nothing that the
program did may be taken for a proof.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from c_programs import answers, compiled
from interrupts import PATIENCE, hear_interrupts, let_work, members
from teetotal.answers.check import CheckAnswer
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.engines.runtime import checking as c_check
from teetotal.programs.c import Source
from teetotal.scale.processes import children

ROOT = Path(__file__).parents[2]

HEAD = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
atomic_int x, y;
static int which, fenced;
"""

ANSWER = r"{\"type\":\"end\",\"complete\":true}\n"

NAMED = {  # done, and named: the system call
    "close": "for (int i = 0; i < 1024; i++) close(i);",
    "dup2": "for (int i = 0; i < 1024; i++) dup2(1, i);",
    "write": f'for (int i = 0; i < 512; i++) write(i, "{ANSWER}", sizeof "{ANSWER}" - 1);',
    "close_range": "syscall(SYS_close_range, 0, ~0U, 0);",
    "fcntl": "for (int i = 0; i < 1024; i++) fcntl(i, F_SETFL, O_NONBLOCK);",
    "pipe2": "int p[2]; char b[4096] = {0}; pipe2(p, O_NONBLOCK); while (write(p[1], b, sizeof b) > 0);",
    "read": "char c; while (read(0, &c, 1) > 0);",
    "wait4": "waitpid(-1, 0, 0);",
    "openat": 'int d = open("/dev/null", O_WRONLY); write(d, "x", 1); close(d);',
}
REFUSED = {  # the thread goes no further: what it wanted
    "kill to another process": "kill(0, SIGKILL);",
    "a signal to another thread": "syscall(SYS_tgkill, getppid(), getppid(), SIGKILL);",
    "a system call that is about signals": """siginfo_t i = {0}; i.si_code = SI_QUEUE;
      syscall(SYS_rt_sigqueueinfo, getppid(), SIGKILL, &i);""",
    "kill, which any thread may get,": "kill(getpid(), SIGSTOP);",
    "the system call prctl": "prctl(PR_SET_PDEATHSIG, 0);",
    "the system call setsid": "setsid();",
    "the system call setpgid": "setpgid(0, 0);",
    "the system call ptrace": "ptrace(PTRACE_TRACEME, 0, 0, 0);",
    "the system call fork": "for (;;) syscall(SYS_fork);",
    "the system call vfork": "syscall(SYS_vfork);",
    "the system call clone": "syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);",
    "the system call clone3": "long a[11] = {0}; a[4] = SIGCHLD; syscall(435, a, sizeof a);",
    "the system call execve": 'execl("/bin/true", "true", (char *)0);',
    "the system call process_vm_writev": "syscall(SYS_process_vm_writev, getppid(), 0, 0, 0, 0, 0);",
    "the system call munmap on memory that is not its own": "munmap((void *)0x650000000000, 1UL << 40);",
    "the system call mprotect on memory that is not its own": "mprotect((void *)0x680000000000, 4096, PROT_NONE);",
    "the system call mmap over memory that is not its own": """mmap((void *)0x700000000000, 1 << 20, PROT_READ,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);""",
}
UNDONE = {  # named, and the program goes on without it
    "setrlimit, which is not done": "struct rlimit r = {0, 0}; setrlimit(RLIMIT_AS, &r);",
    "setitimer (a signal that may come": "struct itimerval v = {{0, 0}, {0, 1}}; setitimer(ITIMER_REAL, &v, 0);",
    "alarm (a signal that may come": "alarm(1);",
}
WAITS = {  # for ever: the system call
    "pause": "pause();",
    "poll": "poll(0, 0, -1);",
    "read": "int p[2]; char c; pipe(p); read(p[0], &c, 1);",
    "nanosleep": "struct timespec t = {1000, 0}; syscall(SYS_nanosleep, &t, 0);",
    "accept": """int s = socket(AF_UNIX, SOCK_STREAM, 0); struct sockaddr a = {AF_UNIX, ""};
      bind(s, &a, sizeof(short)); listen(s, 1); accept(s, 0, 0);""",
}
RUNS_ON = {
    "whatever is blocked": "sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0); for (;;);",
    "whatever is ignored": "for (int i = 1; i < 20; i++) signal(i, SIG_IGN); for (;;);",
}
GROWS = {
    "malloc": 'for (int z = open("/dev/zero", O_RDONLY);;) syscall(SYS_read, z, malloc(1 << 20), 1 << 20);',
    "mmap": 'for (int z = open("/dev/zero", O_RDONLY);;) syscall(SYS_read, z, pages(PROT_READ | PROT_WRITE), 1 << 24);',
    "mmap of what is not the heap's": "for (;;) pages(PROT_READ | PROT_WRITE | PROT_EXEC);",
}
DIES = {
    "is ended by SIGKILL": "raise(SIGKILL);",
    "stack overflow": "volatile char big[1 << 10]; big[0] = 1; hurt(what); big[1] = 1;",
}
OVERWRITES = {  # the explorer's memory, by the kernel's hand
    value: f"""FILE *maps = fopen("/proc/self/maps", "r"); char line[512]; unsigned long from, to;
      while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx", &from, &to) == 2 && strstr(line, "{what}")) break;
      int source = open("{source}", O_RDONLY);
      syscall(SYS_read, source, from, to - from);"""
    for value, what, source in (
        ("its heap", "[heap]", "/dev/zero"),
        ("its heap with text", "[heap]", "/proc/self/maps"),
        ("what it tells", "/dev/zero", "/dev/zero"),
    )
}
QUIET = {
    "waking": "int word = 0; syscall(SYS_futex, &word, 1, 1, 0, 0, 0);",
    "printing": 'for (int i = 0; i < 100000; i++) puts("0123456789012345678901234567890123456789"); fflush(stdout);',
    "alarm(0)": "alarm(0);",
    "itself": "getpagesize(); pthread_self();",
}

ALL = [*NAMED.values(), *REFUSED.values(), *WAITS.values(), *RUNS_ON.values(), *GROWS.values(), *DIES.values()]
ALL += UNDONE.values()
ALL += [*OVERWRITES.values(), *QUIET.values()]
CASES = "".join(f"    case {number}: {{ {body} }} break;\n" for number, body in enumerate(ALL))
SOURCE = f"""{HEAD}
static void *pages(int may) {{ return mmap(0, 1 << 24, may, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0); }}
static void hurt(int what) {{
  switch (what) {{
{CASES}  }}
}}
static int crossed(atomic_int *mine, atomic_int *other) {{
  atomic_store_explicit(mine, 1, memory_order_relaxed);
  if (fenced) atomic_thread_fence(memory_order_seq_cst);
  return atomic_load_explicit(other, memory_order_relaxed);
}}
static void *f(void *p) {{ crossed(&x, &y); return p; }}
static void *g(void *p) {{ if (!crossed(&y, &x)) hurt(which); return p; }}
int main(int argc, char **argv) {{
  pthread_t a, b;
  which = atoi(argv[1]), fenced = argc > 2;
  pthread_create(&a, 0, f, 0), pthread_create(&b, 0, g, 0);
  pthread_join(a, 0), pthread_join(b, 0);
}}
"""


@pytest.fixture(scope="module")
def program() -> Iterator[Path]:
    with compiled(SOURCE) as built:
        yield built


def checked(program: Path, body: str, *, fenced: bool = True, **options: object) -> CheckAnswer:
    """The verdict on one of them. Afterwards nothing is left: no process, no folder."""

    @contextmanager
    def built(_: Source) -> Iterator[Path]:
        yield program

    arguments = (str(ALL.index(body)), *(["fenced"] if fenced else []))
    source = Source((str(program.parent / "program.c"),), (), None, arguments)
    before = _folders()  # of other tests: what reproduces a table keeps its program for the next row
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(c_check, "built", built)
        result = check(source, CheckOptions(models=("tso",), **options))  # type: ignore[arg-type]
    assert not any(_is_runtime(child) for child in children())
    assert _folders() <= before
    return result


def _folders() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob(f"teetotal-{os.getpid()}-*"))


def _is_runtime(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/comm").read_text().startswith("teetotal")
    except OSError:
        return False


def line_of(body: str) -> str:
    """``:N`` of where it stands in the source."""
    before = SOURCE.partition(f"case {ALL.index(body)}: ")[0]
    return f"program.c:{before.count(chr(10)) + 1}"


def undecided(result: CheckAnswer, note: str) -> None:
    assert result.verdict is Verdict.INCONCLUSIVE, result
    assert not result.complete
    assert not result.violations
    assert any(note in told for told in result.notes), result.notes


def violated(result: CheckAnswer, note: str) -> None:
    assert result.verdict is Verdict.VIOLATION, result
    assert {violation.kind for violation in result.violations} == {"robustness"}
    assert any(note in told for told in result.notes), result.notes


@pytest.mark.parametrize("name", NAMED)
def test_what_it_asks_the_kernel_for_is_named(name: str, program: Path) -> None:
    note = f"the system call {name} at {program.parent}/{line_of(NAMED[name])}"
    undecided(checked(program, NAMED[name]), note)
    violated(checked(program, NAMED[name], fenced=False), note)


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_hurt_others_is_refused(name: str, program: Path) -> None:
    note = f"the program uses {name} at {program.parent}/"
    undecided(checked(program, REFUSED[name]), note)
    violated(checked(program, REFUSED[name], fenced=False), note)


@pytest.mark.parametrize("name", UNDONE)
def test_what_would_come_at_its_own_time_is_named(name: str, program: Path) -> None:
    undecided(checked(program, UNDONE[name]), name)
    violated(checked(program, UNDONE[name], fenced=False), name)


def test_another_kind_of_system_call_is_named_by_its_instruction(tmp_path: Path) -> None:
    file = tmp_path / "old.c"
    file.write_text('int main(void) { __asm__ volatile("int $0x80" : : "a"(20) : "memory"); }')
    undecided(check(Source((str(file),))), "int $0x80")


@pytest.mark.parametrize("name", WAITS)
def test_waiting_for_the_outside_is_told(name: str, program: Path) -> None:
    """And is no five seconds, nor what returns when somebody looks."""
    result = checked(program, WAITS[name], fenced=name != "pause")
    note = f"T2 waits for something outside of the program ({name}) at {program.parent}/"
    (violated if name == "pause" else undecided)(result, note)


@pytest.mark.parametrize("name", RUNS_ON)
def test_no_signal_of_the_program_stops_the_clock(name: str, program: Path) -> None:
    began = time.monotonic()
    result = checked(program, RUNS_ON[name], fenced=False, seconds=0.5)
    violated(result, "the time is over; what was found until then is told")
    assert time.monotonic() - began < PATIENCE


def test_what_runs_on_is_told_though_it_blocks_all_signals(program: Path) -> None:
    body = RUNS_ON["whatever is blocked"]
    undecided(checked(program, body, executions=4), "T2 runs on without an operation that others can see at")


@pytest.mark.parametrize("name", GROWS)
def test_memory_is_limited_from_outside(name: str, program: Path) -> None:
    before = _largest_child()
    result = checked(program, GROWS[name], fenced=False, max_megabytes=100, loop_bound=1_000_000, triage=0.0)
    violated(result, "the memory is used up" if "not the heap" in name else "T2 needs more memory than it may have at")
    assert _largest_child() <= max(before, 2 << 30)  # what is mapped while somebody looks: it grew until it was full


def _largest_child() -> int:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10


@pytest.mark.parametrize("name", DIES)
def test_a_death_costs_one_schedule(name: str, program: Path) -> None:
    result = checked(program, DIES[name])
    assert result.complete
    assert result.executions == 3
    assert [violation.kind for violation in result.violations] == ["crash"]
    assert name in result.violations[0].message


@pytest.mark.parametrize("name", OVERWRITES)
def test_overwritten_memory_of_the_explorer_proves_nothing(name: str, program: Path) -> None:
    result = checked(program, OVERWRITES[name], seconds=20)
    assert result.verdict is not Verdict.SAFE
    assert not any(violation.kind == "robustness" for violation in result.violations)


@pytest.mark.parametrize("name", QUIET)
def test_what_concerns_nobody_is_nobodys_concern(name: str, program: Path) -> None:
    assert checked(program, QUIET[name]).verdict is Verdict.SAFE


def test_answers_are_numbered_and_checked(program: Path) -> None:
    """What the program writes to any descriptor is no answer: only what the explorer tells is."""
    told = list(answers(program, ["monitor=exact-tso"], [str(ALL.index(NAMED["write"]))]))
    assert [answer["type"] for answer in told] == ["loaded", "violation", "end"]
    assert told[-1]["executions"] == 3


# -- nothing is left behind -------------------------------------------------------------------------------------------


def _at_work(*options: str) -> subprocess.Popen[str]:
    """``teetotal check`` of something long, when it has found a violation."""
    file = ROOT / "benchmarks" / "programs" / "dekker.c"
    command = [
        sys.executable,
        "-m",
        "teetotal",
        "check",
        "--json",
        "--triage",
        "0",
        *options,
        str(file),
        "--",
        "-DROUNDS=9",
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=hear_interrupts
    )
    while len(_runtimes(process.pid)) < 2:
        assert process.poll() is None
        time.sleep(0.01)
    let_work(process, 0.3)
    return process


def _runtimes(session: int) -> list[int]:
    return sorted(number for number, (name, _) in members(session).items() if name == "teetotal-runtim")


def _worker(session: int) -> int:
    return next(number for number in members(session) if number != session and number not in _runtimes(session))


def _alive(session: int) -> bool:
    for number in members(session):
        try:
            if Path(f"/proc/{number}/stat").read_text().rpartition(") ")[2][0] != "Z":
                return True
        except OSError:
            continue
    return False


WHO = {
    "the one who waits": lambda session: session,
    "the worker": _worker,
    "the supervisor": lambda session: _runtimes(session)[0],
    "the explorer": lambda session: _runtimes(session)[-1],
}


@pytest.mark.parametrize(
    ("who", "number"),
    [
        ("the one who waits", signal.SIGTERM),
        ("the worker", signal.SIGHUP),
        ("the supervisor", signal.SIGTERM),
        ("the supervisor", signal.SIGKILL),
        ("the explorer", signal.SIGINT),
    ],
)
def test_a_signal_to_any_process_ends_all_and_what_was_found_is_told(who: str, number: signal.Signals) -> None:
    """Where several explore, those of the first two end all: one of the others is done without (test_scale.py)."""
    with _at_work("--workers", "1") as process:
        os.kill(WHO[who](process.pid), number)
        answer, _ = process.communicate(timeout=PATIENCE)
        assert '"verdict":"violation"' in answer
        assert process.returncode == (1 if "ex" in who or "super" in who else 130)
        while _alive(process.pid):  # those that it has killed
            time.sleep(0.01)
    assert not list(Path(tempfile.gettempdir()).glob(f"teetotal-{process.pid}-*"))


def test_what_is_left_when_all_are_killed_is_removed_by_the_next() -> None:
    with _at_work("--workers", "1") as process:
        process.kill()
        process.wait()
        while _alive(process.pid):
            time.sleep(0.01)
    (left,) = Path(tempfile.gettempdir()).glob(f"teetotal-{process.pid}-*")
    os.utime(left, (0, 0))
    subprocess.run([sys.executable, "-m", "teetotal", "cflags"], check=True, stdout=subprocess.DEVNULL)
    assert not left.exists()


def test_the_time_is_kept_and_what_was_found_is_told(tmp_path: Path) -> None:
    file = tmp_path / "program.c"
    file.write_text(SOURCE)
    command = [sys.executable, "-m", "teetotal", "check", "--time", "6", str(file)]  # it has to be built, too
    command += ["--args", str(ALL.index(RUNS_ON["whatever is ignored"]))]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=PATIENCE)
    assert result.returncode == 1
    assert "Not robust under TSO" in result.stdout
    assert "the time is over; what was found until then is told" in result.stdout


LIMITED = """
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
static volatile char large[100 << 20] = {1};
int main(void) {
  struct rlimit cores;
  int file = open(NAME, O_RDWR | O_CREAT, 0600);
  large[99 << 20] = 1;
  assert(pwrite(file, "x", 1, (64 << 20) - 1) == 1);
  assert(pwrite(file, "x", 1, 64 << 20) == -1 && errno == EFBIG);
  assert(getrlimit(RLIMIT_CORE, &cores) == 0 && cores.rlim_max == 0);
}
"""


def test_files_and_cores_are_limited_and_variables_are_not(tmp_path: Path) -> None:
    """The limits were never set: the explorer's own setrlimit is the program's, which does nothing. In force from the
    beginning, that of files would keep large variables out, which are kept in one."""
    file = tmp_path / "program.c"
    file.write_text(LIMITED)
    result = check(Source((str(file),), (f'-DNAME="{tmp_path}/grows"',), trust=True), CheckOptions(models=("sc",)))
    assert (result.verdict, result.violations) == (Verdict.INCONCLUSIVE, [])
    assert (tmp_path / "grows").stat().st_size == 64 << 20
