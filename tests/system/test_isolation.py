"""Programs that are checked reach no network and write to nothing that others see, unless they are trusted."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from teetotal import _core
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


# Each says by the assertion that fails how far it came. /var/tmp is neither /tmp nor the working folder.
C = r"""
#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void) {
  char letter = 0;
  int outside = open(OUTSIDE, O_WRONLY | O_CREAT, 0600), here = open("here.txt", O_RDWR | O_CREAT, 0600);
  int temporary = open("/tmp/teetotal-isolation-test", O_RDWR | O_CREAT | O_EXCL, 0600);
  int input = open("input.txt", O_RDONLY);
  int server = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = __builtin_bswap16(PORT)};
  address.sin_addr.s_addr = __builtin_bswap32(INADDR_LOOPBACK);
  int connected = connect(server, (struct sockaddr *)&address, sizeof address);
  assert(read(input, &letter, 1) == 1 && letter == 'i');
  assert(pwrite(here, "x", 1, 0) == 1 && pread(here, &letter, 1, 0) == 1 && letter == 'x');
  assert(temporary >= 0);
  unlink("/tmp/teetotal-isolation-test");
#ifdef TRUSTED
  assert(outside >= 0 && connected == 0);
#else
  assert(outside < 0 && connected != 0);
#endif
}
"""


@pytest.mark.parametrize("trust", [False, True])
def test_a_c_program_reaches_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trust: bool) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.c").write_text(C)
    Path("input.txt").write_text("input")
    outside = Path(f"/var/tmp/teetotal-isolation-{os.getpid()}")
    with socket.create_server(("127.0.0.1", 0)) as server:
        flags = (f"-DPORT={server.getsockname()[1]}", f'-DOUTSIDE="{outside}"', *(("-DTRUSTED",) if trust else ()))
        source = Source(("program.c",), flags, trust=trust)
        try:
            answer = check(source, CheckOptions(models=("sc",)))
        finally:
            written = outside.exists()
            outside.unlink(missing_ok=True)
    assert (answer.verdict, answer.violations) == (Verdict.INCONCLUSIVE, [])  # what it asks the kernel for is named
    assert (Path("here.txt").exists(), written) == (trust, trust)
    assert answer.isolated is None


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
