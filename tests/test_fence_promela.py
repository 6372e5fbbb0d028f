"""``teetotal fence`` on Promela: every benchmark program is repaired, proved, and none of its fences can go."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from teetotal.errors import TeetotalError
from teetotal.fences.fencing import Options, fence
from teetotal.programs.promela import compile_text
from teetotal.symbolic.graph import ControlGraph
from teetotal.symbolic.verify import robust, verify
from teetotal.verdicts import Verdict

PROGRAMS = Path(__file__).parent.parent / "benchmarks" / "promela"


@pytest.mark.parametrize("goal", ["robust", "safe"])
@pytest.mark.parametrize("name", ["burns", "dekker", "peterson", "szymanski", "clh", "spsc"])
def test_repaired_and_proved_and_nothing_can_go(name: str, goal: Literal["robust", "safe"]) -> None:
    path = str(PROGRAMS / f"{name}.pml")
    result, text = fence(path, Options(goal=goal))
    assert result.verdict is Verdict.SAFE
    assert bool(result.fences) == (result.diff != "")
    words = [word for word in ("; mfence", "sfence; ") for _ in range(text.count(word))]
    assert len(words) == len(result.fences)
    for word in ("; mfence", "sfence; "):
        for number in range(text.count(word)):
            pieces = text.split(word)
            without = word.join(pieces[: number + 1]) + word.join(["", *pieces[number + 1 :]]).removeprefix(word)
            assert len(without) == len(text) - len(word)
            graph = ControlGraph(compile_text(without, path))
            decide = robust if goal == "robust" else verify
            assert any(decide(graph, model).verdict is Verdict.VIOLATION for model in ("tso", "pso"))


def test_every_set_and_the_cheapest() -> None:
    path = str(PROGRAMS / "dijkstra.pml")
    every = fence(path, Options(every=True)).result
    assert every.verdict is Verdict.SAFE
    assert len(every.sets) > 1
    assert every.cost == fence(path, Options(minimum=True)).result.cost < fence(path).result.cost


def test_remove_is_refused() -> None:
    with pytest.raises(TeetotalError, match="--remove"):
        fence(str(PROGRAMS / "dekker.pml"), Options(remove=True))
