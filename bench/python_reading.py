#!/usr/bin/env python3
"""Reads cyclictest's samples (`cyclictest -v`) with tardy, with pandas, and with a regular expression, in one run.

usage: python_reading.py [MEGABYTES] [ROUNDS]; needs the module `tardy`, NumPy and pandas. Times are CPU seconds of this process, and
memory is the growth of its peak; each way runs in a process of its own, in turn.
"""

import os
import random
import resource
import subprocess
import sys
import tempfile
import time


def with_tardy(path: str) -> int:
    import tardy

    return max(tardy.read(path, unit="us").series()["max_ns"]) // 1000


def with_pandas(path: str) -> int:
    import pandas

    frame = pandas.read_csv(path, sep=":", header=None, names=["thread", "cycle", "latency"], skipinitialspace=True)
    return int(frame["latency"].max())


def with_a_regular_expression(path: str) -> int:
    import re

    line = re.compile(rb"^\s*(\d+):\s*(\d+):\s*(\d+)\s*$")
    worst = 0
    with open(path, "rb") as file:
        for text in file:
            found = line.match(text)
            if found:
                worst = max(worst, int(found.group(3)))
    return worst


WAYS = {one.__name__: one for one in (with_tardy, with_pandas, with_a_regular_expression)}


def generate(path: str, size: int) -> None:
    """Lines of two threads, whose latencies repeat after a million."""
    chance = random.Random(1)
    latencies = [int(chance.lognormvariate(2.3, 0.4)) for _ in range(1_000_000)]
    with open(path, "w") as file:
        cycle = 0
        while file.tell() < size:
            lines = (
                f"{thread:8}:{cycle + number:8}:{latencies[(cycle + number * 2 + thread) % 1_000_000]:8}\n"
                for number in range(100_000)
                for thread in (0, 1)
            )
            file.write("".join(lines))
            cycle += 100_000


def measure(name: str, path: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF)
    started = time.process_time()
    worst = WAYS[name](path)
    after = resource.getrusage(resource.RUSAGE_SELF)
    print(worst, time.process_time() - started, (after.ru_maxrss - before.ru_maxrss) // 1024)


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2], sys.argv[3])
        return
    size = int(sys.argv[1]) * 1_000_000 if len(sys.argv) > 1 else 1_000_000_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "cyclictest.txt")
        generate(path, size)
        worst = set()
        results: dict[str, list[tuple[float, int]]] = {name: [] for name in WAYS}
        for _ in range(rounds):
            for name in WAYS:
                command = [sys.executable, __file__, "--one", name, path]
                one, seconds, memory = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
                worst.add(int(one))
                results[name].append((float(seconds), int(memory)))
        assert len(worst) == 1, f"the ways disagree: {worst}"
        print(f"{os.path.getsize(path) / 1e6:,.0f} MB, worst {worst.pop()} us; medians of {rounds} rounds")
        base = None
        for name, all_ in results.items():
            seconds, memory = sorted(all_)[len(all_) // 2]
            base = base or seconds
            print(f"{name:28}{seconds:8.2f} s of CPU {memory:8,} MB {seconds / base:8.1f} times tardy's")


if __name__ == "__main__":
    main()
