"""Tests archives in ClickHouse's engine and moto's S3, and reads the Parquet files with other programs.

usage: engine.py TARDY COMMAND...

Starts both services in this process, runs COMMAND with the archive's file in TARDY_WAREHOUSE, and then adds the examples, exports them
with TARDY and reads them with DuckDB, pyarrow and ClickHouse's engine.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import clickhouse_in_process
import duckdb
import pyarrow.dataset
import s3_in_process

PASSWORD, ACCESS, SECRET = "clickhouse's password", "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG"
ROOT = Path(__file__).parents[3]
EXAMPLES = [ROOT / "examples", ROOT / "crates/tardy-present/tests/runs"]
TABLES = ["runs", "series", "histograms", "facts", "options"]


def archive(directory, database, clickhouse, s3):
    """Writes the file of an archive, and returns its path."""
    for name, secret in [("password", PASSWORD), ("access", ACCESS), ("secret", SECRET)]:
        (directory / name).write_text(secret + "\n")
    path = directory / f"{database}.toml"
    path.write_text(
        f"""timeout = 60

[clickhouse]
url = "{clickhouse}"
database = "{database}"
user = "tardy"
password-file = "password"

[s3]
endpoint = "{s3}"
bucket = "latency"
prefix = "{database}/"
access-key-file = "access"
secret-key-file = "secret"
"""
    )
    return path


def services(directory):
    """Starts both services. Returns the engine's session and their addresses."""
    clickhouse = clickhouse_in_process.serve(directory / "clickhouse", "tardy", PASSWORD)
    s3 = s3_in_process.serve("latency", SECRET)
    return clickhouse.session, f"http://127.0.0.1:{clickhouse.server_port}", s3


def one(session, statement):
    """The first line of an answer of the engine."""
    return str(session.query(statement, "TabSeparated")).splitlines()[0]


def check_parquet(tardy, session, place, directory):
    """Exports an archive, and compares what each program reads with the archive."""
    subprocess.run([tardy, "archive", "export", place, "--to", "parquet", "-o", directory], check=True)
    listed = json.loads(subprocess.check_output([tardy, "list", place, "--json"]))
    runs = len(listed["runs"])
    for table in TABLES:
        files = f"{directory}/{table}/*/*.parquet"
        of_duckdb = duckdb.sql(f"SELECT count(*) FROM read_parquet('{files}', hive_partitioning = true)").fetchall()[0]
        of_pyarrow = pyarrow.dataset.dataset(directory / table, partitioning="hive").count_rows()
        of_engine = int(one(session, f"SELECT count() FROM file('{files}', Parquet)"))
        in_tables = int(one(session, f"SELECT count() FROM examples.{table} FINAL"))
        print(f"{table}: {of_duckdb[0]} rows in Parquet, {in_tables} in ClickHouse")
        assert of_duckdb[0] == of_pyarrow == of_engine, (of_duckdb, of_pyarrow, of_engine)
        # Each configuration is in Parquet once a day, in ClickHouse once.
        assert in_tables == of_engine or table == "options", (table, in_tables, of_engine)
        if table == "runs":
            assert of_engine == runs, (of_engine, runs)

    # Of each run, the readings of the run file, through four readers.
    recorded = {}
    for file in sorted(path for example in EXAMPLES for path in example.glob("*.run.json")):
        run = json.loads(file.read_text())
        total = sum(count for series in run["series"] for _, _, count in series["corrected"] or series["measured"])
        recorded[run["origin"]["id"]] = total
    query = "SELECT r.id, sum(h.count) FROM {runs} r JOIN {histograms} h ON h.run = r.address GROUP BY r.id"
    read = lambda name, table: name.format(f"{directory}/{table}/*/*.parquet")
    answers = {
        "DuckDB": duckdb.sql(
            query.format(**{table: read("read_parquet('{}')", table) for table in TABLES})
        ).fetchall(),
        "ClickHouse, Parquet": engine_rows(
            session, query.format(**{table: read("file('{}', Parquet)", table) for table in TABLES})
        ),
        "ClickHouse, tables": engine_rows(
            session, query.format(**{table: f"(SELECT * FROM examples.{table} FINAL)" for table in TABLES})
        ),
    }
    for reader, answer in answers.items():
        counts = {id: int(count) for id, count in answer}
        assert len(counts) >= 10 and all(recorded[id] == count for id, count in counts.items()), reader
        print(f"{reader}: the readings of {len(counts)} runs are those of the run files")
    loads = duckdb.sql(
        f"SELECT count(*) FROM read_parquet('{directory}/runs/*/*.parquet') WHERE list_contains(loads, 'doload') AND day >= '2026-11-22'"
    ).fetchall()[0][0]
    listed = subprocess.check_output([tardy, "list", place, "--json", "--load", "doload", "--since", "2026-11-22"])
    assert loads == len(json.loads(listed)["runs"]) > 0, loads


def check_server(tardy, place):
    """Serves the archive: the same pages as of a directory, and a pushed run is found."""
    example = json.loads((ROOT / "examples/rt.run.json").read_text())
    example["origin"]["id"] = "pushed"
    content = json.dumps(example).encode()
    made = [tardy, "archive", "token", place, "--make", "board", "--scope", "push"]
    token = subprocess.check_output(made, text=True, stderr=subprocess.DEVNULL).strip()
    command = [tardy, "serve", place, "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            address = re.search(r"http://[^/]+", server.stderr.readline())[0]
            ask = lambda path: urllib.request.urlopen(address + path, timeout=60).read().decode()
            before = json.loads(ask("/api/v1/runs?page_size=1"))["total"]
            url = f"{address}/api/v1/runs/{hashlib.sha256(content).hexdigest()}"
            for status in (201, 200):
                request = urllib.request.Request(url, content, {"Authorization": f"Bearer {token}"}, method="PUT")
                assert urllib.request.urlopen(request, timeout=60).status == status
            runs = json.loads(ask("/api/v1/runs?page_size=1"))
            assert runs["total"] == before + 1, (runs["total"], before)
            boards = json.loads(ask("/api/v1/boards"))
            pages = ["/", "/search.html?load=doload", "/metrics", f"/runs/{runs['runs'][0]['address']}.html", "/" + boards[0]["page"]]
            for page in pages:
                assert len(ask(page)) > 500, page
            print(f"served: {len(boards)} boards, {runs['total']} runs, {len(pages)} pages")
        finally:
            server.terminate()


def engine_rows(session, statement):
    return [line.split("\t") for line in str(session.query(statement, "TabSeparated")).splitlines()]


def main():
    tardy, command = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        session, clickhouse, s3 = services(directory)
        environment = os.environ | {"TARDY_WAREHOUSE": str(archive(directory, "both", clickhouse, s3))}
        subprocess.run(command, env=environment, check=True)
        place = archive(directory, "examples", clickhouse, s3)
        # One of the examples is a run in progress, which is not kept.
        subprocess.run([tardy, "archive", "add", place, *EXAMPLES], check=False)
        subprocess.run([tardy, "archive", "verify", place], check=True)
        check_parquet(tardy, session, place, directory / "parquet")
        check_server(tardy, place)
        session.close()
    print("archives in ClickHouse's engine: all passed")


if __name__ == "__main__":
    main()
