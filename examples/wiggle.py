#!/usr/bin/env python3
"""Sets a GPIO line high and low in turn, like `tardy run --probe gpio-wiggle`, but in Python: a baseline for another language.
tardy starts it and listens to the line's echo:

    tardy run --probe gpio-wiggle --out gpiochip0:17 --echo gpiochip0:27 \\
        --by 'python3 examples/wiggle.py --out {line} --period-us 20'

It needs PyPI's package gpiod, version 2: `pip install gpiod` in a virtual environment (`python3 -m venv`). Debian's
python3-libgpiod is the same package since Debian 13. In Debian 12 it is version 1, which has another interface and does
not work here.
"""

import argparse
import signal
import sys
import time


def line(text):
    """`gpiochip0:17` as the chip's device and the line's number."""
    chip, separator, number = text.rpartition(":")
    if not separator or not chip or not number.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a line; expected CHIP:NUMBER, for example gpiochip0:17")
    return chip if chip.startswith("/") else f"/dev/{chip}", int(number)


def period(text):
    """A time in us, above 0."""
    try:
        microseconds = float(text)
    except ValueError:
        microseconds = 0.0
    if not 0.0 < microseconds < 1e9:
        raise argparse.ArgumentTypeError(f"'{text}' is not a period in us; expected a number above 0")
    return microseconds


def arguments(words):
    parser = argparse.ArgumentParser(description="Sets a GPIO line high and low in turn.")
    parser.add_argument("--out", type=line, required=True, metavar="CHIP:LINE", help="the line to drive")
    parser.add_argument(
        "--period-us",
        type=period,
        metavar="US",
        help="time from one edge to the next (default: as short as possible)",
    )
    parser.add_argument("--edges", type=int, metavar="COUNT", help="end after this many edges (default: run until it is ended)")
    return parser.parse_args(words)


def gpiod_of_version_2():
    try:
        import gpiod
    except ImportError:
        sys.exit("wiggle.py: the Python package gpiod is missing; install it with `pip install gpiod` in a virtual environment")
    if not hasattr(gpiod, "request_lines"):
        sys.exit(
            "wiggle.py: the Python package gpiod is version 1 (Debian 12's python3-libgpiod), and version 2 is needed; "
            "install it with `pip install gpiod` in a virtual environment (`python3 -m venv`)"
        )
    return gpiod


def wiggle(write, period_us, edges):
    """Writes 1 and 0 in turn, `edges` times or without end, every `period_us` or as fast as possible."""
    count = 0
    if period_us is None:
        while edges is None or count < edges:
            count += 1
            write(count & 1)
        return
    period_ns = int(period_us * 1000)
    due_ns = time.monotonic_ns()
    while edges is None or count < edges:
        due_ns += period_ns
        left_ns = due_ns - time.monotonic_ns()
        if left_ns > 0:
            time.sleep(left_ns / 1e9)
        count += 1
        write(count & 1)


def main(words):
    given = arguments(words)
    gpiod = gpiod_of_version_2()
    chip, offset = given.out
    value = gpiod.line.Value
    settings = gpiod.LineSettings(direction=gpiod.line.Direction.OUTPUT, output_value=value.INACTIVE)
    # tardy ends it with SIGTERM.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    levels = (value.INACTIVE, value.ACTIVE)
    try:
        request = gpiod.request_lines(chip, consumer="wiggle.py", config={offset: settings})
    except OSError as error:
        sys.exit(f"wiggle.py: {chip}, line {offset}, is not available: {error}")
    with request:
        try:
            wiggle(lambda level: request.set_value(offset, levels[level]), given.period_us, given.edges)
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main(sys.argv[1:])
