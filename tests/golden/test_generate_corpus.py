"""Our own corpus does what it is expected to do, and wrong results cannot be promoted."""

from __future__ import annotations

import msgspec
import pytest

import promote
from teetotal.generate import Cycle, litmus
from teetotal.generate.files import text

TESTS = promote.tests()


def test_the_corpus_is_complete() -> None:
    assert {test.path.name for test in TESTS} == set(promote.expected())
    assert len(TESTS) >= 250


@pytest.mark.parametrize("part", range(8))
def test_expected_results(part: int) -> None:
    expected = promote.expected()
    for test in TESTS[part::8]:
        found = promote.results(test)
        assert promote.row(test, found) == expected[test.path.name]
        assert list(promote.doubts(test, found)) == [], test.path.name


def test_generated_files_are_what_the_generator_writes() -> None:
    generated = [test for test in TESTS if "Cycle" in test.info]
    assert len(generated) >= 200
    for test in generated:
        assert test.path.read_text() == text(litmus(Cycle.parse(test.info["Cycle"]))), test.path.name


def by_name(name: str) -> promote.Test:
    return next(test for test in TESTS if test.path.stem == name)


def test_a_wrong_engine_is_doubted() -> None:
    """Results of another test stand for those of an engine that is wrong."""
    for right, wrong in (("SB", "SB+mfences"), ("SB+mfences", "SB"), ("dekker+mfences", "dekker")):
        assert list(promote.doubts(by_name(right), promote.results(by_name(wrong)))), right


def test_a_wrong_count_or_prediction_is_doubted() -> None:
    test = by_name("MP")
    found = promote.results(test)
    assert list(promote.doubts(test, found)) == []
    more = msgspec.structs.replace(found[0], executions=(found[0].executions or 0) + 1)
    assert "SC executions" in next(promote.doubts(test, (more, found[1])))
    lying = test._replace(info={**test.info, promote.PREDICTION: "sc:Never tso:Sometimes pso:Sometimes"})
    assert len(list(promote.doubts(lying, found))) == 2  # its cycle says otherwise, and so do the engines
    silent = test._replace(info={})
    assert list(promote.doubts(silent, found)) == ["has no Prediction line"]


def test_differences_are_told() -> None:
    old = {"file": "x", "states": "1"}
    assert list(promote.differences(old, {"file": "x", "states": "2"})) == ["states: 1 → 2"]
    assert list(promote.differences(None, old)) == ["is new"]
    assert list(promote.differences(old, None)) == ["is gone"]


def test_promoting(tmp_path: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Into an empty folder with two tests: new, then as expected, then a change, which is told before it is promoted."""
    from pathlib import Path

    folder = Path(str(tmp_path))
    for name in ("SB", "MP"):
        (folder / f"{name}.litmus").write_text(by_name(name).path.read_text())
    monkeypatch.setattr(promote, "CORPUS", folder)
    monkeypatch.setattr(promote, "EXPECTED", folder / "expected.csv")
    assert promote.main([]) == 1
    assert not (folder / "expected.csv").exists()
    assert promote.main(["--promote"]) == 0
    assert promote.main([]) == 0
    csv = (folder / "expected.csv").read_text()
    (folder / "expected.csv").write_text(csv.replace("Never,3", "Never,7"))
    capsys.readouterr()
    assert promote.main([]) == 1
    assert "SB.litmus sc_states: 7 → 3" in capsys.readouterr().out
    assert promote.main(["--promote"]) == 0
    assert (folder / "expected.csv").read_text() == csv
    (folder / "SB.litmus").write_text((folder / "SB.litmus").read_text().replace("tso:Sometimes", "tso:Never"))
    capsys.readouterr()
    assert promote.main(["--promote"]) == 1
    assert "nothing is promoted" in capsys.readouterr().out
    assert promote.main(["--nonsense"]) == 2
