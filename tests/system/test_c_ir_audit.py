"""What the optimiser leaves of accesses, once all that get hooks are opaque, is a function's own: ir/audit.py."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from teetotal.programs.c.ir.audit import left
from teetotal.programs.c.ir.building import FIRST

pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="programs are seen through LLVM's IR with clang")

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((ROOT / "benchmarks" / "programs").glob("*.c"))
FOLDER = ROOT.parent / "shared" / "data" / "seeing-traps"
TRAPS = sorted(file for file in FOLDER.glob("*.c*") if file.name != "masked.c")
"""Programs that are no part of the project: where they are not there, nothing is tested of them. Masked accesses have no
hooks and are named."""
NEWER = ("cpp20.cpp", "coroutine.cpp", "coroutine_exception.cpp")


def audited(file: Path, folder: Path) -> list[str]:
    clang = "clang++" if file.suffix == ".cpp" else "clang"
    flags = ["-std=c++20"] if file.name in NEWER else []
    text, lowered = folder / "a.ll", folder / "b.ll"
    done = subprocess.run(
        [clang, *FIRST, *flags, "-w", "-mavx", "-S", "-emit-llvm", str(file), "-o", str(text)], check=False
    )
    if done.returncode != 0:
        pytest.skip("this clang does not compile it")
    if file.suffix == ".cpp":  # coroutines are lowered first; bodies that are there to be inlined alone are not built
        command = [clang, "-O0", "-Wno-override-module", "-S", "-emit-llvm", str(text), "-o", str(lowered)]
        subprocess.run(command, check=True)
        text = lowered
    return left(text.read_text(), [clang], folder / "audit")


@pytest.mark.parametrize("file", [*PROGRAMS, *TRAPS], ids=lambda file: file.name)
def test_nothing_is_left_that_others_may_see(file: Path, tmp_path: Path) -> None:
    assert audited(file, tmp_path) == []


def test_what_has_no_hook_is_left(tmp_path: Path) -> None:
    """The audit itself: a module in which one access was forgotten."""
    text = "@x = global i32 0\ndefine i32 @f() {\n  %a = load volatile i32, ptr @x\n  ret i32 %a\n}\n"
    typed = text.replace("ptr @x", "i32* @x")
    said = subprocess.run(["clang", "--version"], capture_output=True, text=True, check=True).stdout
    module = typed if "version 14" in said else text
    from teetotal.programs.c.ir import audit
    from teetotal.programs.c.ir.seeing import Seeing

    assert left(module, ["clang"], tmp_path / "a") == []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Seeing, "hooked", lambda *_: None)
        (found,) = audit.left(module, ["clang"], tmp_path / "b")
    assert found.startswith("f: ")
