"""Writes random cases with the answers of numpy, scipy and scikit-learn, or of the definitions written out in
plain Python, as lines of numbers separated by commas, for reference_test.cpp to compare with candor's:

    confidence,  members, logits..., of each log(1 - p) and energy by scipy, deviation of the probabilities
    neighbors,   training rows, test rows, d, k, rows..., labels of the training rows..., for each test row
                 impurity and distance by scikit-learn
    mahalanobis, training rows, test rows, d, rows..., labels of the training rows..., condition and least
                 eigenvalue of S, distances by scikit-learn's covariance and scipy
    detection,   contexts, rows, patients, resamples, contexts of the rows..., errors..., patients..., scores
                 (score by score)..., weights (patients x resamples)..., for each score AUROC, its interval, gap
                 of impurity to it, its interval and p; then AURC of each score and of its resamples
    selection,   findings, encoders, patients, resamples, weights (patients x resamples)...; for each finding n,
                 logits..., thresholds..., labels..., patients..., probabilities..., p(t)..., mean threshold,
                 D..., impurities...; for micro, then macro, as they are, then for each resample: misses, false
                 alarms, balanced errors and gaps closed of each policy
"""

import math
import sys
import warnings

import numpy as np
from scipy import special
from scipy.spatial.distance import cdist
from sklearn.covariance import EmpiricalCovariance
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

CASES = {"confidence": 200, "neighbors": 60, "mahalanobis": 60, "detection": 60, "selection": 60}
NAN = float("nan")


def line(*parts):
    numbers = np.concatenate([np.ravel(np.asarray(part, dtype=float)) for part in parts[1:]])
    return ",".join([parts[0]] + [format(number, ".17g") for number in numbers])


def confidence(random):
    z = random.normal(0, random.choice([1, 10, 300]), random.integers(1, 7))
    scores = [[special.log_expit(-abs(one)), -special.logsumexp([one / 2, -one / 2])] for one in z]
    return line("confidence", len(z), z, scores, np.std(special.expit(z)))


def cohort(random, d):
    training, test = random.integers(30, 120), random.integers(1, 30)
    spread = random.choice([0.01, 0.3, 1])  # a narrow cone among them
    rows = random.normal(0, 1, d) + spread * random.normal(0, 1, (training + test, d)) * random.gamma(1, 1, d)
    label = random.random(training) < 0.4
    label[:2] = True, False
    rows[:training][label] += spread * random.normal(0, 0.5, d)
    return training, test, rows, label


def neighbors(random):
    d, k = random.integers(3, 40), random.integers(1, 12)
    training, test, rows, label = cohort(random, d)
    search = NearestNeighbors(n_neighbors=k, metric="cosine", algorithm="brute").fit(rows[:training])
    distance, index = search.kneighbors(rows[training:])
    impurity = 1 - abs(2 * label[index].mean(axis=1) - 1)
    return line("neighbors", training, test, d, k, rows, label, np.stack([impurity, distance[:, -1]], axis=1))


def mahalanobis(random):
    d = random.integers(1, 40)
    training, test, rows, label = cohort(random, d)
    if d == 1:
        rows = np.sign(rows)
        rows[:training:5] *= -1
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    means = np.stack([unit[:training][label == c].mean(axis=0) for c in (False, True)])
    within = unit[:training] - means[label.astype(int)]
    scatter = EmpiricalCovariance(assume_centered=True).fit(within).covariance_.reshape(d, d)
    s = scatter + 1e-3 * np.trace(scatter) / d * np.eye(d)
    distance = cdist(unit[training:], means, "mahalanobis", VI=np.linalg.inv(s)).min(axis=1)
    return line("mahalanobis", training, test, d, rows, label, np.linalg.cond(s),
                np.linalg.eigvalsh(s)[0], distance)


def pair_auroc(score, errs, context, times):
    """Of rows written out as often as they are drawn, pairs of one context alone."""
    wins = pairs = 0
    for c in np.unique(context):
        here = context == c
        a, wa = score[here & errs], times[here & errs]
        b, wb = score[here & ~errs], times[here & ~errs]
        both = wa[:, None] * wb[None, :]
        wins += (both * ((a[:, None] > b) + (a[:, None] == b) / 2)).sum()
        pairs += both.sum()
    return wins / pairs if pairs else NAN


def risk(score, errs, times):
    """A block of ties stands for its share of errors at each coverage."""
    total, covered, errors = 0.0, 0, 0.0
    for value in np.unique(score):
        block = np.repeat(errs[score == value], times[score == value])
        for _ in block:
            covered += 1
            errors += block.mean()
            total += errors / covered
    return total / covered if covered else NAN


def drawn(random, patients, resamples):
    return random.multinomial(patients, np.full(patients, 1 / patients), resamples).T


def interval(values):
    values = values[~np.isnan(values)]
    return np.quantile(values, [0.025, 0.975]) if len(values) else [NAN, NAN]


def detection(random):
    contexts, rows, patients = random.integers(1, 4), random.integers(2, 60), random.integers(2, 15)
    resamples = 40
    context = random.integers(0, contexts, rows)
    errs = random.random(rows) < random.choice([0.05, 0.4])
    patient = random.integers(0, patients, rows)
    weights = drawn(random, patients, resamples)
    score = random.normal(0, 1, (8, rows)) + errs
    score[0] = np.round(score[0])
    score[3] = 0.25  # says nothing: 1/2
    if random.random() < 0.3:
        score[5] = NAN
    times = [np.ones(rows, int)] + [w[patient] for w in weights.T]
    auroc = np.array([[pair_auroc(s, errs, context, t) for t in times] for s in score])
    if contexts == 1 and 0 < errs.sum() < rows:
        assert math.isclose(auroc[1, 0], roc_auc_score(errs, score[1]), abs_tol=1e-12)
    if np.isnan(score[5, 0]):
        auroc[5] = NAN
    answers = []
    for s in range(8):
        gap = auroc[0] - auroc[s] if s else np.full(resamples + 1, NAN)
        valid = gap[1:][~np.isnan(gap[1:])]
        p = min(1, 2 * min(1 + (valid <= 0).sum(), 1 + (valid >= 0).sum()) / (len(valid) + 1))
        p = p if len(valid) and not np.isnan(gap[0]) else NAN
        answers += [auroc[s, 0], *interval(auroc[s, 1:]), gap[0], *interval(gap[1:]), p]
    curves = [[NAN if np.isnan(s[0]) else risk(s, errs, t) for t in times] for s in score]
    return line("detection", contexts, rows, patients, resamples, context, errs, patient, score, weights, answers,
                curves)


def smallest(values):
    """Where the smallest value is; everywhere where all are undefined."""
    if all(np.isnan(values)):
        return [True] * len(values)
    return [v == np.nanmin(values) for v in values]


def policies(finding, side, times):
    """Expected errors of the rows with label `side`, and how many rows those are."""
    logit, threshold, label, _, probability, at_threshold, mean_threshold, d, impurity = finding
    encoders = len(threshold)
    rows, errors, by_encoder = 0, np.zeros(8), np.zeros(encoders)
    for x in np.flatnonzero(label == side):
        wrong = np.array([(logit[g, x] >= threshold[g]) != side for g in range(encoders)])
        by_encoder += times[x] * wrong
        mean = sum(probability[:, x]) / encoders
        choices = [smallest(-abs(probability[:, x] - at_threshold)), smallest(d), smallest(impurity[:, x])]
        errors += times[x] * np.array([
            wrong.mean(), wrong.all(), wrong.sum() > encoders / 2, 0, *[wrong[c].mean() for c in choices],
            (mean >= mean_threshold) != side])
        rows += times[x]
    errors[3] = rows * np.prod(by_encoder / rows) if rows else NAN
    return rows, errors


def rates(findings, all_times, micro):
    shares = []
    for side in (1, 0):
        parts = [policies(finding, side, times) for finding, times in zip(findings, all_times)]
        if micro:
            parts = [part for part in parts if part[0]]
            rows = sum(part[0] for part in parts)
            shares.append(sum(part[1] for part in parts) / rows if rows else np.full(8, NAN))
        elif any(part[0] == 0 for part in parts):
            shares.append(np.full(8, NAN))
        else:
            shares.append(np.mean([errors / rows for rows, errors in parts], axis=0))
    balanced = (shares[0] + shares[1]) / 2
    room = balanced[0] - balanced[1]
    # Sums of rounded numbers: equal but for rounding is equal.
    closed = (balanced[0] - balanced) / room if abs(room) > 1e-12 else np.full(8, NAN)
    return [*shares, balanced, closed]


def selection(random):
    count, encoders, patients = random.integers(1, 4), random.integers(1, 6), random.integers(2, 12)
    resamples = 12
    weights = drawn(random, patients, resamples)
    findings, parts = [], []
    for _ in range(count):
        n = random.integers(4, 30)
        label = random.integers(0, 2, n)
        label[:2] = 0, 1
        logit = random.normal(0, 1, (encoders, n)) + label
        probability = np.round(special.expit(logit), random.choice([1, 6]))  # ties
        impurity = random.integers(0, 3, (encoders, n)) / 5
        impurity[:, random.random(n) < 0.1] = NAN
        impurity[random.random((encoders, n)) < 0.1] = NAN
        d = np.round(random.random(encoders), 1)
        d[1:][random.random(encoders - 1) < 0.2] = NAN
        finding = [logit, random.normal(0, 0.5, encoders), label, random.integers(0, patients, n), probability,
                   random.random(encoders), 0.55 + random.random() / 100, d, impurity]
        findings.append(finding)
        parts += [n, *finding]
    answers = []
    for micro in (True, False):
        answers.append(rates(findings, [np.ones(len(f[2]), int) for f in findings], micro))
        answers += [rates(findings, [w[f[3]] for f in findings], micro) for w in weights.T]
    return line("selection", count, encoders, patients, resamples, weights, *parts, answers)


def write(path):
    warnings.simplefilter("ignore")  # of means of nothing, whose answer is nan here
    with open(path, "w", encoding="ascii") as file:
        for seed, (kind, cases) in enumerate(CASES.items()):
            random = np.random.default_rng(seed)
            for _ in range(cases):
                print(globals()[kind](random), file=file)


if __name__ == "__main__":
    write(sys.argv[1])
