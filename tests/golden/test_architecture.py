"""The rules of the house: who may know whom, and a page that shows every room."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "teetotal"
PAGE = ROOT / "docs" / "architecture.md"

EVERYWHERE = {"answers", "_core"}
RULES: dict[str, set[str]] = {
    "answers": {"answers"},
    "models": {"answers.events"},
    "budget": {"scale"},
    "writing": EVERYWHERE,
    "reading": EVERYWHERE,
    "traces": EVERYWHERE | {"engines.executions.monitors"},
    "scale": EVERYWHERE,
    "programs": EVERYWHERE | {"scale"},
    "engines": EVERYWHERE | {"models", "budget", "scale", "programs", "writing"},
    "histories": EVERYWHERE | {"scale", "budget", "reading"},
    "report": EVERYWHERE | {"reading"},
    "generate": EVERYWHERE | {"programs", "writing", "histories"},
    "fences": EVERYWHERE | {"budget", "engines", "programs", "scale", "writing"},
    "checking": EVERYWHERE | {"budget", "engines", "programs", "scale"},
    "verifying": EVERYWHERE | {"budget", "engines", "programs", "fences"},
    "record": EVERYWHERE | {"budget", "engines", "histories", "programs", "scale", "traces"},
    "pytesting": {"", "answers.errors", "report"},
    "reproduce": EVERYWHERE | {"budget", "engines", "fences", "histories", "programs", "record"},
}
"""What each part may import beside itself; ``cli`` and the façade, which put everything together, are not here."""

FILES = ("programs.files", "programs.litmus", "programs.python", "programs.text_files", "programs.promela.compile")
"""What reads files of programs: engines do not."""


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        yield ".".join(part for part in parts if part != "__init__"), path


KNOWN = {name for name, _ in modules()} | {"_core"}


def imported(path: Path) -> Iterator[str]:
    """The modules of ours that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "teetotal":
            home = (node.module or "").removeprefix("teetotal").removeprefix(".")
            for alias in node.names:
                inner = f"{home}.{alias.name}".lstrip(".")
                yield inner if inner in KNOWN else home
        elif isinstance(node, ast.Import):
            yield from (
                alias.name.removeprefix("teetotal.") for alias in node.names if alias.name.startswith("teetotal.")
            )


def within(name: str, allowed: set[str]) -> bool:
    return any(name == room or name.startswith(f"{room}.") for room in allowed)


@pytest.mark.parametrize("room", RULES)
def test_nobody_knows_more_than_the_rules_say(room: str) -> None:
    strangers = {
        f"{name} imports {other}"
        for name, path in modules()
        if name.split(".")[0] == room
        for other in imported(path)
        if other and not within(other, RULES[room] | {room})
    }
    assert not strangers


@pytest.mark.parametrize("room", RULES)
def test_no_rule_allows_what_nobody_does(room: str) -> None:
    used = {other for name, path in modules() if name.split(".")[0] == room for other in imported(path)}
    allowed = {one for one in RULES[room] - EVERYWHERE - {room} if one}
    assert not {one for one in allowed if not any(within(other, {one}) for other in used)}


def test_every_part_has_a_rule() -> None:
    parts = {name.split(".")[0] for name, _ in modules() if name}
    assert parts - {"cli", "__main__"} == set(RULES)


def test_engines_know_no_file() -> None:
    strangers = {
        f"{name} imports {other}"
        for name, path in modules()
        if name.startswith("engines.")
        for other in imported(path)
        if within(other, set(FILES))
    }
    assert not strangers


def test_front_ends_know_no_engine() -> None:
    for name, path in modules():
        if name.startswith("programs."):
            assert not [other for other in imported(path) if other.startswith("engines")], name


def test_shared_numbers_are_those_of_the_headers() -> None:
    """``python core/numbers.py`` writes them."""
    spec = importlib.util.spec_from_file_location("numbers_of_headers", ROOT / "core" / "numbers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (PACKAGE / "answers" / "numbers.py").read_text() == module.generated()


def test_the_page_has_every_room() -> None:
    """Each package, and each module that stands by itself, is in the table of the architecture page, and nothing else."""
    rows = set(re.findall(r"^\| `([\w/.]+)`", PAGE.read_text(), re.MULTILINE))
    rooms = {f"{name.replace('.', '/')}/" for name, path in modules() if path.name == "__init__.py" and name}
    alone = {path.name for path in PACKAGE.glob("*.py") if path.name not in ("__main__.py",)}
    assert {row for row in rows if not row.startswith(("core", "runtime"))} == rooms | alone
    assert {row for row in rows if row.startswith("runtime/")} == {
        "runtime/", *(f"runtime/{room.name}/" for room in (ROOT / "runtime").iterdir() if room.is_dir())
    }  # fmt: skip


@pytest.mark.parametrize("room", RULES)
def test_the_page_says_who_knows_whom(room: str) -> None:
    row = re.search(rf"^\| `{room}(?:/|\.py)` \|.*\|(.*)\|$", PAGE.read_text(), re.MULTILINE)
    assert row is not None
    allowed = {one for one in RULES[room] if one and one.split(".")[0] not in EVERYWHERE}
    assert set(re.findall(r"`([\w.]+)`", row[1])) == allowed


def test_the_walks_go_through_what_is_there() -> None:
    """Each hop that is named by its module is a function, a class or a method there."""
    files = dict(modules())
    walks = PAGE.read_text().partition("## The walks")[2].partition("\n## ")[0]
    hops = [hop.split(".") for hop in re.findall(r"`([a-z_]+(?:\.\w+)+)`", walks)]
    for parts in hops:
        home = max((size for size in range(1, len(parts) + 1) if ".".join(parts[:size]) in files), default=0)
        assert home, ".".join(parts)
        text = files[".".join(parts[:home])].read_text()
        for name in parts[home:]:
            assert re.search(rf"^\s*(?:def|class) {name}\b", text, re.MULTILINE), ".".join(parts)
    assert len(hops) > 20


def test_the_page_speaks_of_what_is_there() -> None:
    named = re.findall(r"`((?:src/teetotal|core|runtime|tests|docs)/[\w./]+)`", PAGE.read_text())
    assert named
    assert not [name for name in named if not (ROOT / name).exists()]
