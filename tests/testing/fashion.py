"""A small stand-in for the four files of Fashion-MNIST, and inputs/fashion made from it."""

import gzip
import os
import shutil
import struct
import subprocess
import sys

import numpy as np

INPUTS = os.path.join(os.environ["CANDOR_SOURCE"], "inputs", "fashion")


def write_part(folder, name, count, draw):
    """Noise, and a bright block whose place tells the class."""
    labels = (np.arange(count) % 10).astype(np.uint8)
    images = draw.randint(0, 90, (count, 28, 28)).astype(np.uint8)
    for image, label in zip(images, labels):
        image[2 * label:2 * label + 5, 20 - 2 * label:26 - 2 * label] = draw.randint(150, 255, (5, 6))
    with gzip.open(os.path.join(folder, f"{name}-images-idx3-ubyte.gz"), "wb") as f:
        f.write(struct.pack(">IIII", 0x803, *images.shape) + images.tobytes())
    with gzip.open(os.path.join(folder, f"{name}-labels-idx1-ubyte.gz"), "wb") as f:
        f.write(struct.pack(">II", 0x801, count) + labels.tobytes())


def make_fashion(folder, train=300, test=200):
    """The files in folder/data, and table, boxes, study and recipe in folder. Gives the name of the data's folder."""
    data = os.path.join(folder, "data")
    os.mkdir(data)
    draw = np.random.RandomState(9)
    write_part(data, "train", train, draw)
    write_part(data, "t10k", test, draw)
    subprocess.run([sys.executable, "-B", os.path.join(INPUTS, "make_tables.py"), folder, data], check=True)
    for name in ("study.toml", "embed.toml"):
        shutil.copy(os.path.join(INPUTS, name), folder)
    return data
