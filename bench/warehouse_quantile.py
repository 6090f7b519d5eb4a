#!/usr/bin/env python3
"""The fleet's p99.999 of many histograms in SQLite and in ClickHouse's engine: the same answer, seconds, and bytes on disk.

usage: bench/warehouse_quantile.py [--histograms N] [--directory DIR]

The histograms are generated in both stores by the same formula. ClickHouse's table is the one that tardy makes
(crates/tardy-warehouse/src/tables.sql), with addresses of 64 digits; SQLite's has the same columns, and numbers of runs in their
place. The engine is chDB, ClickHouse in this process: its HTTP server is not measured. What is asked is read from the disk's cache.
Needs the packages of scripts/warehouse-requirements.txt: make bench-warehouse.
"""

import argparse
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from chdb.session import Session

ROOT = Path(__file__).parents[1]
QUANTILE = 99_999, 100_000
# Of each histogram: bins of an octave from 4 us on, whose counts fall to a quarter from bin to bin; a rare reading in each.
BINS = 12
DAYS = 30
COUNT = "(100000 >> (2 * k)) + ((n * 7919 + k * 104729) % 1000 < 12 - k)"
ROUNDS = 5


def in_sqlite(path, histograms):
    """Fills a new database."""
    connection = sqlite3.connect(path)
    connection.executescript(
        """PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000;
        CREATE TABLE histograms (run INTEGER, series INTEGER, low_ns INTEGER, high_ns INTEGER, filled INTEGER, count INTEGER,
            day INTEGER, PRIMARY KEY (run, series, low_ns, high_ns, filled)) WITHOUT ROWID;"""
    )
    connection.execute(
        f"""WITH RECURSIVE runs(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM runs WHERE n + 1 < {histograms}),
        bins(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM bins WHERE k + 1 < {BINS})
        INSERT INTO histograms SELECT n, 0, 4096 << k, 8192 << k, 0, {COUNT}, n % {DAYS} FROM runs CROSS JOIN bins
        WHERE {COUNT} > 0"""
    )
    connection.commit()
    return connection


def in_clickhouse(directory, histograms):
    """Fills a new database."""
    session = Session(str(directory))
    session.query("CREATE DATABASE bench")
    tables = (ROOT / "crates/tardy-warehouse/src/tables.sql").read_text().split(";\n")
    table = next(one for one in tables if "DATABASE.histograms" in one)
    session.query(table.replace("DATABASE", "bench"))
    count = COUNT.replace("(100000 >> (2 * k))", "bitShiftRight(100000, 2 * k)")
    session.query(
        f"""INSERT INTO bench.histograms SELECT concat('2026-11-', leftPad(toString(n % {DAYS} + 1), 2, '0')),
        lower(hex(SHA256(toString(n)))), 0, bitShiftLeft(4096, k), bitShiftLeft(8192, k), false, {count}
        FROM (SELECT toInt64(number) AS n, toInt64(arrayJoin(range({BINS}))) AS k FROM numbers({histograms})) WHERE {count} > 0"""
    )
    return session


def quantile(bins):
    """The upper edge of the bin with the quantile, of (low, high, count) in order."""
    total = sum(count for _, _, count in bins)
    below = 0
    for _, high, count in bins:
        below += count
        if below * QUANTILE[1] >= total * QUANTILE[0]:
            return high
    raise AssertionError("no histogram")


def answers(rows):
    """The quantile of each day, and that of all."""
    days = {}
    for day, low, high, count in rows:
        days.setdefault(int(day), []).append((low, high, int(count)))
    all_bins = {}
    for bins in days.values():
        for low, high, count in bins:
            all_bins[low, high] = all_bins.get((low, high), 0) + count
    fleet = sorted((low, high, count) for (low, high), count in all_bins.items())
    total = sum(count for _, _, count in fleet)
    return quantile(fleet), total, {day: quantile(sorted(bins)) for day, bins in sorted(days.items())}


def ask_sqlite(connection):
    return connection.execute("SELECT day, low_ns, high_ns, sum(count) FROM histograms GROUP BY 1, 2, 3").fetchall()


def ask_clickhouse(session, final):
    text = session.query(
        f"SELECT toInt64(substring(day, 9)) - 1 AS d, low_ns, high_ns, sum(count) FROM bench.histograms {final} GROUP BY d, 2, 3",
        "TabSeparated",
    )
    return [tuple(map(int, line.split("\t"))) for line in str(text).splitlines()]


def timed(ask, *arguments):
    begin = time.monotonic()
    rows = ask(*arguments)
    return time.monotonic() - begin, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histograms", type=int, default=10_000_000)
    parser.add_argument("--directory", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.directory) as name:
        directory = Path(name)
        spent, session = timed(in_clickhouse, directory / "clickhouse", arguments.histograms)
        print(f"{arguments.histograms:,} histograms; filling ClickHouse took {spent:.0f} s", flush=True)
        spent, connection = timed(in_sqlite, directory / "histograms.sqlite3", arguments.histograms)
        print(f"filling SQLite took {spent:.0f} s", flush=True)
        rows = connection.execute("SELECT count(*) FROM histograms").fetchone()[0]
        print(f"{rows:,} bins in each store")
        times = {"SQLite": [], "ClickHouse": [], "ClickHouse, FINAL": []}
        found = {}
        # In turn, so that whatever else runs here slows all of them.
        for number in range(ROUNDS):
            if number < 2:
                spent, result = timed(ask_sqlite, connection)
                times["SQLite"].append(spent)
                found["SQLite"] = answers(result)
            for store, final in [("ClickHouse", ""), ("ClickHouse, FINAL", "FINAL")]:
                spent, result = timed(ask_clickhouse, session, final)
                times[store].append(spent)
                found[store] = answers(result)
        assert found["SQLite"] == found["ClickHouse"] == found["ClickHouse, FINAL"], found
        fleet, total, days = found["SQLite"]
        print(f"the same answer: p99.999 of {total:,} readings is below {fleet / 1000:.0f} us; by day: {len(days)} equal answers")
        compressed = str(
            session.query("SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'bench'", "TabSeparated")
        )
        disk = {"SQLite": (directory / "histograms.sqlite3").stat().st_size, "ClickHouse": int(compressed)}
        for store, spent in times.items():
            print(f"{store}: median {statistics.median(spent):.2f} s of {len(spent)} ({min(spent):.2f} to {max(spent):.2f})")
        for store, size in disk.items():
            print(f"{store}: {size / 1e6:,.0f} MB on disk, {size / arguments.histograms:.0f} bytes a histogram")
        session.close()


if __name__ == "__main__":
    main()
