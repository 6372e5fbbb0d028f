"""Processes that work for another one: the same answers as from one, whatever happens to them."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from long_questions import history_of_rounds
from teetotal import _core, checking
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Semantics
from teetotal.answers.options import CheckOptions
from teetotal.budget import Budget
from teetotal.engines.executions.parts import PartAnswer
from teetotal.engines.runtime import driver, exploring
from teetotal.histories.generate import random_history, to_axe
from teetotal.programs import files
from teetotal.programs.c import build
from teetotal.report.json import to_json
from teetotal.scale import processes
from teetotal.scale.checkpoint import Checkpoint
from teetotal.scale.crew import Crew, Log, each, in_order
from teetotal.scale.digest import digest
from teetotal.scale.here import Here
from teetotal.scale.local import Processes
from teetotal.scale.scale import Scale, Slice

KILLS = 50 if os.environ.get("TEETOTAL_PROFILE") == "fuzz" else 3
COUNTING = """
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
atomic_int x, y;
static void *count(void *other) {
    for (int i = 0; i < ROUNDS; i++) { int v = atomic_load(&x); atomic_store(&x, v + 1); }
    atomic_store_explicit(other == 0 ? &y : &x, 7, memory_order_relaxed);
    return 0;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, count, 0);
    pthread_create(&b, 0, count, &x);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(x != 2);
    return 0;
}
"""
BUFFERING = """
#include <pthread.h>
volatile int x, y, r, s;
static void *left(void *unused) { x = 1; r = y; return unused; }
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, left, 0);
    y = 1;
    s = x;
    pthread_join(a, 0);
    return 0;
}
"""
SMALL = Slice(60.0, 60)


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scale") / "counting.c"
    path.write_text(COUNTING.replace("ROUNDS", "3"))
    return path


def told(path: Path, scale: Scale | None = None, options: CheckOptions = CheckOptions(triage=0.0)) -> dict[str, Any]:
    (subject,) = files.read((str(path),), options)
    answer = json.loads(to_json(checking.check(subject, options, scale=scale)))
    return {name: value for name, value in answer.items() if name not in ("seconds", "cpu")}


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


class Killing(Log):
    """Kills a process of the crew after some of the answers."""

    def __init__(self, at: set[int]) -> None:
        super().__init__()
        self.at, self.heard, self.deaths = at, 0, 0
        self.crew: Processes[Any, Any] | None = None

    def __call__(self, event: str, **told: Any) -> None:
        self.heard += event == "explored"
        self.deaths += event == "died"
        if self.crew is not None and event == "explored" and self.heard in self.at:
            for worker in self.crew.busy[:1]:
                worker.process.kill()


class Watched(Scale):
    def crew(self, *asked: Any) -> Crew[Any, Any]:
        crew = super().crew(*asked)
        if isinstance(self.log, Killing) and isinstance(crew, Processes):
            self.log.crew = crew
        return crew


def test_a_killed_worker_changes_nothing(counting: Path, alone: dict[str, Any]) -> None:
    log = Killing({3, 5, 8})
    assert told(counting, Watched(2, log=log, slice=SMALL)) == alone
    assert log.deaths > 0
    assert alone["executions"] > 500
    assert alone["violations"]


# -- checkpoints ------------------------------------------------------------------------------------------------------

RUN = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[3], str(Path(sys.argv[3]).parent)]
from test_scale import SMALL, told
from teetotal.scale.checkpoint import Checkpoint
from teetotal.scale.digest import digest
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
            command = [sys.executable, "-c", RUN, str(counting), str(kept), str(Path(__file__).parent)]
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


SMALL_PARTS = """
from teetotal.__main__ import main
from teetotal.histories import parts
parts.FEWEST = 500
"""
KILLED = """
import os, signal, sys
from teetotal.scale.checkpoint import Checkpoint
write, left = Checkpoint._write, [int(sys.argv.pop(1))]

def killed(self, changes):
    left[0] -= 1
    if left[0] == 0:  # between two transactions, or within one
        if self.file.execute("SELECT count(*) FROM items").fetchone()[0] % 2:
            self.file.execute("BEGIN")
            self.file.execute(*changes[0])
        os.killpg(0, signal.SIGKILL)
    return write(self, changes)

Checkpoint._write = killed
main()
"""


def kept_and_told(code: str, subject: Path, *asked: str, most: int | None = None) -> subprocess.CompletedProcess[str]:
    """A question in a process of its own; ``most``: bytes of a file that it may write."""

    def limit() -> None:
        if most is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    command = [sys.executable, "-c", SMALL_PARTS + code, *asked, str(subject)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, start_new_session=True, timeout=120, preexec_fn=limit
    )


def answers(output: str) -> list[str]:
    found = [json.loads(line) for line in output.splitlines()]
    return sorted(re.sub(r'"(seconds|cpu)": [^,}]*', "", json.dumps(answer, sort_keys=True)) for answer in found)


LARGE = ["history", "--json", "--no-order", "--workers", "2"]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history in parts."""
    path = tmp_path_factory.mktemp("large") / "one.axe"
    path.write_text(history_of_rounds(6, 600))
    return path


@pytest.mark.parametrize("what", ["histories", "one history", "fence"])
def test_killed_while_it_keeps_something_and_gone_on_with(what: str, large: Path, tmp_path: Path) -> None:
    """At the second thing that is kept, the next time at the third, and so on: what a search begins with it finds again."""
    asked, subject = LARGE, large
    if what == "histories":
        drawn = (random_history(operations=40, seed=seed) for seed in range(16))
        asked, subject = ["history", "--json", "--workers", "2"], tmp_path / "many.axe"
        subject.write_text("".join(map(to_axe, drawn)))
    elif what == "fence":
        asked, subject = ["fence", "--json", "--workers", "2"], tmp_path / "counting.c"
        subject.write_text(BUFFERING)
    expected = kept_and_told("main()", subject, *asked)
    assert expected.returncode in (0, 1)
    kept = ["--checkpoint", str(tmp_path / "run.db"), "--resume"]
    deaths = 0
    while (found := kept_and_told(KILLED, subject, str(deaths + 2), *asked, *kept)).returncode == -signal.SIGKILL:
        deaths += 1
    assert (found.returncode, found.stderr) == (expected.returncode, expected.stderr)
    assert answers(found.stdout) == answers(expected.stdout)
    assert deaths > 0


INTERRUPTED = """
import os, signal
from teetotal.scale.checkpoint import Checkpoint
save, left = Checkpoint.save_item, [2]

def interrupted(self, *item):
    save(self, *item)
    left[0] -= 1
    if left[0] == 0:
        os.killpg(0, signal.SIGINT)  # as a terminal does

Checkpoint.save_item = interrupted
main()
"""


def test_ctrl_c_within_one_history_keeps_its_parts(large: Path, tmp_path: Path) -> None:
    kept = tmp_path / "run.db"
    ended = kept_and_told(INTERRUPTED, large, *LARGE, "--checkpoint", str(kept))
    assert (ended.returncode, "interrupted" in ended.stderr) == (130, True)
    with sqlite3.connect(kept) as known:
        (parts,) = known.execute("SELECT count(*) FROM items").fetchone()
    assert 2 <= parts < 6
    found = kept_and_told("main()", large, *LARGE, "--checkpoint", str(kept), "--resume")
    assert answers(found.stdout) == answers(kept_and_told("main()", large, *LARGE).stdout)


def test_a_full_disk_costs_no_answer_about_one_history(large: Path, tmp_path: Path) -> None:
    """The answer is told; what could be kept until then is gone on with once there is room."""
    kept = ["--checkpoint", str(tmp_path / "run.db"), "--resume"]
    expected = kept_and_told("main()", large, *LARGE)
    found = kept_and_told("main()", large, *LARGE, *kept, most=40_000)
    assert (found.returncode, answers(found.stdout)) == (expected.returncode, answers(expected.stdout))
    assert "what is found now is not in it yet" in found.stderr
    again = kept_and_told("main()", large, *LARGE, *kept)
    assert (again.returncode, again.stderr, answers(again.stdout)) == (0, "", answers(expected.stdout))


@pytest.mark.parametrize("asks_to_end", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_what_asks_to_end_keeps_what_is_known(tmp_path: Path, asks_to_end: signal.Signals) -> None:
    program, kept = tmp_path / "counting.c", tmp_path / "run.db"
    program.write_text(COUNTING.replace("ROUNDS", "7"))
    command = [sys.executable, "-m", "teetotal", "check", "--triage", "0", "--checkpoint", str(kept), "--log", "-"]
    run = subprocess.Popen([*command, str(program)], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert run.stderr is not None
    first = json.loads(run.stderr.readline())
    assert first["event"] == "explored"
    run.send_signal(asks_to_end)
    said, _ = run.communicate()
    assert run.returncode not in (0, 70)
    assert "interrupted" in said
    with sqlite3.connect(kept) as known:
        (slices,) = known.execute("SELECT count(*) FROM told").fetchone()
    assert slices > 0


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    kept = str(tmp_path / "run.db")
    Checkpoint(kept, "teetotal check a.c", "one", resume=False).close()
    with pytest.raises(TeetotalError, match="is there already"):
        Checkpoint(kept, "teetotal check a.c", "one", resume=False)
    with pytest.raises(TeetotalError, match="with other options"):
        Checkpoint(kept, "teetotal check a.c", "other", resume=True)
    held = Checkpoint(kept, "teetotal check a.c", "one", resume=True)
    held.save_item("x", 1)
    with pytest.raises(TeetotalError, match="locked"):
        Checkpoint(kept, "teetotal check a.c", "one", resume=True)
    held.file.execute("UPDATE question SET version = '0.0'")
    held.close()
    with pytest.raises(TeetotalError, match=r"of teetotal 0\.0"):
        Checkpoint(kept, "teetotal check a.c", "one", resume=True)
    text = tmp_path / "text.db"
    text.write_text("no checkpoint")
    with pytest.raises(TeetotalError, match="not a database"):
        Checkpoint(str(text), "", "", resume=True)


def test_questions_are_told_apart_by_where_their_parts_end() -> None:
    assert digest(b"ab", b"c") != digest(b"a", b"bc") != digest(b"a", b"b", b"c")


@pytest.mark.parametrize("resume", [False, True])
def test_what_can_be_no_checkpoint(tmp_path: Path, resume: bool) -> None:
    with pytest.raises(TeetotalError, match="no checkpoint can be kept there: it is a directory"):
        Checkpoint(str(tmp_path), "", "", resume=resume)
    with pytest.raises(TeetotalError, match="no checkpoint can be kept there: it is no regular file"):
        Checkpoint("/dev/full", "", "", resume=resume)


def test_a_full_disk_loses_nothing_that_was_kept(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    kept = str(tmp_path / "run.db")
    checkpoint = Checkpoint(kept, "", "", resume=False)
    checkpoint.save_item("first", "a")
    (pages,) = checkpoint.file.execute("PRAGMA page_count").fetchone()
    checkpoint.file.execute(f"PRAGMA max_page_count = {pages}")
    checkpoint.save_item("large", "b" * 100_000)
    assert "full" in capfd.readouterr().err
    checkpoint.save_item("second", "c")
    checkpoint.file.execute("PRAGMA max_page_count = 1000000")  # somebody made room
    checkpoint.save_item("third", "d")
    checkpoint.close()
    again = Checkpoint(kept, "", "", resume=True)
    assert [again.item(name, str) for name in ("first", "second", "third")] == ["a", "c", "d"]
    assert again.item("large", str) == "b" * 100_000
    again.close()


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
