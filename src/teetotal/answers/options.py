"""What can be asked for: one family of options, the same words in Python and on the command line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import replace

from teetotal.answers import costs, strategies
from teetotal.answers.costs import Costs
from teetotal.answers.errors import ArgumentError, TeetotalError
from teetotal.answers.events import ModelName, Semantics
from teetotal.answers.history import Engine, HistoryModel
from teetotal.answers.strategies import Strategy
from teetotal.answers.targets import Target
from teetotal.answers.verdict import CheckGoal, Goal, Symmetry, Waiting

MAX_STATES = 20_000_000
MAX_MEGABYTES = 4096
LOOP_BOUND = 10
"""Backward jumps a thread takes in one execution where loops seem to have no end, or waiting rounds count, and neither
the program nor the user says otherwise: see core/execution.hpp."""
ENDLESS_ROUNDS = (1, 3, LOOP_BOUND)
"""After how many rounds loops are cut that seem to have no end, one after the other until something is found."""

COMPILED_LOOP_BOUND = 100
"""In C, where waiting rounds count: how often a thread may come to the same instruction in one execution. Where they do
not: how many rounds it may go without seeing or changing anything new; see runtime/schedule/system.hpp."""
TRIAGE_SECONDS = 10.0
"""To find out whether what is not robust also breaks something, for each model."""
Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Seed = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Models = Annotated[tuple[ModelName, ...], msgspec.Meta(min_length=1)]
"""Nothing can be wrong under none of them: who asks about none is asked back, not told "safe"."""
RELAXED: tuple[ModelName, ...] = ("tso", "pso")
ReleaseSequence = Literal["c20", "c11"]
"""Which stores of the thread that released go on with a release sequence: C++20's rule, or C++11's and RC11's."""
Style = Literal["c11", "cpp11", "linux", "x86"]
Asked = TypeVar("Asked", bound="Options")


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Of every question. ``seconds``: when to give up, with what is known by then. What there is no such thing of is
    refused: an answer about a model that nobody knows would say "safe"."""

    semantics: Semantics = Semantics()
    seconds: float = math.inf

    def __post_init__(self) -> None:
        _refuse_others(self)
        _refuse_others(self.semantics)
        if "c11" in getattr(self, "models", ()) and not isinstance(self, ProgramOptions):
            raise TeetotalError("models: 'c11' is known to check and fence alone")


def _refuse_others(asked: msgspec.Struct) -> None:
    """Words that are none of those there are, values of another kind, and nothing where there has to be something."""
    choices = _choices(type(asked))
    for name, hint in _hints(type(asked)).items():
        chosen = getattr(asked, name)
        if (allowed := choices.get(name)) is not None:
            for value in chosen if isinstance(chosen, tuple) else (chosen,):
                if value not in allowed:
                    known = ", ".join(str(one) for one in allowed if one is not None)
                    raise TeetotalError(f"{name}: {value!r} is none of {known}")
        try:
            if isinstance(hint, type) and issubclass(hint, msgspec.Struct) and not isinstance(chosen, hint):
                raise msgspec.ValidationError(f"expected `{hint.__name__}`")  # a dict would pass for one
            msgspec.convert(chosen, hint)
        except (msgspec.ValidationError, UnicodeError) as problem:
            raise TeetotalError(f"{name}: {chosen!r} will not do: {str(problem).lower()}") from None


def asked(kind: type[Asked], settings: Mapping[str, Any], options: Asked | None = None) -> Asked:
    """Options with some settings of them changed. What the command line has as text may be text: ``models="tso,pso"``,
    ``explore="random:100"``, ``costs="mfence=7"``. ``rmw``, ``mutex`` and ``failed_cas`` are settings, too."""
    changed: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()
    }
    for name in ("models", "monitors"):
        if isinstance(changed.get(name), str):
            changed[name] = tuple(part.strip() for part in changed[name].split(","))
    if changed.get("seconds", 0.0) is None:
        changed["seconds"] = math.inf
    if isinstance(given := changed.get("seconds"), int | float) and not given >= 0:
        raise TeetotalError(f"seconds: {given} is no time")
    if isinstance(changed.get("explore"), str):
        changed["explore"] = strategies.parse(changed["explore"])
    if isinstance(changed.get("costs"), str):
        changed["costs"] = costs.parse(changed["costs"])
    first = kind() if options is None else options
    meant = {name: changed.pop(name) for name in Semantics.__struct_fields__ if name in changed}
    if meant:
        changed["semantics"] = replace(first.semantics, **meant)
    unknown = [name for name in changed if name not in kind.__struct_fields__]
    if unknown:
        raise ArgumentError(f"no option {', '.join(unknown)}: there are {', '.join(kind.__struct_fields__)}")
    return replace(first, **changed)


@cache
def _hints(kind: type[msgspec.Struct]) -> dict[str, object]:
    return get_type_hints(kind, include_extras=True)


@cache
def _choices(kind: type[msgspec.Struct]) -> dict[str, tuple[object, ...]]:
    """The fields that take one word of several, or some of them: ``Literal``, perhaps in a tuple, perhaps None."""

    def words(hint: object) -> tuple[object, ...]:
        if get_origin(hint) is Literal:
            return get_args(hint)
        found = tuple(word for part in get_args(hint) for word in words(part))
        return (*found, None) if found and type(None) in get_args(hint) else found

    return {name: allowed for name, hint in _hints(kind).items() if (allowed := words(hint))}


class ProgramOptions(Options, frozen=True, kw_only=True):
    """Of questions about programs. ``program``: only this one of a Python module. ``monitors``: those that tell robust
    from not (default: the exact ones); where one can miss violations, nothing is proved. ``waiting``: whether a difference
    that only lets a thread wait longer is none. Of C11: whose ``release_sequence``. For C: the ``compiler``, its ``flags``,
    and the ``arguments`` of main. ``trust``: the program may reach the network, and write to files."""

    models: Models = RELAXED
    goal: Goal = "robust"
    program: str | None = None
    monitors: tuple[str, ...] = ()
    waiting: Waiting = "skip"
    loop_bound: Count | None = None
    max_megabytes: Count = MAX_MEGABYTES
    release_sequence: ReleaseSequence = "c20"
    compiler: str | None = None
    flags: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    trust: bool = False


class CheckOptions(ProgramOptions, frozen=True, kw_only=True):
    """``explore``: which executions are watched. ``max_states``: of each model. ``symmetry``: whether threads that nothing
    tells apart are exchanged. For C: ``executions`` at most, the range of ``nondet`` values, how often a thread may wake
    up on a condition variable for no reason (``spurious``), and ``triage``: seconds to find out, for each model under
    which the program is not robust, whether that breaks something (elsewhere that is known anyway).
    ``shorten``: failures are told by an execution with as few steps as can be found. Of C11: ``races`` alone,
    whether or not anything is weak; ``whole_races``: with what leads to them; ``fitting``: nobody named the models,
    so that C11 comes beside the others for C programs that use atomics, unless ``safe`` is the goal."""

    goal: CheckGoal = "robust"  # type: ignore[assignment]
    triage: float = TRIAGE_SECONDS
    shorten: bool = True
    explore: Strategy = Strategy("all")
    seed: Seed = 0
    max_states: Count = MAX_STATES
    executions: Count | None = None
    nondet: tuple[int, int] = (0, 1)
    spurious: Count = 0
    symmetry: Symmetry = "on"
    races: bool = False
    whole_races: bool = False
    fitting: bool = False


class FenceOptions(ProgramOptions, frozen=True, kw_only=True):
    """``minimum``: of least total cost. ``every``: all minimal sets, ``most`` of them at most. ``remove``: existing fences
    may go. ``strengthen``: orders of atomic stores may become stronger. ``style``: how fences are written in C. With C11
    orders become stronger in any case: ``weaken`` looks for the weakest that will do, ``target`` says what they cost."""

    costs: Costs = Costs()
    minimum: bool = False
    every: bool = False
    most: Count = 1000
    remove: bool = False
    style: Style | None = None
    strengthen: bool = False
    weaken: bool = False
    target: Target | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if "sc" in self.models:
            raise TeetotalError("models: 'sc' needs no fences; there are tso, pso, c11")

    def as_check(self, **more: Any) -> CheckOptions:
        """The same question about a program with fences in it, as ``check`` is asked it."""
        return CheckOptions(**{name: getattr(self, name) for name in ProgramOptions.__struct_fields__} | more)


class VerifyOptions(Options, frozen=True, kw_only=True):
    """``engine``: ``saturate``, ``accelerate`` or ``bounded:N``. ``certify``: a safe answer comes with its proof."""

    models: Models = RELAXED
    goal: Goal = "safe"
    engine: str = "saturate"
    certify: bool = False
    max_megabytes: float | None = None


class MonitorOptions(Options, frozen=True, kw_only=True):
    """``group``: what makes violations distinct. ``window``: how many events are kept for telling them, at least."""

    monitors: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] = ("exact-tso", "exact-pso")
    group: Literal["pair", "triple"] = "pair"
    window: Count = 1 << 17


class HistoryOptions(Options, frozen=True, kw_only=True):
    """``seconds`` are for all of a history: to read its file, to decide, to explain. ``use_order``: whether ``auto`` tries
    the file's own order first. ``late``: what to say of a history that takes far longer, and has to be ended."""

    model: HistoryModel = "sc"
    engine: Engine = "auto"
    use_order: bool = True
    explain: bool = True
    kernel: bool = False
    check_witness: bool = False
    witness: bool = False
    unwritten: Literal["error", "violation"] = "error"
    format: str | None = None
    split_transactions: bool = False
    late: str = ""
