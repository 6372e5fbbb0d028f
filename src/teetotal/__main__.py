"""The command ``teetotal``, and ``python -m teetotal``. What needs nothing is answered before anything is loaded."""

import contextlib
import gc
import sys


def main() -> None:
    if sys.argv[1:] == ["--version"]:
        from teetotal.answers.version import VERSION

        with contextlib.suppress(OSError):  # who cannot write has more to say below
            print(f"teetotal, version {VERSION}", flush=True)
            return
    gc.set_threshold(50_000)  # what is loaded stays: to look through it for what can go takes a tenth of a short call
    from teetotal import cli

    cli.main()


if __name__ == "__main__":
    main()
