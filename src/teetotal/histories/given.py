"""Witnesses that an earlier run wrote, checked without any engine."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from teetotal import reading
from teetotal.answers.errors import TeetotalError
from teetotal.answers.history import HistoryModel
from teetotal.answers.options import HistoryOptions
from teetotal.histories import examining
from teetotal.histories.history import HistoryError
from teetotal.histories.witness import from_json, refute


class Checked(NamedTuple):
    """A witness of the history ``name`` in ``file``: ``wrong`` says why it is none, and is empty where it is one."""

    file: str
    name: str
    model: HistoryModel
    wrong: str

    def __str__(self) -> str:
        why = f": {self.wrong}" if self.wrong else ""
        return f"{'wrong' if self.wrong else 'right':8} {self.model:3}  {self.name or self.file}{why}"


def check(results: str, files: Sequence[str], options: HistoryOptions) -> Iterator[Checked]:
    """Each witness in the file ``results``, an output of ``--json``, that is about one of these ``files``. None is an
    error: whoever asks wants something checked."""
    checked = False
    for number, line in enumerate(_lines(results), start=1):
        try:
            result = json.loads(line)
            file, name, model = result["input"], result.get("name", ""), result["model"]
            index, steps = operator.index(result.get("index", 0)), result.get("witness")
            if file not in files or steps is None or model not in ("sc", "tso", "pso"):
                continue
            witness = from_json(steps)
        except (HistoryError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise TeetotalError(
                f"{results}:{number}: not a result of teetotal history --json about these files"
            ) from error
        known = examining.read_once(file, options)[0]
        if not 0 <= index < len(known) or known[index].name != name:
            raise TeetotalError(f"{results}:{number}: {file} has no history {name} at this place")
        yield Checked(file, name, model, refute(known[index], witness, model, options.semantics))
        checked = True
    if not checked:
        raise TeetotalError(f"{results}: no witness for a history of {', '.join(files)}")


def _lines(path: str) -> list[str]:
    try:
        return reading.read(path).decode().splitlines()
    except UnicodeError as error:
        raise TeetotalError(f"{path}: not a result of teetotal history --json") from error
