"""tardy's timer probe compared with Debian's cyclictest: alternately, on the same machine with the same interval.

Usage: against_cyclictest.py TARDY [--rounds N] [--seconds S]     (as root; Debian package rt-tests)

The following is measured in the same way for both:
- CPU time per cycle: the kernel's exact run time of each measuring thread (/proc/PID/task/TID/schedstat) over its
  voluntary switches, between two moments while both run.
- Memory: proportional set size of all processes of the tool (/proc/PID/smaps_rollup).
- Latency: minimum and median of all CPUs' histograms together. cyclictest's bins are whole us, so its median is
  interpolated within its bin.
- p99 under a stall of 20 ms every 500 ms by a hog of higher priority, compared with the p99 that the hog's log of its
  stalls implies for a deadline every 200 us.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

INTERVAL_US = 200
HERE = Path(__file__).parent


def cyclictest_command(seconds: int, extra: list[str]) -> list[str]:
    return ["cyclictest", "-m", "-S", "-p90", f"-i{INTERVAL_US}", "-h400", "-q", f"-D{seconds}", *extra]


def tardy_command(tardy: str, seconds: int, output: str, extra: list[str]) -> list[str]:
    return [tardy, "run", "--quiet", "--force", f"--interval={INTERVAL_US}us", "--priority=90", "--warmup=0s",
            f"--duration={seconds}s", "-o", output, *extra]


def descendants(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += descendants(int(child))
    return found


def proportional_set_kb(pids: list[int]) -> int:
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total


def real_time_threads(pids: list[int]) -> dict[Path, tuple[int, int]]:
    """Run time in ns and voluntary switches of each SCHED_FIFO thread."""
    threads = {}
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            if os.sched_getscheduler(int(task.name)) != os.SCHED_FIFO:
                continue
            run_ns = int((task / "schedstat").read_text().split()[0])
            status = (task / "status").read_text().splitlines()
            switches = next(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt"))
            threads[task] = (run_ns, switches)
    return threads


def observe(command: list[str], seconds: int) -> tuple[str, dict]:
    """Runs a tool, and reads its counters from 1.5 s after its start to 1.5 s before its end."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    time.sleep(1.5)
    pids = descendants(process.pid)
    before = real_time_threads(pids)
    time.sleep(seconds - 3)
    after = real_time_threads(pids)
    memory_kb = proportional_set_kb(pids)
    text, _ = process.communicate()
    used = [(after[task][0] - before[task][0], after[task][1] - before[task][1]) for task in before if task in after]
    assert used, f"no SCHED_FIFO thread in {command[0]}: run this as root"
    cpu_ns = sum(ns for ns, _ in used) / sum(cycles for _, cycles in used)
    return text, {"cpu_ns_per_cycle": cpu_ns, "memory_kb": memory_kb}


def quantile(bins: list[tuple[float, float, int]], share: float) -> float:
    """Interpolated within its bin; bins are (lower, upper, count) in ascending order."""
    rank = share * sum(count for _, _, count in bins)
    seen = 0
    for lower, upper, count in bins:
        if seen + count >= rank:
            return lower + (upper - lower) * (rank - seen) / count
        seen += count
    return bins[-1][1]


def cyclictest_bins(text: str) -> list[tuple[float, float, int]]:
    bins = []
    for line in text.splitlines():
        if line and line[0].isdigit():
            fields = line.split()
            count = sum(int(field) for field in fields[1:])
            if count:
                bins.append((int(fields[0]) * 1000.0, (int(fields[0]) + 1) * 1000.0, count))
        elif line.startswith("# Histogram Overflows:"):
            beyond = sum(int(field) for field in line.split(":")[1].split())
            if beyond:
                bins.append((400_000.0, 400_000.0, beyond))
    return bins


def tardy_bins(path: str) -> list[tuple[float, float, int]]:
    counts: dict[tuple[float, float], int] = {}
    for series in json.loads(Path(path).read_text())["series"]:
        for lower, upper, count in series["corrected"]:
            counts[(lower, upper)] = counts.get((lower, upper), 0) + count
    return [(lower, upper, count) for (lower, upper), count in sorted(counts.items())]


def minimum_ns(tool: str, source: str) -> float:
    if tool == "tardy":
        return min(series["min_ns"] for series in json.loads(Path(source).read_text())["series"])
    line = next(line for line in source.splitlines() if line.startswith("# Min Latencies:"))
    return min(int(field) for field in line.split(":")[1].split()) * 1000.0


def rounds(tardy: str, count: int, seconds: int) -> dict[str, list[dict]]:
    results: dict[str, list[dict]] = {"cyclictest": [], "tardy": []}
    with tempfile.TemporaryDirectory() as directory:
        for number in range(count):
            # ABBA: neither tool always runs after the other.
            for tool in ("cyclictest", "tardy") if number % 2 == 0 else ("tardy", "cyclictest"):
                output = f"{directory}/{number}.run.json"
                if tool == "tardy":
                    _, seen = observe(tardy_command(tardy, seconds, output, []), seconds)
                    bins, source = tardy_bins(output), output
                else:
                    source, seen = observe(cyclictest_command(seconds, []), seconds)
                    bins = cyclictest_bins(source)
                seen["median_ns"] = quantile(bins, 0.5)
                seen["min_ns"] = minimum_ns(tool, source)
                results[tool].append(seen)
                print(f"round {number + 1} {tool}: {seen}", file=sys.stderr)
    return results


def implied_p99(stalls: list[tuple[int, int]], start: int, end: int, bins: list[tuple[float, float, int]]) -> float:
    """p99 of a schedule of deadlines from start to end: within a stall a deadline waits for the stall's end, and one
    outside is as late as the tool's median, which p99 does not depend on."""
    quiet = quantile(bins, 0.5)
    deadlines = range(start, end, INTERVAL_US * 1000)
    waits = []
    for deadline in deadlines:
        inside = next((ended for began, ended in stalls if began <= deadline < ended), None)
        waits.append(quiet if inside is None else inside - deadline + quiet)
    waits.sort()
    return waits[int(0.99 * len(waits))]


def under_stall(tool: str, tardy: str, seconds: int, cpu: int) -> dict:
    with tempfile.TemporaryDirectory() as directory:
        output = f"{directory}/stall.run.json"
        hog = subprocess.Popen([sys.executable, str(HERE / "hog.py"), str(cpu), "95", "20", "500", str(seconds + 4)],
                               stdout=subprocess.PIPE, text=True)
        time.sleep(1)
        began = time.monotonic_ns()
        if tool == "tardy":
            subprocess.run(tardy_command(tardy, seconds, output, [f"--cpus={cpu}"]), check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            bins = tardy_bins(output)
        else:
            command = ["cyclictest", "-m", "-t1", f"-a{cpu}", "-p90", f"-i{INTERVAL_US}", "-h100000", "-q", f"-D{seconds}"]
            bins = cyclictest_bins(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        ended = time.monotonic_ns()
        text, _ = hog.communicate()
    stalls = [tuple(int(field) for field in line.split()) for line in text.splitlines()]
    # The schedule is the last `seconds` before the tool's end, without its start-up.
    start = max(began, ended - seconds * 10**9)
    implied = implied_p99(stalls, start, start + seconds * 10**9, bins)
    return {"p99_ns": quantile(bins, 0.99), "implied_p99_ns": implied, "ratio": quantile(bins, 0.99) / implied}


def table(results: dict[str, list[dict]], stall: dict[str, dict]) -> str:
    def median(tool: str, key: str) -> float:
        return statistics.median(seen[key] for seen in results[tool])

    rows = [("CPU time a cycle, us", "cpu_ns_per_cycle", 1e-3), ("memory (PSS), kB", "memory_kb", 1),
            ("median latency, us", "median_ns", 1e-3), ("minimum latency, us", "min_ns", 1e-3)]
    lines = ["| median of the rounds | tardy | cyclictest | tardy / cyclictest |", "|---|---:|---:|---:|"]
    for label, key, factor in rows:
        ours, theirs = median("tardy", key) * factor, median("cyclictest", key) * factor
        paired = statistics.median(a[key] / b[key] for a, b in zip(results["tardy"], results["cyclictest"]))
        lines.append(f"| {label} | {ours:,.2f} | {theirs:,.2f} | {paired:.3f} |")
    for tool in ("tardy", "cyclictest"):
        seen = stall[tool]
        lines.append(f"| {tool}: p99 under the stall, us (implied by the hog's log) | {seen['p99_ns'] / 1e3:,.0f} "
                     f"({seen['implied_p99_ns'] / 1e3:,.0f}) | | {seen['ratio']:.3f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tardy")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=10)
    arguments = parser.parse_args()
    # A measuring thread that is slower than its interval would never end by itself.
    signal.alarm((arguments.rounds + 2) * 2 * (arguments.seconds + 30))
    cpu = max(os.sched_getaffinity(0))
    results = rounds(arguments.tardy, arguments.rounds, arguments.seconds)
    stall = {tool: under_stall(tool, arguments.tardy, arguments.seconds, cpu) for tool in ("tardy", "cyclictest")}
    print(table(results, stall))


if __name__ == "__main__":
    main()
