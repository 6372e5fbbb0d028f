"""All symbols that a program uses and nobody defines, with the places that use them.

The dynamic linker stops at the first. So the program is linked once more, as its user would link it, and the linker
tells every reference; those that the explorer defines (``__VERIFIER_assume``, …) are none.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from teetotal.programs.c.build import Source, commands_for_linking
from teetotal.programs.c.objects import Object
from teetotal.scale.supervision import scratch_folder

_FUNCTION = re.compile(r": in function [`'](?P<name>[^']+)'")
_REFERENCE = re.compile(
    r"^(?:\S*ld\S*: )?(?P<place>.+?)(?::\([^()]*\))?: warning: undefined reference to [`'](?P<name>.+)'$"
)


def undefined(source: Source, explorer: Path) -> dict[str, list[str]]:
    """Each symbol with its users, ``helper() at a.c:3``; demangled, as the linker does it."""
    defined = _exported(explorer)
    found: dict[str, list[str]] = {}
    with scratch_folder() as directory:
        for command in commands_for_linking(source, Path(directory)):
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                env={**os.environ, "LC_ALL": "C"},
            )
            function = ""
            for line in done.stderr.splitlines():
                if entered := _FUNCTION.search(line):
                    function = entered["name"]
                if (told := _REFERENCE.match(line)) and told["name"] not in defined:
                    where = f"{function}{'' if '(' in function else '()'} at {_shown(told['place'], source)}"
                    users = found.setdefault(told["name"], [])
                    users += [where] if where not in users else []
    return found


def _shown(place: str, source: Source) -> str:
    """A file of the program as its user spells it; newer linkers tell the line and the place in the section."""
    file, _, line = place.rpartition(":")
    if not line.isdigit():
        return place
    spelled = {os.path.abspath(name): name for name in source.files}
    return f"{spelled.get(os.path.abspath(file), file)}:{line}"


def _exported(explorer: Path) -> set[str]:
    return {symbol.name for symbol in Object(explorer.read_bytes()).dynamic_symbols if symbol.section}
