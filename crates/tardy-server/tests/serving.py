"""An archive with a few runs, and a server of it, for the tests that are written in Python."""

import contextlib
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Server:
    """A server that runs."""

    address: str
    token: str
    runs: list[str]


def tardy(program: str, *arguments: str) -> str:
    """The output of a command that must succeed."""
    return subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


@contextlib.contextmanager
def serving(repository: Path, program: str, scopes: str) -> Iterator[Server]:
    """Serves an archive with the examples, whose tokens have `scopes`, until the context ends."""
    with tempfile.TemporaryDirectory() as directory:
        archive = f"{directory}/archive"
        tardy(program, "archive", "add", archive, *map(str, sorted(repository.glob("examples/*.run.json"))))
        Path(archive, "server").mkdir(exist_ok=True)
        Path(archive, "server/alerts.toml").write_text('[[rule]]\nname = "loop"\nrequire = "max<1us"\n')
        token = tardy(program, "archive", "token", archive, "--make", "test", "--scope", scopes).strip()
        command = [program, "serve", archive, "--listen", "127.0.0.1:0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            try:
                line = process.stderr.readline() if process.stderr else ""
                found = re.search(r"http://[^/]+", line)
                if not found:
                    raise SystemExit(f"the server did not start: {line}")
                listed = json.loads(tardy(program, "list", archive, "--json"))
                runs = ["".join(Path(run["file"]).parts[-2:]).removesuffix(".run.json.gz") for run in listed["runs"]]
                yield Server(found[0], token, runs)
            finally:
                process.terminate()
