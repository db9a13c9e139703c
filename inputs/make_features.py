#!/usr/bin/env python3
"""Makes the tables and feature files of inputs/wdbc and inputs/digits from their source.csv.

    usage: make_features.py CANDOR [OUTPUT]

CANDOR is the program, OUTPUT a folder that receives wdbc/ and digits/ (default: where this script lies). The
files are in the repository already, so a run of the studies needs no Python. Needs numpy.

Encoders without arithmetic of their own are columns of the source, which `candor import` takes and scales by
itself. The others are computed here, written as .npy with a list of ids, and imported.
"""

import csv
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

SOURCE = os.path.dirname(os.path.abspath(__file__))
SEED = 42

# Digits that are alike: closed loops, straight strokes, open curves. Chosen by shape, not from the data.
SUPERCLASSES = {"loops": (0, 6, 8, 9), "strokes": (1, 4, 7), "curves": (2, 3, 5)}


def read(study):
    """Header, ids and the records of a study's source."""
    with open(os.path.join(SOURCE, study, "source.csv"), newline="", encoding="utf-8") as f:
        records = list(csv.reader(f))
    return records[0], [r[0] for r in records[1:]], records[1:]


def random_network(x, widths, seed):
    """Rectified layers of the given widths with random weights of variance 1/fan-in, never trained.

    RandomState's stream is frozen: every numpy gives these weights.
    """
    random = np.random.RandomState(seed)
    for width in widths:
        x = np.maximum(x @ (random.standard_normal((x.shape[1], width)) / np.sqrt(x.shape[1])), 0)
    return x


def orientations(images, bins):
    """How much grey-value gradient (central differences) an image has in each direction, places forgotten."""
    down, right = np.gradient(images, axis=(1, 2))
    size = np.hypot(down, right)
    # The half-bin shift keeps the axis directions, which are frequent, off the edges of the bins.
    where = np.floor(np.arctan2(down, right) / (2 * np.pi) * bins + 0.5).astype(int) % bins
    return np.stack([(size * (where == b)).sum(axis=(1, 2)) for b in range(bins)], axis=1)


def import_features(candor, out, *arguments):
    subprocess.run([candor, "import", "-o", out, "--overwrite", *arguments], check=True,
                   stdout=subprocess.DEVNULL)


def import_arrays(candor, folder, ids, encodings):
    """encodings: name: (values, element type)."""
    with tempfile.TemporaryDirectory() as scratch:
        id_file = os.path.join(scratch, "ids.txt")
        with open(id_file, "w", encoding="utf-8") as f:
            f.write("".join(f"{i}\n" for i in ids))
        for name, (values, element) in encodings.items():
            array = os.path.join(scratch, f"{name}.npy")
            np.save(array, np.ascontiguousarray(values, dtype=np.float64))
            import_features(candor, os.path.join(folder, f"{name}.h5"), array, "--ids", id_file,
                            "--type", element)


def make_wdbc(candor, out):
    folder = os.path.join(out, "wdbc", "features")
    os.makedirs(folder, exist_ok=True)
    header, ids, records = read("wdbc")
    # After image_id, patient_id, malignant: 10 means, 10 standard errors, 10 worst values.
    columns = header[3:]
    source = os.path.join(SOURCE, "wdbc", "source.csv")
    for name, chosen in (("mean", columns[:10]), ("error", columns[10:20]), ("worst", columns[20:]),
                         ("all", columns)):
        import_features(candor, os.path.join(folder, f"{name}.h5"), source, "--id-column", "image_id",
                        "--columns", ",".join(chosen), "--scale", "standard", "--type", "float32")
    x = np.array([r[3:] for r in records], float)
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    import_arrays(candor, folder, ids, {"random": (random_network(scaled, [64, 64, 64], SEED), "float32")})


def make_digits(candor, out):
    folder = os.path.join(out, "digits", "features")
    os.makedirs(folder, exist_ok=True)
    _, ids, records = read("digits")
    digit = np.array([int(r[1]) for r in records])
    pixels = np.array([r[2:] for r in records], float)
    images = pixels.reshape(-1, 8, 8)

    superclass = {d: name for name, digits in SUPERCLASSES.items() for d in digits}
    with open(os.path.join(out, "digits", "table.csv"), "w", newline="", encoding="utf-8") as f:
        table = csv.writer(f, lineterminator="\n")
        table.writerow(["image_id", "superclass"] + [f"is_{d}" for d in range(10)])
        for i, d in zip(ids, digit):
            table.writerow([i, superclass[d]] + [int(d == other) for other in range(10)])

    import_arrays(candor, folder, ids, {
        "pixels": (pixels, "float16"),  # whole numbers up to 16: exact in half precision
        "blocks": (images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16), "float32"),
        "profiles": (np.hstack([images.sum(axis=1), images.sum(axis=2)]), "float32"),
        "directions": (orientations(images, 8), "float32"),
        "histogram": (np.sort(pixels, axis=1), "float32"),
        "random-256": (random_network(pixels, [256] * 3, SEED), "float16"),
        "random-16": (random_network(pixels, [16] * 3, SEED), "float32"),
    })


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    candor = shutil.which(sys.argv[1]) or sys.exit(f"make_features.py: no program {sys.argv[1]}")
    out = sys.argv[2] if len(sys.argv) == 3 else SOURCE
    make_wdbc(candor, out)
    make_digits(candor, out)


if __name__ == "__main__":
    main()
