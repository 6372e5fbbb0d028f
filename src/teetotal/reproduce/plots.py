"""Curves of the papers' figures, drawn by matplotlib (extra ``plots``)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from teetotal.answers.errors import OutputError, TeetotalError

_MARKERS = "osD^vx"


class Plot(NamedTuple):
    name: str
    title: str
    across: str
    up: str
    curves: dict[str, list[tuple[float, float]]]


def draw(plots: list[Plot], folder: str) -> list[str]:
    """One SVG for each, with a logarithmic scale; the files' names."""
    try:
        import matplotlib
    except ImportError as missing:
        raise TeetotalError("plots need matplotlib: pip install 'matplotlib>=3.8'") from missing
    matplotlib.use("svg")
    from matplotlib import pyplot

    written = []
    for plot in plots:
        figure, axes = pyplot.subplots(figsize=(6, 4))
        for (label, points), marker in zip(plot.curves.items(), _MARKERS, strict=False):
            axes.plot(*zip(*points, strict=True), marker=marker, label=label)
        axes.set(title=plot.title, xlabel=plot.across, ylabel=plot.up, yscale="log")
        axes.legend()
        axes.grid(visible=True, alpha=0.3)
        path = Path(folder) / f"{plot.name}.svg"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, metadata={"Date": None})
        except OSError as problem:
            raise OutputError(f"cannot write {path}: {problem.strerror}") from problem
        pyplot.close(figure)
        written.append(str(path))
    return written
