"""Every format, every error with its place, and input that is not what it should be."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from histories import random_small
from teetotal.answers.errors import ParseError
from teetotal.answers.events import Semantics
from teetotal.answers.verdict import Verdict
from teetotal.histories.check import check
from teetotal.histories.formats import FORMATS
from teetotal.histories.generate import random_history, to_axe
from teetotal.histories.history import History, to_text
from teetotal.histories.problem import Problem, Unwritten
from teetotal.histories.readers import read, read_text

SAMPLES = {
    "axe": (
        "# one\n0: M[1] := 2\n1: v1 == 2 @ 3:5\n0: sync\n1: { M[1] == 2; M[1] := 3 }\nfinal M[1] == 3\ncheck\n",
        ["T0: st M[1] = 2", "T1: ld M[1] -> 2", "T0: mfence", "T1: rmw M[1]: 2 -> 3"],
    ),
    "text": (
        "history one\ninit x = 5\nmain: st x = 2  # a comment\nT1: ld x -> ?\nT1: rmw x: 2 → 3\nT1: rmw x: 3, unchanged\n"
        "T1: sfence\nfinal x = 3\n",
        ["main: st x = 2", "T1: ld x -> ?", "T1: rmw x: 2 -> 3", "T1: rmw x: 3, unchanged", "T1: sfence"],
    ),
    "json": (
        '{"params": {"id": [1, {"deep": "}"}]}, "data": [[{"events": [{"Write": {"variable": 0, "version": 1}}],'
        ' "committed": true}], [{"events": [{"Read": {"variable": 0, "version": 1}}]},'
        ' {"events": [{"Write": {"variable": 0, "version": 7}}], "committed": false},'
        ' {"events": [{"Read": {"variable": 0, "version": null}}], "committed": true},'
        ' {"events": [{"write": false, "variable": 0, "version": 1, "success": true},'
        ' {"write": true, "variable": 0, "version": 2, "success": true}], "success": true}]]}\n',
        ["T0: st x0 = 1", "T1: ld x0 -> 1", "T1: ld x0 -> 0", "T1: rmw x0: 1 -> 2"],
    ),
    "dbcop": (
        "[x:=1]\n[y==?]\n---\n[x==1 x:=2]\n[y:=9]!\n",
        ["T0: st x = 1", "T0: ld y -> 0", "T1: rmw x: 1 -> 2"],
    ),
    "polysi": ("w(3,1,0,0)\nr(3,1,1,1)\nw(3,2,1,1)\n", ["T0: st x3 = 1", "T1: rmw x3: 1 -> 2"]),
    "edn": (
        "; jepsen\n{:process 0 :type :invoke :f :write :key :x :value 1}\n"
        '{:process 1, :type :invoke, :f :read, :key :x, :value nil, :error ["odd" {:a #{1 2}}]}\n'
        "{:process 0 :type :ok :f :write :key :x :value 1}\n{:process 1 :type :ok :f :read :key :x :value 1}\n"
        "{:process :nemesis :type :info :f :kill :value nil}\n"
        "{:process 2 :type :invoke :f :cas :value [:x [1 4]]}\n{:process 2 :type :ok :f :cas :value [:x [1 4]]}\n"
        "{:process 3 :type :invoke :f :write :value [:x 5]}\n{:process 3 :type :info :f :write :value [:x 5]}\n"
        "{:process 4 :type :invoke :f :write :value [:x 6]}\n{:process 4 :type :fail :f :write :value [:x 6]}\n"
        "{:process 4 :type :invoke :f :read :value [:y nil]}\n{:process 4 :type :ok :f :read :value [:y nil]}\n",
        ["T0: st :x = 1", "T1: ld :x -> 1", "T2: rmw :x: 1 -> 4", "T3: st :x = 5", "T4: ld :y -> nil"],
    ),
    "jepsen": (
        "INFO  jepsen.core - Worker 4 starting\nINFO  jepsen.util - 0\t:invoke\t:write\t3\n"
        "2021-02-26 23:39:01,300{GMT}\tINFO\t[jepsen worker 1] jepsen.util: 1\t:invoke\t:cas\t[3 4]\n"
        "0    :ok  :write  3\n2021-02-26 23:39:01,303{GMT}\tINFO\t[jepsen worker 1] jepsen.util: 1\t:ok\t:cas\t[3 4]\n"
        "INFO  jepsen.util - :nemesis\t:info\t:start\tnil\n"
        "2\t:invoke\t:read\tnil\n2\t:ok\t:read\t4\t{:took 3}\n3\t:invoke\t:write\t9\n3\t:info\t:write\t:timed-out\n",
        ["T0: st register = 3", "T1: rmw register: 3 -> 4", "T2: ld register -> 4", "T3: st register = 9"],
    ),
    "tracegen": (
        "noise\n0: store-req 5 0x80 #0 @10\n1: load-req 0x80 #0 @11\n0: fence-req @12\n1: resp 5 #0 @13\n0: resp 0 #0 @14\n"
        "0: fence-resp @15\n1: load-reserve-req 0x80 #1 @16\n1: resp 5 #1 @17\n1: store-cond-req 6 0x80 #2 @18\n"
        "1: resp 0 #2 @19\n0: store-cond-req 9 0x80 #1 @20\n0: resp 1 #1 @21\n0: swap-req 8 0x80 #3 @22\n"
        "0: resp 6 #3 @23\n",
        ["T0: st 0x80 = 5", "T1: ld 0x80 -> 5", "T0: mfence", "T1: ld 0x80 -> 5",
         "T1: rmw 0x80: 5 -> 6", "T0: rmw 0x80: 6 -> 8"],
    ),
    "gem5": (
        "1000: system.cpu0 T0 : @main+4 : sw t0, 0(a0) : MemWrite : D=0x0000000000000001 A=0x2000\n"
        "1500: system.cpu0 T0 : @main+8 : addi t0, t0, 1 : IntAlu : D=0x0000000000000002\n"
        "2000: system.cpu1: T0 : @main+4 : lw t0, 0(a0) : MemRead : D=0x0000000000000009 A=0x2004\n"
        "2500: system.cpu1: T0 : @main+6 : fence rw, rw : No_OpClass :\n",
        ["system.cpu0: st 0x2000 = 1", "system.cpu1: ld 0x2004 -> 9", "system.cpu1: mfence"],
    ),
}  # fmt: skip


def operations(history: History) -> list[str]:
    return [str(operation) for operation in history]


@pytest.mark.parametrize("format", FORMATS)
def test_a_sample_of_each_format(format: str) -> None:
    text, expected = SAMPLES[format]
    for given_format in (format, None):  # by name, and by content
        (history,) = read_text(text, format=given_format)
        assert operations(history) == expected
        check(history)


def test_names_times_and_bindings() -> None:
    (history,) = read_text(SAMPLES["axe"][0])
    assert history.name == "one"
    assert history.final == {"M[1]": 3}
    assert list(history.columns.begin) == [-1, 3, -1, -1]
    assert [operation.line for operation in history] == [2, 3, 4, 5]
    (history,) = read_text(SAMPLES["text"][0])
    assert (history.name, history.initial, history.final) == ("one", {"x": 5}, {"x": 3})
    (history,) = read_text(SAMPLES["gem5"][0])
    assert history.initial == {"0x2004": 9}  # read, and written by nobody


@pytest.mark.parametrize(
    ("instruction", "fence"),
    [
        ("sfence", "sfence"), ("mfence", "mfence"), ("fence", "mfence"), ("fence rw, rw", "mfence"),
        ("fence w,r", "mfence"), ("fence w,w", "sfence"), ("fence rw,w", "sfence"), ("fence.tso", "sfence"),
        ("fence r, rw", ""), ("fence.i", ""),
        ("dmb ish", "mfence"), ("dsb", "mfence"), ("dmb ishst", "sfence"), ("dmb   ishld", ""), ("lfence", ""),
    ],
)  # fmt: skip
def test_a_fence_of_gem5_keeps_apart_what_it_says(instruction: str, fence: str) -> None:
    (history,) = read_text(
        f"1000: c0 T0 : @f : sw a : MemWrite : D=0x1 A=0x20\n3000: c0 T0 : @f : {instruction} : No_OpClass :\n"
    )
    assert operations(history)[1:] == ([f"c0: {fence}"] if fence else [])


def test_an_address_of_gem5_is_a_number() -> None:
    (history,) = read_text(
        "1: c T0 : @f : sw a : MemWrite : D=0x1 A=0x00AB\n2: d T0 : @f : lw a : MemRead : D=0x1 A=0xab\n"
    )
    assert history.addresses == ["0xab"]


def test_an_unknown_result_of_axe_may_be_anything() -> None:
    (history,) = read_text("0: M[1] := 2\n0: M[1] == ?\n")
    assert operations(history)[-1] == "T0: ld M[1] -> ?"
    assert check(history).verdict is Verdict.SAFE


def test_transactions_of_polysi_end_with_their_number() -> None:
    """Of one transaction, a read and a write of one variable are an rmw; of two they are not."""
    (history,) = read_text("w(3,1,0,0)\nr(3,1,1,1)\nw(3,2,1,2)\n")
    assert sorted(operations(history)) == ["T0: st x3 = 1", "T1: ld x3 -> 1", "T1: st x3 = 2"]


def test_many_histories_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "many.axe"
    path.write_text("0: M[0] := 1\ncheck\n# named\n0: M[0] := 1\ncheck\n")
    assert [history.name for history in read(path)] == ["1", "named"]


def test_a_history_that_has_but_a_name_is_one() -> None:
    histories = read_text("history a\nhistory b\nT0: mfence\nhistory c\n", format="text")
    assert [(history.name, len(history)) for history in histories] == [("a", 0), ("b", 1), ("c", 0)]


def test_reading_is_the_inverse_of_writing() -> None:
    import random

    rng = random.Random(1)
    for _ in range(50):
        history = random_small(rng, unknown=0.2)
        again = read_text(to_text(history), format="text")[0] if len(history) else history
        assert [op._replace(line=0, thread=f"T{o.thread}") for op, o in zip(again, history, strict=True)] == [
            op._replace(thread=f"T{op.thread}") for op in history
        ]
    history = random_history("tso", operations=500, rmws=0.1, fences=0.1)
    again = read_text(to_axe(history))[0]
    assert (again.columns.value == history.columns.value).all()
    assert (again.columns.read == history.columns.read).all()
    assert (again.columns.kind == history.columns.kind).all()


FAULTS = [
    ("axe", "0: M[0] := 1\n0: M[0] =\n", 2, '":=" or "=="'),
    ("axe", "0: M[0] := 1\n1: M[0] := ", 2, "a number, found the end of the file"),
    ("axe", "0: M[0] := 1 2\n", 1, "the end of the line"),
    ("axe", "0: { M[0] == 1; M[1] := 2 }\n", 1, "two different addresses"),
    ("axe", "0: M[0] := 99999999999999999999\n", 1, "does not fit into 64 bits"),
    ("axe", "final M[0] == 1\nfinal M[0] == 2\n", 2, "second final value"),
    ("text", "T0: store x 1\n", 1, '"store" is no operation'),
    ("text", "T0: ld x = 1\n", 1, '"->"'),
    ("text", "init x = 1\ninit x = 2\n", 2, "second initial value"),
    ("json", '{"data": [[{"events": [{"Write": {"variable": 0}}]}]]}', 1, "without a version"),
    ("json", '{"data": [[{"events": [{"Append": 1}]}]]}', 1, "neither a read nor a write"),
    ("json", '{"datum": []}', 1, 'without "data"'),
    ("json", '{"data": [[', 1, "found the end of the file"),
    ("dbcop", "[x:=1 y:=2]\n", 1, "transaction of several operations"),
    ("polysi", "w(1,1,0,0)\nr(1,1,0\n", 2, '","'),
    ("polysi", "r(1,0,0,0)\nw(2,5,0,1)\nw(1,7,0,0)\n", 3, "a transaction goes on after another one of its session"),
    ("json", '{"data": [],\n"data": []}', 2, '"data" twice'),
    ("edn", "{:process 0 :type :invoke :f :write :value 1}\n{:process 0 :type :info :f :write :value 1}\n"
     "{:process 0 :type :invoke :f :read :value nil}\n", 3, "a process goes on after :info"),
    ("edn", "{:process 1 :type :invoke :f :read}\n{:process 0 :type :ok :f :read :value 1}", 2, "never invoked"),
    ("edn", "{:process 0}", 1, "without :type"),
    ("edn", "{:type :odd :process 0}", 1, "expected :invoke, :ok, :fail or :info, found"),
    ("edn", "{:type :ok :f :txn :value [[:r 1 [1 2]]]}\n{:type :ok :f :txn :value [[:r 1 [2]]]}", 2, "not consistent"),
    ("edn", "{:type :ok :f :txn :value [[:r 1 [1 x]]]}", 1, "no integer"),
    ("jepsen", "noise\n0\t:invoke\t:write\t[1 2", 2, 'expected "]", found the end of the file (column 22)'),
    ("axe", "0: M[1] := 1\n0: M[1] = 2", 2, '(column 9)'),
    ("json", '[\n[{"events": [{"Write": {"variable": 0, "version": "x"}}]}]\n]', 2, "expected a number"),
    ("edn", "{:process 0 :type :invoke :f :add :value 1}{:process 0 :type :ok :f :add :value 1}", 1, "not \":add\""),
    ("edn", "{:process 0 :type :info :f :write :key 1 :value 1}\n{:process 0 :type :ok :f :read :key 1 :value 0}",
     2, "a process goes on after :info"),
    ("edn", '{:process 0 :type :ok :f :write :value 1}\n{:process "b" :type :ok :f :read :value 0}', 2, "no number"),
    ("edn", "{:process 0 :type :ok :f :write :value 1}\n#_{:process 0 :type :ok :f :write :value 2}", 2, "#_"),
    ("edn", "{:type :ok :f :append :key 1 :value 1}\n{:type :ok :f :append :key 1 :value 1}", 2, "appended before"),
    ("edn", "{:type :ok :f :append :value 1}{:type :ok :f :append :value 2}\n{:type :ok :f :read :value [1 2]}",
     2, "a list of two"),
    ("gem5", "1: cpu T0 : @f : fence 3, 3 : No_OpClass :\n", 1, "what it keeps apart"),
    ("tracegen", "0: resp 1 #0 @1\n", 1, "response to no request"),
    ("tracegen", "0: store-cond-req 1 0x8 #0 @1\n0: resp 0 #0 @2\n", 1, "without a load-reserve"),
    ("gem5", "1: cpu T0 : @f : sw t0 : MemWrite : D=0x1 A=0x10\n2: cpu T0 : @f : sb t0 : MemWrite : D=0x1 A=0x11\n",
     2, "different sizes"),
    ("gem5", "1: cpu T0 : @f : amoswap.w t0 : MemWrite : D=0x1 A=0x10\n", 1, "atomic instruction"),
]  # fmt: skip


@pytest.mark.parametrize(("format", "text", "line", "message"), FAULTS)
def test_faults_have_a_place_and_a_reason(format: str, text: str, line: int, message: str) -> None:
    with pytest.raises(ParseError, match=r".") as caught:
        read_text(text, format=format)
    assert message in caught.value.message
    assert caught.value.location is not None
    assert caught.value.location.line == line


def test_transactions_can_be_split() -> None:
    (history,) = read_text("[x:=1 y:=2]\n", format="dbcop", split_transactions=True)
    assert operations(history) == ["T0: st x = 1", "T0: st y = 2"]


def test_a_value_that_nobody_wrote() -> None:
    (history,) = read_text("0: M[0] := 1\n1: M[0] == 7\nfinal M[0] == 9\n")
    with pytest.raises(Unwritten, match=r"line 2: T1: ld M\[0\] -> 7 reads a value that nobody wrote; line 3: final"):
        Problem(history, "sc", Semantics())


def test_a_repeated_value_is_decided_not_refused() -> None:
    (history,) = read_text("0: M[0] := 1\n1: M[0] := 1\n2: M[0] == 1\n2: M[0] == 0\n")
    problem = Problem(history, "sc", Semantics())
    assert problem.duplicates == 1
    assert check(history).verdict is Verdict.VIOLATION


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="No such file"):
        read(tmp_path / "missing")
    (tmp_path / "prose").write_text("It was a dark and stormy night.\n")
    with pytest.raises(ParseError, match="looks like no history"):
        read(tmp_path / "prose")
    with pytest.raises(ParseError):
        read(tmp_path, format="axe")
    (tmp_path / "empty").write_text("")
    assert read(tmp_path / "empty", format="axe") == []


# ---- anything at all


def survives(data: bytes, format: str | None) -> None:
    """The reader takes it or refuses it, and what it takes can be resolved."""
    try:
        histories = read_text(data, format=format)
    except ParseError:
        return
    for history in histories:
        for operation in history:
            assert str(operation)
        try:
            Problem(history, "sc", Semantics())
        except Unwritten:
            continue


@settings(max_examples=150)
@given(st.binary(max_size=200), st.sampled_from((*FORMATS, None)))
def test_random_bytes(data: bytes, format: str | None) -> None:
    survives(data, format)


@settings(max_examples=300)
@given(st.data())
def test_damaged_samples(data: st.DataObject) -> None:
    """Samples cut off, with bytes changed, pieces repeated or numbers blown up."""
    format = data.draw(st.sampled_from(FORMATS))
    text = SAMPLES[format][0].encode()
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(at, len(text)))
        match data.draw(st.sampled_from(("cut", "drop", "repeat", "bytes", "huge", "deep"))):
            case "cut":
                text = text[:at]
            case "drop":
                text = text[:at] + text[end:]
            case "repeat":
                text = text[:end] + text[at:]
            case "bytes":
                text = text[:at] + data.draw(st.binary(min_size=1, max_size=4)) + text[at:]
            case "huge":
                text = text[:at] + b"9" * data.draw(st.sampled_from((18, 19, 20, 400))) + text[at:]
            case _:
                text = text[:at] + data.draw(st.sampled_from((b"[", b"{", b'{"data":[', b"(", b"#"))) * 50 + text[at:]
    survives(text, format)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("piece", [b"[", b"{", b"(", b'{"a":', b"[[{", b"#x ", b"0: ", b"w(", b'"', b"{:a "])
def test_deep_nesting_and_long_lines(format: str, piece: bytes) -> None:
    survives(piece * 200_000, format)
    survives(piece * 1000, None)


# -- what databases' tests leave behind ------------------------------------------------------------------------------


def test_lists_are_told_by_their_last_element_and_tell_the_order_of_the_appends() -> None:
    text = """
    {:process 0 :type :invoke :f :txn :value [[:append :x 1]]} {:process 0 :type :ok :f :txn :value [[:append :x 1]]}
    {:process 1 :type :invoke :f :txn :value [[:append :x 2]]} {:process 1 :type :ok :f :txn :value [[:append :x 2]]}
    {:process 1 :type :invoke :f :txn :value [[:append :x 3]]} {:process 1 :type :info :f :txn :value [[:append :x 3]]}
    {:process 2 :type :invoke :f :txn :value [[:r :x nil]]} {:process 2 :type :ok :f :txn :value [[:r :x [2 1]]]}
    {:process 2 :type :invoke :f :txn :value [[:r :x nil]]} {:process 2 :type :ok :f :txn :value [[:r :x []]]}
    """
    (history,) = read_text(text, format="edn")
    assert operations(history) == [
        "T0: rmw :x: 2 -> 1",
        "T1: rmw :x: nil -> 2",
        "T1: rmw :x: ? -> 3",
        "T2: ld :x -> 1",
        "T2: ld :x -> nil",
    ]
    assert check(history).verdict is Verdict.VIOLATION  # an empty list after one that was not


def test_an_append_that_is_lost_is_a_violation() -> None:
    text = "".join(
        f"{process}\t:invoke\t:txn\t{asked}\n{process}\t:ok\t:txn\t{answer}\n"
        for process, asked, answer in (
            (0, "[[:append 1 1]]", "[[:append 1 1]]"),
            (0, "[[:r 1 nil]]", "[[:r 1 [2]]]"),
            (1, "[[:append 1 2]]", "[[:append 1 2]]"),
        )
    )
    (history,) = read_text(text)
    assert check(history).verdict is Verdict.VIOLATION


def test_without_processes_nothing_is_known_of_an_order() -> None:
    text = (
        "{:type :invoke :f :txn :value [[:r 1 nil]]}\n{:type :ok :f :txn :value [[:r 1 [1]]]}\n"
        "{:type :ok :f :txn :value [[:append 1 1]]}\n{:type :fail :f :txn :value [[:append 1 2]]}\n"
    )
    (history,) = read_text(text, format="edn")
    assert operations(history) == ["line2: ld x1 -> 1", "line3: rmw x1: nil -> 1"]
    assert check(history).verdict is Verdict.SAFE


def test_without_processes_nothing_is_known_of_those_in_one_line_either() -> None:
    text = "[{:type :ok :f :write :value 1} {:type :ok :f :read :value nil}]"
    (history,) = read_text(text, format="edn")
    assert operations(history) == ["line1: st register = 1", "line1.2: ld register -> nil"]
    assert check(history).verdict is Verdict.SAFE


def test_a_history_of_ends_alone() -> None:
    (history,) = read_text("{:process 0 :type :ok :f :read :value 1}\n{:process 0 :type :ok :f :write :value 1}\n")
    assert operations(history) == ["T0: ld register -> 1", "T0: st register = 1"]


@pytest.mark.parametrize("space", ["", "\n"])
def test_sessions_by_themselves_are_dbcops_too(space: str) -> None:
    text = f'[{space}[{space}{{{space}"events": [{{"Write": {{"variable": 0, "version": 1}}}}], "committed": true}}]]'
    (history,) = read_text(text)
    assert operations(history) == ["T0: st x0 = 1"]


def test_the_text_of_dbcop_with_its_comments() -> None:
    (history,) = read_text("// Session 1: writes x\n[x:=1] [y:=2]\n-\n// Session 2\n[x==1]\n")
    assert operations(history) == ["T0: st x = 1", "T0: st y = 2", "T1: ld x -> 1"]


def test_cobras_logs_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "T1.log"
    path.write_bytes(b"S" + (7).to_bytes(8, "big") + b"W" + bytes(24))
    with pytest.raises(ParseError, match="one of Cobra's logs"):
        read(path)
