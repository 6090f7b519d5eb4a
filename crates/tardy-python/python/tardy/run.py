"""A run: one measurement, with everything needed to judge it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from tardy.table import Table

if TYPE_CHECKING:
    from tardy._native import NativeRun

#: The width of texts, in characters.
WIDTH = 80


@dataclass(frozen=True)
class Validity:
    """Whether the numbers of a run can be used."""

    valid: bool
    #: Why not; empty for a valid run.
    reasons: list[str]
    #: What leaves the run valid but limits its conclusions.
    limits: list[str]

    def __bool__(self) -> bool:
        return self.valid


class Run:
    """One measurement, of tardy or of another tool. `tardy.read` opens it; it does not change."""

    def __init__(self, native: NativeRun, path: str | None = None) -> None:
        self._native = native
        #: The file that it was read from.
        self.path = path

    @property
    def name(self) -> str:
        """Its name."""
        return self._native.name()

    @property
    def headline(self) -> str:
        """One sentence about the measured kernel."""
        return self._native.headline()

    @property
    def validity(self) -> Validity:
        """Whether its numbers can be used, and why not."""
        return Validity(*self._native.validity())

    def facts(self) -> Table:
        """The facts about the machine, each with its source."""
        return Table(self._native.table("facts"))

    def series(self) -> Table:
        """One row for each series of readings: tally, extremes, mean, quantiles."""
        return Table(self._native.table("series"))

    def quantiles(self) -> Table:
        """One row for each quantile of each series, with its 95 % confidence interval.

        The upper end is missing if the readings do not determine it, the value if there are fewer readings than `needs_readings`.
        """
        return Table(self._native.table("quantiles"))

    def histogram(self, which: Literal["quoted", "measured", "filled"] = "quoted") -> Table:
        """One row for each occupied bin of each series: `lower_ns` <= latency < `upper_ns`.

        `measured` has one value for each recorded wake-up. `filled` adds the periods that passed during late ones; a series without
        a schedule has none. `quoted` is the one that quantiles are computed from: filled if there is one.
        """
        return Table(self._native.table("histogram" if which == "quoted" else f"histogram-{which}"))

    def slices(self) -> Table:
        """The histograms of at most 64 stretches of time of each series, with coarser bins."""
        return Table(self._native.table("slices"))

    def maxima(self) -> Table:
        """The highest value of each block of time of each series."""
        return Table(self._native.table("maxima"))

    def worst(self) -> Table:
        """The worst samples of each series, with what changed around them."""
        return Table(self._native.table("worst"))

    def environment(self) -> Table:
        """The readings of the watchers: temperature, frequency, interrupts and others. Between two points the value is that of the
        later one."""
        return Table(self._native.table("environment"))

    def events(self) -> Table:
        """Checkpoints, phases, marks and warnings."""
        return Table(self._native.table("events"))

    def verdict(self, limit: str) -> dict[str, Any] | None:
        """The verdict on a limit such as `"100us"`: the worst case, and with 95 % confidence an upper bound on the share of later
        wake-ups (`bound`, the highest of those of all series in `bounds`), with the dependence of late wake-ups allowed for.

        `None` if nothing was recorded. An invalid run has no verdict: `tardy.Error`.
        """
        text = self._native.verdict(limit)
        return None if text is None else json.loads(text)

    def findings(self) -> dict[str, Any]:
        """All that tardy says of the run, as `tardy show --json` prints it."""
        found: dict[str, Any] = json.loads(self._native.findings())
        return found

    def summary(self, width: int = WIDTH) -> str:
        """The summary, as `tardy show` prints it."""
        return self._native.summary(width)

    def to_dict(self) -> dict[str, Any]:
        """The run file, whose schema `tardy schema` prints."""
        run: dict[str, Any] = json.loads(self._native.text())
        return run

    def to_json(self) -> str:
        """The run file as text; `tardy show` opens it."""
        return self._native.text()

    def __repr__(self) -> str:
        return f"<tardy.Run {self.name}: {self.headline}>"

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from tardy.pages import plot

        validity = self.validity
        reasons = "".join(f"<p><b>Invalid:</b> {escape(reason)}</p>" for reason in validity.reasons)
        try:
            picture = plot([self])._repr_html_()
        except ValueError as nothing_to_draw:
            picture = f"<p>{escape(str(nothing_to_draw))}</p>"
        return f"<p><b>{escape(self.headline)}</b></p>{reasons}{self._table_of_latencies()}{picture}"

    def _table_of_latencies(self) -> str:
        columns = ("label", "phase", "recorded", "missed", "min_ns", "p50_ns", "p99_ns", "p99_9_ns", "max_ns")
        table = self.series()
        heads = "".join(f"<th>{name.removesuffix('_ns').replace('_9', '.9')}</th>" for name in columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_cell(name, value)}</td>" for name, value in zip(columns, row)) + "</tr>"
            for row in zip(*(table[name] for name in columns))
        )
        return f"<table><caption>Latencies in µs</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(column: str, value: Any) -> str:
    if value is None:
        return "n/a" if column.endswith("_ns") else ""
    if column.endswith("_ns"):
        return f"{value / 1000:,.2f}"
    return f"{value:,}" if isinstance(value, int) else escape(str(value))
