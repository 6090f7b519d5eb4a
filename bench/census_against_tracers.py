#!/usr/bin/env python3
"""The longest sections with interrupts or preemption off: those that `tardy lab explain --census` counts, and those that the kernel's own
tracers irqsoff and preemptoff report, in the same boot.

usage: census_against_tracers.py TARDY KERNEL       for example: census_against_tracers.py target/release/tardy build:traced

The kernel needs both tracers: tardy lab build --source debian:6.12 --set PREEMPT_RT=y,IRQSOFF_TRACER=y,PREEMPT_TRACER=y --name traced

Each tracer has a boot of its own, since the kernel has one at a time, and there is one without any. What the tracer's calls take is a part of the
sections that the census sees.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TRACERS = {"nop": None, "irqsoff": "interrupts_off", "preemptoff": "preemption_off"}
# Prints each longest section when it is found, with the places where the tracer saw it begin and end. The shell reads the files itself: under
# a load a new process waits for the CPU.
SCRIPT = r"""
cd /sys/kernel/tracing && echo TRACER > current_tracer && echo 0 > tracing_max_latency && last=0
while busybox sleep 0.1; do
    read now < tracing_max_latency
    [ "$now" = "$last" ] && continue
    last=$now places=
    while read line; do
        case $line in *=\>\ started\ at:* | *=\>\ ended\ at:*) places="$places ${line##*at: }" ;; esac
    done < trace
    echo "<0>longest $now$places" > /dev/kmsg
done
"""
RECIPE = """
about = "A load under a tracer of the kernel."
[run]
loops = 3000
warmup = "200ms"
[timer]
interval = "1ms"
[[phase]]
name = "loaded"
load = ["copy", "listing", COMMAND]
[lab]
tools = ["busybox-static:/bin/busybox"]
"""


def tardy(program: str, *arguments: str) -> str:
    return subprocess.run([program, *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, kernel = str(Path(sys.argv[1]).resolve()), sys.argv[2]
    for tracer, kind in TRACERS.items():
        with tempfile.TemporaryDirectory() as directory:
            recipe = Path(directory) / "traced.toml"
            recipe.write_text(RECIPE.replace("COMMAND", json.dumps("cmd:" + SCRIPT.replace("TRACER", tracer).strip())))
            tardy(program, "lab", "run", str(recipe), "--kernel", kernel, "-q", "-o", directory)
            (run,) = Path(directory).glob("*.run.json")
            (log,) = Path(directory).glob("*.console.log")
            explained = json.loads(tardy(program, "lab", "explain", str(run), "--census", "--json", "-q"))
            seen = re.findall(r"longest (\d+) (.*)", log.read_text(errors="replace"))
        ns = explained["ns_per_instruction"]
        print(f"{tracer}: the tracer's longest: {seen[-1][0] + ' us, ' + seen[-1][1].strip() if seen else 'none'}")
        for name in [kind] if kind else [kind for kind in TRACERS.values() if kind]:
            longest = [section for section in explained["census"]["sections"] if section["kind"] == name]
            for section in sorted(longest, key=lambda section: -section["longest"])[:3]:
                place = f"{section['from']} to {section['to']}, {section['task']}"
                print(f"    census, {name}: {section['longest'] * ns / 1000:.2f} us, {place}")


if __name__ == "__main__":
    main()
