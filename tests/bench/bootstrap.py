#!/usr/bin/env python3
"""Times the patient bootstrap beside scikit-learn and numpy, on one core, weights included.

    usage: bootstrap.py BOOTSTRAP_BENCH [--rounds N] [--rows N] [--patients N] [--resamples N]
                        [--prevalence P]

Each round runs candor, then each peer on the same data; printed are the medians of the rounds, in processor
seconds. The peers' intervals stand beside candor's: they rest on other draws and must agree but for chance.
"""

import argparse
import os
import subprocess
import tempfile
import time

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"

import numpy as np
from sklearn.metrics import roc_auc_score

FINDINGS, ENCODERS = 12, 11
ENDS = [0.025, 0.975]


def draw(random, patients):
    """How often one resample draws each patient: the fastest way that numpy has."""
    return np.bincount(random.integers(0, patients, patients, dtype=np.int32), minlength=patients)


def multinomial(random, patients):
    """The same in one call, which is slower by far."""
    return random.multinomial(patients, np.full(patients, 1 / patients))


class Data:
    def __init__(self, random, rows, patients, prevalence):
        others = random.integers(0, patients, rows - patients)
        self.patient = random.permutation(np.concatenate([np.arange(patients), others])).astype(np.int32)
        self.patients = patients
        self.label = random.random(rows) < 0.3
        self.score = np.round(random.normal(size=rows) + self.label, 3)  # some ties
        self.query = random.random((FINDINGS, rows)) < prevalence
        self.hit = self.query[:, None] & (random.random((FINDINGS, ENCODERS, rows)) < 0.3)

    def write(self, folder):
        arrays = {
            "positive_score": self.score[self.label], "negative_score": self.score[~self.label],
            "positive_patient": self.patient[self.label], "negative_patient": self.patient[~self.label],
            "patient": self.patient, "query": self.query.astype(np.int8), "hit": self.hit.astype(np.int8)}
        for name, values in arrays.items():
            values.tofile(os.path.join(folder, name))


def sklearn_auroc(data, resamples, random):
    found = []
    for _ in range(resamples):
        weight = draw(random, data.patients)[data.patient]
        found.append(roc_auc_score(data.label, data.score, sample_weight=weight))
    return np.quantile(found, ENDS)


def numpy_auroc(data, resamples, random):
    """Sorted once; a resample is two gathers, a running sum and a product. Ties count half."""
    positive, negative = data.score[data.label], data.score[~data.label]
    order = np.argsort(negative)
    of_positive = data.patient[data.label].astype(np.intp)
    of_negative = data.patient[~data.label].astype(np.intp)[order]
    low = np.searchsorted(negative[order], positive, "left")
    high = np.searchsorted(negative[order], positive, "right")
    below = np.zeros(len(negative) + 1)
    found = np.empty(resamples)
    for b in range(resamples):
        weight = draw(random, data.patients).astype(float)
        np.cumsum(weight[of_negative], out=below[1:])
        w = weight[of_positive]
        found[b] = w @ (below[low] + below[high]) / (2 * w.sum() * below[-1])
    return np.quantile(found, ENDS)


def numpy_rates(data, resamples, random, one_draw=draw):
    """Added up by patient, then one product of matrices, in single precision exact for these sums."""
    columns = [*data.hit.reshape(-1, len(data.patient)), *data.query]
    sums = np.empty((data.patients, len(columns)), np.float32)
    for c, column in enumerate(columns):
        sums[:, c] = np.bincount(data.patient[column], minlength=data.patients)
    weights = np.empty((resamples, data.patients), np.float32)
    for b in range(resamples):
        weights[b] = one_draw(random, data.patients)
    totals = weights @ sums
    asked = np.repeat(totals[:, -FINDINGS:], ENCODERS, axis=1)
    return np.quantile(totals[:, :-FINDINGS] / asked, ENDS, axis=0)[:, 0]


def multinomial_rates(data, resamples, random):
    return numpy_rates(data, resamples, random, multinomial)


def timed(work, data, resamples, random):
    start = time.process_time()
    interval = work(data, resamples, random)
    return time.process_time() - start, interval


def candor(program, folder, data, resamples):
    out = subprocess.run([program, folder, str(data.patients), str(resamples)], check=True,
                         capture_output=True, text=True)
    lines = [[float(field) for field in line.split()] for line in out.stdout.splitlines()]
    return [(line[0], np.array(line[1:])) for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--patients", type=int, default=8000)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--prevalence", type=float, default=1.0, help="share of the rows that a finding asks")
    args = parser.parse_args()
    random = np.random.default_rng(1)
    data = Data(random, args.rows, args.patients, args.prevalence)
    few = max(1, args.resamples // 20)  # scikit-learn takes seconds: a part of the resamples, scaled
    peers = {"scikit-learn AUROC": (sklearn_auroc, few, 0), "numpy AUROC": (numpy_auroc, args.resamples, 0),
             "numpy rates": (numpy_rates, args.resamples, 1),
             "numpy multinomial rates": (multinomial_rates, args.resamples, 1)}
    ours, seconds = [], {name: [] for name in peers}
    with tempfile.TemporaryDirectory() as folder:
        data.write(folder)
        for _ in range(args.rounds):
            ours.append(candor(args.program, folder, data, args.resamples))
            for name, (work, resamples, _) in peers.items():
                took, interval = timed(work, data, resamples, random)
                seconds[name].append((took * args.resamples / resamples, interval))
    for name, (_, _, kind) in peers.items():
        candor_seconds = np.array([one[kind][0] for one in ours])
        peer_seconds = np.array([took for took, _ in seconds[name]])
        ratios = peer_seconds / candor_seconds
        print(f"{name:24s} {np.median(peer_seconds):8.4f} s, interval {seconds[name][-1][1].round(4)};  "
              f"candor {np.median(candor_seconds):7.4f} s, interval {ours[-1][kind][1].round(4)};  "
              f"ratio {np.median(ratios):6.1f} ({ratios.min():.1f} to {ratios.max():.1f})")


if __name__ == "__main__":
    main()
