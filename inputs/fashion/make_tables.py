#!/usr/bin/env python3
"""Makes the table and the evidence boxes of inputs/fashion from the IDX files of Fashion-MNIST.

    usage: make_tables.py OUTPUT [DATA] [--train N]

OUTPUT is a folder that receives table.csv and boxes.csv. DATA is where the four files are (default:
/usr/share/datasets/fashion-mnist, Debian's package dataset-fashion-mnist). --train N takes the first N images of the
training part only. Needs numpy.
"""

import argparse
import gzip
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from make_features import bounds, connected, write_csv  # noqa: E402

DATA = "/usr/share/datasets/fashion-mnist"
PARTS = {"train": "train", "test": "t10k"}  # split: how its files begin
FINDINGS = ["t_shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle_boot"]
SUPERCLASSES = {"tops": (0, 2, 4, 6), "footwear": (5, 7, 9), "rest": (1, 3, 8)}
FOREGROUND = 64  # a quarter of white


def read_part(data, part):
    """Images (n x 28 x 28) and labels (n)."""
    with gzip.open(os.path.join(data, f"{PARTS[part]}-images-idx3-ubyte.gz")) as f:
        images = np.frombuffer(f.read(), np.uint8, offset=16)
    with gzip.open(os.path.join(data, f"{PARTS[part]}-labels-idx1-ubyte.gz")) as f:
        labels = np.frombuffer(f.read(), np.uint8, offset=8)
    return images.reshape(len(labels), 28, 28), labels


def telling_windows(images, labels, label):
    """The one or two rectangles where the mean image of `label` differs most from that of its look-alikes: as in
    inputs/digits, of groups of four pixels and more."""
    alike = next(group for group in SUPERCLASSES.values() if label in group)
    others = np.isin(labels, [o for o in alike if o != label])
    difference = np.abs(images[labels == label].mean(axis=0) - images[others].mean(axis=0))
    groups = [g for g in connected(difference >= difference.max() / 2) if len(g) > 3]
    groups.sort(key=lambda g: -sum(difference[cell] for cell in g))
    return [bounds(g) for g in groups[:2]]


def boxes_of(image, windows):
    """In each window the rectangle around the foreground; the window where there is none."""
    boxes = []
    for x, y, width, height in windows:
        there = np.argwhere(image[y:y + height, x:x + width] >= FOREGROUND)
        boxes.append(bounds(there + (y, x)) if len(there) else (x, y, width, height))
    return boxes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("output")
    parser.add_argument("data", nargs="?", default=DATA)
    parser.add_argument("--train", type=int, default=60000)
    arguments = parser.parse_args()
    data = os.path.abspath(arguments.data)
    os.makedirs(arguments.output, exist_ok=True)
    superclass = {label: name for name, labels in SUPERCLASSES.items() for label in labels}
    parts = {part: read_part(data, part) for part in PARTS}

    def rows():
        for part, (_, labels) in parts.items():
            for i, label in enumerate(labels[:arguments.train] if part == "train" else labels):
                place = os.path.join(data, f"{PARTS[part]}-images-idx3-ubyte.gz#{i}")
                yield [f"{part}-{i:05d}", part, superclass[label], place] + [int(label == f) for f in range(10)]

    write_csv(os.path.join(arguments.output, "table.csv"), ["image_id", "split", "superclass", "path"] + FINDINGS,
              rows())
    # Windows come from the training part, boxes are drawn on the test part.
    images, labels = parts["train"]
    windows = [telling_windows(images, labels, label) for label in range(10)]
    images, labels = parts["test"]
    write_csv(os.path.join(arguments.output, "boxes.csv"),
              ["image_id", "finding", "x", "y", "width", "height", "image_width", "image_height"],
              ([f"test-{i:05d}", FINDINGS[label], *box, 28, 28] for i, (image, label) in enumerate(zip(images, labels))
               for box in boxes_of(image, windows[label])))


if __name__ == "__main__":
    main()
