"""The command ``teetotal``, and ``python -m teetotal``. What needs nothing is answered before anything is loaded."""

import sys


def main() -> None:
    if sys.argv[1:] == ["--version"]:
        from teetotal.answers.version import VERSION

        print(f"teetotal, version {VERSION}")
        return
    from teetotal import cli

    cli.main()


if __name__ == "__main__":
    main()
