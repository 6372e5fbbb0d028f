"""Our own corpus: what every test in tests/corpus does, against tests/corpus/expected.csv.

    make corpus           check; prints what differs
    make corpus-promote   make the results of today the expected ones; prints what changed

Each file says in its ``Prediction`` line what each model does: for generated tests, theory's word, which is computed
again here from the ``Cycle`` line; for others, their author's. ``Prediction-rmw-address`` says the same for
``--rmw address``, and ``Robust=tso:True pso:False`` what the author knows of robustness. Results that contradict any of
this are never promoted (not to know is no contradiction), nor are results of small tests that ``models/`` does not
confirm: outcomes, robustness, and one SC execution for each trace.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from teetotal import checking, models
from teetotal.answers.check import CheckAnswer
from teetotal.answers.events import MODELS, Semantics
from teetotal.answers.options import CheckOptions
from teetotal.generate import Cycle, litmus
from teetotal.generate.files import PREDICTION, PREDICTION_ADDRESS
from teetotal.programs import litmus as litmus_format
from teetotal.programs.litmus import layout
from teetotal.programs.program import Branch, Fence, Load, Lock, Program, Rmw, Store, Unlock

CORPUS = Path(__file__).parent / "corpus"
EXPECTED = CORPUS / "expected.csv"
SMALL = 7
"""Accesses and fences of a test whose every execution ``models/`` enumerates in a moment."""
COUNTED = (Load, Store, Rmw, Lock, Unlock, Fence)

ALL, ADDRESS = Semantics(rmw="all"), Semantics(rmw="address")
Row = dict[str, str]


class Test(NamedTuple):
    path: Path
    program: Program
    info: dict[str, str]

    __test__ = False  # not one of pytest's

    @property
    def is_small(self) -> bool:
        code = [instruction for thread in self.program.threads for instruction in thread.code]
        loops = any(
            isinstance(instruction, Branch) and instruction.target <= position
            for thread in self.program.threads
            for position, instruction in enumerate(thread.code)
        )
        return not loops and sum(isinstance(instruction, COUNTED) for instruction in code) <= SMALL


def tests() -> list[Test]:
    found = []
    for path in sorted(CORPUS.glob("*.litmus")):
        info = layout.split(path.read_text(), path.name).info
        found.append(Test(path, litmus_format.read_file(path), info))
    return found


# -- what it does -----------------------------------------------------------------------------------------------------


def results(test: Test) -> tuple[CheckAnswer, CheckAnswer]:
    """By the engines: with ``--rmw all`` and with ``--rmw address``."""
    both = [
        checking.check(test.program, CheckOptions(semantics=semantics, symmetry="off")) for semantics in (ALL, ADDRESS)
    ]
    return both[0], both[1]


def row(test: Test, found: tuple[CheckAnswer, CheckAnswer]) -> Row:
    """A line of expected.csv. States are final states, executions one for each class of SC executions."""
    everything, address = found
    line = {"file": test.path.name}
    for name, result in (*everything.models.items(), ("pso_address", address.models["pso"])):
        line[f"{name}_observation"] = str(result.observation)
        line[f"{name}_states"] = str(len(result.outcomes or ()))
        if name != "sc":
            line[f"{name}_robust"] = str(result.robust)
    line["sc_executions"] = str(everything.executions)
    return line


# -- whether it can be true ---------------------------------------------------------------------------------------------


def words_of(line: str) -> dict[str, str]:
    """From ``sc:Never tso:Sometimes`` to a word per model."""
    return dict(item.split(":", 1) for item in line.split())


def doubts(test: Test, found: tuple[CheckAnswer, CheckAnswer]) -> Iterator[str]:
    """Why the results cannot be right; nothing where theory, author and specification agree with them."""
    if PREDICTION not in test.info:
        yield "has no Prediction line"
        return
    predicted = [words_of(test.info[PREDICTION])]
    if PREDICTION_ADDRESS in test.info:
        predicted.append(words_of(test.info[PREDICTION_ADDRESS]))
    for words, result, semantics in zip(predicted, found, (ALL, ADDRESS), strict=False):
        if "Cycle" in test.info:
            theory = words_of(str(litmus(Cycle.parse(test.info["Cycle"])).predict(semantics)))
            if words != theory:
                yield f"says {words}, but its cycle says {theory}"
        for model in MODELS:
            if words.get(model) != result.models[model].observation:
                yield f"{_name(model, semantics)} is {result.models[model].observation}, not {words.get(model)}"
    for item in test.info.get("Robust", "").split():
        model, _, word = item.partition(":")
        robust = found[0].models[model].robust  # type: ignore[index]
        if robust is not None and str(robust) != word:
            yield f"{model.upper()}: robust is {robust}, not {word}"
    for result, semantics in zip(found, (ALL, ADDRESS), strict=True):
        yield from _inclusions(result, semantics)
        if test.is_small:
            yield from _specification(test.program, result, semantics)


def _inclusions(result: CheckAnswer, semantics: Semantics) -> Iterator[str]:
    """A weaker model has every outcome of a stronger one, and a robust program the same ones."""
    outcomes = {model: {tuple(o.items()) for o in result.models[model].outcomes or ()} for model in MODELS}
    for stronger, weaker in (("sc", "tso"), ("tso", "pso")):
        if not outcomes[stronger] <= outcomes[weaker]:
            yield f"{_name(weaker, semantics)} lacks outcomes of {stronger.upper()}"
    for model in ("tso", "pso"):
        if result.models[model].robust and outcomes[model] != outcomes["sc"]:
            yield f"{_name(model, semantics)} is robust, with outcomes that are not SC"


def _specification(program: Program, result: CheckAnswer, semantics: Semantics) -> Iterator[str]:
    for model in MODELS:
        states = models.final_states(program, model, semantics)
        found = {program.outcome(locals_, dict(memory)) for locals_, memory in states}  # type: ignore[arg-type]
        shown = litmus_format.filtered(program, found)
        if {tuple(outcome.values()) for outcome in result.models[model].outcomes or ()} != shown:
            yield f"{_name(model, semantics)}: models/ has other outcomes"
        if model != "sc" and result.models[model].robust != models.robust(program, model, semantics):
            yield f"{_name(model, semantics)}: models/ says otherwise of robustness"
    classes = len(models.traces(program, "sc", semantics))
    if result.executions != classes:
        yield f"{result.executions} SC executions, but models/ has {classes} traces"


def _name(model: str, semantics: Semantics) -> str:
    return model.upper() if model != "pso" or semantics == ALL else "PSO with --rmw address"


# -- expected.csv -----------------------------------------------------------------------------------------------------


def expected() -> dict[str, Row]:
    if not EXPECTED.exists():
        return {}
    with EXPECTED.open() as file:
        return {line["file"]: line for line in csv.DictReader(file)}


def differences(before: Row | None, after: Row | None) -> Iterator[str]:
    if before is None or after is None:
        yield "is new" if before is None else "is gone"
        return
    for key in dict.fromkeys((*before, *after)):
        if before.get(key) != after.get(key):
            yield f"{key}: {before.get(key)} → {after.get(key)}"


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--promote"]):
        print(__doc__)
        return 2
    old, new = expected(), {}
    doubtful = changed = 0
    for test in tests():
        found = results(test)
        new[test.path.name] = row(test, found)
        for doubt in doubts(test, found):
            doubtful += 1
            print(f"{test.path.name}: {doubt}")
    for name in sorted({*old, *new}):
        for difference in differences(old.get(name), new.get(name)):
            changed += 1
            print(f"{name} {difference}")
    if doubtful:
        print(f"{len(new)} tests; {doubtful} results contradict what is known, so nothing is promoted")
        return 1
    if changed and arguments:
        _save(list(new.values()))
        print(f"{len(new)} tests; {changed} changes promoted")
        return 0
    print(f"{len(new)} tests; {f'{changed} differences' if changed else 'all as expected'}")
    return 1 if changed else 0


def _save(lines: list[Row]) -> None:
    part = EXPECTED.with_suffix(".part")
    with part.open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    part.replace(EXPECTED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
