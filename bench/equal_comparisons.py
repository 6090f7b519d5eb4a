#!/usr/bin/env python3
"""How often tardy calls equal things different: comparisons of six boots with six of the same kernel, and of six runs with six.

usage: equal_comparisons.py TARDY lab [SETS [SETS AGAINST ANOTHER KERNEL [FIRST SET]]]
       equal_comparisons.py TARDY host [SETS]

In the lab every boot has a seed of its own; a set has the same seeds whenever it is run, so sets can be run on several days. On the host two equal recipes are measured in turn. Prints the p-value of each headline,
and how many are below 5 %. With a test that is right, about one in twenty is; between different kernels all should be.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

KERNEL = "debian:6.12"
OTHER = "debian:6.12-rt"
RECIPE = """about = "{side}"
[run]
duration = "2s"
warmup = "200ms"
[timer]
interval = "1ms"
policy = "fifo"
priority = 80
"""


def tardy(program: str, *arguments: str) -> str:
    return subprocess.run([program, *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout


def p_of(comparison: dict) -> float:
    """The p-value of the headline's statistic."""
    experiment = comparison["experiments"][comparison["primary"]]
    (statistic,) = [one for one in experiment["statistics"] if one["name"] == comparison["primary_statistic"]]
    return statistic["test"]["p"]


def boots(program: str, kernel: str, count: int, seed: int, directory: Path) -> list[str]:
    tardy(program, "lab", "run", "lab-quick", "--kernel", kernel, "--rounds", str(count), "--seed", str(seed), "-q", "-o", str(directory))
    files = sorted(str(path) for path in directory.glob("*.run.json"))
    assert len(files) == count, f"{len(files)} run files in {directory}, expected {count}"
    return files


def compared(program: str, base: list[str], candidate: list[str]) -> float:
    return p_of(json.loads(tardy(program, "compare", "--base", *base, "--candidate", *candidate, "--json")))


def lab(program: str, sets: int, against: int, first: int, work: Path) -> None:
    equal, different = [], []
    for number in range(first, first + sets):
        all_boots = boots(program, KERNEL, 12, 1000 * number, work / f"equal-{number}")
        equal.append(compared(program, all_boots[:6], all_boots[6:]))
        print(f"{KERNEL} with itself, set {number}: p = {equal[-1]:.3f}", flush=True)
        if number < first + against:
            others = boots(program, OTHER, 6, 1000 * number + 500, work / f"other-{number}")
            different.append(compared(program, all_boots[:6], others))
            print(f"{KERNEL} with {OTHER}, set {number}: p = {different[-1]:.3f}", flush=True)
    report("equal", equal)
    report("different", different)


def host(program: str, sets: int, work: Path) -> None:
    recipes = [work / "a.toml", work / "b.toml"]
    for side, recipe in zip("ab", recipes):
        recipe.write_text(RECIPE.format(side=f"equal recipes, side {side}"))
    equal = []
    for number in range(1, sets + 1):
        words = ["run", "--ab", *map(str, recipes), "--rounds", "6", "--seed", str(number), "-q", "--json", "-o", str(work / str(number))]
        equal.append(p_of(json.loads(tardy(program, *words))))
        print(f"set {number}: p = {equal[-1]:.3f}", flush=True)
    report("equal", equal)


def report(what: str, p_values: list[float]) -> None:
    if p_values:
        print(f"{what}: {sum(p < 0.05 for p in p_values)} of {len(p_values)} below 5 %")


def main() -> None:
    if len(sys.argv) < 3 or sys.argv[2] not in ("lab", "host"):
        sys.exit(__doc__)
    program = str(Path(sys.argv[1]).resolve())
    numbers = [int(word) for word in sys.argv[3:]]
    with tempfile.TemporaryDirectory() as directory:
        if sys.argv[2] == "lab":
            lab(program, *(numbers + [20, 20, 1][len(numbers):])[:3], Path(directory))
        else:
            host(program, *(numbers + [20])[:1], Path(directory))


if __name__ == "__main__":
    main()
