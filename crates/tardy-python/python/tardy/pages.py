"""Reports and plots."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal

from tardy import _native
from tardy.run import Run

Kind = Literal[
    "histogram", "exceedance", "timeline", "heatmap", "distribution", "compare", "quantiles", "return-levels"
]


@dataclass(frozen=True)
class Page:
    """A page in one file, without anything that it loads from elsewhere."""

    html: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page."""
        Path(path).write_text(self.html, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<tardy.Page of {len(self.html):,} characters>"

    def _repr_html_(self) -> str:
        # In a frame, so that its styles stay its own, and without the rights of the notebook.
        return f'<iframe sandbox="allow-scripts" srcdoc="{escape(self.html)}" style="width:100%;height:800px;border:0"></iframe>'


@dataclass(frozen=True)
class Plot:
    """A plot as SVG, and its data."""

    svg: str
    #: The data, with a line of heads.
    csv: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plot as SVG, or its data if the name ends in `.csv`."""
        path = Path(path)
        path.write_text(self.csv if path.suffix == ".csv" else self.svg, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<tardy.Plot of {len(self.svg):,} characters>"

    def _repr_html_(self) -> str:
        return self.svg


def report(*runs: Run) -> Page:
    """The report of one run, or of several with the first as the base of the comparison, as `tardy report` writes it."""
    return Page(_native.report([run._native for run in runs]))


def plot(
    runs: Run | Sequence[Run],
    kind: Kind = "histogram",
    *,
    width: float = 860,
    height: float | None = None,
    x_max: str | None = None,
    title: str | None = None,
) -> Plot:
    """A plot of runs, as `tardy plot` draws it. `x_max` ends the latency axis, such as `"200us"`."""
    runs = [runs] if isinstance(runs, Run) else list(runs)
    svg, csv = _native.plot([run._native for run in runs], kind, width, height, x_max, title)
    return Plot(svg, csv)
