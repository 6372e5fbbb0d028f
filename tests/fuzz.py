"""The random tests over and over, with new examples each time: ``python tests/fuzz.py SECONDS [pytest arguments]``."""

from __future__ import annotations

import os
import subprocess
import sys
import time


def main() -> int:
    seconds, arguments = float(sys.argv[1]), sys.argv[2:]
    end = time.monotonic() + seconds
    rounds = 0
    while rounds == 0 or time.monotonic() < end:
        environment = {"TEETOTAL_PERCENT": "100", **os.environ, "TEETOTAL_PROFILE": "fuzz"}
        status = subprocess.run([sys.executable, "-m", "pytest", "-x", *arguments], env=environment, check=False)
        if status.returncode != 0:
            print(f"failed in round {rounds + 1}", flush=True)
            return status.returncode
        rounds += 1
    print(f"{rounds} rounds, nothing failed", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
