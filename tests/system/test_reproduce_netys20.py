"""The table of the paper on histories, in small."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from teetotal.answers.verdict import Verdict
from teetotal.histories.check import check
from teetotal.reproduce import netys20
from teetotal.reproduce.plots import draw


def test_invalid_histories_are_invalid_and_valid_ones_valid() -> None:
    assert [check(h).verdict for h in netys20._valid(4, 80, 4)] == [Verdict.SAFE] * 4
    assert [check(h).verdict for h in netys20._invalid(4, 80, 4)] == [Verdict.VIOLATION] * 4


def test_few_reads_are_changed_and_to_writes_of_their_address() -> None:
    one = netys20._recorded(4, 200, 0)
    changed = netys20._changed(one, np.random.default_rng(0))
    differ = [(old, new) for old, new in zip(one.results, changed, strict=True) if old != new]
    assert 0 < len(differ) <= netys20.CHANGES
    history = one._replace(results=changed).history
    written = {(op.address, op.written) for op in history if op.written is not None}
    assert all(op.read == 0 or (op.address, op.read) in written for op in history if op.reads)


def test_a_row_for_each_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    histories = list(netys20._valid(4, 80, 2))
    rows = list(netys20._engines("6", histories, 4, 80))
    assert [row[1] for row in rows] == list(netys20.ENGINES)
    assert all(len(row) == len(netys20.COLUMNS) and row[6] == 0 for row in rows)
    kernel = list(netys20._kernel(2))
    assert [row[-1] for row in kernel] == ["74.24 %", "99.97 %", "0.7 %", "98.51 %", "97.89 %"]
    assert {row[4] for row in kernel} == {2}


def test_curves(tmp_path: Path) -> None:
    rows = [
        ("6", "dbcop", 6, 200, 2, 0.1, 0, ""),
        ("6", "dbcop", 6, 300, 2, 0.2, 0, ""),
        ("kernel", "x", "", "", 1, "", "", ""),
    ]
    plots = netys20.plots(rows)
    assert plots[0].curves == {"dbcop": [(200.0, 0.1), (300.0, 0.2)]}
    pytest.importorskip("matplotlib")
    (path,) = draw(plots[:1], str(tmp_path / "new"))
    assert path.endswith("netys20-fig6.svg")
    assert "<svg" in Path(path).read_text()
