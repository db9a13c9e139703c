#!/usr/bin/env python3
"""Makes the tables, boxes and feature files of inputs/wdbc and inputs/digits from their source.csv.

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


def write_csv(path, header, records):
    with open(path, "w", newline="", encoding="utf-8") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(header)
        out.writerows(records)


def import_arrays(candor, folder, ids, encodings, regions=None):
    """encodings: name: (values, element type). `regions`: what was erased in each row, if anything was."""
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        id_file = os.path.join(scratch, "ids.csv")
        if regions is None:
            write_csv(id_file, ["image_id"], ([i] for i in ids))
            erased = []
        else:
            write_csv(id_file, ["image_id", "finding"], zip(ids, regions))
            erased = ["--finding-column", "finding"]
        for name, (values, element) in encodings.items():
            array = os.path.join(scratch, f"{name}.npy")
            np.save(array, np.ascontiguousarray(values, dtype=np.float64))
            import_features(candor, os.path.join(folder, f"{name}.h5"), array, "--ids", id_file,
                            "--type", element, *erased)


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


def encode_digits(pixels):
    """The seven encodings of images of 64 pixels, with their element types."""
    images = pixels.reshape(-1, 8, 8)
    return {
        # Whole numbers up to 16, and means of 64 of them (multiples of 1/64): both exact in half precision.
        "pixels": (pixels, "float16"),
        "blocks": (images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16), "float32"),
        "profiles": (np.hstack([images.sum(axis=1), images.sum(axis=2)]), "float32"),
        "directions": (orientations(images, 8), "float32"),
        "histogram": (np.sort(pixels, axis=1), "float32"),
        "random-256": (random_network(pixels, [256] * 3, SEED), "float16"),
        "random-16": (random_network(pixels, [16] * 3, SEED), "float32"),
    }


def connected(mask):
    """The groups of cells of a grid that touch by an edge, each a list of (row, column)."""
    rest = {(int(r), int(c)) for r, c in np.argwhere(mask)}
    groups = []
    while rest:
        group = [min(rest)]
        rest.remove(group[0])
        for r, c in group:  # grows while it is walked
            near = {(r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)} & rest
            rest -= near
            group += sorted(near)
        groups.append(group)
    return groups


def bounds(cells):
    """The smallest rectangle around cells (row, column): x, y, width, height."""
    rows, columns = zip(*cells)
    return min(columns), min(rows), max(columns) - min(columns) + 1, max(rows) - min(rows) + 1


def telling_windows(images, digit, d):
    """The one or two rectangles where the mean image of digit `d` differs most from its look-alikes'.

    The pixels that differ at least half as much as the one that differs most fall into groups that touch by
    an edge. Of the groups of two pixels and more the two with the largest sums of differences are taken, each
    as the rectangle around it.
    """
    alike = next(digits for digits in SUPERCLASSES.values() if d in digits)
    others = np.isin(digit, [o for o in alike if o != d])
    difference = np.abs(images[digit == d].mean(axis=0) - images[others].mean(axis=0))
    groups = [g for g in connected(difference >= difference.max() / 2) if len(g) > 1]
    groups.sort(key=lambda g: -sum(difference[cell] for cell in g))
    return [bounds(g) for g in groups[:2]]


def boxes_of(image, windows):
    """In each window the rectangle around the ink (at least half black); the window where there is none."""
    boxes = []
    for x, y, width, height in windows:
        ink = np.argwhere(image[y:y + height, x:x + width] >= 8)
        boxes.append(bounds(ink + (y, x)) if len(ink) else (x, y, width, height))
    return boxes


def erase(image, boxes):
    """The image with the boxes filled with its mean."""
    erased = image.copy()
    for x, y, width, height in boxes:
        erased[y:y + height, x:x + width] = image.mean()
    return erased


def make_digits(candor, out):
    folder = os.path.join(out, "digits")
    os.makedirs(folder, exist_ok=True)
    _, ids, records = read("digits")
    digit = np.array([int(r[1]) for r in records])
    pixels = np.array([r[2:] for r in records], float)
    images = pixels.reshape(-1, 8, 8)

    superclass = {d: name for name, digits in SUPERCLASSES.items() for d in digits}
    write_csv(os.path.join(folder, "table.csv"), ["image_id", "superclass"] + [f"is_{d}" for d in range(10)],
              ([i, superclass[d]] + [int(d == other) for other in range(10)] for i, d in zip(ids, digit)))
    import_arrays(candor, os.path.join(folder, "features"), ids, encode_digits(pixels))

    windows = [telling_windows(images, digit, d) for d in range(10)]
    boxes = [boxes_of(image, windows[d]) for image, d in zip(images, digit)]
    regions = [f"is_{d}" for d in digit]
    write_csv(os.path.join(folder, "boxes.csv"),
              ["image_id", "finding", "x", "y", "width", "height", "image_width", "image_height"],
              ([i, region, *box, 8, 8] for i, region, some in zip(ids, regions, boxes) for box in some))
    erased = np.stack([erase(image, some) for image, some in zip(images, boxes)])
    import_arrays(candor, os.path.join(folder, "erased"), ids, encode_digits(erased.reshape(-1, 64)), regions)


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    candor = shutil.which(sys.argv[1]) or sys.exit(f"make_features.py: no program {sys.argv[1]}")
    out = sys.argv[2] if len(sys.argv) == 3 else SOURCE
    make_wdbc(candor, out)
    make_digits(candor, out)


if __name__ == "__main__":
    main()
