"""How much memory verbs take of what ``--memory`` gives them, on inputs that want more: the largest process of each call.

python benchmarks/bench_memory.py [SECONDS]       about two minutes; SECONDS (20): the most that each call may take
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from multiprocessing import Process
from pathlib import Path

from teetotal.scale.supervision import room

MEGABYTES = 300
THREADS = 6
WRITES = [" | ".join(f"movl ${row + 1},(x{(of + row) % THREADS})" for of in range(THREADS)) for row in range(6)]
READS = [" | ".join(f"movl (x{(of + row) % THREADS}),%e{'dabc'[row]}x" for of in range(THREADS)) for row in (1, 2, 3)]
HEAD = " | ".join(f"P{of}" for of in range(THREADS))
LITMUS = "".join(f"{row} ;\n" for row in [HEAD, *WRITES, *READS])
ENDLESS = """from teetotal import program, st
def t():
    n = 0
    while True:
        n += 1
        yield st('x', n)
p = program(t(), t(), x=0)
"""
INPUTS = {
    "states.litmus": f"X86_64 states\n{{ }}\n{LITMUS}exists (0:eax=0)\n",
    "states.pml": "byte x, y, z;\n" + "".join(f"active proctype P{v}() {{ do :: {v}++ od }}\n" for v in "xyz"),
    "states.py": ENDLESS,
    "import.py": "kept = []\nwhile True: kept.append(b'x' * (1 << 20))\n",
    "starts.py": "import subprocess, sys\nsubprocess.run([sys.executable, 'import.py'])\n",
    "loops.c": "#include <pthread.h>\nvolatile int x, y;\n"
               "void *f(void *p) { for (int i = 0; i < 60; i++) { int r = x; y = i; x = i; } return 0; }\n"
               "int main(void) { pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, f, 0);"
               " pthread_join(t, 0); pthread_join(u, 0); }\n",
    "malloc.c": "#include <stdlib.h>\n#include <string.h>\nint main(void) { for (;;) { char *p = malloc(1 << 20);"
                " if (!p) return 1; memset(p, 1, 1 << 20); } }\n",
}  # fmt: skip
CALLS = """check states.litmus --states 4000000000
check states.pml --states 4000000000
check states.py --states 4000000000
check import.py
check starts.py
check loops.c
check malloc.c
verify states.pml
verify states.pml --engine bounded:90
history hard.axe --engine dbcop
history hard.axe --engine sat
history large.axe
history large.axe --model tso"""


def write_inputs(folder: Path) -> None:
    from teetotal.histories.generate import random_history, to_axe
    from teetotal.histories.hard import formula, random_formula

    for name, text in INPUTS.items():
        (folder / name).write_text(text)
    (folder / "hard.axe").write_text(to_axe(formula(random_formula(260, 1120, 3), "hard")))
    large = random_history(threads=32, operations=600_000, addresses=64, by_thread=True)
    (folder / "large.axe").write_text(to_axe(large))


def main() -> None:
    seconds = sys.argv[1] if len(sys.argv) > 1 else "20"
    print(f"{f'--memory {MEGABYTES}':42}{'status':>8}{'MB':>6}   allowed {room(MEGABYTES) >> 20}")
    with tempfile.TemporaryDirectory() as folder:
        writing = Process(target=write_inputs, args=(Path(folder),))  # what starts a process counts as its memory, too
        writing.start()
        writing.join()
        for call in CALLS.splitlines():
            command = [sys.executable, "-m", "teetotal", *call.split(), "--memory", str(MEGABYTES), "--time", seconds]
            process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)  # the largest of all that it waited for
            process.returncode = os.waitstatus_to_exitcode(status)
            print(
                f"{call.replace(' --states 4000000000', ''):42}{process.returncode:>8}{used.ru_maxrss >> 10:>6}",
                flush=True,
            )


if __name__ == "__main__":
    main()
