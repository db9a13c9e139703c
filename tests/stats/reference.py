"""Writes random cases with the answers of numpy, scipy, statsmodels and scikit-learn as lines of numbers
separated by commas, for reference_test.cpp to compare with candor's:

    bh,        m, p..., q...
    auroc,     positives, negatives, patients, resamples, positive scores..., positive patients...,
               negative scores..., negative patients..., weights (patients x resamples)..., observed AUROC,
               for each resample: 2 x wins, pairs, AUROC
    quantile,  n, confidence, values..., interval low, high, lower quartile, median, upper quartile
    binomial,  k, n, confidence, low, high
    hypergeometric, N, a, b, o, log10 of the upper tail by scipy
    overlap,   contexts, N, a, b of each..., o, log10 of the upper tail of their sum, E[J]
    spearman,  n, x..., y..., rho, p
    weighted,  pairs, patients, resamples, x..., y..., patients..., weights (patients x resamples)...,
               rho of each resample
    permutation, n, x..., y..., p over all orders
    straight,  n, x..., y..., slope, intercept, standard error, p
    aurc,      rows, patients, resamples, scores..., outcomes..., patients..., weights (patients x
               resamples)..., AURC by definition, of each resample likewise
    platt,     n, scores..., labels..., scikit-learn's slope and intercept, how far its search may have
               stopped from the minimum, slope and intercept after Newton steps from there

The kinds `aurc` (exact fractions; a block of ties takes its mean risk at each coverage) and `overlap` have no other people's answer: they are made of Python's integers, without rounding.
"""

import itertools
import math
import sys
import warnings
from fractions import Fraction

import numpy as np
from scipy import special, stats
from sklearn.calibration import _SigmoidCalibration
from sklearn.metrics import roc_auc_score
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

CASES = {"bh": 1000, "auroc": 200, "quantile": 200, "binomial": 200, "hypergeometric": 1000, "overlap": 1000,
         "spearman": 1000, "weighted": 200, "permutation": 100,
         "straight": 1000, "aurc": 100, "platt": 200}


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


def sets(random, most):
    """N, a, b; small, equal and nearly full sets among them."""
    population = int(most ** random.uniform(0, 1))
    shares = random.beta(*random.choice([[1, 1], [1, 9], [9, 1]]), 2)
    return population, int(shares[0] * population), int(shares[1] * population)


def hypergeometric(random):
    population, first, second = sets(random, 3000)
    middle, most = first * second / population, min(first, second)
    overlap = random.integers(0, most + 1)
    if random.random() < 0.5:
        overlap = min(max(round(random.normal(middle, 1 + math.sqrt(middle))), 0), most)
    tail = stats.hypergeom.logsf(overlap - 1, population, first, second) / math.log(10)
    return line("hypergeometric", population, first, second, overlap, tail)


def log10(value):
    """Of an exact fraction, to a few roundings however small it or what it lacks of 1 is."""
    if value > Fraction(1, 2):
        lack = 1 - value
        return math.log1p(-float(lack)) / math.log(10)
    scale = max(0, value.denominator.bit_length() - value.numerator.bit_length())
    return math.log10(value * 2**scale) - scale * math.log10(2)


def overlap(random):
    contexts = [sets(random, 120) for _ in range(random.choice([1, 1, 2, 3, 6]))]
    ways = [1]
    for population, first, second in contexts:
        here = [math.comb(first, k) * math.comb(population - first, second - k)
                for k in range(min(first, second) + 1)]
        sums = [0] * (len(ways) + len(here) - 1)
        for (i, x), (j, y) in itertools.product(enumerate(ways), enumerate(here)):
            sums[i + j] += x * y
        ways = sums
    all_ways = sum(ways)
    possible = [k for k, count in enumerate(ways) if count]
    wanted = int(random.choice(possible))
    tail = Fraction(sum(ways[wanted:]), all_ways)
    sizes = sum(first + second for _, first, second in contexts)
    jaccard = np.nan
    if sizes:
        jaccard = sum(Fraction(ways[k] * k, sizes - k) for k in possible) / all_ways
    return line("overlap", len(contexts), contexts, wanted, log10(tail), jaccard)


def pairs(random, least, most):
    n = random.integers(least, most + 1)
    x, noise = random.normal(0, 1, (2, n))
    y = random.normal(0, 1) * x + noise
    if random.random() < 0.5:  # ties
        x, y = np.round(2 * x), np.round(2 * y)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return pairs(random, least, most)
    return n, x, y


def spearman(random):
    n, x, y = pairs(random, 3, 60)
    return line("spearman", n, x, y, *stats.spearmanr(x, y))


def weighted(random):
    n, x, y = pairs(random, 3, 60)
    patients, resamples = random.integers(1, 20), random.integers(1, 65)
    weights = random.multinomial(patients, np.full(patients, 1 / patients), resamples).T
    patient = random.integers(0, patients, n)
    rho = []
    for w in weights.T:
        times = w[patient]
        drawn = np.repeat(x, times), np.repeat(y, times)
        rho.append(stats.spearmanr(*drawn)[0] if times.sum() > 2 else np.nan)
    return line("weighted", n, patients, resamples, x, y, patient, weights, rho)


def permutation(random):
    n, x, y = pairs(random, 3, 6)
    ranks = 2 * stats.rankdata(x) - n - 1
    others = 2 * stats.rankdata(y) - n - 1
    sums = np.abs(np.array(list(itertools.permutations(others))) @ ranks)
    return line("permutation", n, x, y, np.mean(sums >= abs(ranks @ others)))


def straight(random):
    n, x, y = pairs(random, 3, 60)
    fit = stats.linregress(x, y)
    return line("straight", n, x, y, fit.slope, fit.intercept, fit.stderr, fit.pvalue)


def risks(score, wrong):
    """The sum of the risks at all coverages: each row of a block of ties stands for the block's share."""
    total, covered, errors = Fraction(0), 0, Fraction(0)
    for value in sorted(set(score)):
        block = [int(w) for s, w in zip(score, wrong) if s == value]
        for _ in block:
            covered += 1
            errors += Fraction(sum(block), len(block))
            total += errors / covered
    return float(total / covered) if covered else np.nan


def aurc(random):
    rows, patients, resamples = random.integers(1, 25), random.integers(1, 9), random.integers(1, 9)
    weights = random.multinomial(patients, np.full(patients, 1 / patients), resamples).T
    score = random.integers(0, random.choice([2, 5, 1000]), rows)
    wrong = random.random(rows) < random.choice([0.1, 0.5])
    patient = random.integers(0, patients, rows)
    drawn = [risks(np.repeat(score, w[patient]), np.repeat(wrong, w[patient])) for w in weights.T]
    return line("aurc", rows, patients, resamples, score, wrong, patient, weights, risks(score, wrong), drawn)


def platt(random):
    n = random.integers(2, 400)
    label = random.random(n) < random.choice([0.1, 0.5])
    label[:2] = True, False
    score = random.normal(0, 1, n) + random.choice([-1, 0, 1, 8]) * label
    if random.random() < 0.3:
        score = np.round(score)
    if np.ptp(score) == 0:
        return platt(random)
    peer = _SigmoidCalibration().fit(score, label)
    positives, negatives = label.sum(), n - label.sum()
    target = np.where(label, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    terms = np.stack([score, np.ones(n)])
    found, steps = np.array([-peer.a_, -peer.b_]), []
    for _ in range(8):
        p = special.expit(found @ terms)
        step = np.linalg.solve(terms * (p * (1 - p)) @ terms.T, terms @ (p - target))
        found = found - step
        steps.append(step)
    return line("platt", n, score, label, -peer.a_, -peer.b_, np.linalg.norm(steps[0]), found)


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
