"""Individual samples: the CSV files of `tardy run --samples`, and jitterdebugger's samples.raw."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tardy._native import Error

if TYPE_CHECKING:
    import numpy

#: The first line of a file of samples (docs/samples.md).
_HEAD = b"phase,cpu,cycle,at_ns,latency_ns"


def read_samples(path: str | os.PathLike[str]) -> numpy.ndarray:
    """Every sample of a file as one structured NumPy array, with its columns as fields.

    jitterdebugger's `samples.raw` is mapped into memory, not read: an array of any size costs only the pages that are used. The values
    of tardy's CSV are text, so they are parsed, in one pass.
    """
    import numpy

    with open(path, "rb") as file:
        head = file.read(len(_HEAD))
    if head == _HEAD:
        names = _HEAD.decode().split(",")
        kinds = ("u4", "u4", "u8", "u8", "i8")
        return numpy.loadtxt(path, delimiter=",", skiprows=1, dtype=list(zip(names, kinds)), ndmin=1)
    record = numpy.dtype([("thread", "<u4"), ("seconds", "<i8"), ("nanoseconds", "<i8"), ("value", "<u8")])
    size = os.path.getsize(path)
    if size == 0 or size % record.itemsize:
        raise Error(
            f"{os.fspath(path)}: neither samples of tardy (a first line '{_HEAD.decode()}') nor of jitterdebugger "
            f"(records of {record.itemsize} bytes)"
        )
    return numpy.memmap(path, dtype=record, mode="r")
