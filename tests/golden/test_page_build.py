"""The committed build of the page is current, and whole in itself."""

from __future__ import annotations

import re
from pathlib import Path

from pages import digest
from teetotal.report.html import MARK

BUILT = (Path(__file__).parents[2] / "src" / "teetotal" / "report" / "page.html").read_text()


def test_the_page_was_built_from_these_sources() -> None:
    """``make page`` builds it again."""
    built = re.search(r'<meta name="sources" content="(\w+)"', BUILT)
    assert built is not None
    assert built[1] == digest(), "web/ has changed since src/teetotal/report/page.html was built: make page"


def test_nothing_in_it_is_elsewhere() -> None:
    """No address but names of namespaces, and a policy that would forbid to follow it."""
    assert set(re.findall(r"https?://[\w./-]+", BUILT)) <= {
        *("http://www.w3.org/1999/xhtml", "http://www.w3.org/1999/xlink", "http://www.w3.org/2000/svg"),
        *("http://www.w3.org/2000/xmlns/", "http://www.w3.org/XML/1998/namespace"),
    }
    assert "default-src 'none'" in BUILT
    assert not re.search(r"<(link|img|iframe)\b|\bsrc=", BUILT.partition("<script")[0])
    assert BUILT.count(MARK) == 1
