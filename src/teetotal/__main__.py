"""The command ``teetotal``, and ``python -m teetotal``. What needs nothing is answered before anything is loaded."""

import contextlib
import gc
import os
import sys


def open_streams() -> None:
    """Give closed standard streams their numbers, before anything is loaded: libraries keep files open, and the first one
    would get the number, and what is printed with it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            assert opened == number, "streams are opened in order"


def main() -> None:
    open_streams()
    if sys.argv[1:] == ["--version"]:
        from teetotal.answers.version import VERSION

        with contextlib.suppress(OSError):  # who cannot write has more to say below
            print(f"teetotal, version {VERSION}", flush=True)
            return
    gc.set_threshold(50_000)  # what is loaded stays: to look through it for what can go takes a tenth of a short call
    try:
        from teetotal import cli
    except KeyboardInterrupt:  # before anything has begun: there is nothing to tell
        sys.exit(130)
    cli.main()


if __name__ == "__main__":
    main()
