"""Causes stalls: spins periodically at a real-time priority, and prints the times.

Usage: hog.py CPU PRIORITY BUSY_MS PERIOD_MS SECONDS
Prints one line "START_NS END_NS" (CLOCK_MONOTONIC) for each stall, at the end. Both tools' quantiles are compared with
these.
"""

import os
import sys
import time


def main() -> None:
    cpu, priority, busy_ms, period_ms, seconds = (int(argument) for argument in sys.argv[1:6])
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    stalls = []
    start = next_ns = time.monotonic_ns()
    while next_ns < start + seconds * 10**9:
        next_ns += period_ms * 10**6
        time.sleep(max(0, next_ns - time.monotonic_ns()) / 1e9)
        began = time.monotonic_ns()
        while time.monotonic_ns() < began + busy_ms * 10**6:
            pass
        stalls.append((began, time.monotonic_ns()))
    print("\n".join(f"{began} {ended}" for began, ended in stalls))


if __name__ == "__main__":
    main()
