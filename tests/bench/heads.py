#!/usr/bin/env python3
"""Times the training of heads beside PyTorch and beside bare products of matrices, in processor seconds and elapsed.

    usage: heads.py HEADS_PROBE [--rows N] [--dimension N] [--hidden-epochs N] [--part N] [--threads N]

Made features, 12 findings x 5 members. candor trains the linear heads for 30 epochs on 2 threads, the hidden ones for
fewer (one epoch is like the other). PyTorch (torch.optim.Adam, batches of 256) trains linear heads one by one, and as one wide
layer a member, each with rows served by a DataLoader, as its guides show, and with rows taken by index from one tensor,
which is its fastest: a part of the work, scaled, on one thread unless told. Last stands what share of the rate of a large
sgemm, taken in the same process, the hidden heads reach. What has elapsed means something only where nothing else runs.
"""

import argparse
import os
import subprocess
import tempfile
import time

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"

import numpy as np
import torch

FINDINGS, MEMBERS, EPOCHS, BATCH, UNITS = 12, 5, 30, 256, 256


def made(rows, dimension):
    random = np.random.default_rng(1)
    features = random.standard_normal((rows, dimension), np.float32)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    labels = (random.random((FINDINGS, rows)) < 0.2).astype(np.int8)
    labels[random.random(labels.shape) < 0.1] = -1
    return features, labels


def candor(program, folder, kind, dimension, epochs, members):
    """Processor seconds of training, operations a processor second of a large product, seconds elapsed."""
    words = [program, folder, kind, str(dimension), str(epochs), "42", str(members), "2"]
    out = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [float(word) for word in out.split()]


def by_index(x, y, epochs):
    for epoch in range(epochs):
        for batch in torch.from_numpy(np.random.default_rng(epoch).permutation(len(x))).split(BATCH):
            yield x[batch], y[batch]


def by_loader(x, y, epochs):
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=BATCH, shuffle=True)
    for _ in range(epochs):
        yield from loader


def torch_seconds(batches, features, labels, epochs):
    """Processor seconds and seconds elapsed: one layer with an output for each row of `labels`, those of -1 masked."""
    x, y = torch.from_numpy(features), torch.from_numpy(labels.T.astype(np.float32).copy())
    model = torch.nn.Linear(x.shape[1], len(labels))
    adam = torch.optim.Adam(model.parameters(), lr=0.001, weight_decay=1e-4)
    loss = torch.nn.BCEWithLogitsLoss(reduction="none")
    start = time.process_time(), time.perf_counter()
    for rows, target in batches(x, y, epochs):
        adam.zero_grad()
        known = (target >= 0).float()
        values = loss(model(rows), target.clamp(min=0)) * known
        (values.sum(0) / known.sum(0).clamp(min=1)).sum().backward()
        adam.step()
    return np.array([time.process_time() - start[0], time.perf_counter() - start[1]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--rows", type=int, default=25000)
    parser.add_argument("--dimension", type=int, default=1024)
    parser.add_argument("--hidden-epochs", type=int, default=2)
    parser.add_argument("--part", type=int, default=1, help="epochs that PyTorch trains, of 30")
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    features, labels = made(args.rows, args.dimension)
    with tempfile.TemporaryDirectory() as folder:
        features.tofile(os.path.join(folder, "features"))
        labels.tofile(os.path.join(folder, "labels"))
        linear, _, elapsed = candor(args.program, folder, "linear", args.dimension, EPOCHS, MEMBERS)
        hidden, rate, _ = candor(args.program, folder, "hidden", args.dimension, args.hidden_epochs, 2)
    print(f"linear: {MEMBERS * FINDINGS} heads, {EPOCHS} epochs of {args.rows} x {args.dimension}, 2 threads: "
          f"candor {linear:.1f} s, elapsed {elapsed:.1f} s")
    scale = MEMBERS * EPOCHS / args.part
    for way, batches in (("DataLoader", by_loader), ("by index", by_index)):
        alone = torch_seconds(batches, features, labels[:1], args.part) * FINDINGS * scale
        wide = torch_seconds(batches, features, labels, args.part) * scale
        for name, seconds in (("one by one", alone), ("one wide layer a member", wide)):
            print(f"    PyTorch, {name}, {way}: {seconds[0]:.0f} s, {seconds[0] / linear:.1f} times as much; elapsed "
                  f"{seconds[1]:.0f} s, {seconds[1] / elapsed:.1f} times")
    # Both products of every row with every unit; only whole batches are computed.
    operations = 4 * -(-args.rows // BATCH) * BATCH * args.dimension * UNITS * FINDINGS * 2 * args.hidden_epochs
    reached = operations / hidden
    print(f"hidden: 2 x {FINDINGS} heads, {args.hidden_epochs} epochs: candor {hidden:.1f} s, {reached / 1e9:.0f} "
          f"of {rate / 1e9:.0f} G/s that a large sgemm reaches: {reached / rate:.0%}")


if __name__ == "__main__":
    main()
