"""docs/reference/imports.md, from runtime/hooks/imports.txt: ``python tests/imports_page.py`` writes it anew."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "runtime" / "hooks" / "imports.txt"
PAGE = ROOT / "docs" / "reference" / "imports.md"

HEAD = """# What functions of libraries do to memory

A checked C or C++ program calls functions that no compiler instruments for us. What each does to memory is in one
table, `runtime/hooks/imports.txt`, of which this page is a rendering (`python tests/imports_page.py`). What is not
here is run all the same, and named with the line that calls it: `what cannot be seen: strfry of libc.so.6 at p.c:7`.
Then nothing is proved; violations that are found are real.

| class | meaning |
|---|---|
| nothing | reads and writes nothing that the program can see, but `errno` and what it is given by value; keeps nothing |
| output | as nothing: what a standard stream holds back is nothing that a program can ask for |
| replaced | done by a function of ours, each access an event, in its order |
| modelled | done by a hook: memory, threads, synchronisation, time, chance, ends; refused where there is none |
| arguments | touches what the arguments of these numbers point to, no more: named where another thread may see that |
| changes | as arguments; but of `std::cout`, too, it changes what others may ask for: named beside other threads |
| thrown | as arguments; but where the first is what is thrown, that has one owner, or holders whom the library counts |
| keeps | keeps what the argument of this number points to, and touches it at any time: named unless there is nothing |
| outside | depends on the outside world: run, and named |
| refused | cannot be explored: the answer says so |
| checker | what the compiler's instrumentation and checked programs call |
| variant of | what the C library's headers make of a function under some flags and versions: done as that function is |
| constant | a variable that keeps its value; any other variable of a library is named where threads access it |

`NAME*` stands for all that begin so.
"""


def demangled(names: list[str]) -> list[str]:
    plain = subprocess.run(["c++filt", "-_"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    short = {"std::char_traits<char>": "…", "std::allocator<char>": "…", "> >": ">>"}
    result = []
    for text in plain.splitlines():
        for long, less in short.items():
            text = text.replace(long, less)
        result.append(f"`{text}`")
    return result


def page() -> str:
    text, before = HEAD, ""
    for line in TABLE.read_text().splitlines():
        if line.startswith("# -- "):
            text += f"\n\n## {line.removeprefix('# -- ').replace('<', '`<').replace('>', '>`')}\n"
            before = ""
        words = line.partition("#")[0].split()
        if words:
            effect, _, detail = words[0].partition(":")
            numbered = effect in ("arguments", "changes", "thrown", "keeps")
            how = "of" if effect == "variant" else "by"
            shown = effect + (f" {', '.join(detail)}" if numbered else f" {how} `{detail}`" if detail else "")
            text += ", " if words[0] == before else f"\n- {shown}: "
            text += ", ".join(demangled(words[1:]))
            before = words[0]
    return text + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
