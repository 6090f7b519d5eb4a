"""How late is Linux: runs of tardy and of other tools, as tables, verdicts, comparisons and plots.

    import tardy

    run = tardy.read("results.json", unit="us")     # a run file, or cyclictest's, rtla's, oslat's, ...
    run.quantiles().to_pandas()                     # quantiles with their 95 % intervals
    run.verdict("100us")["bound"]["upper"]          # the share of wake-ups that may be later
    tardy.compare(run, tardy.read("other.txt"))
    tardy.gate([run], ["p99.9<500us"]).outcome
    tardy.plot([run], "histogram").save("latency.svg")

Importing this package imports nothing else: polars, pandas and NumPy are needed only by the methods that return their objects.
"""

from tardy._native import Error
from tardy.analyses import Comparison, Gate, GroupComparison, compare, compare_groups, gate
from tardy.open import formats, read
from tardy.pages import Page, Plot, plot, report
from tardy.run import Run
from tardy.samples import read_samples
from tardy.table import Table

__all__ = [
    "Comparison",
    "Error",
    "Gate",
    "GroupComparison",
    "Page",
    "Plot",
    "Run",
    "Table",
    "compare",
    "compare_groups",
    "formats",
    "gate",
    "plot",
    "read",
    "read_samples",
    "report",
]
