"""Random programs translated to C: counts, robustness and outcomes equal those of the models and of the other engine."""

from __future__ import annotations

import msgspec
import pytest

from amounts import some
from c_programs import COMPILERS, compiled, explore, outcome_code, translate
from random_programs import ATOMIC, FENCED, LOCKED, MIXED, PLAIN, seeded
from sc_executions import executions
from teetotal import models
from teetotal.answers.events import ModelName, Semantics
from teetotal.answers.strategies import Strategy
from teetotal.engines.runtime import driver as runtime
from teetotal.engines.states.outcomes import outcomes
from teetotal.programs.expressions import Addr, Const, Final, Old, Op
from teetotal.programs.program import Load, Program, Rmw, Store, Thread

SHAPES = {"fenced": FENCED, "atomic": ATOMIC, "locked": LOCKED, "mixed": MIXED}
PAPERS = Semantics(rmw="address", mutex="rmw")
WRITING_BACK = Semantics(failed_cas="write")


@pytest.mark.parametrize("shape", SHAPES)
def test_as_many_executions_as_the_interpreter_and_as_classes(shape: str) -> None:
    programs = list(seeded(41, some(15), SHAPES[shape]))
    with compiled(translate(programs)) as object_file:
        for number, program in enumerate(programs):
            arguments = [str(number)]
            end, _ = explore(object_file, "strategy=all", "classes=1", arguments=arguments)
            assert end["complete"]
            assert end["redundant"] == 0
            assert end["classes"] == end["executions"]
            assert end["executions"] == executions(program, Strategy("all")).executions, number
            if end["executions"] < 40 and end["longest"] < 19:
                every, _ = explore(
                    object_file, "strategy=interleavings", "classes=1", "executions=20000", arguments=arguments
                )
                if every["complete"]:
                    assert every["classes"] == end["executions"], number


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("semantics", [Semantics(), PAPERS, WRITING_BACK], ids=["default", "papers", "failed cas"])
def test_robust_as_the_models_say(semantics: Semantics, compiler: str) -> None:
    programs = [program for shape in SHAPES.values() for program in seeded(42, some(8, least=4), shape)]
    verdicts = set()
    with compiled(translate(programs), compiler=compiler) as object_file:
        for number, program in enumerate(programs):
            _, told = explore(
                object_file,
                "monitor=exact-tso",
                "monitor=exact-pso",
                *runtime.semantics_options(semantics),
                arguments=[str(number)],
            )
            reported = {answer["monitor"] for answer in told if answer["type"] == "violation"}
            for model in ("tso", "pso"):
                robust = models.robust(program, model, semantics)
                assert (f"exact-{model}" not in reported) == robust, (number, model)
                verdicts.add((model, robust))
    assert len(verdicts) == 4


@pytest.mark.parametrize("semantics", [Semantics(), PAPERS], ids=["default", "papers"])
@pytest.mark.parametrize("model", ["tso", "pso"])
def test_one_execution_with_buffers_for_each_trace(model: ModelName, semantics: Semantics) -> None:
    """A load that sees its own thread's store is not asked again for every place of that store's commit."""
    programs = [program for shape in (PLAIN, FENCED, ATOMIC, MIXED) for program in seeded(44, some(12, least=6), shape)]
    surplus = 0
    with compiled(translate(programs)) as object_file:
        for number, program in enumerate(programs):
            options = ("classes=1", f"model={model}", *runtime.semantics_options(semantics))
            end, _ = explore(object_file, *options, arguments=[str(number)])
            assert end["complete"]
            assert end["redundant"] == 0
            assert end["executions"] == end["classes"] == len(models.traces(program, model, semantics)), number
            surplus += end["executions"] - executions(program, Strategy("all")).executions
    assert surplus > 0


def test_an_rmw_that_flushes_one_address_does_not_wait_for_others() -> None:
    """PSO, ``rmw=address``: what was committed before an rmw by chance was taken for what it needs, and two of the
    traces were never seen."""
    x, y, one = Addr("x"), Addr("y"), Const(1)
    look = Load(register="r0", address=x)
    first = Thread("T0", (look, Store(address=x, value=one), Store(address=Addr("z"), value=one)), {"r0": 0})
    second = Thread(
        "T1", (Store(address=y, value=one), look, Rmw(address=x, value=Const(2), register="r1")), {"r0": 0, "r1": 0}
    )
    third = Thread("T2", (look, Store(address=y, value=Const(2))), {"r0": 0})
    program = Program(name="kept", threads=(first, second, third), memory={"x": 0, "y": 0, "z": 0})
    with compiled(translate([program])) as object_file:
        options = ("model=pso", *runtime.semantics_options(PAPERS))
        end, _ = explore(object_file, *options, arguments=["0"])
    assert end["executions"] == len(models.traces(program, "pso", PAPERS))


def test_a_compare_and_swap_before_a_load_that_saw_its_own_threads_store() -> None:
    """Whether it writes there was asked with what memory held where that load ran, before the store had come there: it
    passed for a read, and what another reads before it for covered."""
    x, two = Addr("x"), Const(2)
    stores = Thread("T0", (Store(address=x, value=two), Load(register="r0", address=x)), {"r0": 0})
    swap = Rmw(address=x, value=Const(3), register="r0", when=Op("==", (Old(), two)))
    swaps = Thread("T1", (swap,), {"r0": 0})
    looks = Thread("T2", (Load(register="r0", address=x),), {"r0": 0})
    program = Program(name="swapped", threads=(stores, swaps, looks), memory={"x": 1})
    with compiled(translate([program])) as object_file:
        for model in ("tso", "pso"):
            end, _ = explore(object_file, f"model={model}", arguments=["0"])
            assert end["executions"] == len(models.traces(program, model)) == 8, model
            code = outcome_code(
                program, (3, 2, 2, 3)
            )  # its own load sees the swap, which sees 2, as the other load does
            _, told = explore(object_file, f"model={model}", arguments=["0", str(code)])
            assert any(answer["type"] == "failure" for answer in told), model


def observed(program: Program) -> Program:
    registers = [Final(number, name) for number, thread in enumerate(program.threads) for name in thread.registers]
    locations = [Final(None, name) for name in program.memory if name != "m"]
    return msgspec.structs.replace(program, observed=(*registers, *locations))


@pytest.mark.parametrize("semantics", [Semantics(), PAPERS], ids=["default", "papers"])
def test_each_model_reaches_its_own_outcomes(semantics: Semantics) -> None:
    """What only TSO or only PSO reaches is found there, and nowhere else."""
    programs = [observed(program) for shape in SHAPES.values() for program in seeded(43, some(6, least=3), shape)]
    asked = 0
    with compiled(translate(programs)) as object_file:
        for number, program in enumerate(programs):
            reached = {model: outcomes(program, model, semantics).values for model in ("sc", "tso", "pso")}
            wanted = [
                *sorted(reached["pso"] - reached["tso"])[:1],
                *sorted(reached["tso"] - reached["sc"])[:1],
                *sorted(reached["sc"])[:1],
            ]
            for values in wanted:
                for model, possible in reached.items():
                    end, told = explore(
                        object_file,
                        f"model={model}",
                        *runtime.semantics_options(semantics),
                        arguments=[str(number), str(outcome_code(program, values))],
                    )
                    assert end["complete"]
                    failed = any(answer["type"] == "failure" for answer in told)
                    assert failed == (values in possible), (number, model, values)
                    asked += 1
    assert asked > some(60)
