"""Programs that are checked reach no network and write to nothing that others see, unless they are trusted."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import machines
from teetotal import _core
from teetotal.answers.check import CheckAnswer
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.programs.c import Source
from teetotal.programs.python.loader import load


def _has_namespaces(folder: Path) -> bool:
    own = folder / "own"
    own.mkdir()
    child = os.fork()
    if child == 0:
        os._exit(0 if _core.isolate(str(own), 1) else 1)
    return os.waitpid(child, 0)[1] == 0


@pytest.fixture(scope="module", autouse=True)
def namespaces(tmp_path_factory: pytest.TempPathFactory) -> None:
    if not _has_namespaces(tmp_path_factory.mktemp("probe")):
        pytest.skip("this machine gives users no namespaces")


# Each attempt is made alone: the program goes no further where it is kept away from something.
C = r"""
#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void) {
  char letter = 0;
#ifdef OUTSIDE
  assert(open(OUTSIDE, O_WRONLY | O_CREAT, 0600) >= 0);
#endif
#ifdef PORT
  int server = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = __builtin_bswap16(PORT)};
  address.sin_addr.s_addr = __builtin_bswap32(INADDR_LOOPBACK);
  assert(connect(server, (struct sockaddr *)&address, sizeof address) == 0);
#endif
  int here = open("here.txt", O_RDWR | O_CREAT, 0600);
  int temporary = open("/tmp/teetotal-isolation-test", O_RDWR | O_CREAT | O_EXCL, 0600);
  int input = open("input.txt", O_RDONLY);
  assert(read(input, &letter, 1) == 1 && letter == 'i');
  assert(pwrite(here, "x", 1, 0) == 1 && pread(here, &letter, 1, 0) == 1 && letter == 'x');
  assert(temporary >= 0);
  unlink("/tmp/teetotal-isolation-test");
}
"""


def _checked(*flags: str, trust: bool = False) -> CheckAnswer:
    Path("program.c").write_text(C)
    Path("input.txt").write_text("input")
    answer = check(Source(("program.c",), flags, trust=trust), CheckOptions(models=("sc",)))
    assert isinstance(answer, CheckAnswer)
    assert (answer.verdict, answer.violations) == (Verdict.INCONCLUSIVE, [])  # what it asks the kernel for is named
    assert answer.isolated is None
    return answer


@pytest.mark.parametrize("trust", [False, True])
def test_a_c_program_writes_to_nothing_that_others_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trust: bool
) -> None:
    """/var/tmp is neither /tmp nor the working folder."""
    monkeypatch.chdir(tmp_path)
    answer = _checked(trust=trust)
    assert Path("here.txt").exists() is trust
    assert not any("being isolated" in note for note in answer.notes)
    outside = Path(f"/var/tmp/teetotal-isolation-{os.getpid()}")
    try:
        answer = _checked(f'-DOUTSIDE="{outside}"', trust=trust)
        assert outside.exists() is trust
    finally:
        outside.unlink(missing_ok=True)
    named = (
        "a file that it may not write here, being isolated (the system call openat; --trust lets it) at program.c:11"
    )
    assert any(named in note for note in answer.notes) is not trust


@pytest.mark.parametrize("trust", [False, True])
def test_a_c_program_reaches_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trust: bool) -> None:
    """That it fails to connect is our doing, and no violation."""
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        answer = _checked(f"-DPORT={server.getsockname()[1]}", trust=trust)
        server.settimeout(0)
        reached = True
        try:
            server.accept()[0].close()
        except BlockingIOError:
            reached = False
    assert reached is trust
    named = "a network that it does not have here, being isolated (the system call connect; --trust lets it)"
    assert any(named in note for note in answer.notes) is not trust


WRITING = r"""
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
static int create(const char *path) {
  int file = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
  return file >= 0 && write(file, "new", 3) == 3 && close(file) == 0;
}
static int change(const char *path) {
  char letters[4] = "";
  int file = open(path, O_RDWR);
  return file >= 0 && read(file, letters, 3) == 3 && letters[0] == 'o' && pwrite(file, "x", 1, 0) == 1 &&
         pread(file, letters, 1, 0) == 1 && letters[0] == 'x' && close(file) == 0;
}
int main(void) {
  assert(change("old.txt"));
  assert(rename("old.txt", "renamed.txt") == 0 && access("old.txt", F_OK) != 0 && unlink("renamed.txt") == 0);
  assert(create("new.txt"));
  assert(mkdir("folder", 0700) == 0 && create("folder/new.txt"));
  assert(create("beside/new.txt") && change("beside/old.txt"));
  assert(create("mounted/new.txt") && change("mounted/old.txt"));
  assert(create("/tmp/teetotal-isolation-new"));
  char letter = 0;
  assert(pread(open("link", O_RDONLY), &letter, 1, 0) == 1 && letter == '\n');
}
"""


@pytest.fixture(params=["/tmp", "/var/tmp"])
def folder(request: pytest.FixtureRequest) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=request.param, prefix="isolation-") as name:
        yield Path(name)


@pytest.mark.parametrize("where", ["here", "elsewhere", "nowhere", "here, and temporary files too"])
def test_a_file_system_that_is_mounted_below_takes_nothing_away(folder: Path, where: str) -> None:
    """The kernel makes no overlay of a folder below which something is mounted. Such a folder could only be read, and a
    right program that writes there was told to be wrong."""
    here = folder / "program"
    for name in ("program/beside", "program/mounted", "program/tmp", "other"):
        (folder / name).mkdir(parents=True)
    (here / "program.c").write_text(WRITING)
    (here / "old.txt").write_text("old")
    (here / "beside" / "old.txt").write_text("old")
    (here / "link").symlink_to("program.c")
    mounts = {"here": f"{here}/mounted", "elsewhere": f"{folder}/other"}
    steps = [f"mount=tmpfs:{mounts[name]}" for name in mounts if where.startswith(name)]
    steps += [f"variable=TMPDIR:{here}/tmp"] if "temporary" in where else []
    if why := machines.why_not(steps):
        pytest.skip(f"nothing can be mounted here: {why}")
    check_it = [sys.executable, "-m", "teetotal", "check", "--json", "--model", "sc", "program.c"]
    command = machines.command(steps, "sh", "-c", 'printf old > mounted/old.txt; exec "$@"', "-", *check_it)
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["verdict"]) == (3, "inconclusive"), done.stdout
    assert not answer.get("violations")
    assert not any("being isolated" in note for note in answer["notes"])
    assert answer["models"]["sc"]["safe"] is None
    assert not (here / "new.txt").exists()
    assert (here / "old.txt").read_text() == "old"
    assert not Path("/tmp/teetotal-isolation-new").exists()


PYTHON = """
import os, pathlib, socket, subprocess
from teetotal import *

def attempt(work):
    try:
        work()
    except OSError:
        return 0
    return 1

SEEN = [
    attempt(lambda: socket.create_connection(("127.0.0.1", PORT))),
    attempt(lambda: pathlib.Path(OUTSIDE).write_text("x")),
    attempt(lambda: pathlib.Path("here.txt").write_text("x")),
    subprocess.run(["mount", "-o", "remount,rw", "/"], capture_output=True).returncode == 0,
    attempt(lambda: pathlib.Path("large").write_bytes(b"x" * (65 << 20))),
    "CapEff:\\t0000000000000000\\n" not in pathlib.Path("/proc/self/status").read_text(),
]

def t(a, b, c, d, e, f):
    yield st("x", a)
    yield st("x", b)
    yield st("x", c)
    yield st("x", d)
    yield st("x", e)
    yield st("x", f)

test = program(t(*map(int, SEEN)), x=0)
"""


def test_a_python_file_reaches_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outside = Path(f"/var/tmp/teetotal-isolation-{os.getpid()}")
    with socket.create_server(("127.0.0.1", 0)) as server:
        text = PYTHON.replace("PORT", str(server.getsockname()[1])).replace("OUTSIDE", repr(str(outside)))
        Path("program.py").write_text(text)
        try:
            (program,) = load("program.py")
            written = outside.exists()
        finally:
            outside.unlink(missing_ok=True)
    assert [instruction.value.value for instruction in program.threads[0].code] == [0, 0, 1, 0, 0, 0]
    assert (written, sorted(path.name for path in tmp_path.iterdir())) == (False, ["program.py"])


def test_a_trusted_python_file_is_run_as_its_user(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        "import pathlib\nfrom teetotal import *\npathlib.Path('here.txt').write_text('x')\n"
        "def t():\n    yield st('x', 1)\ntest = program(t(), x=0)\n"
    )
    for options, there in (([], False), (["--trust"], True)):
        command = [sys.executable, "-m", "teetotal", "check", *options, "program.py"]
        assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == 0
        assert (tmp_path / "here.txt").exists() is there


def test_what_comes_back_is_what_the_file_says(tmp_path: Path) -> None:
    """Programs cross as data; nothing of them is lost."""
    examples = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
    assert examples
    for path in examples:
        assert load(path) == load(path, trust=True), path
    odd = tmp_path / os.fsdecode(b"caf\xe9.py")
    odd.write_text("from teetotal import *\ndef t():\n    yield st('x', -2**63)\ntest = program(t(), x=2**63-1)\n")
    assert load(odd) == load(odd, trust=True)
