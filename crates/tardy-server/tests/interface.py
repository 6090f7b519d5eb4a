#!/usr/bin/env python3
"""Sends the requests that schemathesis makes from the server's own description, right ones and wrong ones.

usage: interface.py REPOSITORY TARDY     with schemathesis in PATH

Fails if an answer is not described, or the server fails.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from serving import serving

# A random request has no content with the right SHA-256, so a push is always refused: that is not a wrong description.
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,ignored_auth,missing_required_header"


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    repository, program = Path(sys.argv[1]).resolve(), str(Path(sys.argv[2]).resolve())
    with serving(repository, program, "admin") as server:
        command = [
            "st",
            "run",
            f"{server.address}/api/v1/openapi.json",
            "--header",
            f"Authorization: Bearer {server.token}",
            "--checks",
            CHECKS,
            "--max-examples",
            "60",
            "--seed",
            "1",
            "--rate-limit",
            "90/s",
        ]
        with tempfile.TemporaryDirectory() as directory:
            sys.exit(subprocess.run(command, cwd=directory, check=False).returncode)


if __name__ == "__main__":
    main()
