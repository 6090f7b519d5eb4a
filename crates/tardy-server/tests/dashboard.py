#!/usr/bin/env python3
"""Scrapes a server with Prometheus, and asks every query of the dashboard for Grafana: each must have an answer.

usage: dashboard.py REPOSITORY TARDY PROMETHEUS
"""

import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from serving import serving

PATIENCE_S = 60
CONFIGURATION = """
global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: tardy
    authorization: {{credentials: "{token}"}}
    static_configs: [{{targets: ["{target}"]}}]
"""


def queries(dashboard: Path) -> list[str]:
    """The queries of all panels, for all boards."""
    panels = json.loads(dashboard.read_text())["panels"]
    return [target["expr"].replace("$board", ".*") for panel in panels for target in panel["targets"]]


def answer(prometheus: str, query: str) -> list[dict]:
    """The answer to a query; nothing while Prometheus starts."""
    url = f"{prometheus}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            return json.load(response)["data"]["result"]
    except urllib.error.HTTPError as error:
        if error.code == 503:
            return []
        raise SystemExit(f"{query}: {error.read().decode()}") from error
    except OSError:
        return []


def until_answered(prometheus: str, query: str) -> list[dict]:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if found := answer(prometheus, query):
            return found
        time.sleep(0.2)
    raise SystemExit(f"no answer within {PATIENCE_S} s: {query}")


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    repository, program, prometheus = (Path(one).resolve() for one in sys.argv[1:])
    with serving(repository, str(program), "read") as server, tempfile.TemporaryDirectory() as directory:
        target = server.address.removeprefix("http://")
        configuration = Path(directory, "prometheus.yml")
        configuration.write_text(CONFIGURATION.format(token=server.token, target=target))
        command = [
            str(prometheus),
            f"--config.file={configuration}",
            f"--storage.tsdb.path={directory}/data",
            "--web.listen-address=127.0.0.1:0",
        ]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            try:
                address = ""
                for line in process.stderr or ():
                    if found := re.search(r"msg=\"?Listening on\"? address=(\S+)", line):
                        address = f"http://{found[1]}"
                        break
                for query in queries(repository / "packaging/grafana/tardy.json"):
                    found = until_answered(address, query)
                    print(f"{len(found)} in the answer: {query}")
                worst = until_answered(address, "tardy_board_worst_seconds")
                boards = json.load(urllib.request.urlopen(f"{server.address}/api/v1/boards", timeout=10))
                expected = {board["board"]: board["newest"]["worst_ns"] / 1e9 for board in boards}
                seen = {one["metric"]["board"]: float(one["value"][1]) for one in worst}
                assert seen == expected, f"{seen} instead of {expected}"
            finally:
                process.terminate()


if __name__ == "__main__":
    main()
