#!/usr/bin/env python3
"""What a server of many runs costs: pushes per second that are acknowledged after the disk has them, the time of pages, memory.

usage: server_load.py TARDY RUNS [BOARDS [KERNELS [SENDERS]]]       for example: server_load.py target/release/tardy 100000

Makes RUNS runs of BOARDS boards (500) on KERNELS kernels (40) from the examples, whose sizes, distributions and maxima it varies, pushes them
from SENDERS connections (8), and asks each kind of page 200 times, for other boards, kernels and runs each time. The archive is in the working
directory, so on its disk. Prints a table.
"""

import concurrent.futures
import gzip
import hashlib
import http.client
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLES = ["standard", "rt", "causes"]
VARIANTS = 30
REQUESTS = 200


def templates() -> list[str]:
    """Each example in several variants of its distribution, with marks where runs differ from each other."""
    all_of_them = []
    for name in EXAMPLES:
        for variant in range(VARIANTS):
            chance = random.Random(f"{name} {variant}")
            run = json.loads(Path(f"examples/{name}.run.json").read_text())
            run.pop("lab", None)
            run["origin"].update(id="@id@", name="@name@", host="@host@", started_at="@started@")
            run["facts"]["kernel"]["release"]["value"] = "@kernel@"
            run["facts"]["machine"]["board"]["value"] = "@board@"
            for series in run["series"]:
                maxima = series["block_maxima"]["maxima_ns"]
                factor = min(chance.lognormvariate(-1.2, 0.2), 1)
                series["block_maxima"]["maxima_ns"] = [None if ns is None else int(ns * factor) for ns in maxima]
            all_of_them.append(json.dumps(run))
    return all_of_them


def varied(templates: list[str], number: int, boards: int, kernels: int, runs: int) -> bytes:
    """A run like no other: another board, kernel and day, and the distribution of one of the templates."""
    board, kernel, day = number % boards, (number * 7 // boards + number) % kernels, number * 2000 // runs
    started = time.gmtime(1_600_000_000 + day * 86400 + number % 86400)
    text = templates[number * 31 % len(templates)]
    for mark, value in {
        "@id@": f"load-{number}",
        "@name@": f"nightly {number // boards}",
        "@host@": f"rack{board}",
        "@started@": time.strftime("%Y-%m-%dT%H:%M:%SZ", started),
        "@kernel@": f"6.{kernel}.{board % 7}-tardy",
        "@board@": f"Board {board % 12}",
    }.items():
        text = text.replace(mark, value)
    return text.encode()


class Sender:
    """A connection that is kept open."""

    def __init__(self, host: str, token: str) -> None:
        self.connection, self.token = http.client.HTTPConnection(host, timeout=300), token

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[float, int, bytes]:
        """The time of a request in s, the status and the content."""
        began = time.perf_counter()
        self.connection.request(method, path, body, {"Authorization": f"Bearer {self.token}", "Content-Type": "application/gzip"})
        answer = self.connection.getresponse()
        content = answer.read()
        return time.perf_counter() - began, answer.status, content


def push(host: str, token: str, bodies: list[tuple[str, bytes]], senders: int) -> list[float]:
    """Pushes all, and returns how long each took."""

    def part(number: int) -> list[float]:
        sender, times = Sender(host, token), []
        for address, body in bodies[number::senders]:
            while True:
                took, status, content = sender.ask("PUT", f"/api/v1/runs/{address}", body)
                if status in (429, 503):
                    time.sleep(0.05)  # the server asks for patience
                    continue
                if status not in (200, 201):
                    raise SystemExit(f"status {status}: {content!r}")
                times.append(took)
                break
        return times

    with concurrent.futures.ThreadPoolExecutor(senders) as pool:
        return [took for times in pool.map(part, range(senders)) for took in times]


def row(name: str, times: list[float]) -> None:
    times = sorted(times)
    quantile = times[min(len(times) - 1, int(len(times) * 0.99))]
    print(f"{name:34} median {statistics.median(times) * 1000:8.1f} ms   p99 {quantile * 1000:8.1f} ms   worst {times[-1] * 1000:8.1f} ms", flush=True)


def memory_kib(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1])


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, runs = str(Path(sys.argv[1]).resolve()), int(sys.argv[2])
    boards, kernels, senders = (int(one) for one in (sys.argv[3:] + ["500", "40", "8"][len(sys.argv) - 3 :]))
    made_from = templates()
    with tempfile.TemporaryDirectory(dir=".") as directory:
        archive = f"{directory}/archive"
        Path(archive).mkdir()
        command = [program, "serve", archive, "--listen", "127.0.0.1:0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            try:
                host = re.search(r"http://([^/]+)", server.stderr.readline())[1]
                command = [program, "archive", "token", archive, "--make", "load", "--scope", "push,read"]
                token = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
                pushes, seconds, addresses, size = [], 0.0, [], 0
                for first in range(0, runs, 2000):
                    contents = [varied(made_from, number, boards, kernels, runs) for number in range(first, min(first + 2000, runs))]
                    bodies = [(hashlib.sha256(content).hexdigest(), gzip.compress(content, 1)) for content in contents]
                    addresses += [address for address, _ in bodies]
                    size += sum(len(body) for _, body in bodies)
                    began = time.perf_counter()
                    pushes += push(host, token, bodies, senders)
                    seconds += time.perf_counter() - began
                print(f"{runs} runs of {size / runs / 1000:.0f} kB compressed: {runs / seconds:.0f} pushes per second, {senders} senders", flush=True)
                row("push", pushes)
                pages(Sender(host, token), addresses, boards, kernels)
                print(f"memory of the server: {memory_kib(server.pid) / 1000:.0f} MB at most")
                index = Path(archive, "index.sqlite3").stat().st_size
                print(f"index: {index / runs:.0f} bytes per run")
            finally:
                server.terminate()


def pages(sender: Sender, addresses: list[str], boards: int, kernels: int) -> None:
    """Asks each kind of page."""
    chance = random.Random(1)
    names = re.findall(r'"page":"([^"]+)"', sender.ask("GET", "/api/v1/boards")[2].decode())
    releases = re.findall(r'href="(kernels&#x2f;[^"]+)"', sender.ask("GET", "/")[2].decode())
    releases = sorted({release.replace("&#x2f;", "/") for release in releases})
    kinds = {
        "first page": lambda: "/",
        "board": lambda: "/" + chance.choice(names),
        "kernel": lambda: "/" + chance.choice(releases),
        "search: board and kernel": lambda: f"/search.html?board=rack{chance.randrange(boards)}&kernel=6.{chance.randrange(kernels)}",
        "search: all runs": lambda: "/search.html",
        "search: a load and a verdict": lambda: "/search.html?load=doload&verdict=exceeded",
        "report": lambda: f"/runs/{chance.choice(addresses)}.html",
        "comparison of any two": lambda: f"/compare.html?base={chance.choice(addresses)}&candidate={chance.choice(addresses)}",
        "API: runs of a day": lambda: f"/api/v1/runs?since=2021-01-{chance.randrange(1, 28):02}&until=2021-01-28",
        "API: all boards": lambda: "/api/v1/boards",
        "metrics": lambda: "/metrics",
    }
    for name, path in kinds.items():
        times = []
        while len(times) < REQUESTS:
            took, status, content = sender.ask("GET", path())
            if status == 429:
                time.sleep(0.05)  # one sender may ask 100 times per second
                continue
            if status != 200:
                raise SystemExit(f"{name}: status {status}: {content[:300]!r}")
            times.append(took)
        row(name, times)


if __name__ == "__main__":
    main()
