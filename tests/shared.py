"""Where the data with known answers lies, if it lies anywhere: beside the checkout, or at TEETOTAL_SHARED."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("TEETOTAL_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def data(name: str) -> Path:
    """A folder of that data; the test that asks is skipped where it is missing."""
    folder = SHARED / "data" / name
    if not folder.is_dir():
        pytest.skip(f"no {folder.name} data beside this checkout")
    return folder
