"""Writes random cases with the answers of numpy, scipy, statsmodels and scikit-learn as lines of numbers
separated by commas, for reference_test.cpp to compare with candor's:

    bh,        m, p..., q...
    auroc,     positives, negatives, patients, resamples, positive scores..., positive patients...,
               negative scores..., negative patients..., weights (patients x resamples)..., observed AUROC,
               for each resample: 2 x wins, pairs, AUROC
    quantile,  n, confidence, values..., interval low, high, lower quartile, median, upper quartile
    binomial,  k, n, confidence, low, high
"""

import sys
import warnings

import numpy as np
from sklearn.metrics import roc_auc_score
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

CASES = {"bh": 1000, "auroc": 200, "quantile": 200, "binomial": 200}


def line(*parts):
    numbers = np.concatenate([np.ravel(np.asarray(part, dtype=float)) for part in parts[1:]])
    return ",".join([parts[0]] + [format(number, ".17g") for number in numbers])


def bh(random):
    m = random.integers(1, 200)
    p = random.beta(random.choice([0.3, 1.0]), 1.0, m)
    if random.random() < 0.5:  # ties, as a test with a floor gives
        p = np.clip(np.round(p * 50) / 50, 0.02, 1)
    p[random.random(m) < random.choice([0, 0.2])] = np.nan
    q = np.full(m, np.nan)
    defined = ~np.isnan(p)
    if defined.any():
        q[defined] = multipletests(p[defined], method="fdr_bh")[1]
    return line("bh", m, p, q)


def auroc(random):
    patients = random.integers(1, 12)
    resamples = random.integers(1, 65)
    weights = random.multinomial(patients, np.full(patients, 1 / patients), resamples).T
    positives, negatives = random.integers(1, 40, 2)
    values = random.choice([2, 5, 100000])
    score = random.integers(0, values, positives + negatives) / values
    patient = random.integers(0, patients, positives + negatives)
    label = np.arange(positives + negatives) < positives
    won = score[label][:, None] > score[~label][None, :]
    tied = score[label][:, None] == score[~label][None, :]
    answers = []
    for w in weights.T:
        pair = w[patient[label]][:, None] * w[patient[~label]][None, :]
        pairs = pair.sum()
        weighted = roc_auc_score(label, score, sample_weight=w[patient]) if pairs else np.nan
        answers += [(pair * (2 * won + tied)).sum(), pairs, weighted]
    return line("auroc", positives, negatives, patients, resamples, score[label], patient[label],
                score[~label], patient[~label], weights, roc_auc_score(label, score), answers)


def quantile(random):
    n = random.integers(1, 300)
    confidence = random.choice([0.5, 0.9, 0.95, 0.99])
    values = random.normal(random.choice([0, 100]), 1, n)
    if random.random() < 0.3:
        values = np.round(values)
    tail = (1 - confidence) / 2
    return line("quantile", n, confidence, values, np.quantile(values, [tail, 1 - tail, 0.25, 0.5, 0.75]))


def binomial(random):
    n = int(10 ** random.uniform(0, 5))
    k = random.choice([0, n, random.integers(0, n + 1)])
    confidence = random.choice([0.9, 0.95, 0.99])
    return line("binomial", k, n, confidence, proportion_confint(k, n, 1 - confidence, method="beta"))


def write(path):
    # Fixed seeds: the same cases at every run. Resamples without a class warn; their answer is nan here.
    warnings.simplefilter("ignore")
    with open(path, "w", encoding="ascii") as file:
        for seed, (kind, cases) in enumerate(CASES.items()):
            random = np.random.default_rng(seed)
            for _ in range(cases):
                print(globals()[kind](random), file=file)


if __name__ == "__main__":
    write(sys.argv[1])
