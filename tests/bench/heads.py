#!/usr/bin/env python3
"""Times the training of heads beside PyTorch and beside bare products of matrices, in processor seconds.

    usage: heads.py HEADS_PROBE [--rows N] [--dimension N] [--hidden-epochs N] [--part N]

Made features, 12 findings x 5 members. candor trains the linear heads for 30 epochs on 2 threads, the hidden ones for
fewer (one epoch is like the other). PyTorch (torch.optim.Adam, the same batches) trains linear heads one by one, and as one
wide layer a member: a part of the work on one thread, scaled. Last stands what share of the rate of a large sgemm, taken in the same
process, the hidden heads reach.
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

torch.set_num_threads(1)

FINDINGS, MEMBERS, EPOCHS, BATCH, UNITS = 12, 5, 30, 256, 256


def made(rows, dimension):
    random = np.random.default_rng(1)
    features = random.standard_normal((rows, dimension), np.float32)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    labels = (random.random((FINDINGS, rows)) < 0.2).astype(np.int8)
    labels[random.random(labels.shape) < 0.1] = -1
    return features, labels


def candor(program, folder, kind, dimension, epochs, members):
    """Processor seconds of training, and operations a processor second of a large product."""
    words = [program, folder, kind, str(dimension), str(epochs), "42", str(members), "2"]
    out = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [float(word) for word in out.split()]


def batches(rows, epochs):
    for epoch in range(epochs):
        yield from torch.from_numpy(np.random.default_rng(epoch).permutation(rows)).split(BATCH)


def adam(model):
    return torch.optim.Adam(model.parameters(), lr=0.001, weight_decay=1e-4)


def torch_one_by_one(features, labels, epochs):
    """One head; its rows without a label are left out beforehand."""
    known = labels[0] >= 0
    x, y = torch.from_numpy(features[known]), torch.from_numpy(labels[0][known].astype(np.float32))
    model = torch.nn.Linear(x.shape[1], 1)
    step, loss = adam(model), torch.nn.BCEWithLogitsLoss()
    start = time.process_time()
    for batch in batches(len(x), epochs):
        step.zero_grad()
        loss(model(x[batch])[:, 0], y[batch]).backward()
        step.step()
    return time.process_time() - start


def torch_wide(features, labels, epochs):
    """All findings of one member as one layer with a mask."""
    x, y = torch.from_numpy(features), torch.from_numpy(labels.T.astype(np.float32).copy())
    model = torch.nn.Linear(x.shape[1], FINDINGS)
    step, loss = adam(model), torch.nn.BCEWithLogitsLoss(reduction="none")
    start = time.process_time()
    for batch in batches(len(x), epochs):
        step.zero_grad()
        target = y[batch]
        known = (target >= 0).float()
        values = loss(model(x[batch]), target.clamp(min=0)) * known
        (values.sum(0) / known.sum(0).clamp(min=1)).sum().backward()
        step.step()
    return time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--rows", type=int, default=25000)
    parser.add_argument("--dimension", type=int, default=1024)
    parser.add_argument("--hidden-epochs", type=int, default=2)
    parser.add_argument("--part", type=int, default=2, help="epochs that PyTorch trains, of 30")
    args = parser.parse_args()
    features, labels = made(args.rows, args.dimension)
    with tempfile.TemporaryDirectory() as folder:
        features.tofile(os.path.join(folder, "features"))
        labels.tofile(os.path.join(folder, "labels"))
        linear, _ = candor(args.program, folder, "linear", args.dimension, EPOCHS, MEMBERS)
        hidden, rate = candor(args.program, folder, "hidden", args.dimension, args.hidden_epochs, 2)
    print(f"linear: {MEMBERS * FINDINGS} heads, {EPOCHS} epochs of {args.rows} x {args.dimension}, 2 threads: candor {linear:.1f} s")
    scale = MEMBERS * EPOCHS / args.part
    for name, seconds in (("one by one", torch_one_by_one(features, labels, args.part) * FINDINGS * scale),
                          ("one wide layer a member", torch_wide(features, labels, args.part) * scale)):
        print(f"    PyTorch, {name}: {seconds:.0f} s, {seconds / linear:.0f} times as much")
    # Both products of every row with every unit; only whole batches are computed.
    operations = 4 * -(-args.rows // BATCH) * BATCH * args.dimension * UNITS * FINDINGS * 2 * args.hidden_epochs
    reached = operations / hidden
    print(f"hidden: 2 x {FINDINGS} heads, {args.hidden_epochs} epochs: candor {hidden:.1f} s, {reached / 1e9:.0f} "
          f"of {rate / 1e9:.0f} G/s that a large sgemm reaches: {reached / rate:.0%}")


if __name__ == "__main__":
    main()
