"""A periodic loop in Python, as tests of `tardy attach` watch it: control.py WAIT FAULT PERIOD_US CYCLES LOG

WAIT: absolute (time.sleep until a schedule's next time), event (threading.Event.wait). FAULT: none, work, fsync, pages (touches new
pages), pipe (writes to a full one), busy (another thread has the interpreter), or several with a + in between, in turn.
The fault is in every 20th cycle. LOG receives a line for each cycle: due time and lateness in ns, and whether the fault was in it.
"""

import mmap
import os
import queue
import sys
import threading
import time

EVERY = 20
WARM_CYCLES = 100


def work(ns: int) -> None:
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        pass


class Pipe:
    """A full pipe that another thread empties late."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        os.write(self.writer, bytes(1 << 16))
        self.wanted: queue.SimpleQueue[int] = queue.SimpleQueue()
        threading.Thread(target=self.empty, daemon=True).start()

    def empty(self) -> None:
        while True:
            time.sleep(self.wanted.get() / 1e9)
            os.read(self.reader, 1 << 16)

    def write_late(self, late_ns: int) -> None:
        self.wanted.put(late_ns)
        os.write(self.writer, bytes(1 << 16))


def touch_pages(ns: int) -> None:
    end = time.monotonic_ns() + ns
    memory = mmap.mmap(-1, 1 << 28)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    at = 0
    while time.monotonic_ns() < end and at < len(memory):
        memory[at] = 1
        at += mmap.PAGESIZE
    kept.append(memory)


kept: list[mmap.mmap] = []


def make_fault(fault: str, period_ns: int, file: int, pipe: Pipe) -> None:
    if fault == "pages":
        touch_pages(2 * period_ns)
    elif fault == "pipe":
        pipe.write_late(2 * period_ns)
    elif fault == "busy":
        threading.Thread(target=work, args=(2 * period_ns,), name="busy").start()
    elif fault == "work":
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
    pipe = Pipe()
    faults = fault.split("+")
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
            make_fault(faults[cycle // EVERY % len(faults)], period_ns, file, pipe)
    with open(log, "w", encoding="utf-8") as out:
        out.writelines(lines)


main()
