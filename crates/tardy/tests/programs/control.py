"""A periodic loop in Python, as tests of `tardy attach` watch it: control.py WAIT FAULT PERIOD_US CYCLES LOG

WAIT: absolute (time.sleep until a schedule's next time), event (threading.Event.wait). FAULT: none, work, fsync.
The fault is in every 20th cycle. LOG receives a line for each cycle: due time and lateness in ns, and whether the fault was in it.
"""

import os
import sys
import threading
import time

EVERY = 20
WARM_CYCLES = 100


def work(ns: int) -> None:
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        pass


def make_fault(fault: str, period_ns: int, file: int) -> None:
    if fault == "work":
        work(2 * period_ns)
    elif fault == "fsync":
        end = time.monotonic_ns() + 2 * period_ns
        while time.monotonic_ns() < end:
            os.pwrite(file, b"x" * (1 << 20), 0)
            os.fsync(file)


def main() -> None:
    wait, fault, period_us, cycles, log = sys.argv[1:]
    period_ns = int(period_us) * 1000
    event = threading.Event()
    file = os.open("control.fsync", os.O_CREAT | os.O_WRONLY, 0o600)
    lines = []
    due_ns = time.monotonic_ns() + period_ns
    for cycle in range(int(cycles)):
        remaining = max(0, due_ns - time.monotonic_ns()) / 1e9
        if wait == "absolute":
            time.sleep(remaining)
        else:
            event.wait(remaining)
        faulty = cycle >= WARM_CYCLES and cycle % EVERY == 0
        lines.append(f"{due_ns} {time.monotonic_ns() - due_ns} {int(faulty)}\n")
        due_ns += period_ns
        work(period_ns // 20)
        if faulty:
            make_fault(fault, period_ns, file)
    with open(log, "w", encoding="utf-8") as out:
        out.writelines(lines)


main()
