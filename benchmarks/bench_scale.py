"""How much faster many are: ``python benchmarks/bench_scale.py`` prints the tables of docs/explanation/scale.md.

python benchmarks/bench_scale.py [WORD…]         two processes and one, on the same questions (those with such a word in
                                                 their names); a minute or two
python benchmarks/bench_scale.py --simulate      2 to 1,000 workers, by simulation; some minutes
python benchmarks/bench_scale.py --ray           what an item costs by local processes, and by Ray on this machine
python benchmarks/bench_scale.py --undivided     what could be gained where nothing is divided: frontiers of the symbolic
                                                 engine; half a minute

Seconds are those of a clock, and so is their ratio. On a machine that others use, two processes do not get two processors;
so beside it stands what does not depend on others ("by work"): the processor time of one worker, by what two processors
would need for what two workers did: all that is done while there are none, and then half of the rest, or what the busiest
worker does where that is more. It does not see how long workers waited for each other; that is "idle", by the clock.
"""

from __future__ import annotations

import heapq
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import msgspec

from bench_symbolic import sized
from long_questions import buffering_after, history_of_rounds, two_threads
from small_programs import ld, program, st
from teetotal import _core
from teetotal.answers.events import Semantics
from teetotal.budget import Budget
from teetotal.engines.executions import watched
from teetotal.engines.executions.parts import Exploration, PartAnswer
from teetotal.engines.executions.watched import Question, Watched
from teetotal.engines.runtime import exploring as runtime
from teetotal.engines.symbolic.graph import ControlGraph
from teetotal.engines.symbolic.verify import verify
from teetotal.fences.linden_wolper import insert_fences
from teetotal.histories.generate import random_history, to_axe
from teetotal.programs.c.build import Source, build
from teetotal.programs.program import Program
from teetotal.programs.promela import compile_text
from teetotal.scale.cluster import Cluster
from teetotal.scale.crew import Crew, Tally, WorkerDied
from teetotal.scale.here import Here
from teetotal.scale.local import Processes
from teetotal.scale.processes import keeping
from teetotal.scale.scale import Scale, Slice

PAIRS = """
#include <stdatomic.h>
atomic_int x;
static void *left(void *unused) {
    for (int i = 0; i < 7; i++) { int v = atomic_load(&x); atomic_store(&x, v + 1); }
    return unused;
}
#define right left
"""
WAITING = Path(__file__).parent / "waiting.c"


def questions(folder: Path) -> dict[str, list[str]]:
    pairs = folder / "pairs.c"
    pairs.write_text(two_threads(PAIRS))
    histories = folder / "histories.axe"
    each = (random_history(threads=16, addresses=32, operations=2000, seed=seed) for seed in range(1000))
    histories.write_text("".join(map(to_axe, each)))
    fenced = folder / "fenced.c"
    fenced.write_text(buffering_after(6))
    large = folder / "large.axe"
    large.write_text(history_of_rounds(40, 60_000))
    batch = ["history", "--no-order", "--model", "sc,tso,pso", str(histories)]
    return {
        "C, 2 threads × 7 × (load; store)": ["check", str(pairs)],
        "C, Dekker with 5 sections": ["check", "--args", "dekker", "--args", "2", "--args", "5", str(WAITING)],
        "1,000 histories of 2,000 operations, three models": batch,
        "one history of 2,400,000 operations": ["history", "--no-order", str(large)],
        "fence, 2 threads × 6 × (load; store) and store buffering": ["fence", str(fenced)],
    }


class Run:
    """A command, once: seconds, those of processors, how long workers were idle, and what two processors would need: what
    is done while there are no workers, and then half of the rest, or what the busiest worker does where that is more."""

    def __init__(self, words: list[str], *options: str) -> None:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with tempfile.NamedTemporaryFile("r") as log:
            started = time.monotonic()
            asked = [sys.executable, "-m", "teetotal", words[0], "--json", "--log", log.name, *options, *words[1:]]
            told = subprocess.run(asked, capture_output=True, check=False)
            self.seconds = time.monotonic() - started
            end = json.loads(log.read().splitlines()[-1])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.answers = sorted(_without_times(json.loads(line)) for line in told.stdout.splitlines())
        busy = sum(worker["busy"] for worker in end["workers"])
        by_workers = [worker["cpu"] for worker in end["workers"]]
        shared = sum(by_workers) + end["beside"]
        self.longest = self.cpu - shared + max(shared / 2, *by_workers, 0.0)
        self.idle = 1 - busy / (len(end["workers"]) * end["seconds"]) if end["workers"] else 0.0


def _without_times(answer: Any) -> str:
    def strip(told: Any) -> Any:
        if isinstance(told, dict):
            return {name: strip(value) for name, value in told.items() if name not in ("seconds", "cpu")}
        return [strip(value) for value in told] if isinstance(told, list) else told

    return json.dumps(strip(answer), sort_keys=True)


def compare(wanted: list[str]) -> None:
    print(f"{'':66}{'1':>8}{'2':>8}{'ratio':>7}{'idle':>6}{'more work':>11}{'by work':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for name, words in questions(Path(folder)).items():
            if wanted and not any(word in name for word in wanted):
                continue
            one, two = Run(words, "--workers", "1"), Run(words, "--workers", "2")
            assert one.answers == two.answers, name
            seconds = f"{one.seconds:7.1f}s{two.seconds:7.1f}s{one.seconds / two.seconds:7.2f}"
            more = two.cpu / one.cpu - 1
            print(f"{name:66}{seconds}{two.idle:6.0%}{more:11.0%}{one.cpu / two.longest:9.2f}", flush=True)


# -- what an item costs -------------------------------------------------------------------------------------------------

ITEMS = 300


def echo(item: bytes) -> bytes:
    return item


def overhead() -> None:
    """Of items that are no work: from giving the first to its answer, and then one after the other, of two sizes."""
    two = Scale(2)
    crews: dict[str, Callable[[], Crew[bytes, bytes]]] = {
        "whoever asks": lambda: Here(echo),
        "two processes": lambda: Processes(echo, 2),
        "Ray, two processors": lambda: Cluster(echo, "local", two.warn),
    }
    print(f"{'':22}{'to begin':>10}{'an item':>11}{'of 100 kB':>11}{'CPU of an item':>16}")
    for name, made in crews.items():
        began = time.monotonic()
        crew = made()
        _sent(crew, 1, b"")
        first = time.monotonic() - began
        seconds, spent = _sent(crew, ITEMS, b"")
        large, _ = _sent(crew, ITEMS, b"x" * 100_000)
        crew.close()
        each = f"{1e3 * seconds / ITEMS:9.2f}ms{1e3 * large / ITEMS:9.2f}ms{1e3 * spent / ITEMS:14.2f}ms"
        print(f"{name:22}{first:9.2f}s{each}", flush=True)


def _sent(crew: Crew[bytes, bytes], items: int, item: bytes) -> tuple[float, float]:
    """Seconds by the clock, and of this process."""
    began, spent = time.monotonic(), time.process_time()
    for number in range(items):
        crew.submit(number, item)
        assert crew.receive() == (number, item)
    return time.monotonic() - began, time.process_time() - spent


# -- what is not divided ------------------------------------------------------------------------------------------------

FENCED = {"peterson_n": 5, "filter": 4, "mcs": 6, "lamport_fast": 4, "ticket": 7}


def undivided() -> None:
    crew: Crew[bytes, bytes] = Processes(echo, 2)
    _sent(crew, 1, b"")
    item = _sent(crew, ITEMS, b"x" * 1000)[0] / ITEMS
    crew.close()
    print(f"an item of 1 kB, to a process and back: {1e6 * item:.0f} µs\n")
    print(f"{'symbolic, fenced':22}{'model':>6}{'states':>10}{'CPU':>9}{'a state':>10}{'in an item':>12}")
    for name, processes in FENCED.items():
        small = compile_text(sized(name, 2), f"{name}.pml")
        wanted = {(fence.site.kind, fence.site.location.line) for fence in insert_fences(small).fences}
        promela = compile_text(sized(name, processes), f"{name}.pml")
        fences = frozenset(i for i, s in enumerate(promela.sites) if (s.kind, s.location.line) in wanted)
        graph = ControlGraph(promela)
        for model in ("tso", "pso"):
            began = time.process_time()
            states = verify(graph, model, fences=fences, budget=Budget(seconds=20.0)).states
            spent = time.process_time() - began
            told = f"{states:10,}{spent:8.2f}s{1e6 * spent / states:8.1f}µs{item * states / spent:12.0f}"
            print(f"{name + ', ' + str(processes):22}{model:>6}{told}", flush=True)


# -- many more --------------------------------------------------------------------------------------------------------


TEN = 10.0
"""Seconds that one worker would take for a C program: executions take as long as that makes them."""


def pairs(rounds: int) -> Program:
    side = [step for _ in range(rounds) for step in (ld("r", "x"), st("x", 1))]
    return program(side, side)


Told = TypeVar("Told", bound=msgspec.Struct)
Part = tuple[str, float]
"""As text, and for how many seconds."""


class Simulated(Generic[Told]):
    """Workers that take as long as measured ones, on a clock that only the coordinator's own time is added to. Each item
    is explored for real: what comes back, and what can be set aside then, is what it would be."""

    def __init__(
        self, explore: Callable[[str, Slice], PartAnswer[Told]], size: int, execution: float, begun: float = 0.0
    ) -> None:
        self.explore, self.size, self.execution = explore, size, execution
        self.tallies: list[Tally] = []
        self.now = begun
        self.busy = 0.0
        self.own = 0.0
        self.looked = time.process_time()
        self.given: dict[int, tuple[float, Part, PartAnswer[Told]]] = {}
        self.done: list[tuple[float, int]] = []

    @property
    def free(self) -> int:
        return self.size - len(self.given)

    def _pass(self) -> None:
        spent = time.process_time() - self.looked
        self.now += spent
        self.own += spent

    def _explored(self, part: str, seconds: float) -> PartAnswer[Told]:
        return self.explore(part, Slice(1e9, max(1, int(seconds / self.execution))))

    def submit(self, number: int, item: Part) -> None:
        self._pass()
        answer = self._explored(*item)
        self.given[number] = (self.now, item, answer)
        heapq.heappush(self.done, (self.now + START + answer.executions * self.execution, number))
        self.looked = time.process_time()

    def receive(self, seconds: float | None = None) -> tuple[int, PartAnswer[Told] | WorkerDied] | None:
        self._pass()
        until = self.now + (1e9 if seconds is None else seconds)
        self.looked = time.process_time()
        if not self.done or self.done[0][0] > until:
            self.now = until
            return None
        moment, number = heapq.heappop(self.done)
        self.now = max(self.now, moment)
        began, _, answer = self.given.pop(number)
        self.busy += moment - began
        return number, answer

    def hurry(self, number: int) -> bool:
        """What it would have by now."""
        self._pass()
        began, item, answer = self.given[number]
        if began + START + answer.executions * self.execution > self.now:
            answer = self._explored(item[0], self.now - began - START)
        self.cancel(number)
        self.given[number] = (began, item, answer)
        moment = began + START + answer.executions * self.execution
        heapq.heappush(self.done, (max(self.now, moment), number))
        self.looked = time.process_time()
        return True

    def cancel(self, number: int) -> None:
        self.given.pop(number, None)
        self.done = [entry for entry in self.done if entry[1] != number]
        heapq.heapify(self.done)

    def close(self) -> None:
        pass


START = 1e-3
"""Seconds to begin with a part, for a process that stays."""


def simulate(name: str, telling: type[Told], explore: Callable[[str, Slice], PartAnswer[Told]], execution: float,
             crews: Sequence[int]) -> None:  # fmt: skip
    for workers in crews:
        exploration = Exploration(lambda: "", telling, Scale())
        first = Slice().first.seconds  # of whoever begins, alone
        exploration.take(0, explore(exploration.parts[0].text, Slice(1e9, int(first / execution))))
        crew = Simulated(explore, workers, execution, first)
        exploration.clock = lambda crew=crew: crew.now  # type: ignore[misc]
        items = [0]

        def item(part: str, share: float, items: list[int] = items) -> Part:
            items[0] += 1
            return part, share * Slice().seconds

        exploration.run(crew, item)
        alone = exploration.executions * execution
        idle = 1 - crew.busy / (workers * (crew.now - first))
        told = f"{name}, {exploration.executions:,} of {1e3 * execution:g} ms"
        figures = f"{workers:8,}{crew.now:9.1f}{alone / crew.now:8.2f}{idle:7.0%}{items[0]:8,}{crew.own:12.1f}s"
        print(f"{told:48}{figures}", flush=True)


def simulate_all() -> None:
    print(f"{'':48}{'workers':>8}{'seconds':>9}{'ratio':>8}{'idle':>7}{'parts':>8}{'coordinator':>13}")
    with tempfile.TemporaryDirectory() as folder:
        waiting, buffered = build(Source((str(WAITING),)), Path(folder)), Path(folder) / "buffered"
        buffered.mkdir()
        (buffered / "program.c").write_text(buffering_after(4))
        watched_by = ("strategy=all", "monitor=exact-tso", "monitor=exact-pso")
        for name, program, request, arguments in (
            ("dekker, 4 sections", waiting, watched_by, ("dekker", "2", "4")),
            ("peterson, 4 sections", waiting, watched_by, ("peterson", "2", "4")),
            ("with TSO's buffers", build(Source((str(buffered / "program.c"),)), buffered),
             ("strategy=all", "model=tso"), ()),
        ):  # fmt: skip
            asked = runtime.Question(str(program), request, arguments)
            keeping.stays = True
            executions = runtime.explore((asked, _core.whole_search(), 0, Slice(1e9))).executions

            def by_runtime(part: str, slice: Slice, asked: runtime.Question = asked) -> PartAnswer[runtime.Told]:
                return runtime.explore((asked, part, 0, slice))

            simulate(name, runtime.Told, by_runtime, TEN / executions, (1, 2, 4, 10))
            keeping.let_go()
            keeping.stays = False
    for rounds, execution, crews in (
        (7, 5e-6, (1, 10, 100, 1000)),
        (6, 1e-3, (1, 10, 100, 1000)),
        (6, 1e-2, (1, 10, 100)),
    ):
        question = Question(pairs(rounds), Semantics(), "skip", (), "c20", 1024)

        def interpreted(part: str, slice: Slice, question: Question = question) -> PartAnswer[Watched]:
            return watched.explore((question, part, slice))

        simulate(f"2 × {rounds} × (load; store)", Watched, interpreted, execution, crews)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    if "--simulate" in sys.argv:
        simulate_all()
    elif "--ray" in sys.argv:
        overhead()
    elif "--undivided" in sys.argv:
        undivided()
    else:
        compare(sys.argv[1:])
