"""Processes that work for another one: the same answers as from one, whatever happens to them."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from counting import BUFFERING, COUNTING, CROSSING, SMALL, told
from teetotal import _core
from teetotal.answers.events import Semantics
from teetotal.answers.options import CheckOptions
from teetotal.budget import Budget
from teetotal.engines.executions.parts import PartAnswer
from teetotal.engines.runtime import driver, exploring
from teetotal.programs.c import build
from teetotal.scale import local, processes
from teetotal.scale.checkpoint import Checkpoint
from teetotal.scale.crew import Crew, Log, OutOfBudget, WorkerDied, each, in_order
from teetotal.scale.here import Here
from teetotal.scale.local import Processes
from teetotal.scale.scale import Scale, Slice

KILLS = 50 if os.environ.get("TEETOTAL_PROFILE") == "fuzz" else 3


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scale") / "counting.c"
    path.write_text(COUNTING.replace("ROUNDS", "3"))
    return path


@pytest.fixture(scope="module")
def alone(counting: Path) -> dict[str, Any]:
    return told(counting)


# -- processes --------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_workers_end_with_the_one_who_started_them(tmp_path: Path) -> None:
    code = (
        "import os, time; from teetotal.scale.crew import each; from teetotal.scale.local import Processes\n"
        "def work(number):\n    open(str(os.getpid()), 'w').close(); time.sleep(1000)\n"
        "list(each(Processes(work, 2), [1, 2]))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
    while len(workers := [file.name for file in tmp_path.iterdir()]) < 2:
        time.sleep(0.02)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 30
    while any(_runs(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(_runs(worker) for worker in workers)


def _runs(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _square(number: int) -> int:
    return number * number


@pytest.mark.parametrize("crew", [lambda: Here(_square), lambda: Processes(_square, 3)], ids=["here", "processes"])
def test_the_same_verbs(crew: Any) -> None:
    assert list(in_order(each(crew(), range(20)))) == [number * number for number in range(20)]
    one = crew()
    one.submit(7, 3)
    one.cancel(7)
    assert one.receive(0.01) is None
    one.submit(8, 4)
    assert one.receive() == (8, 16)
    one.close()


def test_who_runs_out_of_time_is_not_asked_again() -> None:
    given: list[int] = []

    class Late(Here[int, int]):
        def receive(self, seconds: float | None = None) -> tuple[int, int | WorkerDied]:
            number, item = self.waiting.popleft()
            given.append(item)
            return number, OutOfBudget(memory=False)

    ((position, answer),) = each(Late(_square), [3], tries=3)
    assert (position, type(answer), given) == (0, OutOfBudget, [3])


def test_who_died_while_idle_is_replaced() -> None:
    crew = Processes(_square, 1)
    crew.submit(0, 2)
    assert crew.receive() == (0, 4)
    (worker,) = crew.pool
    worker.process.kill()
    worker.process.join()
    crew.submit(1, 3)
    assert crew.receive() == (1, 9)
    crew.close()


def test_nobody_is_started_before_there_is_something_to_do() -> None:
    """Of a thousand, two work at the same time, whoever has worked before."""
    crew = Processes(_square, 1000)
    for number in range(3):
        crew.submit(2 * number, number)
        crew.submit(2 * number + 1, number)
        assert {crew.receive(), crew.receive()} == {(2 * number, number**2), (2 * number + 1, number**2)}
    assert sum(worker.started for worker in crew.pool) == 2
    crew.close()


def test_who_grows_too_large_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    crew = Processes(_wait, 1, megabytes=1)
    monkeypatch.setattr(local, "largest", lambda process: 1 << 40)
    crew.submit(1, 3)
    ((position, answer),) = [crew.receive()]
    assert (position, str(answer)) == (1, "its memory is used up")
    crew.close()


def _wait(number: int) -> int:
    signal.pause()
    return number


def test_whoever_explores_tells_what_there_is_when_somebody_waits(tmp_path: Path) -> None:
    """Each within a slice that nobody would live to see the end of."""
    path = tmp_path / "counting.c"
    path.write_text(COUNTING.replace("ROUNDS", "20"))
    with build.built(build.Source((str(path),))) as program:
        question = exploring.Question(str(program), tuple(driver.semantics_options(Semantics())), (), trust=True)
        crew = Processes(exploring.explore, 1)
        try:
            crew.submit(0, (question, _core.whole_search(), 0, Slice(1e9)))
            for _ in range(600):
                crew.hurry(0)  # however early: it is heard once there is something to be told
                if (found := crew.receive(0.1)) is not None:
                    break
            assert found is not None
            answer = found[1]
            assert isinstance(answer, PartAnswer)
            assert (answer.refused, answer.died) == ("", "")
            assert answer.executions > 0
            assert not _core.state_of_part(answer.left).finished
        finally:
            crew.close()


def _asleep_until_hurried(item: tuple[Path, int]) -> int:
    """The first sees that both are asleep, and then it is as if somebody pressed Ctrl-C."""
    folder, number = item
    with subprocess.Popen(["sleep", "1000"]):
        (folder / str(number)).touch()
        while number == 0 and not (folder / "1").exists():
            time.sleep(0.01)
        if number == 0:
            os.kill(os.getppid(), signal.SIGINT)
    return number


def test_copies_tell_what_they_have_when_somebody_interrupts(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        items = [(tmp_path, number) for number in range(3)]
        assert Budget(scale=Scale(2)).by_copies(_asleep_until_hurried, items) == ([0, 1, None], True)
    finally:
        signal.signal(signal.SIGINT, before)


def test_models_with_buffers_by_a_worker_each(tmp_path: Path) -> None:
    path = tmp_path / "buffering.c"
    path.write_text(BUFFERING)
    options = CheckOptions(goal="safe", models=("tso", "pso"))
    scale = Scale(2)
    assert told(path, scale, options) == told(path, None, options)
    assert [tally.items for tally in scale.tallies] == [1, 1]


def test_one_model_with_buffers_by_all_workers(tmp_path: Path) -> None:
    """Some of whom are killed, unless they have just answered; the file with what is known is gone on with, too."""
    path, options = tmp_path / "crossed.c", CheckOptions(goal="safe", models=("pso",), triage=0.0)
    path.write_text(CROSSING)
    expected = told(path, None, options)
    log = Killing({2, 4})
    for workers, resume in ((3, False), (2, True)):
        checkpoint = Checkpoint(str(tmp_path / "run.db"), "a test", "", resume=resume)
        assert told(path, Watched(workers, log=log, slice=SMALL, checkpoint=checkpoint), options) == expected
        checkpoint.close()
    assert log.heard > 1


def test_one_model_with_buffers_is_left_to_one_worker(tmp_path: Path) -> None:
    """Where nothing has to be kept: its parts are too small to gain by."""
    path, options = tmp_path / "crossed.c", CheckOptions(goal="safe", models=("pso",), triage=0.0)
    path.write_text(CROSSING)
    scale = Scale(2, slice=SMALL)
    assert told(path, scale, options) == told(path, None, options)
    assert not any(tally.items for tally in scale.tallies)


def _go_on(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGCONT)


class Stopping(Log):
    """Stops whoever is at work after an answer, for a moment."""

    def __init__(self) -> None:
        super().__init__()
        self.crew: Processes[Any, Any] | None = None
        self.stopped = 0

    def __call__(self, event: str, **told: Any) -> None:
        if self.crew is not None and event == "explored" and self.stopped < 3:
            for worker in self.crew.busy[:1]:
                assert worker.process.pid is not None
                os.kill(worker.process.pid, signal.SIGSTOP)
                Timer(0.05, _go_on, (worker.process.pid,)).start()
                self.stopped += 1


def test_a_worker_that_is_stopped_for_a_moment_changes_nothing(counting: Path, alone: dict[str, Any]) -> None:
    log = Stopping()
    assert told(counting, Watched(2, log=log, slice=SMALL)) == alone
    assert log.stopped > 0


class Killing(Log):
    """Kills a process of the crew after some of the answers, or, if nobody is busy then, as soon as somebody is."""

    def __init__(self, at: set[int]) -> None:
        super().__init__()
        self.at, self.heard, self.deaths = at, 0, 0
        self.crew: Processes[Any, Any] | None = None

    def __call__(self, event: str, **told: Any) -> None:
        self.heard += event == "explored"
        self.deaths += event == "died"
        if self.crew is not None and event == "explored" and self.heard >= min(self.at, default=self.heard + 1):
            for worker in self.crew.busy[:1]:
                worker.process.kill()
                self.at.remove(min(self.at))


class Watched(Scale):
    def crew(self, *asked: Any) -> Crew[Any, Any]:
        crew = super().crew(*asked)
        if isinstance(self.log, Killing | Stopping) and isinstance(crew, Processes):
            self.log.crew = crew
        return crew


def test_a_killed_worker_changes_nothing(counting: Path, alone: dict[str, Any]) -> None:
    log = Killing({3, 5, 8})
    assert told(counting, Watched(2, log=log, slice=SMALL)) == alone
    assert log.deaths > 0
    assert alone["executions"] > 500
    assert alone["violations"]


RUN = """
import sys
sys.path.insert(0, sys.argv[3])
from counting import SMALL, told
from pathlib import Path
from teetotal.scale.checkpoint import Checkpoint
from teetotal.scale.crew import Log
from teetotal.scale.scale import Scale
import json
checkpoint = Checkpoint(sys.argv[2], "a test", "", resume=True)
print(json.dumps(told(Path(sys.argv[1]), Scale(2, checkpoint=checkpoint, log=Log("-"), slice=SMALL))))
"""


def test_killed_at_any_moment_and_gone_on_with(counting: Path, alone: dict[str, Any], tmp_path: Path) -> None:
    """A moment after one of the next answers, so that some are kept each time."""
    chance = random.Random(1)
    killed = 0
    while killed < KILLS:
        kept = tmp_path / f"{killed}.db"
        while True:
            command = [sys.executable, "-c", RUN, str(counting), str(kept), str(Path(__file__).parents[1])]
            pipe = subprocess.PIPE
            run = subprocess.Popen(command, stdout=pipe, stderr=pipe, start_new_session=True, text=True)
            assert run.stderr is not None
            heard = sum(1 for _ in range(chance.choice((1, 2, 5, 10, 30))) if run.stderr.readline())
            time.sleep(chance.choice((0.0, 0.003, 0.02)))
            if run.poll() is None and heard:
                os.killpg(run.pid, signal.SIGKILL)
            answer, _ = run.communicate()
            if run.returncode == 0:
                break
            assert run.returncode == -signal.SIGKILL
            killed += 1
        assert json.loads(answer) == alone


# -- a cluster --------------------------------------------------------------------------------------------------------


def test_without_ray_this_machine_does_the_work(counting: Path, alone: dict[str, Any], monkeypatch: Any) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    scale = Scale(2, "auto", slice=SMALL)
    assert told(counting, scale) == alone
    assert "Ray is not installed" in scale.notes[0]


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "127.0.0.1:many", "127.0.0.1:99999999"])
def test_an_address_that_cannot_be_reached_is_told(address: str, tmp_path: Path) -> None:
    """Also of a question that needs no help."""
    pytest.importorskip("ray")
    test = tmp_path / "one.litmus"
    test.write_text("X86 one\n{ x=0; }\n P0 ;\n MOV [x],$1 ;\nexists (x=1)\n")
    command = [sys.executable, "-m", "teetotal", "check", "--cluster", address, str(test)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0
    (warning,) = run.stderr.splitlines()
    assert f"warning: the cluster {address} cannot be reached" in warning


def test_a_cluster_that_changes(tmp_path: Path) -> None:
    """A real one: slow to start, so once for all that is asked of it."""
    pytest.importorskip("ray")
    script = tmp_path / "on_cluster.py"
    script.write_text(ON_CLUSTER)
    command = [sys.executable, str(script), str(tmp_path / "died"), str(Path(__file__).parents[1])]
    run = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert run.returncode == 0, run.stderr
    found = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    assert [told["same"] for told in found] == [True, True, True, True]
    killed, added, lost, gone = found
    assert killed["died"] == 1
    assert added["workers"] == 3
    assert lost["notes"] == ["the cluster has 2 processors left, of 3"]
    assert gone["notes"] == ["the cluster is lost: processes of this machine take its place"]


ON_CLUSTER = """
import json, os, sys, time
from pathlib import Path
import ray
from ray.cluster_utils import Cluster as Machines
sys.path.insert(0, sys.argv[2])
from teetotal.answers.events import Semantics
from teetotal.budget import Budget
from teetotal.engines.executions import watched
from teetotal.scale import cluster
from teetotal.scale.crew import Log
from teetotal.scale.processes import any_size
from teetotal.scale.scale import Scale, Slice
from waiting_programs import dekker

FLAG = sys.argv[1]
cluster.Cluster.look = 0.0

def explore_or_die(item):
    if not Path(FLAG).exists():
        Path(FLAG).touch()
        os.kill(os.getpid(), 9)
    return watched.explore(item)

class OnCluster(Scale):
    def crew(self, work, *limits):
        return super().crew(explore_or_die, *limits)

class Changing(Log):
    def __init__(self, change):
        super().__init__()
        self.change, self.heard = change, 0

    def __call__(self, event, **told):
        self.heard += event == "explored"
        if self.heard == 3:
            self.change()

def ask(change):
    scale = OnCluster(1, "auto", log=Changing(change), slice=Slice(60.0, 100))
    many = watched.explored(question, Budget(scale=scale), None)
    died = sum(tally.died for tally in scale.tallies)
    same = many == alone
    print(json.dumps({"same": same, "died": died, "workers": len(scale.tallies), "notes": scale.notes}), flush=True)

nodes = []

def add():
    if not nodes:
        nodes.append(machines.add_node(num_cpus=1))

def lose():
    if nodes:
        machines.remove_node(nodes.pop(), allow_graceful=False)
        while ray.cluster_resources()["CPU"] > 2:  # until Ray has noticed
            time.sleep(0.05)

def end():
    if machines.head_node is not None:
        machines.head_node.kill_all_processes(check_alive=False, allow_graceful=False)
        machines.head_node = None

question = watched.Question(dekker(3), Semantics(), "skip", ("exact-tso", "exact-pso"), "c20", 1024)
os.environ.update(cluster._NEVER)
alone = watched.explored(question, Budget(), None)
with any_size():
    machines = Machines(initialize_head=True, head_node_args={"num_cpus": 2, "object_store_memory": 100 << 20})
    ray.init(address=machines.address, log_to_driver=False)
ask(lambda: None)
ask(add)
ask(lose)
ask(end)
os._exit(0)  # Ray would look for its head
"""


def test_a_process_that_has_ended_has_no_children() -> None:
    """It was an error, and ended whoever looked at the memory of explorers that come and go."""
    child = subprocess.Popen(["true"])
    child.wait()
    assert list(processes.children(child.pid)) == []
    assert processes.largest(child.pid) == 0


ORPHANS = """
import os, signal, subprocess, sys
from teetotal.scale.processes import adopt_orphans, bury_orphans, children, end_children

adopt_orphans()
works = subprocess.Popen(["sleep", "60"])
for _ in range(3):
    orphan = int(subprocess.run(["sh", "-c", "sleep 60 > /dev/null 2>&1 & echo $!"], capture_output=True).stdout)
    os.kill(orphan, signal.SIGKILL)
    os.waitid(os.P_PID, orphan, os.WEXITED | os.WNOWAIT)
before = len(list(children()))
bury_orphans(works.pid)
print(before, list(children()) == [works.pid])
os.kill(works.pid, signal.SIGKILL)
os.waitid(os.P_PID, works.pid, os.WEXITED | os.WNOWAIT)
bury_orphans(works.pid)
print(works.wait())
"""


def test_orphans_that_have_ended_are_buried() -> None:
    """Each exploration of a C program left one to whoever waits for it all: a long search had hundreds."""
    done = subprocess.run([sys.executable, "-c", ORPHANS], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["4 True", str(-signal.SIGKILL)]
