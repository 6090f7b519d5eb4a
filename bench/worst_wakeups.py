#!/usr/bin/env python3
"""What the worst wake-up of Debian's kernels consists of under each of tardy's loads: docs/worst-wakeups.md.

usage: worst_wakeups.py TARDY [LOAD...]     prints the page; TARDY has tardy-guest-x86_64 and the observer beside it

Each load is measured for two seconds on both kernels in the lab, and the worst wake-up is explained.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

KERNELS = ["debian:6.12", "debian:6.12-rt"]
LOADS = ["none", "scheduler", "network", "copy", "listing", "doload", "cpu", "memory:16", "io:/run", "fork", "timers", "signals", "net", "ping-flood"]
RECIPE = """about = "one load"
[run]
duration = "2s"
warmup = "200ms"
load = ["{load}"]
[timer]
interval = "1ms"
priority = 80
"""
# Functions that are named for each wake-up: those with the most instructions of their own.
NAMED = 5

INTRODUCTION = """# What late wake-ups consist of

The worst of 2,000 wake-ups of Debian's kernels under each of tardy's [loads](loads.md), in [the lab](lab.md), explained by
[`tardy lab explain`](explain.md). Made by

```sh minutes
make worst-wakeups
```

An emulated CPU executes each instruction in 2 ns: these are instructions, not the times of a board. A worst wake-up is that of one boot: another
seed has another. *Held off* is how long interrupts were off when the timer was due, and by whom. Functions are those with
the most instructions of their own between the timer's due time and the program.

{identity}

| load | kernel | worst | held off | longest part | functions |
| --- | --- | --- | --- | --- | --- |
"""


def tardy(program: str, *arguments: str) -> str:
    return subprocess.run([program, *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout


def own_instructions(calls: list, sums: dict) -> dict:
    for call in calls:
        sums[call["name"]] = sums.get(call["name"], 0) + call["own"]
        own_instructions(call["calls"], sums)
    return sums


def microseconds(instructions: int, ns: int) -> str:
    return f"{instructions * ns / 1000:.2f} µs"


def row(load: str, explained: dict) -> str:
    (wakeup,) = explained["wakeups"]
    explanation, ns = wakeup["explanation"], explained["ns_per_instruction"]
    longest = max(explanation["parts"], key=lambda part: part["instructions"])
    functions = own_instructions(explanation["calls"], {})
    most = sorted(functions.items(), key=lambda pair: -pair[1])[:NAMED]
    share = lambda own: f"{100 * own / explanation['instructions']:.0f} %"
    off = [part for part in explanation["parts"] if part["kind"] == "interrupts_off"]
    held = "-"
    if off and explanation["held_off"]:
        held = f"{microseconds(off[0]['instructions'], ns)}, `{explanation['held_off']['by'] or 'unknown'}`"
    named = ", ".join(f"`{name}` {share(own)}" for name, own in most)
    part = f"{longest['kind'].replace('_', ' ')}, {share(longest['instructions'])}"
    return f"| {load} | {explained['kernel']} | {microseconds(explanation['instructions'], ns)} | {held} | {part} | {named} |"


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program = str(Path(sys.argv[1]).resolve())
    rows, identity = [], ""
    with tempfile.TemporaryDirectory() as directory:
        for number, load in enumerate(sys.argv[2:] or LOADS):
            work = Path(directory) / str(number)
            work.mkdir()
            recipe = work / "load.toml"
            recipe.write_text(RECIPE.format(load=load))
            kernels = [word for kernel in KERNELS for word in ("--kernel", kernel)]
            tardy(program, "lab", "run", str(recipe), *kernels, "-q", "-o", str(work))
            for kernel in KERNELS:
                run = work / f"{kernel.replace(':', '-')}.run.json"
                explained = json.loads(tardy(program, "lab", "explain", str(run), "--json", "-q"))
                rows.append(row(load, explained))
                print(rows[-1], file=sys.stderr, flush=True)
                measured = json.loads(run.read_text())["lab"]
                identity = f"Emulator {measured['emulator']}."
    print(INTRODUCTION.format(identity=identity) + "\n".join(rows))


if __name__ == "__main__":
    main()
