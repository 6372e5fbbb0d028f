"""What the command line can, Python can: every question through ``import teetotal``, with options as keywords."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import jsonschema
import pytest

import teetotal
from teetotal.answers.answer import Answer
from teetotal.answers.errors import ParseError, TeetotalError
from teetotal.answers.events import Event, Kind
from teetotal.answers.history import HISTORY_KINDS
from teetotal.histories.readers import read_text
from teetotal.report import text, to_json
from teetotal.traces.trace import Trace

ROOT = Path(__file__).parents[2]
DEKKER = ROOT / "examples" / "dekker.c"
PETERSON = ROOT / "benchmarks" / "promela" / "peterson.pml"
SB = "T0: st x = 1\nT0: ld y -> 0\nT1: st y = 1\nT1: ld x -> 0\n"
BUFFERING = [Event(0, 0, Kind.ST, "x"), Event(0, 1, Kind.LD, "y"), Event(1, 0, Kind.ST, "y"), Event(1, 1, Kind.LD, "x")]


def test_check_takes_paths_and_programs_and_options_as_keywords() -> None:
    answer = teetotal.check(DEKKER, models="tso", seconds=60)
    assert answer.verdict is teetotal.Verdict.VIOLATION
    assert list(answer.models) == ["sc", "tso"]
    same = teetotal.check([str(DEKKER)], teetotal.CheckOptions(models=("tso",)))
    assert (same.verdict, same.executions) == (answer.verdict, answer.executions)
    (source,) = teetotal.read(DEKKER, flags=["-DNOTHING"])
    assert teetotal.check(source, models="tso").executions == answer.executions
    unfenced, fenced = teetotal.read(ROOT / "examples" / "store_buffering.py")
    assert teetotal.check(fenced, explore="interleavings").verdict is teetotal.Verdict.SAFE
    assert teetotal.check(unfenced).verdict is teetotal.Verdict.VIOLATION


def test_semantics_are_keywords_too() -> None:
    answer = teetotal.check(PETERSON, models="pso", rmw="address", goal="safe")
    assert answer.goal == "safe"
    with pytest.raises(TypeError, match="no option colour: there are semantics, seconds, models"):
        teetotal.check(PETERSON, colour="red")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"models": "arm"}, "models: 'arm' is none of sc, tso, pso"),
        ({"models": "tso,x86"}, "models: 'x86' is none of"),
        ({"goal": "fast"}, "goal: 'fast' is none of robust, safe"),
        ({"explore": "everything"}, "no way to explore"),
        ({"monitors": "nobody"}, "nobody"),
    ],
)
def test_what_there_is_no_such_thing_of_is_no_verdict(settings: dict[str, str], why: str) -> None:
    with pytest.raises(TeetotalError, match=why):
        teetotal.check(DEKKER, **settings)


@pytest.mark.parametrize("nothing", [(), []])
def test_a_question_about_no_model_is_no_verdict(nothing: Sequence[str]) -> None:
    """Nothing fails under none: that is not "safe", and no list of confirmations that are all accepted."""
    for ask in (teetotal.check, teetotal.fence, teetotal.verify, teetotal.confirm):
        with pytest.raises(TeetotalError, match=r"models: \(\) will not do"):
            ask(PETERSON, models=nothing)
    with pytest.raises(TeetotalError, match=r"monitors: \(\) will not do"):
        teetotal.monitor([], monitors=nothing)


@pytest.mark.parametrize("several", [(), ("robust",), ["safe", "robust"]])
def test_where_one_word_is_needed_several_will_not_do(several: Sequence[str]) -> None:
    """They were taken for a word that is none of those there are: for robust where safe was asked for, for ``address``."""
    for ask in (teetotal.check, teetotal.fence, teetotal.verify):
        with pytest.raises(TeetotalError, match=r"goal: .* will not do"):
            ask(PETERSON, goal=several)
    (history,) = read_text(SB)
    for name, words in {"model": ("sc",), "rmw": ("all",), "engine": ("auto",)}.items():
        with pytest.raises(TeetotalError, match=f"{name}: .* will not do"):
            teetotal.check_history(history, **{name: words})  # type: ignore[arg-type]


def test_other_questions_refuse_it_too() -> None:
    (history,) = read_text(SB)
    with pytest.raises(TeetotalError, match="model: 'arm' is none of sc, tso, pso, wsc, ccm"):
        teetotal.check_history(history, "arm")  # type: ignore[arg-type]
    with pytest.raises(TeetotalError, match="goal: 'fast'"):
        teetotal.verify(PETERSON, goal="fast")
    with pytest.raises(TeetotalError, match="style: 'basic' is none of c11, cpp11, linux, x86"):
        teetotal.fence(DEKKER, style="basic")
    with pytest.raises(TeetotalError, match="rmw: 'some' is none of all, address"):
        teetotal.check(DEKKER, rmw="some")
    for ask in (teetotal.check, teetotal.fence):
        with pytest.raises(TeetotalError, match="no file is named"):
            ask([])


def test_one_of_several_programs_is_named() -> None:
    module = ROOT / "examples" / "store_buffering.py"
    with pytest.raises(TeetotalError, match="several programs; --program takes"):
        teetotal.check(module)
    assert teetotal.check(module, program="fenced").verdict is teetotal.Verdict.SAFE
    with pytest.raises(TeetotalError, match="no program nobody"):
        teetotal.check(module, program="nobody")


def test_bad_input_is_an_error_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("")
    with pytest.raises(ParseError, match="no front end reads"):
        teetotal.check(tmp_path / "x.txt")
    with pytest.raises(TeetotalError):
        teetotal.check(tmp_path / "missing.litmus")


def test_fence_and_verify_and_replay() -> None:
    answer, patched = teetotal.fence(DEKKER, models="tso", costs="mfence=7")
    assert [(fence.cost, fence.passes) for fence in answer.fences] == [(14, 2)]
    assert "atomic_thread_fence" in patched
    assert "atomic_thread_fence" not in DEKKER.read_text()
    proved = teetotal.verify(PETERSON, models="sc")
    assert proved.verdict is teetotal.Verdict.SAFE
    broken = teetotal.verify(PETERSON, models="tso")
    (violation,) = broken.violations
    again = teetotal.replay(violation.replay.split()[2], PETERSON)
    assert again.execution.message == violation.message


def test_verify_inserts_fences(tmp_path: Path) -> None:
    copy = tmp_path / "peterson.pml"
    copy.write_text(PETERSON.read_text())
    answer = teetotal.verify(copy, fence=True, models="tso", every=True)
    assert answer.verdict is teetotal.Verdict.SAFE
    assert answer.fences
    assert answer.fences in (answer.sets or [])
    assert copy.read_text() == PETERSON.read_text()
    written = teetotal.verify(copy, fence=True, models="tso", write=True, costs="mfence=3")
    assert written.backup is not None
    assert Path(written.backup).read_text() == PETERSON.read_text()
    assert teetotal.verify(copy, models="tso").verdict is teetotal.Verdict.SAFE
    with pytest.raises(TypeError, match="belong to fence=True"):
        teetotal.verify(copy, every=True)


def test_a_certificate_is_written_where_it_should_be(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    answer = teetotal.verify(PETERSON, models="sc", certificate=path)
    assert answer.witness == {"sc": str(path)}
    assert path.exists()
    (confirmed,) = teetotal.confirm(PETERSON, path, models="sc")
    assert confirmed.accepted
    assert str(confirmed) == f"{PETERSON}: safe under SC"
    (missing, other) = teetotal.confirm(PETERSON, path, models="tso")
    assert not missing.accepted
    assert not other.accepted
    assert str(missing).endswith("under TSO\nno certificate for TSO, which --model asks for")


def test_a_repair_is_written_where_it_is_proved(tmp_path: Path) -> None:
    module = tmp_path / "programs.py"
    before = (ROOT / "examples" / "store_buffering.py").read_text()
    module.write_text(before)
    repair = teetotal.fence(module, program="store_buffering", models="tso")
    assert module.read_text() == before
    answer = repair.write()
    assert module.read_text() == repair.text != before
    assert Path(answer.backups[str(module)]).read_text() == before
    again = teetotal.fence(module, program="store_buffering", models="tso")
    assert again.write() == again.answer, "nothing is to be added, and nothing written"


def test_what_json_says_is_read_again(tmp_path: Path) -> None:
    answer = teetotal.check(DEKKER, models="tso")
    results = tmp_path / "results.json"
    results.write_text(to_json(answer) + "\n")
    read = teetotal.report.read(results)
    assert [one["verdict"] for one in read] == ["violation"]
    for format in ("html", "sarif", "junit", "github"):
        assert teetotal.report.as_format(read, format) == teetotal.report.as_format(answer, format)
    assert jsonschema.Draft202012Validator(teetotal.report.json_schema()).is_valid(read[0])
    results.write_text("{}")
    with pytest.raises(TeetotalError, match="not an answer of teetotal"):
        teetotal.report.read(results)


def test_flags_for_other_builds() -> None:
    assert "-fsanitize=thread" in teetotal.cflags()
    assert any(flag.startswith("-L") for flag in teetotal.cflags(record=True))


def test_histories_of_every_kind() -> None:
    made = {kind: teetotal.generate.history(kind, seed=3) for kind in HISTORY_KINDS}
    for kind in ("sc", "formula"):
        assert repr(made[kind]) == repr(teetotal.generate.history(kind, seed=3))
    assert teetotal.check_history(made["sc"]).verdict is teetotal.Verdict.SAFE
    assert teetotal.check_history(made["tso"]).verdict is teetotal.Verdict.VIOLATION
    assert teetotal.check_history(made["fig1c"]).verdict is teetotal.Verdict.VIOLATION
    with pytest.raises(TypeError, match="kind: 'arm' is none of sc, tso"):
        teetotal.generate.history("arm")


def test_witnesses_of_an_earlier_run(tmp_path: Path) -> None:
    path, results = tmp_path / "sb.txt", tmp_path / "results.json"
    path.write_text(SB)
    answer = teetotal.check_history(path, "tso", witness=True)
    results.write_text(to_json(answer))
    (right,) = teetotal.check_witnesses(results, path)
    assert not right.wrong
    assert str(right) == f"right    tso  {path}"
    results.write_text(to_json(answer).replace('"model":"tso"', '"model":"sc"'))
    (wrong,) = teetotal.check_witnesses(results, path)
    assert wrong.wrong
    with pytest.raises(TeetotalError, match="no witness for a history of"):
        teetotal.check_witnesses(results, tmp_path / "other.txt")


@pytest.mark.parametrize("made", [list, Trace.from_events])  # a trace that pytest keeps outlives the core: a leak
def test_monitor_takes_what_is_in_memory(made: Callable[[list[Event]], Trace | list[Event]]) -> None:
    answer = teetotal.monitor(made(BUFFERING), monitors="exact-tso")
    assert answer.models["tso"].robust is False
    assert answer.violations[0].cycle


def test_histories_from_files_and_from_memory(tmp_path: Path) -> None:
    path = tmp_path / "sb.txt"
    path.write_text(SB)
    assert teetotal.check_history(path).verdict is teetotal.Verdict.VIOLATION
    (history,) = read_text(SB)
    answer = teetotal.check_history(history, "tso", check_witness=True)
    assert answer.verdict is teetotal.Verdict.SAFE
    assert answer.witness_checked
    path.write_text(f"history a\n{SB}history b\n{SB}")
    with pytest.raises(TeetotalError, match="2 histories; read_histories gives them one by one"):
        teetotal.check_history(path)
    assert len(teetotal.read_histories(path)) == 2


def answers() -> list[Answer]:
    (history,) = read_text(SB)
    return [
        teetotal.check(DEKKER, models="tso"),
        teetotal.fence(DEKKER, models="tso").answer,
        teetotal.verify(PETERSON, models="tso"),
        teetotal.monitor(BUFFERING),
        teetotal.check_history(history),
    ]


def test_every_answer_shows_itself_with_the_verdict_first() -> None:
    for answer in answers():
        first = str(answer).splitlines()[0]
        assert first.startswith(f"{answer.input}: {answer.verdict}")
        assert repr(answer) == f"<{type(answer).__name__} {first}>"
        assert answer.version == teetotal.__version__
        assert f'"version":"{teetotal.__version__}"' in to_json(answer)
        assert str(answer.verdict) in text(answer)


def test_what_was_found_follows_the_verdict() -> None:
    (history,) = read_text(SB)
    assert str(teetotal.check_history(history, "tso")) == "<memory>: safe under TSO"
    fence = str(teetotal.fence(DEKKER, models="tso").answer).splitlines()[1]
    assert fence == f"mfence after {DEKKER}:14 (flag[me] = 1;)"
    assert repr(teetotal.read(PETERSON)) == "[<PromelaProgram peterson: 2 processes>]"
    violation = teetotal.check(ROOT / "tests" / "corpus" / "SB.litmus", models="tso").violations[0]
    again = teetotal.replay(violation.replay.split()[2], ROOT / "tests" / "corpus" / "SB.litmus")
    assert str(again).splitlines()[1:4] == ["T0: st x = 1", "T0: ld y → 0", "T1: st y = 1"]


def test_a_file_that_was_changed_is_quoted_as_it_is_now(tmp_path: Path) -> None:
    path = tmp_path / "SB.litmus"
    before = (ROOT / "tests" / "corpus" / "SB.litmus").read_text()
    for comment in ("", "(* once more *)\n"):
        path.write_text(before.replace(" P0  ", f"{comment} P0  "))
        told = text(teetotal.check(path, models="tso")).splitlines()
        (line,) = [line for line in told if line.endswith("│  movq $1,(x)   | movq $1,(y)   ;")]
        assert int(line.split()[0]) == 10 + bool(comment)


VERBS = [
    ("check", "x.pml"), ("verify", "x.pml"), ("fence", "x.pml"), ("replay", "x.pml"),
    ("history", "x.txt"), ("monitor", "x.txt"),
]  # fmt: skip


@pytest.mark.parametrize(("verb", "file"), VERBS)
def test_bad_input_has_an_object_of_its_own(verb: str, file: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text("junk")
    command = [sys.executable, "-m", "teetotal", verb, "--json", *(["1t:0"] if verb == "replay" else []), file]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    answer = json.loads(done.stdout)
    assert (answer["input"], answer["command"], answer["verdict"], answer["complete"]) == (
        file,
        verb,
        "inconclusive",
        False,
    )
    assert "seconds" in answer
    assert answer["error"] in done.stderr


def test_importing_it_loads_little() -> None:
    code = (
        "import sys, teetotal; print([m for m in ('numpy', 'click', 'msgspec', 'teetotal._core') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert {"check", "verify", "__version__", "generate"} <= set(dir(teetotal))


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda: teetotal.check(5), "a file or a program is needed, not 5"),  # type: ignore[arg-type]
        (lambda: teetotal.check(b"a.c"), "a file or a program is needed, not b'a.c'"),  # type: ignore[arg-type]
        (lambda: teetotal.check([3]), "a file is needed, not 3"),  # type: ignore[list-item]
        (lambda: teetotal.check("a.c", teetotal.FenceOptions()), "CheckOptions is needed, not FenceOptions"),  # type: ignore[arg-type]
        (lambda: teetotal.check("a.c", workers="two"), "a number is needed, not 'two'"),  # type: ignore[arg-type]
        (lambda: teetotal.fence(3), "a file or a list of files is needed, not 3"),  # type: ignore[arg-type]
        (lambda: teetotal.verify(1), "a file is needed, not 1"),  # type: ignore[arg-type]
        (lambda: teetotal.monitor(3), "a trace or a file of one is needed, not 3"),  # type: ignore[arg-type]
        (lambda: teetotal.monitor([1]), "an event is needed, not 1"),  # type: ignore[list-item]
        (lambda: teetotal.check_history(4), "a history or a file of one is needed, not 4"),  # type: ignore[arg-type]
        (lambda: teetotal.replay(5, "a.c"), "a token is needed, not 5"),  # type: ignore[arg-type]
        (lambda: teetotal.read(4), "a file is needed, not 4"),  # type: ignore[arg-type]
        (lambda: teetotal.outcomes("SB.litmus", "tso"), "a program is needed, not 'SB.litmus'"),  # type: ignore[arg-type]
        (lambda: text(3), "an answer is needed, not 3"),  # type: ignore[arg-type]
        (lambda: to_json(3), "an answer is needed, not 3"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_what_is_of_another_kind_is_said_to_be(ask: Callable[[], object], why: str) -> None:
    with pytest.raises(TypeError, match=why):
        ask()


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda: teetotal.check("nowhere.c"), "nowhere.c: cannot be read: No such file"),
        (lambda: teetotal.check("nowhere.litmus"), "nowhere.litmus: cannot be read: No such file"),
        (lambda: teetotal.check_history("nowhere"), "nowhere: cannot be read: No such file"),
        (lambda: teetotal.fence("nowhere.c"), "nowhere.c: cannot be read: No such file"),
        (lambda: teetotal.monitor("nowhere"), "nowhere: No such file"),
        (lambda: teetotal.replay("1t:0", "nowhere.py"), "nowhere.py: cannot be read: No such file"),
        (lambda: teetotal.verify("nowhere.pml"), "nowhere.pml: cannot be read: No such file"),
        (lambda: teetotal.check(PETERSON, models=5), "models: 5 is none of sc, tso, pso, c11"),
        (lambda: teetotal.check(PETERSON, seconds="ten"), "seconds: 'ten' will not do: expected `float`, got `str`"),
        (lambda: teetotal.check(PETERSON, seconds=-1), "seconds: -1 is no time"),
        (lambda: teetotal.check(PETERSON, flags="-O2"), "flags: '-O2' will not do"),
        (lambda: teetotal.CheckOptions(max_states="many"), "max_states: 'many' will not do"),  # type: ignore[arg-type]
        (lambda: teetotal.check(PETERSON, colour="red"), "no option colour"),
        (lambda: teetotal.check(PETERSON, max_states=-1), "max_states: -1 will not do"),
        (lambda: teetotal.check(PETERSON, cluster=5), "an address is needed, not 5"),  # type: ignore[arg-type]
        (lambda: teetotal.fence(PETERSON, costs=3), "costs: 3 will not do"),
        (lambda: teetotal.fence(PETERSON, costs={}), "costs: {} will not do"),
        (lambda: teetotal.fence(PETERSON, models="sc,tso"), "models: 'sc' needs no fences"),
        (lambda: teetotal.check(PETERSON, semantics={}), "semantics: {} will not do"),
        (lambda: teetotal.check(PETERSON, seed=-1), "seed: -1 will not do"),
        (lambda: teetotal.check(PETERSON, seconds="\ud800"), "seconds: .* will not do"),
        (lambda: teetotal.monitor("a\0b"), "no file can have that name"),
        (lambda: teetotal.check_history("\ud800"), "no file can have that name"),
        (lambda: teetotal.verify(PETERSON, certificate=3), "a file for the proof is needed, not 3"),  # type: ignore[arg-type]
        (lambda: teetotal.replay("1t:0", PETERSON, goal="fast"), "goal: 'fast' is none of robust, safe, both"),
        (lambda: teetotal.outcomes(program(), "arm"), "model: 'arm' is none of"),  # type: ignore[arg-type]
        (lambda: next(teetotal.reproduce.rows("tacas99")), "no table is called tacas99; there are tacas13"),
    ],
)  # fmt: skip
def test_bad_input_is_a_typed_error(ask: Callable[[], object], why: str) -> None:
    with pytest.raises(TeetotalError, match=why):
        ask()


def program() -> teetotal.Program:
    found = teetotal.read(ROOT / "examples" / "store_buffering.py")[0]
    assert isinstance(found, teetotal.Program)
    return found


def test_workers_help() -> None:
    assert teetotal.check(program(), workers=2).verdict is teetotal.Verdict.VIOLATION
    with pytest.raises(ValueError, match="workers: 0 is nobody"):
        teetotal.check(program(), workers=0)


def test_what_is_generated_and_made_again() -> None:
    made = list(teetotal.generate.programs.seeded(0, 2))
    assert [teetotal.check(one, models="tso").complete for one in made] == [True, True]
    history = teetotal.generate.histories.random_history(seed=1, threads=2, operations=6)
    assert repr(history) == "<History: 6 operations of 2 threads>"
    assert teetotal.reproduce.table("tacas13").COLUMNS
