"""Long scripts go on after an interrupt (``going_on``)."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from going_on import State


def given(path: Path | None, **asked: object) -> argparse.Namespace:
    return argparse.Namespace(state=None if path is None else str(path), **asked)


def test_it_goes_on_with_the_seed_that_it_began_with(tmp_path: Path) -> None:
    def interrupted() -> None:
        with State(given(kept, seed=7, programs=10, seconds=1.0)) as state:
            for piece in (1, 2, 3):
                state.done(pieces=piece)
            raise KeyboardInterrupt

    kept = tmp_path / "new" / "state.json"
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    again = State(given(kept, seed=8, programs=10, seconds=99.0))
    assert (again.seed, again.known) == (7, {"pieces": 3})
    again.end()
    assert list(kept.parent.iterdir()) == []
    assert State(given(kept, seed=8, programs=10)).seed == 8


def test_what_is_killed_has_kept_what_it_did_a_second_ago(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("going_on.time.monotonic", lambda: now[0])
    state = State(given(tmp_path / "state", seed=1))
    state.done(pieces=1)
    state.done(pieces=2)
    assert State(given(tmp_path / "state", seed=1)).known == {"pieces": 1}
    now[0] += 1.0
    state.done(pieces=3)
    assert State(given(tmp_path / "state", seed=1)).known == {"pieces": 3}


def test_another_question_is_refused(tmp_path: Path) -> None:
    State(given(tmp_path / "state", seed=1, programs=10)).done(pieces=1)
    with pytest.raises(SystemExit, match="another question"):
        State(given(tmp_path / "state", seed=1, programs=11))


def test_nothing_is_kept_where_nobody_asked_for_it() -> None:
    state = State(given(None, seed=1))
    state.done(pieces=1)
    state.end()


@pytest.mark.parametrize("junk", [b"", b"\xff\0", b"[1]", b"{}", b'{"asked": {}, "seed": 1}', b"[" * 100_000])
def test_a_file_that_keeps_something_else_is_refused_and_left_alone(tmp_path: Path, junk: bytes) -> None:
    (tmp_path / "state").write_bytes(junk)
    with pytest.raises(SystemExit, match="no state of a script"):
        State(given(tmp_path / "state", seed=1))
    assert (tmp_path / "state").read_bytes() == junk
