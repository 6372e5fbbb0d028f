"""``--output`` and ``--html``, ``report`` and ``schema``: what others read is what their formats say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

import answers_as_json
import teetotal
from teetotal.answers.errors import TeetotalError
from teetotal.answers.violation import ViolationKind
from teetotal.report.formats import FORMATS
from teetotal.report.html import MARK, page
from teetotal.report.sarif import RULES, sarif

Run = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "tests" / "schemas"
SB = """X86_64 SB
{
}
 P0            | P1            ;
 movq $1,(x)   | movq $1,(y)   ;
 movq (y),%rax | movq (x),%rax ;
exists (0:rax=0 /\\ 1:rax=0)
"""
PETERSON = """byte x, y, crit;
active proctype P() { x = 1; if :: y == 0 -> crit = crit + 1; assert(crit == 1); crit = crit - 1 :: else -> skip fi }
active proctype Q() { y = 1; if :: x == 0 -> crit = crit + 1; assert(crit == 1); crit = crit - 1 :: else -> skip fi }
"""
PROMELA = "byte x, y;\nactive proctype P() { x = 1; assert(y == 0) }\nactive proctype Q() { y = 1 }\n"


def valid_sarif(path: Path) -> dict[str, Any]:
    jsonschema = pytest.importorskip("jsonschema")
    log = json.loads(path.read_text())
    jsonschema.Draft202012Validator(json.loads((SCHEMAS / "sarif-2.1.0.json").read_text())).validate(log)
    (run,) = log["runs"]
    return run  # type: ignore[no-any-return]


def valid_junit(path: Path) -> Any:
    etree = pytest.importorskip("lxml.etree")
    document = etree.parse(str(path))
    etree.XMLSchema(etree.parse(str(SCHEMAS / "junit.xsd"))).assertValid(document)
    return document.getroot()


def everything(run: Run, *command: str) -> int:
    """All formats at once; the exit status. Each is valid."""
    files = [word for name in FORMATS for word in ("--output", f"{name}:answer.{name}")]
    status, _, _ = run(*command, *files)
    valid_sarif(Path("answer.sarif"))
    valid_junit(Path("answer.junit"))
    for line in Path("answer.json").read_text().splitlines():
        answers_as_json.check(line)
    return status


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "SB.litmus").write_text(SB)
    (tmp_path / "fenced.litmus").write_text(SB.replace(" movq (y)", " mfence | mfence ;\n movq (y)"))
    (tmp_path / "bad.litmus").write_text("X86_64 bad\n{}\n P0 ;\n fly ;\n")
    (tmp_path / "p.pml").write_text(PROMELA)
    (tmp_path / "q.pml").write_text(PETERSON)
    (tmp_path / "h.axe").write_text((ROOT / "examples" / "histories" / "coherence.axe").read_text())
    (tmp_path / "t.jsonl").write_text(
        '{"format": "teetotal-trace", "version": 1}\n'
        '{"thread": 0, "kind": "st", "address": "x", "value": 1, "location": "a.c:1"}\n'
        '{"thread": 0, "kind": "ld", "address": "y", "value": 0, "location": "a.c:2"}\n'
        '{"thread": 1, "kind": "st", "address": "y", "value": 1, "location": "a.c:3"}\n'
        '{"thread": 1, "kind": "ld", "address": "x", "value": 1, "location": "a.c:4"}\n'
    )
    return tmp_path


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["check", "SB.litmus", "fenced.litmus"], 1),
        (["check", "fenced.litmus"], 0),
        (["check", "bad.litmus", "fenced.litmus"], 2),
        (["check", "nowhere.litmus"], 2),
        (["check", "SB.litmus", "--states", "2", "--explore", "random:1", "--seed", "3"], 3),
        (["fence", "SB.litmus"], 0),
        (["fence", "bad.litmus"], 2),
        (["verify", "p.pml"], 1),
        (["verify", "p.pml", "--fence"], 1),
        (["verify", "q.pml", "--fence"], 0),
        (["fence", "q.pml", "--goal", "safe", "--model", "pso"], 0),
        (["history", "h.axe"], 1),
        (["monitor", "t.jsonl"], 1),
        (["monitor", "nowhere.trace"], 2),
    ],
)
def test_every_format_of_every_verb(run: Run, files: Path, command: list[str], status: int) -> None:
    assert everything(run, *command) == status


def test_python_has_the_same_formats(run: Run, files: Path) -> None:
    answer = teetotal.check("SB.litmus", models="tso")
    for format in FORMATS:
        assert run("check", "SB.litmus", "--model", "tso", "--output", f"{format}:a")[0] == 1
        expected = re.sub(r'"seconds":[\d.e-]+|time="[\d.]+"', "", Path("a").read_text())
        assert re.sub(r'"seconds":[\d.e-]+|time="[\d.]+"', "", teetotal.report.as_format([answer], format)) == expected
    with pytest.raises(TeetotalError, match="no format"):
        teetotal.report.as_format([answer], "pdf")


def test_replay(run: Run, files: Path) -> None:
    _, out, _ = run("check", "SB.litmus", "--json", "--model", "tso")
    token = json.loads(out)["violations"][0]["replay"].split()[2]
    assert everything(run, "replay", token, "SB.litmus") == 1
    (result,) = valid_sarif(Path("answer.sarif"))["results"]
    assert result["ruleId"] == "teetotal/replay"


def test_output_alone_shows_what_a_program_prints(run: Run, files: Path) -> None:
    """As it did before it could name files."""
    _, plain, _ = run("replay", "1t:0x2.1.1c.1.0c", "SB.litmus")
    assert run("replay", "1t:0x2.1.1c.1.0c", "--output", "SB.litmus")[:2] == (1, plain)
    assert run("replay", "1t:0x2.1.1c.1.0c", "SB.litmus", "--output")[:2] == (1, plain)
    assert run("replay", "--show-output", "1t:0x2.1.1c.1.0c", "SB.litmus", "--output", "json:a")[:2] == (1, plain)
    assert json.loads(Path("a").read_text())["command"] == "replay"


def test_every_kind_of_violation_has_a_rule() -> None:
    assert set(get_args(ViolationKind)) <= set(RULES)


def test_sarif_tells_the_execution_by_threads(run: Run, files: Path) -> None:
    run("check", "SB.litmus", "--model", "tso", "--output", "sarif:s.json")
    found = valid_sarif(Path("s.json"))
    result = next(one for one in found["results"] if one["ruleId"] == "teetotal/robustness")
    assert found["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "teetotal/robustness"
    ((first, second),) = [flow["threadFlows"] for flow in result["codeFlows"]]
    orders = [step["executionOrder"] for flow in (first, second) for step in flow["locations"]]
    assert sorted(orders) == list(range(1, len(orders) + 1))
    assert first["id"] == "T0"
    assert any(step["state"]["buffer"]["text"] == "x=1" for step in first["locations"])
    region = result["locations"][0]["physicalLocation"]
    assert region["artifactLocation"] == {"uri": "SB.litmus", "uriBaseId": "%SRCROOT%"}
    assert 5 <= region["region"]["startLine"] <= 6


def test_a_fingerprint_stays_when_lines_move(run: Run, files: Path) -> None:
    def fingerprint() -> str:
        run("check", "SB.litmus", "--model", "tso", "--output", "sarif:s.json")
        result = next(one for one in valid_sarif(Path("s.json"))["results"] if one["ruleId"] == "teetotal/robustness")
        return result["partialFingerprints"]["teetotalViolation/v1"]  # type: ignore[no-any-return]

    before = fingerprint()
    Path("SB.litmus").write_text(SB.replace("{\n", '"a comment"\n{\n', 1))
    assert fingerprint() == before
    Path("SB.litmus").write_text(SB.replace("$1,(x)", "$2,(x)", 1))
    assert fingerprint() != before


def test_sarif_names_the_rule_of_each_result(run: Run, files: Path) -> None:
    run("check", "SB.litmus", "p.pml", "--model", "tso", "--output", "sarif:s.json")
    found = valid_sarif(Path("s.json"))
    rules = [rule["id"] for rule in found["tool"]["driver"]["rules"]]
    assert len(set(rules)) >= 2
    assert [rules[result["ruleIndex"]] for result in found["results"]] == [one["ruleId"] for one in found["results"]]


def test_what_was_not_decided_does_not_look_clean(run: Run, files: Path) -> None:
    """Neither what was refused, nor what there was not enough time for."""
    undecided = ("SB.litmus", "--states", "2", "--explore", "random:1", "--seed", "3")
    for given, successful, level in ((("bad.litmus",), False, "error"), (undecided, True, "warning")):
        run("check", *given, "--output", "sarif:s.json", "--output", "github:g.txt")
        (invocation,) = valid_sarif(Path("s.json"))["invocations"]
        assert invocation["executionSuccessful"] is successful
        assert [one["level"] for one in invocation["toolExecutionNotifications"]] == [level]
        assert Path("g.txt").read_text().startswith(f"::{level} file={given[0]}")
    for refused in (("monitor", "nowhere.trace"), ("fence", "bad.litmus"), ("verify", "nowhere.pml")):
        assert run(*refused, "--output", "json:a")[0] == 2
        assert json.loads(Path("a").read_text())["error"]


def test_a_fingerprint_is_of_the_cycle_wherever_it_is_begun(run: Run, files: Path) -> None:
    _, out, _ = run("check", "SB.litmus", "--model", "tso", "--json")
    answer = json.loads(out)
    violation = next(one for one in answer["violations"] if one["cycle"])
    first, *rest = violation["cycle"]
    begun = [{**answer, "violations": [{**violation, "cycle": cycle}]} for cycle in ([first, *rest], [*rest, first])]
    prints = [one["partialFingerprints"] for one in json.loads(sarif(begun))["runs"][0]["results"]]
    assert prints[0] == prints[1]


def test_a_fix_applied_is_the_patch(run: Run, files: Path) -> None:
    assert everything(run, "fence", "SB.litmus") == 0
    result = valid_sarif(Path("answer.sarif"))["results"][0]
    ((change,),) = [fix["artifactChanges"] for fix in result["fixes"]]
    lines = Path("SB.litmus").read_text().splitlines(keepends=True)
    for replacement in reversed(change["replacements"]):
        region = replacement["deletedRegion"]
        assert region["startColumn"] == region["endColumn"] == 1
        lines[region["startLine"] - 1 : region["endLine"] - 1] = [replacement["insertedContent"]["text"]]
    run("fence", "SB.litmus", "--write")
    assert "".join(lines) == Path("SB.litmus").read_text()


def test_a_patch_that_is_not_proved_is_no_fix(run: Run, files: Path) -> None:
    _, out, _ = run("fence", "SB.litmus", "--json")
    answer = json.loads(out)
    for verdict, fixes in (("safe", True), ("inconclusive", False)):
        results = json.loads(sarif([{**answer, "verdict": verdict, "met": fixes or None}]))["runs"][0]["results"]
        assert all(("fixes" in result) == fixes for result in results)
        assert results


def test_lines_whose_text_is_not_known_are_told_apart(run: Run, files: Path) -> None:
    _, out, _ = run("fence", "SB.litmus", "--json")
    answer = {**json.loads(out), "sources": {}, "violations": []}
    moved = {**answer, "fences": [{**fence, "line": fence["line"] + 1} for fence in answer["fences"]]}
    results = json.loads(sarif([answer, moved]))["runs"][0]["results"]
    assert len({result["partialFingerprints"]["teetotalFence/v1"] for result in results}) == len(results) == 2


def test_junit_tells_of_each_model_its_own(run: Run, files: Path) -> None:
    run("check", "SB.litmus", "--output", "junit:j.xml")
    failures = {case.get("name"): case.findall("failure") for case in valid_junit(Path("j.xml"))[0]}
    assert not failures.pop("SC")
    assert set(failures) == {"TSO", "PSO"}
    for model, (failure,) in failures.items():
        assert failure.get("message").startswith(f"{model}: ")
        assert failure.text.count("not robust") == 1


def test_what_fails_is_told_before_what_is_only_not_robust(run: Run, files: Path) -> None:
    """The message of a case was a cycle where an assertion failed, and so was the first line of the annotations."""
    dekker = str(ROOT / "examples" / "dekker.c")
    run("check", dekker, "--output", "junit:j.xml", "--output", "github:g.txt", "--output", "sarif:s.sarif")
    messages = [failure.get("message") for failure in valid_junit(Path("j.xml")).iter("failure")]
    assert [message.split(":")[:2] for message in messages] == [["TSO", " assertion"], ["PSO", " assertion"]]
    kinds = [line.split("title=teetotal%3A ")[1].split(" ")[0] for line in Path("g.txt").read_text().splitlines()]
    rules = [result["ruleId"].removeprefix("teetotal/") for result in valid_sarif(Path("s.sarif"))["results"]]
    assert kinds == rules == sorted(rules)
    assert set(rules) == {"assertion", "robustness"}


def test_junit_counts(run: Run, files: Path) -> None:
    everything(run, "check", "SB.litmus", "bad.litmus")
    suites = valid_junit(Path("answer.junit")).findall("testsuite")
    counts = {suite.get("name"): (suite.get("tests"), suite.get("failures"), suite.get("errors")) for suite in suites}
    assert counts == {"SB.litmus: SB": ("3", "2", "0"), "bad.litmus": ("1", "0", "1")}


def test_annotations_are_escaped(run: Run, files: Path) -> None:
    odd = Path("odd, name: 100%.litmus")
    odd.write_text(SB)
    run("check", str(odd), "--model", "tso", "--output", "github:g.txt")
    line = next(line for line in Path("g.txt").read_text().splitlines() if "robustness" in line)
    assert re.match(r"::error file=odd%2C name%3A 100%25\.litmus,line=\d+,title=[^:,]+::TSO: not robust", line)
    assert re.search(r"%0A.*%0AAgain: .* 'odd, name: 100%25\.litmus'$", line)


def test_what_a_machine_cannot_read_is_shown_as_escapes(run: Run, files: Path) -> None:
    odd = Path("a\x1b<b>&\"'\x01.litmus")
    odd.write_text(SB)
    assert everything(run, "check", str(odd)) == 1
    assert "\\x1b<b>" in valid_junit(Path("answer.junit"))[0].get("name")


def test_a_file_is_written_whole_or_not_at_all(run: Run, files: Path) -> None:
    for bad in ("json", "json:", "pdf:x", ":x", "json:nowhere/x", f"json:{files}"):
        status, _, err = run("check", "SB.litmus", "--output", bad)
        assert status == 2, bad
        assert "Error" in err
    assert run("check", "SB.litmus", "--html", "a", "--output", "json:./a")[0] == 2
    assert not Path("a").exists()
    status, _, err = run("check", "SB.litmus", "--html", "./SB.litmus")
    assert (status, "would be written over" in err) == (2, True)
    assert Path("SB.litmus").read_text() == SB
    Path("kept").write_text("old")
    Path("kept").chmod(0o600)
    assert run("check", "SB.litmus", "--output", "json:kept")[0] == 1
    assert Path("kept").read_text().startswith("{")
    assert not list(files.glob("*.part"))


def test_who_is_killed_leaves_no_old_answer(run: Run, files: Path) -> None:
    assert run("check", "fenced.litmus", "--output", "json:a")[0] == 0
    Path("kills.py").write_text("import os\nos.kill(os.getppid(), 9)\n")
    whole = [sys.executable, "-m", "teetotal", "check", "kills.py", "--workers", "1", "--output", "json:a"]
    subprocess.run(whole, capture_output=True, timeout=60, check=False)
    assert json.loads(Path("a").read_text())["verdict"] == "inconclusive"


@pytest.mark.parametrize("verb", ["check", "fence", "verify", "history", "monitor", "replay 1t:0x1"])
def test_a_file_that_is_not_there_leaves_no_old_answer(run: Run, files: Path, verb: str) -> None:
    (files / "a").write_text("old")
    status, _, err = run(*verb.split(), "nowhere.pml", "--output", "json:a")
    (answer,) = map(json.loads, (files / "a").read_text().splitlines())
    assert (status, answer["input"], answer["verdict"]) == (2, "nowhere.pml", "inconclusive")
    assert answer["error"] in err


def test_standard_output_is_a_file_too(run: Run, files: Path) -> None:
    _, out, _ = run("check", "SB.litmus", "--model", "tso", "--output", "github:-")
    assert out.splitlines()[-1].startswith("::error file=SB.litmus,")


def test_a_file_is_not_written_twice_by_another_name(run: Run, files: Path) -> None:
    Path("a.json").write_text("")
    Path("b.json").symlink_to("a.json")
    status, _, err = run("check", "SB.litmus", "--output", "json:a.json", "--output", "sarif:b.json")
    assert (status, "b.json is to be written twice" in err) == (2, True)


def test_pages_as_often_as_there_are_files(run: Run, files: Path) -> None:
    assert run("check", "SB.litmus", "--html", "a.html", "--html", "b.html")[0] == 1
    assert Path("a.html").read_text() == Path("b.html").read_text()


def test_quiet_is_about_what_is_printed(run: Run, files: Path) -> None:
    Path("sb.txt").write_text("T0: st x = 1\nT0: ld y -> 0\nT1: st y = 1\nT1: ld x -> 0\n")
    _, out, _ = run("history", "-q", "sb.txt", "--output", "json:h.json")
    assert len(out.splitlines()) == 1
    (violation,) = json.loads(Path("h.json").read_text())["violations"]
    assert violation["proof"]
    assert len(violation["events"]) == 4


def test_a_page_has_no_markup_of_an_answer_and_no_number_that_is_rounded(run: Run, files: Path) -> None:
    """What the page does with it, a browser shows (test_page.py), where there is one."""
    nasty, large = "</script><!--&\u2028\u2029", -(2**63) + 1
    answer = {**json.loads(run("check", "fenced.litmus", "--json")[1]), "notes": [nasty], "states": large}
    head, tail = MARK.split("[]")
    data = page([answer]).partition(head)[2].partition(tail)[0]
    assert not set("<>&\u2028\u2029") & set(data)
    assert (json.loads(data)[0]["notes"], json.loads(data)[0]["states"]) == ([nasty], str(large))


def test_a_report_is_the_page_that_html_writes(run: Run, files: Path) -> None:
    _, out, _ = run("check", "SB.litmus", "fenced.litmus", "--json", "--html", "direct.html")
    Path("result.json").write_text(out)
    assert run("report", "result.json")[0] == 0
    assert Path("result.html").read_text() == Path("direct.html").read_text()
    assert run("report", "result.json", "-o", "other.html", "--output", "sarif:s.json")[0] == 0
    assert Path("other.html").read_text() == Path("direct.html").read_text()
    assert len(valid_sarif(Path("s.json"))["results"]) >= 2


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", '{"input": "x"}', "\xff", '{"input":"x","command":"y","verdict":"z"}']
)
def test_a_report_of_something_else_is_refused(run: Run, tmp_path: Path, text: str) -> None:
    Path("result.json").write_bytes(text.encode("latin-1"))
    status, _, err = run("report", "result.json")
    assert status == 2
    assert "result.json" in err
    assert not Path("result.html").exists()


def test_a_report_of_an_answer_that_no_verb_gives_is_refused(run: Run, files: Path) -> None:
    _, line, _ = run("check", "SB.litmus", "--model", "tso", "--json")
    for old, new in (
        ('"reason":"fr"', '"reason":"xx"'),
        ('"target":', '"target":9'),
        ('"events":[{', '"events":[7,{'),
        ('"deciding":', '"deciding":7'),
        ('"text":["', '"text":[1,"'),
        ('"thread":0', '"thread":"a"'),
        ('"relations":[[', '"relations":[["a",1,"co"],['),
    ):
        assert old in line
        Path("result.json").write_text(line.replace(old, new))
        status, _, err = run("report", "result.json", "--output", "sarif:s.json")
        assert (status, "result.json:1: not an answer" in err) == (2, True), (old, err)


def test_tables_are_for_people(run: Run, files: Path) -> None:
    row = {"table": "t", "columns": ["a", "b"], "row": ["x", 1]}
    Path("rows.json").write_text(json.dumps(row))
    assert run("report", "rows.json")[0] == 0
    status, _, err = run("report", "rows.json", "--output", "junit:j.xml")
    assert (status, "tables can be written as json and html" in err) == (2, True)
    assert run("reproduce", "tacas11", "--output", "sarif:s.json")[0] == 2
    status, _, err = run("report", "rows.json", "-o", "./rows.json")
    assert (status, "would be written over" in err) == (2, True)
    assert json.loads(Path("rows.json").read_text()) == row


def test_the_schema_is_one_and_is_no_sieve(run: Run, files: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    _, out, _ = run("schema")
    published = jsonschema.Draft202012Validator(json.loads(out))
    _, line, _ = run("check", "SB.litmus", "--json")
    answer = json.loads(line)
    published.validate(answer)
    published.validate({**answer, "a_key_of_tomorrow": 1})
    for key in ("verdict", "complete", "version", "models"):
        assert not published.is_valid({name: value for name, value in answer.items() if name != key}), key
    assert not published.is_valid({**answer, "verdict": "perhaps"})
    assert not published.is_valid({**answer, "command": "verify"})
    broken = json.loads(line.replace('"kind":"ld"', '"kind":0'))
    assert not published.is_valid(broken)
