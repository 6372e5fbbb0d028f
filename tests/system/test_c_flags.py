"""The user's flags for a C program: they reach whom they are for, and none of them keeps anything from being seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from c_programs import COMPILERS
from teetotal.answers.errors import TeetotalError
from teetotal.checking import check
from teetotal.programs.c.build import Source

BUFFERING = """#include <pthread.h>
static int x, y;
static void *f(void *p) { x = 1; return (void *)(long)y; }
static void *g(void *p) { y = 1; return (void *)(long)x; }
int main(void) { pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0); }
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    "flags", ["-fno-sanitize=thread", "-fno-sanitize=all -fomit-frame-pointer", "-masm=intel -fno-plt"]
)
def test_no_flag_switches_it_off(tmp_path: Path, flags: str, compiler: str) -> None:
    (tmp_path / "p.c").write_text(BUFFERING)
    result = check(Source((str(tmp_path / "p.c"),), tuple(flags.split()), compiler))
    assert result.models["tso"].robust is False


def test_flags_for_the_linker_that_many_builds_have(tmp_path: Path) -> None:
    """A map of the user's own, nothing undefined, and flags in a file: -O among them goes as it does elsewhere."""
    (tmp_path / "flags").write_text("-Wl,-z,defs -O2 -fno-pie -DSTATUS=0")
    (tmp_path / "p.c").write_text(
        "#ifdef __OPTIMIZE__\n#error it is\n#endif\nint x; int main(void) { x = 1; return STATUS; }"
    )
    flags = (f"-Wl,-Map={tmp_path}/map", f"@{tmp_path}/flags")
    assert check(Source((str(tmp_path / "p.c"),), flags, compiler="gcc")).verdict.value == "safe"


PASSED_ON = r"""#include <pthread.h>
extern int z; int x;
int main(void) { asm volatile(".if GIVEN\n movl $1, %0\n.endif" : "=m"(x)); return x - 1 + (&z != &x); }
"""


def test_flags_for_assembler_and_linker_reach_them(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(PASSED_ON)
    flags = ("-Wa,--defsym,GIVEN=1", "-Xlinker", "--defsym=z=x")
    result = check(Source((str(tmp_path / "p.c"),), flags, compiler="gcc"))
    assert result.verdict.value == "safe"
    assert not any("exit status" in note for note in result.notes)


@pytest.mark.parametrize(
    "flags",
    ["-flto=auto -O3 -ffat-lto-objects", "-g3", "-fPIE -pie -fsplit-stack -fwhole-program -gsplit-dwarf -save-temps"],
)
def test_flags_that_change_nothing_that_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: str) -> None:
    """Macros in debugging information (-g3) have addresses from 0 on in the linker's map, as code seems to."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "p.c").write_text("#include <pthread.h>\nint x; int main(void) { x = 1; return 0; }")
    result = check(Source((str(tmp_path / "p.c"),), tuple(flags.split()), compiler="gcc"))
    assert result.verdict.value == "safe", result.notes
    assert not list(Path().iterdir())


def test_sources_come_before_flags(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text("int main(void) { return 0; }")
    with pytest.raises(TeetotalError, match="sources come before it"):
        check(Source((str(tmp_path / "p.c"),), (str(tmp_path / "p.c"),)))
