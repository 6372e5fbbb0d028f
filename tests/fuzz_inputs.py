"""Damaged input for every verb: ``python tests/fuzz_inputs.py [N] [--seed S] [--seconds T] [--only NUMBER]``.

Good inputs of every kind are cut, flipped, doubled, blown up and nested, and given to the verbs that read them. Whatever
they are, a verb answers with status 0, 1, 2 or 3, soon after its ``--time``, and prints neither a traceback nor a control
character.

Everything is imported once; each mutant is a fork of this process that goes through the command line as a user's call
does, so that thousands take minutes. A mutant depends on the seed and its number alone: ``--only`` shows one again.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import importlib
import io
import os
import pkgutil
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, NoReturn

import teetotal
from going_on import State, add_state
from recorded import recorded_events
from teetotal import cli, traces
from teetotal.engines.symbolic import certificates
from teetotal.engines.symbolic.verify import verify as prove
from teetotal.programs.promela.compile import load
from teetotal.report.formats import FORMATS
from teetotal.traces.trace import Trace

ROOT = Path(__file__).parent.parent
PROVED = ROOT / "benchmarks" / "promela" / "clh.pml"
BUDGET = ["--time", "1", "--memory", "300"]
LATE, HANGING = 20.0, 60.0
"""Seconds: a verb with a second to spend may take one more, and the rest is for a machine that others use, too. What is
not ended then is never ended, so that waiting longer overlooks nothing."""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

STORE_BUFFERING_C = """#include <pthread.h>
#include <assert.h>
int x, y, r;
void *f(void *unused) { x = 1; r = y; return 0; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  y = 1;
  int s = x;
  pthread_join(t, 0);
  assert(r + s >= 0);
  return 0;
}
"""


class Inputs(NamedTuple):
    """Files that are told by their suffix, the verbs that read them, and how many of a hundred mutants they are."""

    suffix: str
    texts: list[bytes]
    commands: list[list[str]]
    share: int


def inputs() -> list[Inputs]:
    check = [["check"], ["check", "--json"], ["check", "--explore", "pct:20:2"], ["check", "--rmw", "address"]]
    fence = [["fence"], ["fence", "--json", "--goal", "safe"], ["fence", "--minimum", "--remove"]]
    verify = [["verify"], ["verify", "--json", "--goal", "robust"], ["verify", "--fence"]]
    verify += [["verify", "--engine", "accelerate"], ["verify", "--engine", "bounded:2"]]
    history = [["history", "--model", model] for model in ("sc", "tso,pso", "wsc", "ccm")]
    history += [["history", "--json", "--check-witness", "--witness"], ["history", "--kernel"]]
    history += [
        ["history", "--format", name] for name in ("axe", "text", "json", "dbcop", "polysi", "edn", "jepsen", "gem5")
    ]
    monitor = [["monitor"], ["monitor", "--json", "--monitor", "burnim-tso,burnim-pso,sober"]]
    replay = [["replay", token] for token in ("1t:0x2.1x2.0c.1c", "1p:0.0.1.1.0cx.1cy", "1t:0")]
    files = [word for format in FORMATS for word in ("--output", f"{format}:/dev/null")]
    check.append(["check", *files])
    verify.append(["verify", *files])
    c_check = [["check"], ["check", "--json", "--goal", "safe"], ["replay", "1t:0x3.1x2.1c.1.0c"]]
    return [
        Inputs(".litmus", _all("tests/corpus/*.litmus"), [*check, *fence, *replay], 34),
        Inputs(".py", _all("examples/*.py"), [*check, *fence, *replay], 16),
        Inputs(".pml", _all("benchmarks/promela/*.pml"), [*check, *fence, *verify], 16),
        Inputs(".history", _histories(), history, 15),
        Inputs(".trace", _traces(), monitor, 8),
        Inputs(".certificate", [_certificate()], [["verify", str(PROVED), "--check"]], 4),
        Inputs(".json", _answers(), [["report", *files], ["report", "--html", "/dev/null"]], 6),
        Inputs(".c", [STORE_BUFFERING_C.encode()], c_check, 1),
    ]


def _all(pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(ROOT.glob(pattern))]


def _histories() -> list[bytes]:
    """The examples, and every format as its page shows it."""
    page = (ROOT / "docs" / "reference" / "history-formats.md").read_text()
    return [
        *_all("examples/histories/*"),
        *(block.encode() for block in re.findall(r"```\w*\n(.*?)```", page, re.DOTALL)),
    ]


def _traces() -> list[bytes]:
    trace = Trace.from_events(recorded_events(random.Random(1), 40))
    found = []
    arrow = ("arrow-stream", "parquet") if find_spec("pyarrow") else ()
    for format in ("binary", "jsonl", *arrow):
        file = io.BytesIO()
        traces.write(trace, file, format)  # type: ignore[arg-type]
        found.append(file.getvalue())
    return found


def _answers() -> list[bytes]:
    """What ``--json`` prints."""
    corpus = [ROOT / "tests" / "corpus" / name for name in ("SB.litmus", "2+2W.litmus", "MP.litmus")]
    found = [teetotal.report.to_json(teetotal.check(path)) for path in corpus]
    found.append(teetotal.report.to_json(teetotal.fence(corpus[0]).answer))
    found.append(
        teetotal.report.to_json(teetotal.check_history(ROOT / "examples" / "histories" / "store-buffering.txt"))
    )
    return [f"{line}\n".encode() for line in (*found, "\n".join(found))]


def _certificate() -> bytes:
    proof = prove(load(PROVED), "tso", certify=True).certificate
    assert proof is not None
    with tempfile.TemporaryDirectory() as folder:
        certificates.save(proof, path := Path(folder) / "proof")
        return path.read_bytes()


# ---- mutations

NUMBERS = [b"0", b"-1", b"1", b"255", b"65536", b"2147483648", b"-9223372036854775809", b"18446744073709551616",
           b"1000000000000", b"0x7fffffffffffffff", b"1e400", b"9" * 5000]  # fmt: skip
ODD = [
    b"\x00",
    b"\x1b[31m",
    b"\xff\xfe",
    b"\xc3",
    b"\xed\xa0\x80",
    "\u202e\u2028\x9b".encode(),
    b"\r\n",
    b"\\",
    b"'",
    b'"',
]
OPENING = [(b"(", b")"), (b"{", b"}"), (b"[", b"]"), (b"-", b""), (b"!", b""), (b"(*", b"*)"), (b"if (x) {", b"}")]


def _cut(rng: random.Random, text: bytes) -> tuple[int, int]:
    first = rng.randrange(len(text) + 1)
    return first, min(len(text), first + rng.choice((1, 2, 5, 20, 200)))


def truncated(rng: random.Random, text: bytes) -> bytes:
    return text[: rng.randrange(len(text) + 1)]


def flipped(rng: random.Random, text: bytes) -> bytes:
    changed = bytearray(text)
    for _ in range(rng.choice((1, 1, 3, 10))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def deleted(rng: random.Random, text: bytes) -> bytes:
    first, last = _cut(rng, text)
    return text[:first] + text[last:]


def doubled(rng: random.Random, text: bytes) -> bytes:
    first, last = _cut(rng, text)
    return text[:last] + text[first:last] * rng.choice((1, 1, 2, 50, 3000)) + text[last:]


def moved(rng: random.Random, text: bytes) -> bytes:
    first, last = _cut(rng, text)
    rest = text[:first] + text[last:]
    place = rng.randrange(len(rest) + 1)
    return rest[:place] + text[first:last] + rest[place:]


def lines_swapped(rng: random.Random, text: bytes) -> bytes:
    lines = text.split(b"\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def number_changed(rng: random.Random, text: bytes) -> bytes:
    found = list(re.finditer(rb"\d+", text))
    if not found:
        return text + rng.choice(NUMBERS)
    at = rng.choice(found)
    return text[: at.start()] + rng.choice(NUMBERS) + text[at.end() :]


def nested(rng: random.Random, text: bytes) -> bytes:
    first, last = _cut(rng, text)
    opening, closing = rng.choice(OPENING)
    depth = rng.choice((1, 10, 100, 3000))
    return text[:first] + opening * depth + text[first:last] + closing * depth + text[last:]


def odd_bytes(rng: random.Random, text: bytes) -> bytes:
    place = rng.randrange(len(text) + 1)
    return text[:place] + rng.choice(ODD) * rng.choice((1, 1, 100)) + text[place:]


def reencoded(rng: random.Random, text: bytes) -> bytes:
    decoded = text.decode(errors="replace")
    return rng.choice(
        (
            decoded.encode("utf-16"),
            b"\xef\xbb\xbf" + text,
            text.replace(b"\n", b"\r\n"),
            text.replace(b" ", b"\xa0"),
            decoded.upper().encode(),
        )
    )


def word_changed(rng: random.Random, text: bytes) -> bytes:
    words = list(re.finditer(rb"\w+", text))
    if len(words) < 2:
        return text
    at, other = rng.choice(words), rng.choice(words)
    return text[: at.start()] + other[0] + text[at.end() :]


Mutation = Callable[[random.Random, bytes], bytes]
MUTATIONS: list[Mutation] = [
    truncated, flipped, deleted, doubled, moved, lines_swapped, number_changed, nested, odd_bytes, reencoded, word_changed
]  # fmt: skip


class Mutant(NamedTuple):
    suffix: str
    command: list[str]
    text: bytes
    mutations: list[str]


def mutant(seed: int, number: int, kinds: list[Inputs]) -> Mutant:
    rng = random.Random(f"{seed}:{number}")
    kind = rng.choices(kinds, [kind.share for kind in kinds])[0]
    text = rng.choice(kind.texts)
    mutations = rng.choices(MUTATIONS, k=rng.choice((1, 1, 1, 2, 3)))
    for mutate in mutations:
        text = mutate(rng, text)
    return Mutant(kind.suffix, rng.choice(kind.commands), text, [mutate.__name__ for mutate in mutations])


# ---- running them


class Ending(NamedTuple):
    status: int | None
    """None: it had to be ended."""
    seconds: float
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        return self.stdout + self.stderr

    @property
    def fault(self) -> str:
        if self.status is None:
            return "hangs"
        if self.status not in (0, 1, 2, 3):
            return f"status {self.status}"
        if self.seconds > LATE:
            return f"late: {self.seconds:.1f} s"
        if "Traceback (most recent call last)" in self.output:
            return "a traceback"
        if shown := CONTROL.search(self.output):
            return f"prints {shown[0]!r}"
        return ""


def import_all() -> None:
    """What verbs import when they are called, once for all forks."""
    for module in pkgutil.walk_packages(teetotal.__path__, "teetotal."):
        if module.name.replace(".", "_").isidentifier() and not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def run(arguments: list[str], folder: Path) -> Ending:
    """``teetotal`` with these arguments, in a fork of this process."""
    signal.signal(signal.SIGALRM, _hanging)
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        started = time.monotonic()
        child = os.fork()
        if child == 0:
            _be_teetotal(arguments, folder, stdout.fileno(), stderr.fileno())
        signal.alarm(int(HANGING))
        try:
            status: int | None = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        except TimeoutError:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            status = None
        signal.alarm(0)
        seconds = time.monotonic() - started
        texts = []
        for stream in (stdout, stderr):
            stream.seek(0)
            texts.append(stream.read().decode(errors="backslashreplace"))
        return Ending(status, seconds, *texts)


def _be_teetotal(arguments: list[str], folder: Path, stdout: int, stderr: int) -> NoReturn:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    faulthandler.disable()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, stream in enumerate((nothing, stdout, stderr)):
        os.dup2(stream, number)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115 - a test's are others
    os.chdir(folder)
    sys.argv = ["teetotal", *arguments]
    status: object = 70
    try:
        cli.main()
    except SystemExit as end:
        status = end.code
    finally:
        sys.stdout.flush()
        os._exit(status if isinstance(status, int) else 70)


def _hanging(*_: object) -> NoReturn:
    raise TimeoutError


def tell(
    faults: dict[int, tuple[Mutant, Ending]], tally: Counter[tuple[str, int | None]], mutations: Counter[str]
) -> None:
    print(f"{'input':14}{'mutants':>9}{'0 safe':>9}{'1 viol.':>9}{'2 refused':>11}{'3 inconcl.':>12}{'other':>8}")
    for suffix in [*dict.fromkeys(suffix for suffix, _ in tally), "all"]:
        statuses = Counter[int | None]()
        for (which, status), count in tally.items():
            if suffix in (which, "all"):
                statuses[status] += count
        known = [statuses.pop(status, 0) for status in (0, 1, 2, 3)]
        row = [sum(known) + statuses.total(), *known, statuses.total()]
        print(f"{suffix:14}" + "".join(f"{n:>{w},}" for n, w in zip(row, (9, 9, 9, 11, 12, 8), strict=True)))
    print("mutations: " + ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in mutations.most_common()))
    for number, (made, ending) in faults.items():
        print(f"\nmutant {number}: {ending.fault}: teetotal {' '.join(made.command)} ({', '.join(made.mutations)})")
        print(ending.output[-1500:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--only", type=int)
    parser.add_argument("--without", default="", help="suffixes to leave out, separated by commas")
    add_state(parser)
    chosen = parser.parse_args()
    state = State(chosen)
    kinds = [kind for kind in inputs() if kind.suffix not in chosen.without.split(",")]
    import_all()
    gc.freeze()  # so that no fork copies all objects to look at them
    tally = Counter({(suffix, status): count for suffix, status, count in state.known.get("tally", ())})
    mutations = Counter[str](state.known.get("mutations"))
    faults: dict[int, tuple[Mutant, Ending]] = {}
    first, last = state.known.get("first", chosen.first), chosen.first + chosen.count
    numbers = range(first, last) if chosen.only is None else [chosen.only]
    again: list[int] = state.known.get("faults", [])  # asked once more: what was wrong is told at the end
    end = time.monotonic() + chosen.seconds
    slowest = 0.0
    with state:
        for number in [*again, *numbers]:
            if time.monotonic() > end:
                break
            made = mutant(state.seed, number, kinds)
            folder = Path(tempfile.mkdtemp(prefix="teetotal-fuzz-"))
            (folder / f"mutant{made.suffix}").write_bytes(made.text)
            ending = run([*made.command, f"mutant{made.suffix}", *BUDGET], folder)
            if number not in again:
                tally[made.suffix, ending.status] += 1
                mutations.update(made.mutations)
            slowest = max(slowest, ending.seconds)
            if ending.fault:
                faults[number] = (made, ending)
            if ending.fault or chosen.only is not None:
                print(f"mutant {number} of seed {state.seed}: {folder}", flush=True)
                if chosen.only is not None:
                    print(ending.output)
            else:
                shutil.rmtree(folder)
            if number not in again:
                counted = [(*key, count) for key, count in tally.items()]
                wrong = sorted({*again, *faults})
                state.done(first=number + 1, tally=counted, mutations=mutations, faults=wrong)
        else:
            state.end()
    tell(faults, tally, mutations)
    print(
        f"\n{sum(tally.values()):,} mutants of seed {state.seed}, {len(faults)} faults; the slowest took {slowest:.1f} s"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
