#!/usr/bin/env python3
"""Times candor's neighbour engine beside FAISS and bare products of matrices, on one core.

    usage: census.py CANDOR [--rounds N] [--fashion DIR]

Made features: the five nearest rows of either label to each of 2 x 4,000 rows. FAISS (IndexFlatIP) gets rows
of length one, builds its indexes in the time and searches four times; where a row finds itself, it is asked
for one neighbour more. Each round runs both, whose first changes from round to round. Printed are medians in
processor seconds, candor's time as a share of that of four bare products, which it reports itself, and
FAISS's time as a multiple of candor's (median and range).

Fashion-MNIST: the same cell, and a census of twelve findings, over the first 20,000 training images as pixels
and behind one random rectified layer. The images are those of the Debian package
dataset-fashion-mnist or, with --fashion, those in DIR.
"""

import argparse
import glob
import gzip
import json
import os
import statistics
import subprocess
import tempfile
import time

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"

import faiss
import h5py
import numpy as np

faiss.omp_set_num_threads(1)

DIMENSIONS = (1024, 384, 64)
ROWS, NEIGHBOURS = 4000, 5
IMAGES = 20000


def candor(program, names, rounds, features=None):
    """What `candor bench` reports, one dictionary a measurement."""
    command = [program, "bench", "--only", names, "--rounds", str(rounds), "--json", "--quiet"]
    if features is not None:
        command.append(features)
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def made(random, dimension):
    """Positives and negatives, of length one."""
    values = random.standard_normal((2, ROWS, dimension), np.float32)
    return values / np.linalg.norm(values, axis=2, keepdims=True)


def faiss_seconds(labels):
    start = time.process_time()
    for own, rows in enumerate(labels):
        index = faiss.IndexFlatIP(rows.shape[1])
        index.add(rows)
        for of, queries in enumerate(labels):
            index.search(queries, NEIGHBOURS + (of == own))
    return time.process_time() - start


def spread(ratios):
    return f"{statistics.median(ratios):6.3f} ({min(ratios):.3f} to {max(ratios):.3f})"


def beside_faiss(program, rounds, title, name, labels, features=None):
    """One line: candor's benchmark `name` and FAISS on the rows of `labels`, in turns."""
    ours, peers = [], []
    sides = (lambda: ours.append(candor(program, name, 1, features)[0]),
             lambda: peers.append(faiss_seconds(labels)))
    for i in range(rounds):
        for side in sides if i % 2 == 0 else sides[::-1]:
            side()
    seconds = [one["seconds"] for one in ours]
    products = [one["peer_seconds"] for one in ours]
    print(f"{title:<28} candor {statistics.median(seconds):7.3f} s  "
          f"sgemm {statistics.median(products):7.3f} s  FAISS {statistics.median(peers):7.3f} s  "
          f"candor/sgemm {spread([a / b for a, b in zip(seconds, products)])}  "
          f"FAISS/candor {spread([a / b for a, b in zip(peers, seconds)])}", flush=True)


def training_images(folder):
    """The path of the training images, or None."""
    if folder:
        files = glob.glob(os.path.join(folder, "*"))
    else:
        try:
            files = subprocess.run(["dpkg", "-L", "dataset-fashion-mnist"], capture_output=True,
                                   text=True).stdout.splitlines()
        except FileNotFoundError:  # not a Debian
            files = []
    return next((f for f in files if os.path.basename(f) == "train-images-idx3-ubyte.gz"), None)


def write(path, features):
    with h5py.File(path, "w") as file:
        file["features"] = features
        ids = [f"train-{i}" for i in range(len(features))]
        file.create_dataset("image_id", data=ids, dtype=h5py.string_dtype("utf-8"))


def over_images(program, rounds, images):
    with gzip.open(images, "rb") as file:
        header = np.frombuffer(file.read(16), ">i4")  # magic number, images, height, width
        pixels = np.frombuffer(file.read(IMAGES * int(header[2] * header[3])), np.uint8)
    pixels = pixels.reshape(IMAGES, -1).astype(np.float32) / 255
    layer = np.random.default_rng(0).standard_normal((pixels.shape[1], 1024)).astype(np.float32) / 28
    kinds = {"pixels": pixels, "one random layer": np.maximum(pixels @ layer, 0)}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "features.h5")
        for kind, features in kinds.items():
            write(path, features)
            rows = features[:2 * ROWS] / np.linalg.norm(features[:2 * ROWS], axis=1, keepdims=True)
            beside_faiss(program, rounds, kind, "cell", (rows[0::2], rows[1::2]), path)
            one = candor(program, "census", rounds, path)[0]
            print(f"{kind + ', ' + one['work']:<28} candor {one['seconds']:7.3f} s  "
                  f"{one['peer']} {one['peer_seconds']:7.3f} s  candor/sgemm {one['ratio']:6.3f} "
                  f"({one['ratio_low']:.3f} to {one['ratio_high']:.3f})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("candor", metavar="CANDOR")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--fashion", metavar="DIR", help="folder of train-images-idx3-ubyte.gz")
    options = parser.parse_args()
    random = np.random.default_rng(1)
    for dimension in DIMENSIONS:
        beside_faiss(options.candor, options.rounds, f"made, d = {dimension}", f"cell-{dimension}",
                     made(random, dimension))
    images = training_images(options.fashion)
    if images is None:
        where = f"not in {options.fashion}" if options.fashion else "apt install dataset-fashion-mnist"
        print(f"Fashion-MNIST skipped: no train-images-idx3-ubyte.gz ({where})")
    else:
        over_images(options.candor, options.rounds, images)


if __name__ == "__main__":
    main()
