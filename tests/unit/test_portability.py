"""The systems of ``make portability``, and the tables that it writes. What it runs there is no part of these tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from portability import record, stages, wheels
from portability.chroots import Chroot
from portability.stages import Result
from portability.systems import BASIC, SYSTEMS

PAGE = """# Platforms

<!-- systems -->
old
<!-- /systems -->

between

<!-- compilers -->
<!-- /compilers -->
"""


def test_systems_have_names_of_their_own_and_something_to_check_programs_with() -> None:
    assert len({system.name for system in SYSTEMS}) == len(SYSTEMS)
    for system in SYSTEMS:
        assert system.gcc
        assert system.clang
        assert set(stages.packages("builds", system)) >= {*BASIC, *system.compilers}


def test_wheels_are_built_where_their_compiler_is_and_for_the_oldest_system() -> None:
    by_name = {system.name: system for system in SYSTEMS}
    assert by_name[wheels.OLDEST].wheel_only
    assert [int(wheels.COMPILER) in by_name[name].gcc for name in wheels.BUILDERS] == [True, True]


def test_the_tables_are_put_where_the_page_wants_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "platforms.md"
    page.write_text(PAGE)
    monkeypatch.setattr(record, "PAGE", page)
    kept = record.Record(tmp_path / "results.json")
    system = SYSTEMS[1]
    kept.add_facts(system.name, {"libc": "glibc 2.36", "cc": "gcc 12.2.0", "clang": "", "python": "Python 3.11.2"})
    kept.add(system.name, "demo", Result(True, "passes"))
    kept.add(system.name, "tests", Result(False, "2 passed, 1 failed", ("tests/unit/test_a.py::test_b",)))
    words = '{"seen": 3, "named": 2, "robust": 4, "safe": 1, "use-after-free": 1, "wrong": 1}'
    kept.add(system.name, "battery", Result(False, f"gcc-12 {words}", ("gcc-12: a/b-store-gcc robust",)))
    record.Record(tmp_path / "results.json").promote(SYSTEMS)
    text = page.read_text()
    assert "old" not in text
    assert "between" in text
    (row,) = [line for line in text.splitlines() if line.startswith(f"| {system.title} | glibc")]
    assert "glibc 2.36, gcc 12.2.0, Python 3.11.2 | passes | – | 2 passed, 1 failed | – |" in row
    assert f"- {system.title}, tests: `tests/unit/test_a.py::test_b`" in text
    assert f"| gcc 12 | {system.title} | 4 | 2 | 5 | 1 |" in text
    assert "`gcc-12: a/b-store-gcc robust`" in text


def test_a_copy_of_a_tree_leaves_out_what_git_does_not_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of another tree than the checkout, all of it is taken."""
    tree = tmp_path / "tree"
    (tree / "src").mkdir(parents=True)
    (tree / "src" / "file.py").write_text("x\n")
    chroot = Chroot(SYSTEMS[0], tmp_path)
    monkeypatch.setattr(chroot, "run", lambda *arguments, **more: None)
    stages.copy_tree(chroot, tree)
    assert (chroot.root / stages.TREE.lstrip("/") / "src" / "file.py").read_text() == "x\n"
