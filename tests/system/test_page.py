"""The page in a browser: what it shows is what the machines of ``models/`` did, and nothing leaves it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from pages import Visit, long_answer, machine, visiting
from small_programs import MFENCE, SFENCE, ld, program, st
from teetotal.answers.events import Commit, Event, Issue, Kind, ModelName, Semantics
from teetotal.answers.options import CheckOptions
from teetotal.answers.record import RecordAnswer, Shown
from teetotal.checking import check
from teetotal.engines import story
from teetotal.programs.program import Program
from teetotal.report.html import page
from teetotal.report.json import to_plain
from teetotal.report.schema import schema

Run = Callable[..., tuple[int, str, str]]
STORE_BUFFERING = program([st("x", 1), ld("r", "y")], [st("y", 1), ld("r", "x")])
FLUSHED = program(
    [st("z", 1), st("a", 2), MFENCE, st("x", 1), ld("r", "y")],
    [st("y", 1), ld("r", "x"), st("z", 3), SFENCE, st("a", 4)],
)


@pytest.fixture(scope="module")
def visit() -> Iterator[Visit]:
    with visiting() as found:
        yield found


@pytest.fixture(autouse=True)
def _quiet(visit: Visit) -> Iterator[None]:
    """Whatever a test does: nothing is said on the console, and nothing but the page itself is asked for."""
    for told in (visit.said, visit.asked, visit.opened):
        told.clear()
    yield
    assert not visit.said
    assert visit.asked == visit.opened


def written(path: Path, answers: list[Any]) -> Path:
    path.write_text(page(answers))
    return path


@pytest.mark.parametrize("model", ["tso", "pso"])
@pytest.mark.parametrize("subject", [STORE_BUFFERING, FLUSHED], ids=["store buffering", "with fences"])
def test_every_place_of_the_slider_shows_the_machine(
    visit: Visit, tmp_path: Path, subject: Program, model: ModelName
) -> None:
    answer = check(subject, CheckOptions(models=(model,)))
    violation = answer.violations[0]
    visit.open(written(tmp_path / "page.html", [to_plain(answer)]))
    shown = visit.states()
    expected = machine(subject, violation)
    assert [(buffers, memory) for _, buffers, memory in shown] == expected
    assert shown[0][0].startswith("Before the first of")


def test_keys_go_through_the_steps(visit: Visit, tmp_path: Path) -> None:
    answer = check(STORE_BUFFERING, CheckOptions(models=("tso",)))
    visit.open(written(tmp_path / "page.html", [to_plain(answer)]))
    last = len(machine(STORE_BUFFERING, answer.violations[0])) - 1
    for key, expected in (
        ("Home", 0),
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("PageDown", last),
        ("End", last),
    ):
        visit.page.keyboard.press(key)
        assert visit.page.eval_on_selector(".controls input[type=range]", "slider => Number(slider.value)") == expected
    status = visit.page.text_content(".status")
    assert status.startswith(f"Step {last} of {last}: ")
    assert visit.page.get_attribute(".controls input[type=range]", "aria-valuetext") == status


def test_the_cycle_is_marked_and_the_sc_execution_stands_beside(visit: Visit, tmp_path: Path) -> None:
    answer = check(STORE_BUFFERING, CheckOptions(models=("tso",)))
    visit.open(written(tmp_path / "page.html", [to_plain(answer)]))
    visit.page.wait_for_selector(".link.cycle", state="attached")
    assert visit.page.locator(".lanes").count() == 2
    assert visit.page.locator(".lanes").first.locator(".mark.cycle").count() == 4
    assert visit.page.locator(".lanes").first.locator(".link.cycle").count() == 4
    assert "comes before" in visit.page.text_content(".player section")
    assert "In the SC execution" in visit.page.text_content(".meanwhile")


def test_c_with_its_source_and_the_fences(visit: Visit, run: Run) -> None:
    (Path("sb.c")).write_text(
        "#include <pthread.h>\nint x, y, a, b;\n"
        "void *first(void *_) { x = 1; a = y; return 0; }\nvoid *second(void *_) { y = 1; b = x; return 0; }\n"
        "int main() { pthread_t s; pthread_create(&s, 0, second, 0); first(0); pthread_join(s, 0); }\n"
    )
    assert run("check", "sb.c", "--model", "tso", "--html", "check.html")[0] == 1
    visit.open(Path("check.html"))
    assert visit.page.locator(".code li.cycle").count() == 2
    assert "first(void" in visit.page.text_content(".code li.cycle >> nth=0")
    assert visit.page.locator(".code li.current").count() == 1
    assert run("fence", "sb.c", "--model", "tso", "--html", "fence.html")[0] == 0
    visit.open(Path("fence.html"))
    assert visit.page.text_content(".proof-status .badge") == "proved"
    assert visit.page.locator(".diff .added").count() >= 2
    assert visit.page.locator(".code li.fence").count() == 2


NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!--\u2028\u2029&lt;"


def test_names_with_tags_are_inert(visit: Visit, tmp_path: Path) -> None:
    plain = json.loads(
        json.dumps(to_plain(check(STORE_BUFFERING, CheckOptions(models=("tso",))))).replace('"x"', json.dumps(NASTY))
    )
    plain |= {"input": NASTY, "name": NASTY, "notes": [NASTY], "sources": {NASTY: [{"line": 1, "text": [NASTY]}]}}
    refusal = {"input": NASTY, "command": "check", "verdict": "inconclusive", "complete": False, "error": NASTY}
    visit.open(written(tmp_path / "page.html", [plain, refusal]))
    visit.states()
    assert NASTY in visit.page.text_content("h1")
    assert NASTY in visit.page.text_content(".memory")
    assert visit.page.locator("img").count() == 0
    assert visit.page.locator("script").count() == 2
    visit.page.click("nav button >> nth=1")
    assert NASTY in visit.page.text_content(".error")


def test_long_names_widen_nothing(visit: Visit, tmp_path: Path) -> None:
    subject = program([st("n" * 10_000, 1), ld("r", "y")], [st("y", 1), ld("r", "n" * 10_000)])
    visit.open(written(tmp_path / "page.html", [to_plain(check(subject, CheckOptions(models=("tso", "pso"))))]))
    wider, height = visit.page.evaluate(
        """() => [document.documentElement.scrollWidth - document.documentElement.clientWidth,
          document.querySelector('.status').getBoundingClientRect().height]"""
    )
    assert wider <= 0
    assert height < 100


def test_reports_of_monitors_come_by_how_often_they_were(visit: Visit, tmp_path: Path, run: Run) -> None:
    lines = ['{"format": "teetotal-trace", "version": 1}']
    for line, times in ((10, 1), (20, 3), (30, 2)):
        for _ in range(times):
            x, y = f"x{line}", f"y{line}"
            for thread, kind, address, at in ((0, "st", x, 1), (0, "ld", y, 2), (1, "st", y, 3), (1, "ld", x, 4)):
                event = {"thread": thread, "kind": kind, "address": address, "location": f"a.c:{line + at}"}
                lines.append(json.dumps(event))
            lines += [json.dumps({"thread": thread, "kind": "mfence"}) for thread in (0, 1)]
    Path("t.jsonl").write_text("\n".join(lines))
    assert run("monitor", "--model", "tso", "t.jsonl", "--html", "t.html")[0] == 1
    visit.open(Path("t.html"))
    told = visit.page.locator(".monitored summary").all_text_contents()
    assert [text.rpartition("(")[2] for text in told[:2]] == ["3 times)", "2 times)"]


def test_numbers_are_not_rounded(visit: Visit, tmp_path: Path) -> None:
    large = 2**63 - 1
    subject = program([st("x", large), ld("r", "y")], [st("y", -large), ld("r", "x")])
    visit.open(written(tmp_path / "page.html", [to_plain(check(subject, CheckOptions(models=("tso",))))]))
    assert str(large) in visit.page.text_content(".player section")


@pytest.mark.parametrize("count", [1_000, 10_000])
def test_long_executions(visit: Visit, tmp_path: Path, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    """How long it takes is printed; what is in the document does not grow with the execution."""
    path = written(tmp_path / "page.html", [to_plain(long_answer(count))])
    begin = time.perf_counter()
    visit.open(path)
    visit.page.wait_for_selector(".mark.current")
    loaded = time.perf_counter() - begin
    begin = time.perf_counter()
    for key in ("Home", *["ArrowRight"] * 20, "End", *["ArrowLeft"] * 20, "["):
        visit.page.keyboard.press(key)
    visit.page.wait_for_selector(".mark.current")
    stepped = (time.perf_counter() - begin) / 43
    with capsys.disabled():
        print(
            f"\n  {count:,} events, {path.stat().st_size / 1e6:.1f} MB: "
            f"{loaded:.2f} s to load, {1000 * stepped:.0f} ms a step"
        )
    assert visit.page.evaluate("document.querySelectorAll('*').length") < 2_000
    visit.page.evaluate(f"""() => {{
      const slider = document.querySelector('.controls input[type=range]');
      slider.value = '{count}'; slider.dispatchEvent(new Event('input'));
    }}""")
    assert visit.page.text_content(".status").startswith(f"Step {count} of ")
    visit.page.wait_for_selector(".mark.current")


def in_sight(visit: Visit) -> bool:
    """Whether the step that is told can be seen whole in the first of the lanes."""
    visit.page.wait_for_selector(".mark.current")
    found: bool = visit.page.evaluate(
        """() => {
          const outer = document.querySelector('.lanes').getBoundingClientRect();
          const inner = document.querySelector('.lanes .mark.current rect').getBoundingClientRect();
          return inner.left >= outer.left && inner.right <= outer.right
            && inner.top >= outer.top && inner.bottom <= outer.bottom;
        }"""
    )
    return found


def test_the_step_that_is_told_is_in_sight(visit: Visit, tmp_path: Path) -> None:
    """From the beginning, before anybody has touched anything, and in the last of many lanes."""
    visit.open(written(tmp_path / "page.html", [to_plain(long_answer(60))]))
    assert in_sight(visit)
    many = program(
        [st("x", 1), ld("r", "y")], *([st(f"a{number}", 1)] for number in range(18)), [st("y", 1), ld("r", "x")]
    )
    steps = [Issue(19), Issue(19), *(Issue(number) for number in range(1, 19)), Issue(0), Issue(0)]
    steps += [Commit(number) for number in range(20)]
    found = story.violation(many, "tso", steps, Semantics(), kind="robustness")
    answer = long_answer(60)
    of_tso = msgspec.structs.replace(answer.models["tso"], violations=[found])
    wide = msgspec.structs.replace(answer, violations=[found], models={"tso": of_tso})
    visit.open(written(tmp_path / "wide.html", [to_plain(wide)]))
    for key in ("Home", "ArrowRight", "]", "]", "]"):
        visit.page.keyboard.press(key)
        if key != "Home":
            assert in_sight(visit)


def test_what_fails_is_listed_before_what_is_not_robust(visit: Visit, tmp_path: Path) -> None:
    answer = to_plain(check(STORE_BUFFERING, CheckOptions(models=("tso",))))
    cycle = answer["violations"][0] | {"kind": "robustness"}
    answer["violations"] = [cycle] * 9 + [cycle | {"kind": "assertion", "message": "it fails"}]
    visit.open(written(tmp_path / "page.html", [answer]))
    assert visit.page.text_content(".violations [aria-current]") == "TSO: assertion: it fails"
    assert visit.page.text_content(".violations li >> nth=0") == "TSO: assertion: it fails"
    for _ in range(9):
        visit.page.keyboard.press("j")
    hidden = visit.page.evaluate(
        """() => document.querySelector('.violations').getBoundingClientRect().bottom
          - document.querySelector('.violations [aria-current]').getBoundingClientRect().bottom"""
    )
    assert hidden > -2  # as far as a browser scrolls to whole pixels


def test_histories_reports_and_tables(visit: Visit, run: Run) -> None:
    examples = Path(__file__).parents[2] / "examples" / "histories"
    assert run("history", str(examples / "store-buffering.txt"), "--html", "history.html")[0] == 1
    visit.open(Path("history.html"))
    visit.page.wait_for_selector(".mark.cycle")
    heading = visit.page.text_content("article section h2 >> nth=0")
    assert heading == "The minimal violating part"
    assert visit.page.locator(".proof p").count() > 1
    rows = [
        {"table": "t", "title": "a table", "columns": ["bench", "seconds", "paper: seconds"], "row": ["a", 1, 500]},
        {"table": "t", "title": "a table", "columns": ["bench", "seconds", "paper: seconds"], "row": ["b", 2.5, 300]},
    ]
    visit.open(written(Path("table.html"), rows))
    assert visit.page.locator(".chart .ours").count() == 2
    assert visit.page.locator(".chart .theirs").count() == 2
    assert visit.page.locator("main table tbody tr").count() == 2


def test_light_dark_and_print(visit: Visit, tmp_path: Path) -> None:
    visit.open(written(tmp_path / "page.html", [to_plain(check(STORE_BUFFERING, CheckOptions(models=("tso",))))]))
    colour = "getComputedStyle(document.body).backgroundColor"
    before = visit.page.evaluate(colour)
    visit.page.click(".theme")
    assert visit.page.evaluate(colour) != before
    visit.page.emulate_media(media="print")
    assert not visit.page.is_visible(".controls")
    visit.page.emulate_media(media="screen")


def test_who_cannot_see_is_told(visit: Visit, tmp_path: Path) -> None:
    """Every control has a name, what is drawn has a description, and what changes is announced."""
    visit.open(written(tmp_path / "page.html", [to_plain(check(STORE_BUFFERING, CheckOptions(models=("tso",))))]))
    nameless = visit.page.evaluate(
        """() => [...document.querySelectorAll('button, input, svg[role], [role=group], [role=region]')]
          .filter((one) => !(one.getAttribute('aria-label') || one.textContent || one.labels?.length)).length"""
    )
    assert nameless == 0
    assert visit.page.get_attribute(".status", "aria-live") == "polite"
    visit.page.click(".steps summary")
    visit.page.wait_for_selector(".steps table")
    assert (
        visit.page.locator(".steps tbody tr").count()
        == len(machine(STORE_BUFFERING, check(STORE_BUFFERING, CheckOptions(models=("tso",))).violations[0])) - 1
    )


def test_a_recording_shows_its_first_history(visit: Visit, tmp_path: Path) -> None:
    """From its beginning, however long it is."""
    events = [Event(thread=i % 3, index=i // 3, kind=Kind.ST, address="x", value=i) for i in range(300)]
    first = Shown(name="mesi-0", threads=[f"P{event.thread}" for event in events], events=events)
    answer = RecordAnswer(
        input="simulate",
        command="record simulate",
        complete=True,
        seconds=1.0,
        histories=7,
        operations=2100,
        first=first,
    )
    visit.open(written(tmp_path / "page.html", [to_plain(answer)]))
    assert "7 histories of 2,100 operations" in visit.page.text_content("article")
    visit.page.wait_for_function("document.querySelectorAll('.lanes .mark, svg .mark').length > 0")
    shown = visit.page.text_content("svg")
    assert "(1) st x = 0" in shown
    assert "(300) st x = 299" not in shown
    assert all(name in shown for name in ("P0", "P1", "P2"))


def test_rows_of_benchmarks_are_charts(visit: Visit, tmp_path: Path) -> None:
    rows = [
        {"table": "explore", "title": "of a program", "columns": ["search", "a second"], "row": [name, speed]}
        for name, speed in (("one per class", 100), ("monitored", 50))
    ]
    visit.open(written(tmp_path / "page.html", rows))
    chart = visit.page.locator("figure.chart svg")
    assert chart.get_attribute("aria-label") == "a second: one per class 100; monitored 50"
    assert chart.locator("rect").count() == 2


def test_figures_are_curves(visit: Visit, tmp_path: Path) -> None:
    plot = {"plot": "f", "title": "Fig. 6", "across": "operations", "up": "seconds",
            "curves": {"dbcop": [[200, 0.1], [300, 1.5]], "auto": [[200, 0.0], [300, 0.01]]}}  # fmt: skip
    jsonschema.validate(plot, schema())
    visit.open(written(tmp_path / "page.html", [plot]))
    drawn = visit.page.locator(".plot svg")
    assert drawn.get_attribute("aria-label") == "Fig. 6. dbcop: 0.1 at 200, 1.5 at 300; auto: 0 at 200, 0.01 at 300"
    places = [
        [tuple(map(float, point.split(","))) for point in line.split()]
        for line in drawn.locator("polyline").evaluate_all("lines => lines.map((one) => one.getAttribute('points'))")
    ]
    (dbcop, auto) = places
    assert dbcop[0][0] == auto[0][0] < dbcop[1][0] == auto[1][0]
    assert dbcop[1][1] < dbcop[0][1] < auto[1][1] <= auto[0][1], "more is higher"
