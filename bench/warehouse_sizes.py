#!/usr/bin/env python3
"""The bytes of a run in each store: run files, SQLite index, ClickHouse, Parquet; and what a fleet of boards needs.

usage: bench/warehouse_sizes.py TARDY [--runs N] [--boards N] [--runs-a-day N]

The runs are variants of three runs of the tests: other boards, days and identities, and readings moved between neighbouring bins at
random, from a fixed seed. The engine is chDB, ClickHouse in this process; the bucket is moto's, whose objects are counted by their
size. Needs the packages of scripts/warehouse-requirements.txt: make bench-warehouse.
"""

import argparse
import copy
import datetime
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "crates/tardy-warehouse/tests"))

import engine

TEMPLATES = ["rt", "standard", "steady"]
BOARDS = 50


def moved(bins, edges, generator):
    """Moves readings between neighbouring bins that no declared threshold separates. Each bin keeps one, and both its ends."""
    for one, other in zip(bins[1:-2], bins[2:-1]):
        if min(one[2], other[2]) > 1 and not any(one[0] < edge < other[1] for edge in edges):
            count = generator.randrange(-(other[2] - 1) // 3, (one[2] - 1) // 3 + 1)
            one[2] -= count
            other[2] += count


def variant(template, number, generator):
    """Another run of the kind of `template`."""
    run = copy.deepcopy(template)
    board = number % BOARDS
    start = datetime.datetime(2026, 1, 1) + datetime.timedelta(hours=number // BOARDS)
    run["origin"] |= {"id": f"{number:08x}", "host": f"board{board:04}", "started_at": start.strftime("%Y-%m-%dT%H:%M:%SZ")}
    for series in run["series"]:
        edges = [threshold["limit_ns"] for threshold in series["thresholds"]]
        same = series["corrected"] == series["measured"]
        moved(series["measured"], edges, generator)
        if same:
            series["corrected"] = series["measured"]
    return run


def size(directory, pattern="*"):
    return sum(path.stat().st_size for path in Path(directory).rglob(pattern) if path.is_file())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tardy", type=Path)
    parser.add_argument("--runs", type=int, default=3000)
    parser.add_argument("--boards", type=int, default=5000)
    parser.add_argument("--runs-a-day", type=int, default=24)
    arguments = parser.parse_args()
    templates = [
        json.loads((ROOT / f"crates/tardy-present/tests/runs/{name}.run.json").read_text()) for name in TEMPLATES
    ]
    generator = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        files = directory / "files"
        files.mkdir()
        for number in range(arguments.runs):
            run = variant(templates[number % len(templates)], number, generator)
            (files / f"{number:06}.run.json").write_text(json.dumps(run))
        session, clickhouse, s3 = engine.services(directory)
        place = engine.archive(directory, "sizes", clickhouse, s3)
        archive = directory / "archive"
        for to in [archive, place]:
            subprocess.run([arguments.tardy, "archive", "add", to, files], check=True)
        parquet = directory / "parquet"
        subprocess.run([arguments.tardy, "archive", "export", archive, "--to", "parquet", "-o", parquet], check=True)
        session.query("SYSTEM FLUSH LOGS")
        for table in engine.TABLES:
            session.query(f"OPTIMIZE TABLE sizes.{table} FINAL")
        tables = engine.engine_rows(
            session,
            "SELECT table, sum(bytes_on_disk), sum(rows) FROM system.parts WHERE active AND database = 'sizes' GROUP BY table ORDER BY 2 DESC",
        )
        objects = sum(
            len(key.value)
            for key in engine.s3_in_process.bucket("latency").keys.values()
            if key.name.startswith("sizes/")
        )
        rows = [
            ("run files, before compression", size(files)),
            ("run files in the archive, gzip", size(archive / "runs")),
            ("objects in the bucket", objects),
            ("SQLite index", (archive / "index.sqlite3").stat().st_size),
            ("ClickHouse, all tables", sum(int(table[1]) for table in tables)),
            *((f"ClickHouse, {table} ({int(count) / arguments.runs:.1f} rows a run)", int(bytes)) for table, bytes, count in tables),
            ("Parquet, all tables", size(parquet, "*.parquet")),
            *((f"Parquet, {table}", size(parquet / table, "*.parquet")) for table in engine.TABLES),
        ]
        each_day = arguments.boards * arguments.runs_a_day
        print(f"{arguments.runs:,} runs; a fleet of {arguments.boards:,} boards with {arguments.runs_a_day} runs a day: {each_day:,} runs a day")
        print("| store | bytes of a run | GB of a day | TB of a year |\n|---|---:|---:|---:|")
        for store, total in rows:
            each = total / arguments.runs
            print(f"| {store} | {each:,.0f} | {each * each_day / 1e9:.2f} | {each * each_day * 365 / 1e12:.2f} |")
        session.close()


if __name__ == "__main__":
    main()
