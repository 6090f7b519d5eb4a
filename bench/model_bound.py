#!/usr/bin/env python3
"""Whether the bound of the model is ever below what was observed: many boots of an RT kernel with a census each.

usage: model_bound.py TARDY SEEDS KERNELS RECIPE...     for example: model_bound.py target/release/tardy 1-20 debian:6.12-rt lab-quick lab-doload

Prints the bound and the longest observed time from the interrupt to the switch of each boot, in us, and ends with 1 if a bound is
below. What the model does not contain (the timer's own lateness, and the way to the program) is not compared.
"""

import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

def tardy(program: str, *arguments: str) -> str:
    return subprocess.run([program, *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout


def main() -> None:
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    program, kernels, recipes = str(Path(sys.argv[1]).resolve()), sys.argv[3].split(","), sys.argv[4:]
    first, last = (int(seed) for seed in sys.argv[2].split("-"))
    below, ratios = 0, []
    for recipe, kernel in itertools.product(recipes, kernels):
        for seed in range(first, last + 1):
            with tempfile.TemporaryDirectory() as directory:
                tardy(program, "lab", "run", recipe, "--kernel", kernel, "--seed", str(seed), "-q", "-o", directory)
                (run,) = Path(directory).glob("*.run.json")
                explained = json.loads(tardy(program, "lab", "explain", str(run), "--census", "--json", "-q"))
            bound, ns = explained["census"]["bound"], explained["ns_per_instruction"]
            limit, observed = bound["instructions"] * ns / 1000, bound["observed"] * ns / 1000
            below += observed > limit
            ratios.append(observed / limit)
            print(f"{recipe}, {kernel}, seed {seed}: bound {limit:.1f} us, observed {observed:.1f} us, ratio {ratios[-1]:.2f}", flush=True)
    print(f"{below} of {len(ratios)} bounds are below what was observed; ratios from {min(ratios):.2f} to {max(ratios):.2f}")
    sys.exit(below > 0)


if __name__ == "__main__":
    main()
