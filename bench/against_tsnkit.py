#!/usr/bin/env python3
"""tardy's simulator compared with TSNKit's, alternately on one instance and schedule. Results: docs/performance.md.

usage: against_tsnkit.py EXAMPLES [--task T.csv --topo N.csv --schedule PREFIX] [--rounds N] [--periods N]

EXAMPLES is the directory of `cargo build --release -p tardy-tsn --examples`. The default instance is that of
crates/tardy-tsn/tests/tsnkit. TSNKit (PyPI: tsnkit) is installed into a virtual environment in EXAMPLES if
this python does not have it. Each round simulates the given number of hyper-periods in TSNKit and ten thousand times as
many in tardy. TSNKit's frame-hops are those that tardy counts for the same time.
"""

import argparse
import csv
import math
import pathlib
import re
import statistics
import subprocess
import sys
import venv

TOP = pathlib.Path(__file__).resolve().parent.parent
HERE = TOP / "crates/tardy-tsn/tests/tsnkit"
# How many times longer tardy simulates, to take a measurable time.
LONGER = 10_000

TIMED = """
import sys, time
from tsnkit.simulation import tas
begun = time.perf_counter()
tas.simulation(sys.argv[1], sys.argv[2], it=int(sys.argv[3]), draw_results=False, disable_pbar=True)
print(time.perf_counter() - begun, tas.CYTHON_AVAILABLE)
"""


def python_with_tsnkit(examples):
    """A python that has TSNKit."""
    if subprocess.run([sys.executable, "-c", "import tsnkit"], capture_output=True, check=False).returncode == 0:
        return sys.executable
    place = examples / "tsnkit-venv"
    python = place / "bin/python"
    if not python.exists():
        print(f"== installing TSNKit into {place}", file=sys.stderr)
        venv.create(place, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "tsnkit==0.3.0"], check=True)
    return str(python)


def hyper_period_s(task):
    with open(task, encoding="utf-8") as file:
        return math.lcm(*(int(row["period"]) for row in csv.DictReader(file))) / 1e9


def tardy(examples, instance, seconds):
    """Frame-hops, and the seconds that they took."""
    command = [examples / "tsnkit_instance", *instance, repr(seconds)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    hops, took = re.match(r"(\d+) frame-hops in ([\d.]+) s", told).groups()
    return int(hops), float(took)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("examples", type=pathlib.Path)
    parser.add_argument("--task", default=HERE / "line_task.csv")
    parser.add_argument("--topo", default=HERE / "line_topo.csv")
    parser.add_argument("--schedule", default=HERE / "line")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--periods", type=int, default=1)
    parser.add_argument("--longer", type=int, default=LONGER)
    wanted = parser.parse_args()
    python = python_with_tsnkit(wanted.examples.resolve())
    instance = [wanted.task, wanted.topo, wanted.schedule]
    seconds = hyper_period_s(wanted.task) * wanted.periods
    hops_of_theirs, _ = tardy(wanted.examples, instance, seconds)
    ours, theirs, ratios = [], [], []
    for _ in range(wanted.rounds):
        hops, took = tardy(wanted.examples, instance, seconds * wanted.longer)
        command = [python, "-c", TIMED, wanted.task, f"{wanted.schedule}-", str(wanted.periods)]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        their_time, cython = told.split()[-2:]
        ours.append(hops / took)
        theirs.append(hops_of_theirs / float(their_time))
        ratios.append(ours[-1] / theirs[-1])
    print(f"tardy:  {statistics.median(ours) / 1e6:.2f} million frame-hops per second")
    print(f"TSNKit: {statistics.median(theirs):.0f} frame-hops per second (compiled part: {cython})")
    print(f"ratio:  {statistics.median(ratios):.0f} ({min(ratios):.0f} to {max(ratios):.0f}, {len(ratios)} rounds)")


if __name__ == "__main__":
    main()
