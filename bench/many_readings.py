#!/usr/bin/env python3
"""How long a run file with ten thousand million readings takes to analyse: it has as many bins as a short one.

usage: many_readings.py TARDY RUN [TIMES]

Multiplies every count of RUN so that it has 10,000,000,000 readings, and prints the least of TIMES (5) elapsed times of `tardy show` and
`tardy show --tail`, in s, and their CPU time.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

READINGS = 10_000_000_000


def multiplied(bins: list, factor: int) -> list:
    return [[lower, upper, count * factor] for lower, upper, count in bins]


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, run = str(Path(sys.argv[1]).resolve()), json.loads(Path(sys.argv[2]).read_text())
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    factor = READINGS // sum(series["tally"]["recorded"] for series in run["series"])
    for series in run["series"]:
        for counts in ("measured", "corrected"):
            series[counts] = multiplied(series[counts], factor)
        for one in series["slices"]:
            one["histogram"] = multiplied(one["histogram"], factor)
        for name in ("attempted", "recorded", "missed", "dropped"):
            series["tally"][name] *= factor
        series["sum_ns"] *= factor
        series["sum_of_squares_ns2"] = str(int(series["sum_of_squares_ns2"]) * factor)
        series["thresholds"] = []
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "many.run.json"
        path.write_text(json.dumps(run))
        for words in (["show", str(path)], ["show", "--tail", str(path)]):
            elapsed, cpu = [], []
            for _ in range(times):
                began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run([program, *words], stdout=subprocess.DEVNULL, check=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                elapsed.append(time.monotonic() - began)
                cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            print(f"tardy {' '.join(words[:-1])}: {min(elapsed):.3f} s elapsed, {min(cpu):.3f} s of CPU")


if __name__ == "__main__":
    main()
