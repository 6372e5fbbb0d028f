"""Loading a ``.py`` file: its programs in order, nothing left behind, and its mistakes told with their line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from teetotal import load
from teetotal.answers.errors import ParseError, ProgramError

THREAD = 'from teetotal import *\ndef t(n=0):\n    yield st("x", n)\n'


def write(folder: Path, text: str | bytes, name: str = "test.py") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_programs_in_order_of_definition_with_their_names(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        THREAD
        + """
second = program(t(2), x=0)
first = program(t(1), x=0)
named = program(t(), x=0, name="its own")
again = first
many = [program(t(n), x=0) for n in range(2)]
""",
    )
    assert [program.name for program in load(path)] == ["second", "first", "its own", "many[0]", "many[1]"]
    assert {program.source for program in load(str(path))} == {str(path)}


SUM = 'from teetotal import *\ndef t():\n    a = yield ld("x")\n    yield st("x", {})\ntest = program(t(), x=0)\n'


@pytest.mark.parametrize("trust", [False, True])
def test_long_sums(tmp_path: Path, trust: bool) -> None:
    """They are told from one process to the other as they are, or refused; the file is not said to have ended Python."""
    (program,) = load(write(tmp_path, SUM.format(" + ".join(["a"] * 300))), trust=trust)
    assert len(program.threads) == 1
    if not trust:
        with pytest.raises((ParseError, ProgramError), match=r"nested too deeply|RecursionError"):
            load(write(tmp_path, SUM.format(" + ".join(["a"] * 900))))


def test_what_is_no_text_comes_back_as_it_is(tmp_path: Path) -> None:
    path = write(tmp_path, THREAD + 'test = program(t(), x=0, name="\\udcff \\u00ff \\n")\n')
    assert [program.name for program in load(path)] == ["\udcff \xff \n"]


@pytest.mark.parametrize("trust", [False, True])
def test_nothing_is_left_behind(tmp_path: Path, trust: bool) -> None:
    write(tmp_path, "from teetotal import st\nVALUE = 1\ndef helper(n):\n    yield st('x', n)\n", "neighbour_module.py")
    other = tmp_path / "other"
    other.mkdir()
    write(other, "VALUE = 2\n", "neighbour_module.py")
    body = "from neighbour_module import VALUE\ntest = program(t(VALUE), x=0, name=__name__)\n"
    body += "import sys\nsys.path.append('q')\n"
    modules, search, arguments = set(sys.modules), list(sys.path), list(sys.argv)
    (one,) = load(write(tmp_path, THREAD + body), trust=trust)
    (two,) = load(write(other, THREAD + body), trust=trust)
    assert (sys.path, sys.argv) == (search, arguments)
    files = [getattr(sys.modules[name], "__file__", None) for name in set(sys.modules) - modules]
    assert not [file for file in files if file is None or file.startswith(str(tmp_path))]
    assert [one.threads[0].code[0].value.value, two.threads[0].code[0].value.value] == [1, 2]
    assert one.name != two.name
    assert "__main__" not in (one.name, two.name)


def test_a_helper_from_a_neighbour_keeps_its_own_lines(tmp_path: Path) -> None:
    neighbour = write(
        tmp_path, "from teetotal import st\n\ndef helper(n):\n    yield st('x', n)\n", "neighbour_lines.py"
    )
    text = "from teetotal import *\nfrom neighbour_lines import helper\ndef t():\n    yield from helper(3)\n"
    (program,) = load(write(tmp_path, text + "test = program(t(), x=0)\n"))
    assert str(program.threads[0].code[0].location) == f"{neighbour}:4"


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    for value in (1, 2):
        (program,) = load(write(tmp_path, f"{THREAD}test = program(t({value}), x=0)\n" + "#" * value))
        assert program.threads[0].code[0].value.value == value


def test_what_the_module_prints_does_not_reach_standard_output(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    load(write(tmp_path, THREAD + "print('hello')\ntest = program(t(), x=0)\n"))
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "hello\n")


def test_dataclasses_and_main_guards_work(tmp_path: Path) -> None:
    text = """
from __future__ import annotations
import dataclasses
from teetotal import *
@dataclasses.dataclass
class Node:
    place: str
node = Node("x")
def t():
    yield st(node.place, 1)
test = program(t(), x=0)
if __name__ == "__main__":
    raise SystemExit("not as a script")
"""
    assert len(load(write(tmp_path, text))) == 1


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "no program in this file"),
        (THREAD, 1, "no program in this file: bind one to a name"),
        ("x = 1\ndef f(:\n", 2, "not valid Python: "),
        ("x = 1\ny = 1 +\n", 2, "not valid Python: invalid syntax"),
        ("x = 1\neval('1 +')\n", 2, "not valid Python: invalid syntax"),
        ("x = 1\n\nx.y.z\n", 3, "AttributeError: 'int' object has no attribute 'y'"),
        ("def f():\n    return 1 // 0\nf()\n", 2, "ZeroDivisionError"),
        ("import json\njson.loads('{')\n", 2, "JSONDecodeError"),
        ("import sys\nsys.exit(3)\n", 2, "ends Python by itself, with status 3"),
        ("import no_such_module\n", 1, "No module named 'no_such_module'"),
        ("class Odd(BaseException): pass\nraise Odd('odd')\n", 2, "Odd: odd"),
        (b"\xff\xfe\x00\x01 binary", 1, "not a Python file: its bytes are not text"),
        (b"# coding: nonsense\n", 1, "not a Python file: its bytes are not text"),
        (b"x = 1\x00\n", 1, "null bytes"),
        ("(" * 2000, 1, "not valid Python"),
    ],
)
def test_mistakes_are_told_with_their_line(tmp_path: Path, text: str | bytes, line: int, message: str) -> None:
    path = write(tmp_path, text)
    modules = set(sys.modules)
    with pytest.raises(ParseError) as caught:
        load(path)
    assert message in caught.value.message
    assert str(caught.value.location) == f"{path}:{line}"
    assert {name for name in set(sys.modules) - modules if "teetotal_program" in name} == set()


def test_a_refused_program_is_told_with_the_line_of_the_thread(tmp_path: Path) -> None:
    path = write(tmp_path, THREAD + "def bad():\n    yield st('q', 1)\ntest = program(t(), bad(), x=0)\n")
    with pytest.raises(ProgramError, match=r"test.py:5: location 'q' is not declared"):
        load(path)


def test_a_mistake_in_a_neighbour_is_told_where_it_is_used(tmp_path: Path) -> None:
    write(tmp_path, "1 // 0\n", "neighbour_broken.py")
    path = write(tmp_path, "\nimport neighbour_broken\n")
    with pytest.raises(ParseError, match="ZeroDivisionError") as caught:
        load(path)
    assert str(caught.value.location) == f"{path}:2"


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="cannot be read: No such file"):
        load(tmp_path / "missing.py")
    with pytest.raises(ParseError, match="cannot be read: Is a directory"):
        load(tmp_path)


def test_an_interrupt_stays_an_interrupt(tmp_path: Path) -> None:
    """In this process nobody can tell who raised it; in one of its own the file alone can have."""
    path = write(tmp_path, "raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load(path, trust=True)
    with pytest.raises(ParseError, match="raises KeyboardInterrupt by itself"):
        load(path)
