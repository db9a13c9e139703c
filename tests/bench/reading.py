#!/usr/bin/env python3
"""Reading of feature files, candor against h5py, on files that this script makes and removes.

    python3 tests/bench/reading.py build/tests/reading_bench [--rows N] [--dimension D] [--pairs P] [--only L]
        [--folder F]

Each measured run is a process of its own. The runs of a pair follow one another, whose first changes from pair to
pair; both sides touch as much memory before as they are about to fill, and the page cache is filled before the first
pair. Printed are medians in seconds, candor's time as a share of h5py's in the same pair (median and range), and
whether both read the same bits.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

import h5py
import numpy as np

H5PY_RUN = """
import sys, time
import h5py, numpy as np
path, how, touch = sys.argv[1], sys.argv[2], int(sys.argv[3])
scratch = np.ones(touch // 8)
del scratch
start = time.perf_counter()
with h5py.File(path, "r") as file:
    data = file["features"]
    if how == "whole":
        values = data[:].astype(np.float32, copy=False)
        seconds = time.perf_counter() - start
    elif how == "in place":
        values = np.empty(data.shape, data.dtype)
        data.read_direct(values)
        values = values.astype(np.float32, copy=False)
        seconds = time.perf_counter() - start
    else:
        count = min(data.shape[0], 20000)
        values = np.empty((count, data.shape[1]), data.dtype)
        start = time.perf_counter()
        for i in range(count):
            values[i] = data[i]
        seconds = (time.perf_counter() - start) * data.shape[0] / count
same = sum(int(part.view(np.uint32).sum(dtype=np.uint64))
           for part in np.array_split(values, 64)) if how != "rows" else 0
print(seconds, same)
"""


# What candor does, against what of h5py.
WAYS = (("whole", "whole"), ("whole", "in place"), ("whole", "rows"), ("visit", "in place"))


def make_files(folder, rows, dimension, only=None):
    """name -> path; the same numbers laid out in different ways, or the one way `only`."""
    layouts = {
        "contiguous": {},
        "chunks (1, d)": {"chunks": (1, dimension)},
        "chunks (64, d)": {"chunks": (64, dimension)},
        "float16": {"dtype": np.float16},
        "gzip": {"chunks": (64, dimension), "compression": "gzip", "compression_opts": 1},
    }
    if only is not None:
        layouts = {only: layouts[only]}
    random = np.random.default_rng(1)
    files = {name: os.path.join(folder, f"{i}.h5") for i, name in enumerate(layouts)}
    opened = {name: h5py.File(path, "w") for name, path in files.items()}
    for name, file in opened.items():
        file.create_dataset("features", (rows, dimension), **{"dtype": np.float32, **layouts[name]})
    step = 10000
    for first in range(0, rows, step):
        count = min(step, rows - first)
        # Few distinct bits, so that the compressed file is smaller than the others.
        part = random.integers(-512, 512, (count, dimension)).astype(np.float32) / 64
        for file in opened.values():
            file["features"][first : first + count] = part
    for file in opened.values():
        file.close()
    return files


def fill_page_cache(path):
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 24):
            pass


def run(command):
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, bits = done.stdout.split()
    return float(seconds), int(bits)


def measure(title, path, sides, pairs):
    """`sides` are candor's command and h5py's."""
    fill_page_cache(path)
    times, sums = ([], []), set()
    for pair in range(pairs):
        for side in (0, 1) if pair % 2 == 0 else (1, 0):
            seconds, bits = run(sides[side])
            times[side].append(seconds)
            sums.add(bits)
    shares = sorted(a / b for a, b in zip(*times))
    sums.discard(0)
    print(
        f"{title:<44} candor {statistics.median(times[0]):8.3f} s  h5py {statistics.median(times[1]):8.3f} s  "
        f"candor/h5py {statistics.median(shares):6.3f} ({shares[0]:.3f} to {shares[-1]:.3f})  "
        f"{'the same bits' if len(sums) == 1 else 'DIFFERENT BITS'}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--rows", type=int, default=700000)
    parser.add_argument("--dimension", type=int, default=768)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--only", help='one layout, e.g. "chunks (1, d)"')
    parser.add_argument("--folder", help="where the files are made (default: the system's temporary folder)")
    options = parser.parse_args()
    touch = str(options.rows * options.dimension * 4 + (256 << 20))

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        files = make_files(folder, options.rows, options.dimension, options.only)
        for name, path in files.items():
            for candor, h5py_way in WAYS:
                if h5py_way == "rows" and name != "chunks (1, d)":
                    continue
                sides = (
                    [options.bench, candor, path, touch],
                    [sys.executable, "-c", H5PY_RUN, path, h5py_way, touch],
                )
                measure(f"{name}: {candor}, h5py {h5py_way}", path, sides, options.pairs)


if __name__ == "__main__":
    main()
