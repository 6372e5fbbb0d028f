"""Litmus tests as files: the text with its prediction, and writing that neither overwrites nor leaves halves behind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from teetotal import writing
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Kind, Semantics
from teetotal.generate.candidate import Litmus
from teetotal.programs import litmus as format_of_litmus

PREDICTION = "Prediction"
"""The line that says what each model does: ``Prediction=sc:Never tso:Sometimes pso:Sometimes``."""
PREDICTION_ADDRESS = "Prediction-rmw-address"
"""The same with ``--rmw address``, in tests that have an rmw."""


def text(test: Litmus) -> str:
    head, _, rest = format_of_litmus.write(test.program, "X86_64").partition("\n")
    lines = [head, f'"{test.cycle}"', f"Cycle={test.cycle}", f"{PREDICTION}={test.predict()}"]
    if any(access.kind is Kind.RMW for _, access in test.candidate.events()):
        lines.append(f"{PREDICTION_ADDRESS}={test.predict(Semantics(rmw='address'))}")
    return "\n".join([*lines, rest])


def write_files(directory: Path, files: Mapping[str, str], *, force: bool = False) -> None:
    """All files, or where one of them exists and ``force`` is not given, none; each appears whole or not at all."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        there = [name for name in files if (directory / name).exists()]
        if there and not force:
            more = f" and {len(there) - 3} more" if len(there) > 3 else ""
            raise TeetotalError(f"{directory} already has {', '.join(there[:3])}{more}; overwrite with --force")
        for name, content in files.items():
            writing.write(directory / name, content.encode(), overwrite=force)
    except OSError as problem:
        where = problem.filename2 or problem.filename or directory
        raise TeetotalError(f"cannot write {where}: {problem.strerror}") from problem
