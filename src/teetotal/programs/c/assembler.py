"""gcc's ``-wrapper`` for libraries: the assembler gets the text with our hooks, all other programs run as they are.

What cannot be followed is not told here: it is found again in the machine code when a program is linked (``audit``).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from teetotal.programs.c.frames import mark_ends, mark_raised_stacks
from teetotal.programs.c.instrument import make_visible
from teetotal.programs.c.unwritten import UnwrittenLocals


def main(command: list[str]) -> int:
    if not re.fullmatch(r"(?:.*-)?as", os.path.basename(command[0])):  # x86_64-linux-gnu-as, to some
        return subprocess.run(command, check=False).returncode
    output = Path(command[command.index("-o") + 1])
    sources = [word for word in command[1:] if word.endswith(".s") and word != str(output)]
    file = sources[-1] if sources else "-"
    text = sys.stdin.read() if file == "-" else Path(file).read_text(errors="surrogateescape")
    with TemporaryDirectory() as directory:
        changed = Path(directory) / "changed.s"
        rest = [str(changed) if word == file else word for word in command]
        if file == "-" and "-" not in command:
            rest.append(str(changed))

        def assemble(made: str) -> bytes:
            changed.write_text(made, errors="surrogateescape")
            subprocess.run(rest, check=True)
            return output.read_bytes()

        try:
            visible = make_visible(text, assemble, file, (UnwrittenLocals(), mark_raised_stacks))
            assemble(mark_ends(visible.text, visible.parameters))
        except subprocess.CalledProcessError as failure:
            return int(failure.returncode)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
