"""Opens files: run files, and those of other tools."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from tardy import _native
from tardy.run import Run

if TYPE_CHECKING:
    from tardy._native import Known


def read(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview,
    *,
    format: str | None = None,
    unit: Literal["us", "ns"] | None = None,
    time_unit: Literal["s", "ms", "us", "ns", "ps"] | None = None,
    command: str | None = None,
    input: str | None = None,
    output: str | None = None,
    edge: Literal["rising", "falling"] | None = None,
    name: str = "bytes",
) -> Run:
    """Opens a run file, or a file of another tool, whose format is recognised by its content.

    `source` is a path, or the content itself, which is then called `name` in messages. Compressed files are decompressed. The other
    arguments are those of `tardy import`: what a file does not state, such as the unit of its values, or the command line of the
    measurement.

    Raises `tardy.Error`, with the command line's message, if the content has an unknown format, contradicts itself, or lacks
    something that an argument must give; `OSError` if the file cannot be read.
    """
    known: Known = {
        "format": format,
        "unit": unit,
        "time_unit": time_unit,
        "command": command,
        "input": input,
        "output": output,
        "edge": edge,
    }
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Run(_native.read_bytes(bytes(source), name, known))
    path = os.fspath(source)
    return Run(_native.read_path(path, known), path)


def formats() -> dict[str, str]:
    """Every format of another tool that `read` recognises, with a description."""
    return dict(_native.formats())
