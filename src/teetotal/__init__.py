"""teetotal keeps lock-free code sober: is a program sequentially consistent on relaxed memory?

Each name is imported when it is first used, so that the command line starts fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from teetotal import generate, record, report, reproduce
    from teetotal.answers.check import CheckAnswer
    from teetotal.answers.events import Event, Semantics
    from teetotal.answers.history import HistoryAnswer, HistoryModel
    from teetotal.answers.monitor import MonitorAnswer
    from teetotal.answers.options import (
        CheckOptions,
        FenceOptions,
        HistoryOptions,
        MonitorOptions,
        Options,
        VerifyOptions,
    )
    from teetotal.answers.replay import ReplayAnswer
    from teetotal.answers.verdict import Verdict
    from teetotal.answers.verify import VerifyAnswer
    from teetotal.engines.states.outcomes import outcomes
    from teetotal.fences.jobs import Repair
    from teetotal.histories.history import History
    from teetotal.histories.readers import read_histories
    from teetotal.programs.files import Subject
    from teetotal.programs.program import Program
    from teetotal.programs.python import (
        acq_rel,
        acquire,
        address,
        array,
        assume,
        cas,
        fetch_add,
        ld,
        load,
        lock,
        mfence,
        program,
        relaxed,
        release,
        rmw,
        seq_cst,
        sfence,
        st,
        thread_fence,
        unlock,
        xchg,
    )
    from teetotal.traces.trace import Trace

Path = str | PathLike[str]
Asked = TypeVar("Asked", bound="Options")


def read(*paths: Path, **settings: Any) -> list[Subject]:
    """The programs of a file: one for a litmus test or in Promela, any number for a Python module. C and C++ files are one
    program together; ``compiler``, ``flags`` and ``arguments`` say how to build and run it."""
    from teetotal.answers.options import ProgramOptions
    from teetotal.programs import files

    return files.read([fspath(path) for path in paths], _asked(ProgramOptions, None, settings))


def check(what: Path | Sequence[Path] | Subject, options: CheckOptions | None = None, **settings: Any) -> CheckAnswer:
    """Robust and safe? Of a program, or of a file: ``check("queue.c")``, ``check("SB.litmus", models="tso")``.

    Settings are those of ``CheckOptions``, and ``rmw``, ``mutex``, ``failed_cas``. Of a Python module with several
    programs, ``program`` names one.
    """
    from teetotal import checking
    from teetotal.answers.options import CheckOptions
    from teetotal.programs import files

    asked = _asked(CheckOptions, options, {"fitting": options is None and "models" not in settings, **settings})
    if isinstance(what, str | PathLike | Sequence):
        paths = _paths(what)
        what = files.chosen(files.read(paths, asked), " ".join(paths), asked.program)
    return checking.check(what, asked)


def fence(what: Path | Sequence[Path], options: FenceOptions | None = None, **settings: Any) -> Repair:
    """The fewest fences: the answer and the patched text, which is not written. Settings are those of ``FenceOptions``."""
    from teetotal.answers.options import FenceOptions
    from teetotal.fences import fencing

    return fencing.fence(_paths(what), _asked(FenceOptions, options, settings))


def verify(
    path: Path, options: VerifyOptions | None = None, *, certificate: Path | None = None, **settings: Any
) -> VerifyAnswer:
    """A Promela program with store buffers of any length: safe, or robust? ``certificate``: where to write the proof.
    Settings are those of ``VerifyOptions``."""
    from teetotal import verifying
    from teetotal.answers.options import VerifyOptions
    from teetotal.budget import Budget

    asked = _asked(VerifyOptions, options, settings)
    budget = Budget(asked.seconds, asked.max_megabytes)
    found = verifying.verify(fspath(path), asked, budget, None if certificate is None else fspath(certificate))
    if found.trouble is not None:
        raise found.trouble
    return found.answer


def monitor(
    trace: Path | Trace | Iterable[Event], options: MonitorOptions | None = None, **settings: Any
) -> MonitorAnswer:
    """The monitors over an SC trace: of a file, or in memory. Settings are those of ``MonitorOptions``."""
    from teetotal.answers.errors import TeetotalError
    from teetotal.answers.options import MonitorOptions
    from teetotal.traces import monitoring, open_trace
    from teetotal.traces.in_memory import TraceInMemory

    asked = _asked(MonitorOptions, options, settings)
    path = fspath(trace) if isinstance(trace, str | PathLike) else None
    with TraceInMemory(trace) if path is None else open_trace(path) as reader:  # type: ignore[arg-type]
        answer = monitoring.monitor(reader, asked, again=path)
    if answer.error is not None:
        raise TeetotalError(answer.error)
    return answer


def check_history(
    what: Path | History, model: HistoryModel | None = None, options: HistoryOptions | None = None, **settings: Any
) -> HistoryAnswer:
    """Is what was observed SC, TSO or PSO? Of a history, or of a file that holds one (``read_histories`` reads more).
    Settings are those of ``HistoryOptions``."""
    from teetotal.answers.errors import TeetotalError
    from teetotal.answers.options import HistoryOptions
    from teetotal.histories import examining

    asked = _asked(HistoryOptions, options, settings if model is None else {**settings, "model": model})
    if not isinstance(what, str | PathLike):
        return examining.examine(what, what.name or "<memory>", asked)
    histories, spent = examining.read_once(fspath(what), asked, bounded=True)
    if len(histories) != 1:
        raise TeetotalError(f"{what}: {len(histories)} histories; read_histories gives them one by one")
    return examining.examine(histories[0], fspath(what), asked, spent=spent)


def replay(token: str, *paths: Path, goal: Any = None, **settings: Any) -> ReplayAnswer:
    """The execution that a token describes (violations have them in ``replay``), again."""
    from teetotal import checking
    from teetotal.answers.options import CheckOptions

    answer = checking.replay(token, [fspath(path) for path in paths], _asked(CheckOptions, None, settings), goal=goal)
    assert answer is not None, "only a debugger leaves without an answer"
    return answer


def _paths(what: Path | Sequence[Path]) -> list[str]:
    return [fspath(what)] if isinstance(what, str | PathLike) else [fspath(path) for path in what]


def _asked(kind: type[Asked], options: Asked | None, settings: dict[str, Any]) -> Asked:
    """Options with some settings of them changed; those that the command line has as text may be text here."""
    from msgspec.structs import replace

    from teetotal.answers import costs, strategies
    from teetotal.answers.events import Semantics
    from teetotal.report import picture

    picture.register()
    changed: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()
    }
    for name in ("models", "monitors"):
        if isinstance(changed.get(name), str):
            changed[name] = tuple(part.strip() for part in changed[name].split(","))
    if changed.get("seconds", 0.0) is None:
        changed["seconds"] = float("inf")
    if isinstance(changed.get("explore"), str):
        changed["explore"] = strategies.parse(changed["explore"])
    if isinstance(changed.get("costs"), str):
        changed["costs"] = costs.parse(changed["costs"])
    asked = kind() if options is None else options
    meant = {name: changed.pop(name) for name in Semantics.__struct_fields__ if name in changed}
    if meant:
        changed["semantics"] = replace(asked.semantics, **meant)
    unknown = [name for name in changed if name not in kind.__struct_fields__]
    if unknown:
        raise TypeError(f"no option {', '.join(unknown)}: there are {', '.join(kind.__struct_fields__)}")
    return replace(asked, **changed)


_HOMES = {
    "teetotal.answers.options": (
        *("CheckOptions", "FenceOptions", "HistoryOptions", "MonitorOptions", "VerifyOptions"),
    ),
    "teetotal.answers.events": ("Semantics",),
    "teetotal.answers.verdict": ("Verdict",),
    "teetotal.engines.states.outcomes": ("outcomes",),
    "teetotal.histories.history": ("History",),
    "teetotal.histories.readers": ("read_histories",),
    "teetotal.programs.program": ("Program",),
    "teetotal.programs.python": (
        *("program", "load", "array", "address", "assume"),
        *("ld", "st", "rmw", "cas", "fetch_add", "xchg", "mfence", "sfence", "thread_fence", "lock", "unlock"),
        *("relaxed", "acquire", "release", "acq_rel", "seq_cst"),
    ),
}
_ROOMS = ("generate", "models", "record", "report", "reproduce", "traces")

__all__ = [
    "CheckOptions",
    "FenceOptions",
    "History",
    "HistoryOptions",
    "MonitorOptions",
    "Options",
    "Program",
    "Semantics",
    "Verdict",
    "VerifyOptions",
    "acq_rel",
    "acquire",
    "address",
    "array",
    "assume",
    "cas",
    "check",
    "check_history",
    "fence",
    "fetch_add",
    "generate",
    "ld",
    "load",
    "lock",
    "mfence",
    "monitor",
    "outcomes",
    "program",
    "read",
    "read_histories",
    "record",
    "relaxed",
    "release",
    "replay",
    "report",
    "reproduce",
    "rmw",
    "seq_cst",
    "sfence",
    "st",
    "thread_fence",
    "unlock",
    "verify",
    "xchg",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name == "__version__":
        from teetotal.answers.version import VERSION

        return VERSION
    if name == "Options":  # those of check, from before there were others
        name = "CheckOptions"
    if name in _ROOMS:
        return importlib.import_module(f"teetotal.{name}")
    for home, names in _HOMES.items():
        if name in names:
            globals()[name] = found = getattr(importlib.import_module(home), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
