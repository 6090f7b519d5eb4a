#!/usr/bin/env python3
"""How many flows `tardy tsn synthesize` places in networks that are nearly full, for one or several builds of tardy.

usage: hard_schedules.py SEEDS EFFORT TARDY...

Instances are in TSNKit's model, with deadlines equal to the periods unless the family states another one. The load of a family is that of the
fullest link on shortest routes. Prints for each family the share of placed flows and the number of complete schedules, for each build.
"""

import json
import math
import random
import subprocess
import sys
import tempfile
from collections import deque
from pathlib import Path

FORWARDING = 2000
SIZES = (64, 200, 500, 1000, 1500)


def family(name, switches, flows, load, periods, ring=False, rates=(1,), listeners=1, slack=None, entries=None):
    return locals()


FAMILIES = [
    *(family(f"line of 6, load {load}, periods 1:2:4", 6, 60, load, (1, 2, 4)) for load in (0.7, 0.8, 0.9, 0.95)),
    *(family(f"ring of 8, load {load}, periods 1:2:4", 8, 80, load, (1, 2, 4), ring=True) for load in (0.8, 0.95)),
    *(family(f"line of 6, load {load}, periods 2:3:4", 6, 40, load, (2, 3, 4)) for load in (0.5, 0.6)),
    *(family(f"line of 6, load {load}, periods 3:7:11", 6, 24, load, (3, 7, 11)) for load in (0.15, 0.2)),
    *(family(f"ring of 8, load {load}, deadlines near the least latency", 8, 60, load, (1, 2, 4), ring=True, slack=1.05) for load in (0.7, 0.9)),
    *(family(f"line of 6, load {load}, 1, 10 and 100 Gbit/s", 6, 40, load, (1, 2, 4), rates=(1, 10, 100)) for load in (0.5, 0.7)),
    *(family(f"ring of 8, load {load}, three listeners", 8, 40, load, (1, 2, 4), ring=True, listeners=3) for load in (0.7, 0.9)),
    *(family(f"line of 6, load 0.7, {entries} entries", 6, 40, 0.7, (1, 2, 4), entries=entries) for entries in (8, 16, 31)),
]


def tree(links, source, destinations):
    """The links to all destinations on shortest ways."""
    by, queue = {source: None}, deque([source])
    while queue:
        node = queue.popleft()
        for one, other in links:
            if one == node and other not in by:
                by[other] = one
                queue.append(other)
    found = set()
    for node in destinations:
        while by[node] is not None:
            found.add((by[node], node))
            node = by[node]
    return found


def instance(of, seed):
    """The tables of the topology and of the flows."""
    pick, switches = random.Random(f"{of['name']} {seed}"), of["switches"]
    cables = [(switch, (switch + 1) % switches) for switch in range(switches if of["ring"] else switches - 1)]
    cables += [(switch, switches + switch) for switch in range(switches)]
    rates = {cable: pick.choice(of["rates"]) for cable in cables}
    rates.update({(other, one): rate for (one, other), rate in list(rates.items())})
    flows, loads = [], dict.fromkeys(rates, 0.0)
    for _ in range(of["flows"]):
        talker, *listeners = pick.sample(range(switches, 2 * switches), 1 + of["listeners"])
        size, period = pick.choice(SIZES), pick.choice(of["periods"])
        links = tree(rates, talker, listeners)
        for link in links:
            loads[link] += size * 8 / rates[link] / period
        flows.append((talker, listeners, size, period, links))
    # A period of one is so many ns, in steps of 10 us, that the fullest link has the load.
    one = math.ceil(max(loads.values()) / of["load"] / 10_000) * 10_000
    topology = "".join(f'"({a}, {b})",8,{rate},{FORWARDING},0\n' for (a, b), rate in rates.items())
    task = ""
    for number, (talker, listeners, size, period, links) in enumerate(flows):
        least = sum(size * 8 / rates[link] + FORWARDING for link in links)
        deadline = period * one if of["slack"] is None else math.ceil(least * of["slack"])
        task += f'{number},{talker},"{listeners}",{size},{period * one},{deadline},{period * one}\n'
    return "link,q_num,rate,t_proc,t_prop\n" + topology, "stream,src,dst,size,period,deadline,jitter\n" + task


def placed(program, effort, of, tables):
    with tempfile.TemporaryDirectory() as directory:
        files = [Path(directory) / name for name in ("task.csv", "topo.csv")]
        for path, text in zip(files, reversed(tables)):
            path.write_text(text, encoding="utf-8")
        words = [program, "tsn", "synthesize", "--tsnkit", *map(str, files), "--effort", effort, "--json"]
        if of["entries"]:
            words += ["--max-entries", str(of["entries"])]
        # All of the time is for the flows, as in builds without this option.
        result = subprocess.run([*words, "--best-effort", "0"], capture_output=True, text=True, check=False)
        if result.returncode == 2 and "--best-effort" in result.stderr:
            result = subprocess.run(words, capture_output=True, text=True, check=False)
    if result.returncode not in (0, 3, 4):
        sys.exit(f"{of['name']}: {result.stderr}")
    answer = json.loads(result.stdout)
    return answer["placed"], answer["flows"], answer["verdict"] == "scheduled"


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    seeds, effort, programs = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    print("| instances |" + "".join(f" placed, {Path(program).name} | complete |" for program in programs))
    print("|---|" + "---:|---:|" * len(programs))
    sums = [[0, 0, 0] for _ in programs]
    for of in FAMILIES:
        row = ""
        for number, program in enumerate(programs):
            answers = [placed(program, effort, of, instance(of, seed)) for seed in range(seeds)]
            some, flows, complete = (sum(column) for column in zip(*answers))
            row += f" {100 * some / flows:.1f} % | {complete} of {seeds} |"
            sums[number] = [sums[number][0] + some, sums[number][1] + flows, sums[number][2] + complete]
        print(f"| {of['name']} |{row}", flush=True)
    row = "".join(f" {100 * some / flows:.1f} % | {complete} of {seeds * len(FAMILIES)} |" for some, flows, complete in sums)
    print(f"| all |{row}")


if __name__ == "__main__":
    main()
