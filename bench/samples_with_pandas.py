#!/usr/bin/env python3
"""Evaluates samples with pandas as `tardy import` does (docs/performance.md).

usage: samples_with_pandas.py samples.raw | samples.txt
"""
import resource
import sys
import time

import numpy as np
import pandas as pd

path = sys.argv[1]
begun = time.process_time()
if path.endswith("raw"):
    record = np.dtype([("thread", "<u4"), ("sec", "<i8"), ("nsec", "<i8"), ("value", "<u8")])
    frame = pd.DataFrame(np.fromfile(path, record)[["thread", "value"]])
else:
    frame = pd.read_csv(path, sep=":", names=["thread", "cycle", "value"], skipinitialspace=True)
found = frame.groupby("thread")["value"].agg(["count", "min", "mean", "max"])
histogram = frame.groupby(["thread", "value"]).size()
seconds = time.process_time() - begun
print(found.to_string())
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(f"{len(frame)} readings, {seconds:.2f} s of CPU time, {len(histogram)} bins, {peak} kB at most")
