"""Bootstrap, intervals and false discovery rates of the reference, in plain numpy."""

import math

import numpy as np

from reference.streams import stream_below


def resample_weights(seed, task, resamples, patients):
    """B x P: how often each patient was drawn."""
    w = np.zeros((resamples, patients), np.int64)
    for b in range(resamples):
        np.add.at(w[b], stream_below(seed, f"bootstrap/{task}", b, patients, patients), 1)
    return w


def divide(a, b):
    """a / b, NaN where b is 0."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    return np.divide(a, b, out=np.full(np.broadcast(a, b).shape, np.nan), where=b != 0)


def interval(replicates, confidence):
    valid = replicates[~np.isnan(replicates)]
    if not len(valid):
        return math.nan, math.nan, 0
    tail = (1 - confidence) / 2
    low, high = np.quantile(valid, [tail, 1 - tail], method="linear")
    return float(low), float(high), len(valid)


def constant_bound(share, patients, confidence):
    """Whether no resample moves a share (observed, then the resamples'), and the bound of Clopper and Pearson over
    patients where it is 0 or 1 then; NaN elsewhere. Of a mean of shares, with the patients of each: the mean of bounds
    that hold together."""
    patients = np.atleast_1d(patients)
    valid = share[1:][~np.isnan(share[1:])]
    same = bool(len(valid) and (valid == valid[0]).all())
    if not same or share[0] not in (0.0, 1.0):
        return same, math.nan, math.nan
    of_all = np.mean(((1 - confidence) / len(patients) / 2) ** (1 / patients))
    return (True, 0.0, 1 - of_all) if share[0] == 0 else (True, of_all, 1.0)


def bootstrap_p(replicates, null):
    valid = replicates[~np.isnan(replicates)]
    if not len(valid):
        return math.nan
    m = len(valid) + 1
    return min(1.0, 2 * min((1 + (valid <= null).sum()) / m, (1 + (valid >= null).sum()) / m))


def smallest_bootstrap_p(valid):
    """What `bootstrap_p` gives where every one of `valid` replicates lies on one side."""
    return 2 / (valid + 1)


def benjamini_hochberg(p):
    """q values; an undefined p stays undefined and does not count."""
    p = np.asarray(p, float)
    q = np.full(len(p), np.nan)
    defined = np.flatnonzero(~np.isnan(p))
    order = defined[np.argsort(p[defined], kind="stable")]
    running = 1.0
    for rank in range(len(order), 0, -1):
        running = min(running, p[order[rank - 1]] * len(order) / rank)
        q[order[rank - 1]] = running
    return q
