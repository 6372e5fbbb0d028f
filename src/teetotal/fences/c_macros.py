"""What macros make of the words in C: which statements are fences, and which names may do more than compute.

The compiler tells what macros stand for at the end of a file (``-dM``). A macro that is defined anew half way through is
taken for what it was last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from teetotal.answers.events import Kind

_FENCE = re.compile(
    r"""(?:std::)?atomic_thread_fence\s*\(\s*(?:std::)?memory_order(?:_|::)(?P<order>\w+)\s*\) |
        __atomic_thread_fence\s*\(\s*(?:__ATOMIC_(?P<builtin>\w+)|(?P<number>\d))\s*\) |
        (?P<full>smp_mb|mb|__sync_synchronize|_mm_mfence)\s*\(\s*\) | (?P<write>smp_wmb|wmb|_mm_sfence)\s*\(\s*\) |
        (?:__asm__|asm|__asm)\s*(?:volatile|__volatile__)?\s*\(\s*"(?P<asm>mfence|sfence)\s*;?\s*"[^)]*\)""",
    re.VERBOSE,
)
_ORDERS = {"3": "release", "4": "acq_rel", "5": "seq_cst"}
_CALL = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*(?P<call>\(\s*\))?")
_WRAPPED = re.compile(r"do\s*\{(?P<inner>[^{}]*)\}\s*while\s*\(\s*0\s*\)")
_DEFINITION = re.compile(r"#define (?P<name>\w+)(?P<parameters>\([^)]*\))?(?: (?P<body>.*))?")
_COMPUTES = re.compile(r"""(?:[\w\s.+\-*/%&|^~!<>?:()]|==|[<>!]=)*""")
_CALLS = re.compile(r"\w\s*\(")
_NAME = re.compile(r"[A-Za-z_]\w*")
MEANS_TWO_THINGS = "="
"""The body of a macro that is not the same in all files: no fence, and not to be trusted."""


class Macros:
    """``bodies``: of macros by their names; those that are called have their parameters behind: ``MAX(a,b)``."""

    def __init__(self, bodies: Mapping[str, str] = {}) -> None:
        self.bodies = bodies
        self._called: dict[str, str] = {}  # by the bare name
        for whole in bodies:
            name, parenthesis, _ = whole.partition("(")
            if parenthesis:
                self._called[name] = whole if name not in self._called else ""

    def does_more(self, name: str, behind: frozenset[str] = frozenset()) -> bool:
        """Whether a name is a macro that may do more than compute."""
        body = self.bodies.get(name)
        if body is None or name in behind:
            return False
        if _COMPUTES.fullmatch(body) is None or _CALLS.search(body) or "++" in body or "--" in body:
            return True
        return any(self.does_more(inner, behind | {name}) for inner in _NAME.findall(body))

    def expanded(self, name: str, arguments: Sequence[str]) -> str | None:
        """What a call of a macro becomes, before the macros in it; None where that is not a matter of words alone."""
        called = self._called.get(name)
        if not called:  # no macro, or one that is not the same in all files
            return None
        body = self.bodies[called]
        parameters = [word for word in called.partition("(")[2].rstrip(")").split(",") if word]
        if len(parameters) != len(arguments) or parameters[-1:] == ["..."] or re.search(r"""[#"']""", body):
            return None
        given = dict(zip(parameters, arguments, strict=True))
        return _NAME.sub(lambda match: given.get(match[0], match[0]), body)

    def fence(self, statement: str) -> Kind | None:
        """What kind of fence a statement is, and nothing else."""
        if not statement.endswith(";"):
            return None
        return self._fence(statement[:-1].rstrip(), frozenset())

    def _fence(self, words: str, behind: frozenset[str]) -> Kind | None:
        """Macros first: whoever defines smp_mb means what is defined."""
        call = _CALL.fullmatch(words)
        name = f"{call['name']}{'()' if call['call'] else ''}" if call is not None else ""
        if name in self.bodies and name not in behind:
            return self._fence(_unwrapped(self.bodies[name]), behind | {name})
        match = _FENCE.fullmatch(words)
        if match is None:
            return None
        order = match["order"] or (match["builtin"] or "").lower() or _ORDERS.get(match["number"] or "", "")
        if match["full"] or match["asm"] == "mfence" or order == "seq_cst":
            return Kind.MFENCE
        return Kind.SFENCE if match["write"] or match["asm"] or order in ("release", "acq_rel") else None


NO_MACROS = Macros()


def parse(told: str) -> dict[str, str]:
    """The compiler's list of macros."""
    found: dict[str, str] = {}
    for line in told.splitlines():
        match = _DEFINITION.fullmatch(line.rstrip())
        if match is not None:
            name = match["name"] + (match["parameters"] or "").replace(" ", "")
            found[name] = (match["body"] or "").strip()
    return found


def _unwrapped(body: str) -> str:
    """Without what makes a statement of a macro: ``do { … } while (0)``, parentheses, a semicolon."""
    while True:
        body = body.strip()
        match = _WRAPPED.fullmatch(body)
        inner = match["inner"] if match is not None else body
        inner = inner.rstrip().removesuffix(";")
        if inner.startswith("(") and inner.endswith(")") and _closes(inner):
            inner = inner[1:-1]
        if inner == body:
            return body
        body = inner


def _closes(text: str) -> bool:
    """Whether the first parenthesis is closed by the last."""
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return position == len(text) - 1
    return False
