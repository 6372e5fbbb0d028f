"""The commands that show a violation again: they work as they are printed, whatever the files are called, for every front
end; and tokens that are none, or another program's, are refused."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from symbolic_programs import PROGRAMS, random_program
from teetotal import cli
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import ModelName, Semantics
from teetotal.answers.schedules import TokenError, from_token, replay_command, to_token, with_choices
from teetotal.answers.verdict import Verdict
from teetotal.engines.symbolic.schedules import replay_schedule
from teetotal.engines.symbolic.verify import robust, verify
from teetotal.programs.promela import compile_text

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ["plain", "two words", "it's", "$(touch caught)", "a;b", "-dash", "new\nline", '"']


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def teetotal(*arguments: str) -> Result:
    return CliRunner().invoke(cli.teetotal, arguments, standalone_mode=False)


def pasted(command: str) -> Result:
    """What comes of a command that somebody pastes into a shell."""
    shell = f"teetotal() {{ for word; do printf '%s\\0' \"$word\"; done; }}\n{command}"
    done = subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    return teetotal(*done.stdout.split("\0")[:-1])


def commands(answer: Any) -> list[str]:
    """Every ``replay`` in an answer."""
    if isinstance(answer, dict):
        own = [answer["replay"]] if isinstance(answer.get("replay"), str) else []
        return own + [found for value in answer.values() for found in commands(value)]
    return [found for value in answer for found in commands(value)] if isinstance(answer, list) else []


SB = """C SB
{}
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  int r0 = atomic_load_explicit(y, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(y, 1, memory_order_relaxed);
  int r0 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (0:r0=0 /\\ 1:r0=0)
"""
SOURCES = {
    ".litmus": SB,
    ".py": (EXAMPLES / "message_passing.py").read_text(),
    ".pml": (PROGRAMS / "peterson.pml").read_text(),
}


@pytest.mark.parametrize("suffix", SOURCES)
@pytest.mark.parametrize("name", NAMES)
def test_the_printed_command_shows_it_again(suffix: str, name: str) -> None:
    file = f"{name}{suffix}"
    Path(file).write_text(SOURCES[suffix])
    path = f"./{file}" if file.startswith("-") else file
    answers = [json.loads(teetotal("check", "--json", "--workers", "1", path).stdout.splitlines()[0])]
    if suffix == ".pml":
        answers.append(json.loads(teetotal("verify", "--json", "--", file).stdout))
    found = list(dict.fromkeys(commands(answers)))
    assert len(found) >= 2
    for command in found:
        again = pasted(command)
        assert again.return_value == 1, command
        assert "No sequentially consistent execution does that:" in again.stdout
    assert not Path("caught").exists()


@pytest.mark.parametrize("suffix", [".litmus", ".pml"])
def test_fence_prints_commands_of_the_same_kind(suffix: str) -> None:
    file = f"it's $1{suffix}"
    Path(file).write_text(SOURCES[suffix])
    found = commands(json.loads(teetotal("fence", "--json", file).stdout)["violations"])
    assert found
    for command in found:
        assert pasted(command).return_value == 1


def test_a_fault_under_sc_is_shown_with_the_fences_that_are_there() -> None:
    Path("p.pml").write_text("byte x, y; active proctype P() { byte a; x = 1; mfence; a = y; assert(a == 1) }")
    for arguments in (("fence", "--goal", "safe"), ("verify", "--fence")):
        (command, *_) = commands(json.loads(teetotal(*arguments, "--json", "p.pml").stdout)["violations"])
        assert command == "teetotal replay 1s:0x3 p.pml"
        assert "Not safe: P[0]: assertion failed at p.pml:1." in pasted(command).stdout


def test_a_c_program_with_awkward_names_and_arguments() -> None:
    file = "a b's $x.c"
    shutil.copy(EXAMPLES / "dekker.c", file)
    given = ("--args", "-v", "--args", "$(x)", "--", "-DN=1 2")
    (command, *_) = commands(json.loads(teetotal("check", "--model", "tso", "--json", file, *given).stdout))
    assert shlex.split(command)[3:] == [file, "--args=-v", "--args", "$(x)", "--", "-DN=1 2"]
    assert pasted(command).return_value == 1


def test_a_command_with_a_dash_in_front() -> None:
    assert replay_command("1t:0", ["-x.c", "y.c"], ["--cc", "my cc"], ["-O2"]) == (
        "teetotal replay 1t:0 ./-x.c y.c --cc 'my cc' -- -O2"
    )


# ---- Promela


def test_the_story_of_a_promela_run() -> None:
    Path("p.pml").write_text(
        "byte x, y;\n"
        "active proctype P() { byte a;\n"
        "  if :: x = 1 :: y = 1 fi;\n"
        "  mfence;\n"
        "  atomic { a = x; y = 2 };\n"
        "  assert(a == 1) }\n"
    )
    done = teetotal("replay", "1t:0a1.0x3", "p.pml")
    assert done.stdout.splitlines() == [
        "p.pml, under TSO",
        "     what happens                      where   buffers after it",
        "  1  T0 P[0]: chooses                  line 3",
        "  2  T0 P[0]: st y = 1                 line 3  T0[y=1]",
        "  3  T0 P[0]: st y = 1 reaches memory",
        "  4  T0 P[0]: mfence                   line 4  all empty",
        "  5  T0 P[0]: atomic y = 2             line 5",
        "  Not safe: P[0]: assertion failed at p.pml:6.",
        "  Whether it is sequentially consistent is not judged: it has atomic blocks.",
    ]
    assert done.return_value == 1
    assert teetotal("replay", "1t:0.0", "p.pml").return_value == 0
    told = json.loads(teetotal("replay", "--json", "1t:0.0", "p.pml").stdout)
    assert (told["kind"], told["model"], [step["action"] for step in told["steps"]]) == (
        "replay",
        "tso",
        ["step", "event"],
    )


@pytest.mark.parametrize("seed", range(30))
def test_tokens_of_promela_violations_give_the_same_run(seed: int) -> None:
    program = compile_text(random_program(seed, atomics=seed % 3 != 0))
    models: list[ModelName] = ["tso", "pso"]
    for model in models:
        for semantics in (Semantics(), Semantics(rmw="address", mutex="rmw")):
            found = [verify(program, model, semantics=semantics)]
            if seed % 3 == 0:
                found.append(robust(program, model, semantics=semantics))
            for outcome in found:
                if outcome.verdict is not Verdict.VIOLATION:
                    continue
                assert outcome.replay is not None
                token = to_token(model, outcome.schedule, program.addresses, semantics)
                again = replay_schedule(program, *with_choices(token, program.addresses))
                assert [line.text for line in again.lines] == [line.text for line in outcome.replay.lines]
                assert again.bad() == outcome.replay.bad()


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("", "not a schedule token"),
        ("1t", "not a schedule token"),
        ("2t:0", "version 2"),
        ("1q:0", "not a schedule token"),
        ("1t:zero", "not a step"),
        ("1t:0a", "not a step"),
        ("1t:0x0", "not a step"),
        ("1t:0ca1", "not a step"),
        ("1t:-1", "not a step"),
        ("1t:٣", "not a step"),
        ("1t:" + "9" * 5000, "not a step"),
        ("1t:0x999999999", "more than"),
        ("1p:0c99", "commits location 99"),
        ("1t:9", "there is no process 9"),
        ("1t:0a7", "cannot go on there in way 7"),
        ("1t:0c", "no store to commit"),
        ("1p:0.0c", "no store to commit"),
        ("1t:0.0c1", "no store to turn to commit"),
        ("1t:0x99", "cannot go on"),
    ],
)
def test_a_token_that_is_none(token: str, words: str) -> None:
    program = compile_text("byte x, turn; active proctype P() { x = 1; turn = 1 }")
    with pytest.raises(TokenError, match=words):
        replay_schedule(program, *with_choices(token, program.addresses))


def test_an_atomic_block_sees_the_stores_before_it() -> None:
    """Also where a token leaves it to the block to commit them."""
    program = compile_text("byte x, y; active proctype P() { x = 1; atomic { y = x + 1; skip } }")
    for token in ("1t:0x2", "1t:0.0c.0"):
        values = replay_schedule(program, *with_choices(token, program.addresses)).values()
        assert (values["x"], values["y"]) == (1, 2)


def test_alternatives_belong_to_promela() -> None:
    with pytest.raises(TeetotalError, match="only processes of Promela"):
        from_token("1t:0a1", ["x"])
    Path("sb.litmus").write_text(SB)
    assert isinstance(teetotal("replay", "1t:0a1", "sb.litmus").exception, TokenError)
