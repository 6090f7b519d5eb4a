"""Runs against each other, and against requirements."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal, cast

from tardy import _native
from tardy.pages import Page
from tardy.run import WIDTH, Run


class _Text:
    """A result with a text for people."""

    text: str

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text)}</pre>"


@dataclass(frozen=True, repr=False)
class Comparison(_Text):
    """The first run next to each of the others."""

    text: str
    #: As `tardy compare --json` prints it.
    data: dict[str, Any]


@dataclass(frozen=True, repr=False)
class GroupComparison(_Text):
    """Two groups of boots: the headline, the tests, and what they rest on."""

    text: str
    #: As `tardy compare --base … --candidate … --json` prints it.
    data: dict[str, Any]
    #: The comparison with its plots.
    page: Page

    @property
    def headline(self) -> str:
        """The sentence that can be quoted."""
        return cast(str, self.data["headline"])


@dataclass(frozen=True, repr=False)
class Gate(_Text):
    """Whether runs meet requirements."""

    #: `passed`, `failed`, `inconclusive` (the runs are too short to decide) or `invalid`.
    outcome: Literal["passed", "failed", "inconclusive", "invalid"]
    text: str
    #: As `tardy gate --json` prints it.
    data: Any

    def __bool__(self) -> bool:
        return self.outcome == "passed"


def compare(*runs: Run, phases: Sequence[str] = (), width: int = WIDTH) -> Comparison:
    """The first run next to each of the others: minimum, mean, quantiles, maximum and their ratios, or why they are not comparable.

    `phases` pairs phases of different names, as `BASE=CANDIDATE`. One run each describes these runs only: `compare_groups` tests.
    """
    text, data = _native.compare([run._native for run in runs], list(phases), width)
    return Comparison(text, json.loads(data))


def compare_groups(
    base: Sequence[Run],
    candidate: Sequence[Run],
    *,
    factor: str = "kernel",
    limit: str | None = None,
    width: int = WIDTH,
) -> GroupComparison:
    """Whether two groups of boots differ, and how much, by exact tests over the boots.

    `factor` is what the groups are meant to differ in: `kernel`, `cmdline`, `recipe` or the name of a fact. If anything else differs, it
    is named and nothing is tested.
    """
    groups = ([run._native for run in base], [run._native for run in candidate])
    text, data, page = _native.versus(*groups, factor, limit, width)
    return GroupComparison(text, json.loads(data), Page(page))


def gate(runs: Run | Sequence[Run], require: str | Sequence[str]) -> Gate:
    """Whether runs meet requirements such as `p99.9<500us`, `P(>1ms)<1e-6@95%` or `idle/cpu2: max<200us`."""
    runs = [runs] if isinstance(runs, Run) else list(runs)
    require = [require] if isinstance(require, str) else list(require)
    names = [run.path or run.name for run in runs]
    outcome, text, data = _native.gate([run._native for run in runs], names, require)
    return Gate(cast(Any, outcome), text, json.loads(data))
