"""Heads as METHODS 8 states them, in double and one finding at a time (numpy)."""

import numpy as np

from reference import streams

BATCH, UNITS = 256, 256
RATE, BETA1, BETA2, EPSILON, DECAY = 0.001, 0.9, 0.999, 1e-8, 1e-4


def shapes(kind, d):
    """The parameters in the order in which they are stored, each with the fan-in of its unit."""
    if kind == "linear":
        return [((d,), d), ((), d)]
    return [((UNITS, d), d), ((UNITS,), d), ((UNITS,), UNITS), ((), UNITS)]


def split(row, kind, d):
    """A row of stored numbers as the parameters it holds."""
    parts, at = [], 0
    for shape, _ in shapes(kind, d):
        size = int(np.prod(shape))
        parts.append(np.array(row[at:at + size], np.float64).reshape(shape))
        at += size
    assert at == len(row)
    return parts


def initial(kind, dataset, finding, seed, d):
    bounds = np.concatenate([np.full(int(np.prod(shape)), fan_in ** -0.5) for shape, fan_in in shapes(kind, d)])
    uniform = streams.stream_uniform(seed, f"heads/{kind}/{dataset}/{finding}", 0, len(bounds))
    return (2 * uniform - 1) * bounds


def epoch_order(seed, dataset, epoch, rows):
    order = np.arange(rows)
    swaps = streams.stream_below(seed, f"heads/order/{dataset}", epoch, rows + 1, np.maximum(np.arange(rows + 1), 1))
    for i in range(rows, 1, -1):
        j = swaps[i]
        order[i - 1], order[j] = order[j], order[i - 1]
    return order


def logits(parts, x):
    if len(parts) == 2:
        w, b = parts
        return x @ w + b
    w, c, v, b = parts
    return np.maximum(x @ w.T + c, 0) @ v + b


def gradient(parts, x, y):
    """Of the mean binary cross-entropy over the rows of x, all labelled."""
    g = (1 / (1 + np.exp(-logits(parts, x))) - y) / len(y)
    if len(parts) == 2:
        return [g @ x, g.sum()]
    w, c, v, _ = parts
    h = x @ w.T + c
    by_hidden = (h > 0) * np.outer(g, v)
    return [by_hidden.T @ x, by_hidden.sum(0), g @ np.maximum(h, 0), g.sum()]


def train(kind, row, features, labels, orders):
    """The parameters after the epochs whose orders are given, from the stored numbers `row`. labels: 1, 0, -1."""
    d = features.shape[1]
    parts = split(row, kind, d)
    first, second = [np.zeros_like(p) for p in parts], [np.zeros_like(p) for p in parts]
    step = 0
    for order in orders:
        for start in range(0, len(order), BATCH):
            batch = order[start:start + BATCH]
            batch = batch[labels[batch] >= 0]
            if len(batch) == 0:
                continue
            step += 1
            by_part = gradient(parts, features[batch], labels[batch])
            for i, by in enumerate(by_part):
                g = by + DECAY * parts[i]
                first[i] = BETA1 * first[i] + (1 - BETA1) * g
                second[i] = BETA2 * second[i] + (1 - BETA2) * g * g
                m, v = first[i] / (1 - BETA1 ** step), second[i] / (1 - BETA2 ** step)
                parts[i] = parts[i] - RATE * m / (np.sqrt(v) + EPSILON)
    return parts
