"""teetotal keeps lock-free code sober: is a program sequentially consistent on relaxed memory?

Each name is imported when it is first used, so that the command line starts fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fsencode, fspath
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
    from teetotal.answers.verify import Confirmation, VerifyAnswer
    from teetotal.engines.states.outcomes import outcomes
    from teetotal.fences.jobs import Repair
    from teetotal.histories.given import Checked
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
    from teetotal.scale.scale import Scale
    from teetotal.traces.trace import Trace

Path = str | PathLike[str]
Asked = TypeVar("Asked", bound="Options")


def read(*paths: Path, **settings: Any) -> list[Subject]:
    """The programs of a file: one for a litmus test or in Promela, any number for a Python module. C and C++ files are one
    program together; ``compiler``, ``flags`` and ``arguments`` say how to build and run it."""
    from teetotal.answers.options import ProgramOptions
    from teetotal.programs import files

    with _files():
        return files.read(_paths(paths), _asked(ProgramOptions, None, settings))


def check(
    what: Path | Sequence[Path] | Subject,
    options: CheckOptions | None = None,
    *,
    workers: int = 1,
    cluster: str | None = None,
    **settings: Any,
) -> CheckAnswer:
    """Robust and safe? Of a program, or of a file: ``check("queue.c")``, ``check("SB.litmus", models="tso")``.

    Settings are those of ``CheckOptions``, and ``rmw``, ``mutex``, ``failed_cas``. Of a Python module with several
    programs, ``program`` names one. ``workers`` processes share the work, or those of a Ray ``cluster``.
    """
    from teetotal import checking
    from teetotal.answers.options import CheckOptions
    from teetotal.programs import files

    asked = _asked(CheckOptions, options, {"fitting": options is None and "models" not in settings, **settings})
    with _files():
        if isinstance(what, str | PathLike | list | tuple):
            paths = _paths(what)
            what = files.chosen(files.read(paths, asked), " ".join(paths), asked.program)
        subject = _expect(what, "a file or a program", *_subjects())
        return checking.check(subject, asked, scale=_helping(workers, cluster))


def fence(
    what: Path | Sequence[Path],
    options: FenceOptions | None = None,
    *,
    workers: int = 1,
    cluster: str | None = None,
    **settings: Any,
) -> Repair:
    """The fewest fences: the answer and the patched text, which is not written. Settings are those of ``FenceOptions``."""
    from teetotal.answers.options import FenceOptions
    from teetotal.budget import Budget
    from teetotal.fences import fencing

    asked = _asked(FenceOptions, options, settings)
    budget = Budget(asked.seconds, asked.max_megabytes, scale=_helping(workers, cluster))
    with _files():
        return fencing.fence(_paths(what), asked, budget)


def verify(
    path: Path,
    options: VerifyOptions | None = None,
    *,
    certificate: Path | None = None,
    fence: bool = False,
    costs: str | None = None,
    every: bool = False,
    write: bool = False,
    **settings: Any,
) -> VerifyAnswer:
    """A Promela program with store buffers of any length: safe, or robust? ``certificate``: where to write the proof.
    Settings are those of ``VerifyOptions``. With ``fence``, fences are inserted at stores, as Linden and Wolper do it: a
    cheapest set at these ``costs``, ``every`` minimal one, and into the file where they should ``write``."""
    from teetotal import verifying
    from teetotal.answers.costs import parse
    from teetotal.answers.errors import ArgumentError
    from teetotal.answers.options import VerifyOptions
    from teetotal.budget import Budget

    if not fence and (costs is not None or every or write):
        raise ArgumentError("costs, every and write belong to fence=True")
    asked = _asked(VerifyOptions, options, settings)
    budget = Budget(asked.seconds, asked.max_megabytes)
    file, proof = _path(path), None if certificate is None else _path(certificate, "a file for the proof")
    with _files():
        if fence:
            prices = None if costs is None else parse(_expect(costs, "costs: a text such as mfence=7", str))
            found = verifying.fence(file, asked, budget, proof, costs=prices, every=every, write=write)
        else:
            found = verifying.verify(file, asked, budget, proof)
    if found.trouble is not None:
        raise found.trouble
    return found.answer


def confirm(
    path: Path, *certificates: Path, options: VerifyOptions | None = None, **settings: Any
) -> list[Confirmation]:
    """Whether proofs that ``verify`` wrote show the program to be safe, by code that shares nothing with the engines. Each
    of the ``models`` needs one. Settings are those of ``VerifyOptions``."""
    from teetotal import verifying
    from teetotal.answers.options import VerifyOptions
    from teetotal.budget import Budget

    asked = _asked(VerifyOptions, options, settings)
    with _files():
        return verifying.confirm(
            _paths([path])[0], _paths(certificates), asked, Budget(asked.seconds, asked.max_megabytes)
        )


def monitor(
    trace: Path | Trace | Iterable[Event], options: MonitorOptions | None = None, **settings: Any
) -> MonitorAnswer:
    """The monitors over an SC trace: of a file, or in memory. Settings are those of ``MonitorOptions``."""
    from teetotal.answers.errors import TeetotalError
    from teetotal.answers.events import Event
    from teetotal.answers.options import MonitorOptions
    from teetotal.traces import monitoring, open_trace
    from teetotal.traces.in_memory import TraceInMemory
    from teetotal.traces.trace import Trace

    asked = _asked(MonitorOptions, options, settings)
    path = _path(trace) if isinstance(trace, str | PathLike) else None
    if path is None and not isinstance(trace, Trace):
        trace = [_expect(event, "an event", Event) for event in _expect(trace, "a trace or a file of one", Iterable)]
    with _files(), TraceInMemory(trace) if path is None else open_trace(path) as reader:  # type: ignore[arg-type]
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
    from teetotal.histories.history import History

    asked = _asked(HistoryOptions, options, settings if model is None else {**settings, "model": model})
    if not isinstance(what, str | PathLike):
        history: History = _expect(what, "a history or a file of one", History)
        return examining.examine(history, history.name or "<memory>", asked)
    path = _path(what)
    with _files():
        histories, spent = examining.read_once(path, asked, bounded=True)
    if len(histories) != 1:
        raise TeetotalError(f"{what}: {len(histories)} histories; read_histories gives them one by one")
    return examining.examine(histories[0], path, asked, spent=spent)


def check_witnesses(
    results: Path, *paths: Path, options: HistoryOptions | None = None, **settings: Any
) -> list[Checked]:
    """Whether the witnesses in what ``teetotal history --json`` printed are ones of the histories in these files; no engine
    runs. Settings are those of ``HistoryOptions``."""
    from teetotal.answers.options import HistoryOptions
    from teetotal.histories import given

    asked = _asked(HistoryOptions, options, settings)
    with _files():
        return list(given.check(_paths([results])[0], _paths(paths), asked))


def replay(token: str, *paths: Path, goal: Any = None, **settings: Any) -> ReplayAnswer:
    """The execution that a token describes (violations have them in ``replay``), again."""
    from teetotal import checking
    from teetotal.answers.options import CheckOptions

    asked = _asked(CheckOptions, None, settings if goal is None else {**settings, "goal": goal})
    with _files():
        answer = checking.replay(_expect(token, "a token", str), _paths(paths), asked, goal=goal)
    assert answer is not None, "only a debugger leaves without an answer"
    return answer


def cflags(compiler: str | None = None, *, record: bool = False) -> list[str]:
    """The flags to build a library with, so that ``check`` sees what it does to memory; with ``record`` those for a program
    that ``record.program(…, native=True)`` runs."""
    from teetotal.programs.c.build import Source, library_flags, recording_flags

    _expect(compiler, "compiler: a name", str, type(None))
    return (recording_flags if record else library_flags)(Source(("library.c",), compiler=compiler))


def _paths(what: Path | Sequence[Path]) -> list[str]:
    files = [what] if isinstance(what, str | PathLike) else _expect(what, "a file or a list of files", list, tuple)
    return [_path(file) for file in files]


def _path(file: Path, needed: str = "a file") -> str:
    from teetotal.answers.errors import ArgumentError

    given = _expect(file, needed, str, PathLike)
    try:
        path: str = _expect(fspath(given), needed, str)
    except TypeError:  # what it gives is no name
        raise ArgumentError(f"{needed} is needed, not {given!r}") from None
    try:
        nameless = b"\0" in fsencode(path)
    except UnicodeError:
        nameless = True
    if nameless or not path:
        raise ArgumentError(f"{needed} is needed, not {path!r}: no file can have that name")
    return path


def _expect(value: Any, needed: str, *kinds: Any) -> Any:
    from teetotal.answers.errors import ArgumentError

    if not isinstance(value, kinds):
        raise ArgumentError(f"{needed} is needed, not {value!r}")
    return value


def _helping(workers: int, cluster: str | None) -> Scale:
    from teetotal.answers.errors import ArgumentError
    from teetotal.scale.scale import Scale

    if _expect(workers, "workers: a number", int) < 1:
        raise ArgumentError(f"workers: {workers} is nobody")
    scale = Scale(workers, _expect(cluster, "cluster: an address", str, type(None)))
    scale.look_for_cluster()
    return scale


def _subjects() -> tuple[type, ...]:
    from teetotal.programs.c.build import Source
    from teetotal.programs.program import Program
    from teetotal.programs.promela.program import PromelaProgram

    return Program, Source, PromelaProgram


@contextmanager
def _files() -> Iterator[None]:
    """A file that cannot be read is bad input, whoever comes to it first."""
    from teetotal.answers.errors import ParseError

    try:
        yield
    except OSError as problem:
        if problem.filename is None:  # about no file of the user's
            raise
        raise ParseError(f"{problem.filename}: cannot be read: {problem.strerror}") from problem


def _asked(kind: type[Asked], options: Asked | None, settings: dict[str, Any]) -> Asked:
    from teetotal.answers.options import asked
    from teetotal.report import picture

    picture.register()
    if options is not None:
        _expect(options, kind.__name__, kind)
    return asked(kind, settings, options)


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
    "CheckOptions", "FenceOptions", "History", "HistoryOptions", "MonitorOptions", "Options", "Program", "Semantics",
    "Verdict", "VerifyOptions", "acq_rel", "acquire", "address", "array", "assume", "cas", "cflags", "check",
    "check_history", "check_witnesses", "confirm", "fence", "fetch_add", "generate", "ld", "load", "lock", "mfence",
    "monitor", "outcomes", "program", "read", "read_histories", "record", "relaxed", "release", "replay", "report",
    "reproduce", "rmw", "seq_cst", "sfence", "st", "thread_fence", "unlock", "verify", "xchg",
]  # fmt: skip


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
