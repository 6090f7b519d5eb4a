#!/usr/bin/env python3
"""Speed and memory of `tardy import` on large files, next to `wc -l` of the same file in the same run.

Usage: import_speed.py TARDY MAKE_SAMPLES [--directory DIR] [--rounds N] [FORM=COUNT…]

MAKE_SAMPLES is the example of tardy-formats of that name. Files are generated in DIR, read once so that they are in the page
cache, imported and removed. Each round runs `wc -l` and the import alternately; the table has the medians of the rounds.
Speeds are by elapsed time and include writing the run file. Memory is the peak resident set of the process
(wait4(2)), at least that of this script, which starts it; the run is what its histograms take in memory, 24 bytes for each bin.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Rows or readings for about 250 MB of JSON, and 1 GB of text and VCD.
USUAL = {"json": 10_500_000, "text": 38_000_000, "vcd2": 62_000_000, "vcd8": 68_000_000}
NAMES = {"json": "JSON of cyclictest", "text": "text, cyclictest -v", "vcd2": "VCD, two channels, both evaluated",
         "vcd8": "VCD, eight channels, two evaluated"}
OPTIONS = {"json": [], "text": ["--unit", "us"], "vcd2": ["--in", "D0", "--out", "D1"],
           "vcd8": ["--in", "D0", "--out", "D1"]}
BIN_SIZE = 24


def run(command: list[str]) -> tuple[float, float, int]:
    """Elapsed time and CPU time in s, and the peak resident set in bytes."""
    begun = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    _, status, usage = os.wait4(child.pid, 0)
    elapsed = time.monotonic() - begun
    child.returncode = os.waitstatus_to_exitcode(status)
    messages = child.communicate()[1]
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {child.returncode}: {messages}")
    return elapsed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def bins(run_file: Path) -> int:
    """The number of bins of a run file: the JSON has one bracket for each, and few others."""
    count = 0
    with run_file.open("rb") as file:
        while block := file.read(1 << 20):
            count += block.count(b"[")
    return count


def measure(form: str, count: int, arguments: argparse.Namespace, directory: Path) -> str:
    path, result = directory / f"samples.{form}", directory / "samples.run.json"
    with path.open("wb") as file:
        subprocess.run([arguments.make_samples, form, str(count)], stdout=file, check=True)
    size = path.stat().st_size
    imports = [arguments.tardy, "import", str(path), "-o", str(result), "--force", *OPTIONS[form]]
    run(["wc", "-l", str(path)])
    lines, imported = [], []
    for _ in range(arguments.rounds):
        lines.append(run(["wc", "-l", str(path)])[0])
        imported.append(run(imports))
    held = bins(result) * BIN_SIZE
    path.unlink()
    result.unlink()
    wc = statistics.median(lines)
    elapsed, cpu, peak = (statistics.median(column) for column in zip(*imported))
    mega = 1e6
    return (f"| {NAMES[form]} | {size / mega:,.0f} MB | {size / mega / elapsed:,.0f} MB/s | {cpu:.2f} s "
            f"| {size / mega / wc:,.0f} MB/s | 1/{elapsed / wc:.1f} | {peak / mega:,.0f} MB | {held / mega:,.0f} MB |")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tardy")
    parser.add_argument("make_samples")
    parser.add_argument("--directory", default=None, help="where the files are generated; 1.1 GB is needed")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("forms", nargs="*", help="for example text=1000000; default: " +
                        " ".join(f"{form}={count}" for form, count in USUAL.items()))
    arguments = parser.parse_intermixed_args()
    forms = dict(form.split("=") for form in arguments.forms) or USUAL
    directory = Path(tempfile.mkdtemp(prefix="tardy-import-", dir=arguments.directory))
    try:
        print("| what | file | speed | CPU time | `wc -l` | ratio | memory at most | of it the run |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|")
        for form, count in forms.items():
            print(measure(form, int(count), arguments, directory), flush=True)
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
