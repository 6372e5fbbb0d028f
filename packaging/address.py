"""Puts the address of the project into a tree that is about to be published: on the page of an index no relative link of
README.md leads anywhere.

    python packaging/address.py TREE https://HOST/PROJECT/FILES

The address is that under which the tree's files can be seen: ``…/FILES/docs/tutorial.md``.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_LINK = re.compile(r"(\]\()(?!\w+:|#)([^)\s]+\))")
_BEFORE = "[project.scripts]"


def absolute(text: str, address: str) -> str:
    """Markdown whose links lead to the tree's files."""
    return _LINK.sub(lambda link: f"{link[1]}{address}/{link[2]}", text)


def with_urls(metadata: str, address: str) -> str:
    """pyproject.toml that says where things are."""
    assert metadata.count(_BEFORE) == 1
    pages = {"Documentation": "docs/index.md", "Changelog": "CHANGELOG.md", "Source": ""}
    table = "".join(f'{name} = "{f"{address}/{page}".rstrip("/")}"\n' for name, page in pages.items())
    return metadata.replace(_BEFORE, f"[project.urls]\n{table}\n{_BEFORE}")


def main() -> None:
    tree, address = Path(sys.argv[1]), sys.argv[2].rstrip("/")
    for name, change in (("README.md", absolute), ("pyproject.toml", with_urls)):
        (tree / name).write_text(change((tree / name).read_text(), address))


if __name__ == "__main__":
    main()
