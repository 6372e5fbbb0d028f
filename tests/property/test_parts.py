"""An exploration in parts tells what one search tells: the same counts, the same reports, in the same order.

Whoever helps answers in any order here, after any number of executions, and now and then dies: the schedule of workers is
random, and the answer is not.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from amounts import some
from program_strategies import describe
from random_programs import SHAPES, seeded
from small_programs import ld, ring_behind_guards, st
from small_programs import program as of_threads
from teetotal import _core
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Semantics
from teetotal.answers.strategies import Strategy
from teetotal.engines.encoding import encode, encode_semantics
from teetotal.engines.executions import watched
from teetotal.engines.executions.parts import Exploration, PartAnswer, Refused
from teetotal.engines.executions.walks import Walks
from teetotal.engines.executions.watched import Question, Watched
from teetotal.programs.program import Program
from teetotal.scale.checkpoint import Checkpoint
from teetotal.scale.crew import Tally, WorkerDied
from teetotal.scale.scale import Scale, Slice
from waiting_programs import dekker, mcs_lock, peterson, spin_lock, ticket_lock, ttas

CROWD = {"threads": (3, 4, 5, 5, 6, 7), "operations": (3, 3, 2, 2, 2, 1), "addresses": 4}
MONITORS = ("exact-tso", "exact-pso")
MOST = 3000


class Shuffled:
    """A crew whose members answer in any order, after a few executions."""

    def __init__(self, chance: random.Random, size: int, slices: tuple[int, ...], deaths: float = 0.0) -> None:
        self.chance, self.size, self.slices, self.deaths = chance, size, slices, deaths
        self.tallies: list[Tally] = []
        self.given: dict[int, Any] = {}
        self.died: set[int] = set()

    @property
    def free(self) -> int:
        return self.size - len(self.given)

    def submit(self, number: int, item: tuple[Question, str]) -> None:
        self.given[number] = item

    def receive(self, seconds: float | None = None) -> tuple[int, PartAnswer[Watched] | WorkerDied] | None:
        if not self.given:
            return None
        number = self.chance.choice(list(self.given))
        question, part = self.given.pop(number)
        if self.chance.random() < self.deaths and number not in self.died:  # three times in a row would be too often
            self.died.add(number)
            return number, WorkerDied("killed", 3)
        return number, watched.explore((question, part, Slice(1e9, self.chance.choice(self.slices))))

    def hurry(self, number: int) -> bool:
        return True

    def cancel(self, number: int) -> None:
        self.given.pop(number, None)

    def close(self) -> None:
        pass


ALL = Strategy("all")
SEED = 7


def asked(program: Program, semantics: Semantics = Semantics(), explore: Strategy = ALL) -> Question:
    return Question(program, semantics, "skip", MONITORS, "c20", 1024, explore=explore, seed=SEED)


def alone(program: Program, semantics: Semantics = Semantics(), explore: Strategy = ALL) -> Any:
    strategy = (explore.name, explore.count, explore.depth, SEED)
    result, findings, cuts, *_ = _core.monitored_search(
        encode(program), encode_semantics(semantics), True, *strategy, list(MONITORS), 1e9, 1024, None
    )
    counts = watched.Counts(
        result.executions, result.blocked, result.cut, result.complete, result.full, result.endless, result.bounded
    )
    return counts, [tuple(finding) for finding in findings], cuts


def by_many(question: Question, crew: Shuffled, scale: Scale, steps: float = float("inf")) -> Any:
    exploration = Exploration(lambda: "search", Watched, scale, question.division())
    exploration.clock = lambda: 0.0  # nobody is hurried by how fast this machine is
    exploration.can_hurry = crew.size % 2 == 0
    exploration.run(crew, lambda part, share: (question, part), steps=steps)
    assert exploration.over or steps < float("inf")
    everything = exploration.finished and question.explore.is_exhaustive
    counts, findings, cuts, *_ = watched.together(exploration.all_told(), everything, False)
    if everything:  # nobody is left with something that is of no use to anybody
        assert (list(exploration.parts), exploration.executions) == ([0], counts.executions)
    return counts, [tuple(finding) for finding in findings], cuts


@pytest.mark.parametrize("shape", SHAPES)
def test_as_one_search_would_tell_it(shape: str) -> None:
    explored = 0
    for crowd in ({}, CROWD):
        for number, program in enumerate(seeded(31, some(150), SHAPES[shape]._replace(**crowd))):
            semantics = Semantics(failed_cas="write" if number % 3 == 0 else "read")
            try:
                expected = alone(program, semantics)
            except _core.MixedMutex:
                continue
            if expected[0].executions > MOST:
                continue
            chance = random.Random(f"{shape} {number}")
            crew = Shuffled(chance, chance.choice((1, 2, 3, 8)), (1, 1, 2, 7, 30), deaths=0.02)
            assert by_many(asked(program, semantics), crew, Scale()) == expected, describe(program)
            explored += expected[0].executions
    assert explored > 0


@pytest.mark.parametrize(
    "program",
    [dekker(2), dekker(3), peterson(3), ticket_lock(4), mcs_lock(3), spin_lock(ttas, 3)],
    ids=["dekker 2", "dekker 3", "peterson 3", "ticket 4", "mcs 3", "ttas 3"],
)
@pytest.mark.parametrize("workers", [1, 2, 5, 40])
def test_programs_that_wait(program: Program, workers: int) -> None:
    crew = Shuffled(random.Random(workers), workers, (1, 5, 40), deaths=0.01)
    assert by_many(asked(program), crew, Scale()) == alone(program)


def test_what_is_under_way_when_the_time_is_over_is_told() -> None:
    question, crew = asked(dekker(3)), Shuffled(random.Random(1), 2, (5,))
    exploration = Exploration(lambda: "search", Watched, Scale(), question.division())
    while not exploration.running:
        exploration.run(crew, lambda part, share: (question, part), steps=1)
    before = exploration.executions
    exploration.finish(crew)
    assert not exploration.running
    assert before < exploration.executions == sum(told.executions for told in exploration.all_told())


def test_what_does_not_fit_in_the_end_is_left_out_and_nothing_is_proved() -> None:
    question, crew = asked(dekker(2)), Shuffled(random.Random(1), 2, (10_000,))
    exploration = Exploration(lambda: "search", Watched, Scale(), question.division())
    exploration.running[0] = 0.0
    crew.submit(0, (question, exploration.parts[0].text))

    def refuse(told: Watched) -> None:
        raise Refused("it does not fit")

    exploration.accept = refuse
    exploration.finish(crew)
    assert not exploration.finished


def test_a_race_that_is_not_settled_is_asked_again_after_a_merge() -> None:
    """Forgotten, it led to the same classes in another order: what is told of them was another execution."""
    crowd = of_threads(
        [st("y", 1), st("x", 2)],
        [st("z", 1), st("y", 1), ld("r", "y")],
        [ld("r", "y"), ld("q", "z")],
        [ld("r", "z")],
        [st("x", 1), st("z", 2), st("x", 2)],
    )
    for workers in (2, 8):
        assert by_many(asked(crowd), Shuffled(random.Random(0), workers, (1, 2, 7)), Scale()) == alone(crowd)


def test_what_a_part_supposed_wrongly_is_explored_again() -> None:
    """A branch that others put above a part meanwhile makes the tail decide where its race goes. Believed to be settled,
    the race led to the same classes by other executions."""
    ring = ring_behind_guards()
    program = msgspec.structs.replace(ring, threads=(*ring.threads[:3], ring.threads[4], ring.threads[3]))
    expected = alone(program)
    for seed in range(4):
        assert by_many(asked(program), Shuffled(random.Random(seed), 8, (1, 2)), Scale()) == expected


def test_what_one_slice_tells_is_told_of_all() -> None:
    """Whichever comes first; and a location that is a mutex to one and data to another is refused."""
    calm, odd = Watched(2, 0, 0, False, False, [], [], [1]), Watched(3, 1, 1, True, True, [], [], [0, 2])
    for slices in ((calm, odd), (odd, calm)):
        counts, _, _, interrupted, _ = watched.together(slices, True, False)
        assert counts == watched.Counts(5, 1, 1, complete=False, full=True, endless=True)
        assert not interrupted
    with pytest.raises(Refused, match="both as a mutex and as data"):
        watched.together([calm, msgspec.structs.replace(odd, uses=[2])], True, False)


def test_gone_on_with_from_a_checkpoint(tmp_path: Path) -> None:
    """Every few answers all is forgotten but what is in the file."""
    chance = random.Random(5)
    for number, program in enumerate(
        [dekker(3), peterson(3), *seeded(32, some(40), SHAPES["plain"]._replace(**CROWD))]
    ):
        expected = alone(program)
        if expected[0].executions > 2 * MOST:
            continue
        path = str(tmp_path / f"{number}.db")
        question, resume = asked(program), False
        while True:
            checkpoint = Checkpoint(path, "a test", "", resume=resume)
            crew = Shuffled(chance, 3, (20, 80, 320))
            told = by_many(question, crew, Scale(3, checkpoint=checkpoint), steps=chance.choice((1, 2, 5, 20)))
            checkpoint.close()
            if told[0].complete:
                break
            resume = True
        assert told == expected


def damaged(whole: bytes, chance: random.Random) -> bytes:
    """Some bytes of a file are others, or gone, or there is no more room for its end."""
    bytes_ = bytearray(whole)
    at = chance.randrange(len(whole))
    match chance.randrange(4):
        case 0:
            bytes_[at] ^= 1 << chance.randrange(8)
        case 1:
            for _ in range(8):
                bytes_[chance.randrange(len(whole))] = chance.randrange(256)
        case 2:
            bytes_[at : at + 512] = bytes(len(whole[at : at + 512]))
        case _:
            del bytes_[at:]
    return bytes(bytes_)


def test_a_damaged_checkpoint_is_refused_or_tells_the_same(tmp_path: Path) -> None:
    """A byte that is another one makes no other answer: SQLite would not notice."""
    chance, program, kept = random.Random(9), dekker(3), tmp_path / "kept.db"
    question, expected = asked(program), alone(program)
    checkpoint = Checkpoint(str(kept), "a test", "", resume=False)
    by_many(question, Shuffled(chance, 3, (20, 80)), Scale(3, checkpoint=checkpoint), steps=25)
    checkpoint.close()
    whole, refused = kept.read_bytes(), 0
    for number in range(some(150, least=40)):
        path = tmp_path / f"{number}.db"
        path.write_bytes(damaged(whole, chance))
        try:
            checkpoint = Checkpoint(str(path), "a test", "", resume=True)
            try:
                told = by_many(question, Shuffled(chance, 3, (80, 320)), Scale(3, checkpoint=checkpoint))
            finally:
                checkpoint.close()
        except TeetotalError:
            refused += 1
        else:
            assert told == expected, number
        path.unlink()
    assert refused > 10


def looked_at(checkpoint: Checkpoint) -> None:
    assert checkpoint.item("one", int) == 7
    Exploration(lambda: "search", Watched, Scale(2, checkpoint=checkpoint))


def test_a_row_that_a_disk_has_changed_is_noticed(tmp_path: Path) -> None:
    """One digit of a count: the file is as whole as before."""
    path = str(tmp_path / "kept.db")
    checkpoint = Checkpoint(path, "a test", "", resume=False)
    by_many(asked(dekker(2)), Shuffled(random.Random(1), 2, (20,)), Scale(2, checkpoint=checkpoint), steps=3)
    checkpoint.save_item("one", 7)
    for change in (
        """UPDATE parts SET part = CAST(replace(part, '"executions":', '"executions":1') AS BLOB)""",
        """UPDATE parts SET tells = tells - 1""",
        """UPDATE told SET position = position + 100""",
        """DELETE FROM told""",
        """UPDATE items SET answer = CAST('8' AS BLOB)""",
    ):
        checkpoint.file.execute("BEGIN")
        checkpoint.file.execute(change)
        with pytest.raises(TeetotalError, match="damaged"):
            looked_at(checkpoint)
        checkpoint.file.execute("ROLLBACK")
    looked_at(checkpoint)
    checkpoint.close()


@pytest.mark.parametrize("explore", [Strategy("random", 90), Strategy("pct", 150, 3)], ids=str)
def test_random_walks_as_one_process_takes_them(explore: Strategy) -> None:
    """Whoever begins with a later walk of pct measures first how long executions are."""
    found = 0
    for number, program in enumerate([dekker(2), ticket_lock(3), *seeded(33, some(60), SHAPES["plain"])]):
        expected = alone(program, explore=explore)
        crew = Shuffled(random.Random(number), 1 + number % 4, (1, 7, 30), deaths=0.02)
        assert by_many(asked(program, explore=explore), crew, Scale()) == expected, describe(program)
        assert (expected[0].executions, expected[0].complete) == (explore.count, False)
        found += len(expected[1])
    assert found > 0


def test_random_walks_of_somebody_else_are_refused() -> None:
    for part in ("5 1 9 ", "5", "x 0 9 "):
        refused = watched.explore((asked(dekker(2), explore=Strategy("random", 9)), part, Slice()))
        assert "random walks" in refused.refused


def test_a_part_that_is_none_is_refused() -> None:
    whole = _core.whole_search()
    for text in ("", "x", whole + "1 ", whole[:-2], "1 " + whole[2:], whole.replace("2 ", "-2 ", 1)):
        with pytest.raises(ValueError, match="part of a search"):
            _core.state_of_part(text)


class Walked(msgspec.Struct, frozen=True):
    walks: list[int]


class Walkers(Shuffled):
    def receive(self, seconds: float | None = None) -> Any:
        if not self.given:
            return None
        number = self.chance.choice(list(self.given))
        text = self.given.pop(number)
        first, whose, until, *rest = map(int, text.split())
        assert (whose, first < until) == (0, True)
        end = min(until, first + self.chance.choice(self.slices))
        left = " ".join(map(str, [end, 0, until, *rest])) + " "
        return number, PartAnswer(left, "", Walked(list(range(first, end))), end - first)


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("count", [1, 2, 100])
def test_each_random_walk_once_and_in_order(count: int, workers: int, tmp_path: Path) -> None:
    """Also by somebody who goes on, again and again, with what a few answers left behind."""
    chance = random.Random(count * workers)
    for run in range(3):
        checkpoint = Checkpoint(str(tmp_path / f"{run}.db"), "", "", resume=False)
        while True:
            exploration = Exploration(lambda: "walks", Walked, Scale(checkpoint=checkpoint), Walks(count))
            exploration.clock = lambda: 0.0
            crew = Walkers(chance, workers, (1, 3, 20))
            exploration.run(crew, lambda part, share: part, steps=chance.choice((2, 5, 1000)))
            if exploration.over:
                break
        assert [walk for told in exploration.all_told() for walk in told.walks] == list(range(count))
        checkpoint.close()


def test_nobody_is_hurried_again_and_again_for_what_cannot_be_divided() -> None:
    """A search that is one long path came back after each execution: minutes in place of a second."""
    exploration = Exploration(lambda: "walks", Walked, Scale(), Walks(10_000))
    now = 0.0
    exploration.clock = lambda: now

    class Undivided(Walkers):
        """Each execution takes a millisecond; somebody always waits, so it comes back as soon as it may be hurried."""

        answers = 0

        def receive(self, seconds: float | None = None) -> Any:
            nonlocal now
            Undivided.answers += 1
            number, text = self.given.popitem()
            first, _, until = map(int, text.split())
            worked = 1.1 * exploration.haste  # until it is hurried, and a little longer
            now += worked
            end = min(until, first + int(worked * 1000))
            left = f"{end} 0 {end if end == until else until} "
            return number, PartAnswer(left, "", Walked(list(range(first, end))), end - first)

    class Path(Walks):
        def give_parts(self, text: str, most: int, number: int, /) -> tuple[str, list[str]]:
            raise AssertionError("nothing can be given away")

        def state_of_part(self, text: str, /) -> Any:
            return msgspec.structs.replace(super().state_of_part(text), open=0)

    exploration.division = Path(10_000)
    exploration.run(Undivided(random.Random(1), 2, (1,)), lambda part, share: part)
    assert exploration.over
    assert Undivided.answers < 200
