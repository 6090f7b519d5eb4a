#!/usr/bin/env python3
"""Whether `tardy tsn synthesize` schedules whatever can be scheduled: small full networks beside CP-SAT (ortools, from PyPI), which proves
its answers.

usage: against_cpsat.py TARDY SEEDS [SECONDS [--without-deadlines]]

Instances are lines of switches, so that routes are given, in TSNKit's model: a frame is forwarded without waiting in a queue. Loads are those of
the fullest link. A frame's deadline is its period, or with --without-deadlines later than any frame arrives. Prints for each family in how many instances CP-SAT proves an answer within SECONDS (20), what it is, and in how many of
these tardy has the same.
"""

import itertools
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from ortools.sat.python import cp_model

FORWARDING = 2000
FAMILIES = [
    (f"{flows} flows, load {load}, periods {name}", flows, load, periods)
    for flows in (8, 16, 32)
    for load, name, periods in (
        *((load, "equal", (1,)) for load in (0.55, 0.7, 0.85)),
        *((load, "1:2:4", (1, 2, 4)) for load in (0.4, 0.55, 0.7)),
        *((load, "1:3:9", (1, 3, 9)) for load in (0.4, 0.55, 0.7)),
        (0.2, "3:7:11", (3, 7, 11)),
    )
]


def line(switches: int) -> list[tuple[int, int]]:
    cables = [(switch, switch + 1) for switch in range(switches - 1)]
    cables += [(switch, switches + switch) for switch in range(switches)]
    return cables + [(other, one) for one, other in cables]


def route(switches: int, talker: int, listener: int) -> list[tuple[int, int]]:
    first, last = talker - switches, listener - switches
    step = 1 if last > first else -1
    nodes = [talker, *range(first, last + step, step), listener]
    return list(zip(nodes, nodes[1:]))


def instance(flows: int, load: float, periods: tuple, seed: int) -> tuple[int, list]:
    """The number of switches, and of each flow its route, the time of a frame on a link and its period, in ns."""
    pick, switches = random.Random(seed), 4
    drawn = []
    for _ in range(flows):
        talker, listener = pick.sample(range(switches, 2 * switches), 2)
        drawn.append((route(switches, talker, listener), pick.randrange(64, 1501), pick.choice(periods)))
    load_of = {}
    for links, size, period in drawn:
        for link in links:
            load_of[link] = load_of.get(link, 0) + size * 8 / period
    # A period of one is so many ns that the fullest link has the load.
    one = math.ceil(max(load_of.values()) / load)
    return switches, [(links, size * 8, period * one) for links, size, period in drawn]


def latency(links: list, wire: int) -> int:
    return len(links) * wire + (len(links) - 1) * FORWARDING


def by_cpsat(flows: list, seconds: float, deadlines: bool) -> str:
    if deadlines and any(latency(links, wire) > period for links, wire, period in flows):
        return "infeasible"
    model, starts = cp_model.CpModel(), []
    for links, wire, period in flows:
        # A frame may arrive in a later period than the one in which it was sent; on no link does it cross the end of a period.
        offset = model.new_int_var(0, period - 1, "")
        starts.append({link: offset + number * (wire + FORWARDING) for number, link in enumerate(links)})
        for start in starts[-1].values():
            before = model.new_int_var(0, 1 + len(links) * (wire + FORWARDING) // period, "")
            model.add_linear_constraint(start - period * before, 0, period - wire)
    for (one, a), (other, b) in itertools.combinations(enumerate(flows), 2):
        gcd = math.gcd(a[2], b[2])
        for link in set(a[0]) & set(b[0]):
            if gcd < a[1] + b[1]:
                return "infeasible"
            turns = model.new_int_var(-(10**6), 10**6, "")
            apart = starts[one][link] - starts[other][link] + gcd * turns
            model.add_linear_constraint(apart, b[1], gcd - a[1])
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    return {cp_model.OPTIMAL: "scheduled", cp_model.FEASIBLE: "scheduled", cp_model.INFEASIBLE: "infeasible"}.get(status, "unknown")


def by_tardy(program: str, switches: int, flows: list, deadlines: bool, directory: Path) -> str:
    topology = "".join(f'"({one}, {other})",8,1,{FORWARDING},0\n' for one, other in line(switches))
    (directory / "topo.csv").write_text("link,q_num,rate,t_proc,t_prop\n" + topology)
    # Without a deadline a frame may arrive in a later period than the one in which it was sent.
    longest = max(period + latency(links, wire) for links, wire, period in flows)
    tasks = "".join(
        f"{number},{links[0][0]},[{links[-1][1]}],{wire // 8},{period},{deadline},{deadline}\n"
        for number, (links, wire, period) in enumerate(flows)
        for deadline in [period if deadlines else longest]
    )
    (directory / "task.csv").write_text("stream,src,dst,size,period,deadline,jitter\n" + tasks)
    files = [str(directory / "task.csv"), str(directory / "topo.csv")]
    # CP-SAT's model leaves nothing for best effort.
    words = [program, "tsn", "synthesize", "--tsnkit", *files, "--best-effort", "0", "-o", str(directory / "out"), "--force"]
    status = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode
    return {0: "scheduled", 3: "infeasible", 4: "unknown"}[status]


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, seeds = str(Path(sys.argv[1]).resolve()), int(sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 20.0
    deadlines = "--without-deadlines" not in sys.argv
    print("| instances | CP-SAT schedules | proves impossible | does not know | tardy schedules | equal where proved |\n|---|---|---|---|---|---|")
    proved, equal = 0, 0
    for name, flows, load, periods in FAMILIES:
        answers = []
        for seed in range(seeds):
            switches, drawn = instance(flows, load, periods, seed)
            with tempfile.TemporaryDirectory() as directory:
                answers.append((by_cpsat(drawn, seconds, deadlines), by_tardy(program, switches, drawn, deadlines, Path(directory))))
        known = [pair for pair in answers if pair[0] != "unknown"]
        same = sum(one == other for one, other in known)
        proved, equal = proved + len(known), equal + same
        of_cpsat = [sum(pair[0] == answer for pair in answers) for answer in ("scheduled", "infeasible", "unknown")]
        print(f"| {name} | {of_cpsat[0]} | {of_cpsat[1]} | {of_cpsat[2]} | {sum(pair[1] == 'scheduled' for pair in answers)} | {same} of {len(known)} |", flush=True)
    print(f"Equal: {equal} of {proved} ({100 * equal / max(proved, 1):.0f} %).")


if __name__ == "__main__":
    main()
