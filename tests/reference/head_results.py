"""What heads, detection and selection should say, a second time: from the outputs of the heads that the results
file holds, the features and the tables, in plain numpy (METHODS 8, 9, 10).

Shapes: E encoders, F findings, N validation and test rows, T test rows, B resamples.
"""

import math

import numpy as np

from reference.inference import benjamini_hochberg, bootstrap_p, constant_bound, divide, interval

SCORES = ("impurity", "msp", "max_logit", "energy", "ensemble", "mahalanobis", "neighbor_distance",
          "threshold_distance")
POLICIES = ("single", "oracle", "majority", "independent", "most_confident", "lowest_d", "lowest_impurity",
            "mean_probability")


def decode(values):
    return np.array([v.decode() for v in values])


class Heads:
    """A group /heads/TASK/DATASET."""

    def __init__(self, group):
        self.encoders, self.findings = decode(group["encoder"][:]), decode(group["finding"][:])
        self.image, self.context, split = (decode(group[c][:]) for c in ("image_id", "context", "split"))
        self.patient = decode(group["patient_id"][:])
        self.validation, self.test = split == "val", split == "test"
        self.label = group["label"][:]
        shape = len(self.encoders), len(self.findings), len(split)
        self.of = {name: group[name][:].reshape(shape) for name in group if group[name].ndim == 2
                   and name != "label"}


def threshold_of(z, label, sensitivity):
    """The largest threshold that finds enough positives, and what it finds; NaN without positives."""
    positive = np.sort(z[label == 1])
    for t in positive[::-1]:
        found = (positive >= t).sum() / len(positive)
        if found >= sensitivity:
            return t, found
    return math.nan, math.nan


def pair_sums(score, positive, context, times):
    """Twice the wins, and pairs, of positive over other rows of one context: as they are and a resample each.

    times  (1 + B) x rows
    """
    wins, pairs = np.zeros(len(times)), np.zeros(len(times))
    for c in np.unique(context):
        p, n = (context == c) & positive, (context == c) & ~positive
        a, b = score[p][:, None], score[n][None, :]
        won = 2.0 * (a > b) + (a == b)
        wins += ((times[:, p] @ won) * times[:, n]).sum(axis=1)
        pairs += times[:, p].sum(axis=1) * times[:, n].sum(axis=1)
    return wins, pairs


def auroc(sums):
    return divide(sums[0], 2 * sums[1])


def aurc(score, wrong, times):
    """Mean risk over coverages, tied rows in every order alike often; a drawn row stands there that often."""
    out = []
    for w in times:
        total = covered = errors = 0.0
        for value in np.unique(score):
            block = score == value
            m, e = int(w[block].sum()), float((w[block] * wrong[block]).sum())
            total += sum((errors + i * e / m) / (covered + i) for i in range(1, m + 1))
            covered, errors = covered + m, errors + e
        out.append(total / covered if covered else math.nan)
    return np.array(out)


def risks(score, wrong, points):
    """Risk at coverages 1/points .. 1: a tied row is wrong as often as its block."""
    order = np.argsort(score, kind="stable")
    expected = np.array([wrong[score == s].mean() for s in score[order]])
    covered = [-(-len(score) * i // points) for i in range(1, points + 1)]
    return (np.cumsum(expected) / np.arange(1, len(score) + 1))[np.array(covered) - 1]


def risk_rows(heads, thresholds, points):
    """{(level, encoder, score, point): mean risk of the cells}."""
    curves = {}
    for dataset, of in heads.items():
        for e, encoder in enumerate(of.encoders):
            for f, finding in enumerate(of.findings):
                t = thresholds[encoder, dataset, finding]
                score, label = scores_of(of, e, f, t), of.label[f, of.test]
                takes = ~np.isnan(label) & ~np.isnan(score[0])
                wrong = ((of.of["z_linear"][e, f, of.test] >= t) != (label == 1))[takes]
                by_name = dict(zip(SCORES, score[:, takes])) | {"oracle": wrong.astype(float)}
                for name, values in by_name.items():
                    for group in (("encoder", encoder, name), ("task", "", name)):
                        curves.setdefault(group, []).append(risks(values, wrong, points))
    return {(*group, i + 1): risk for group, of in curves.items() for i, risk in enumerate(np.mean(of, axis=0))}


def estimate(replicates, confidence):
    low, high, valid = interval(replicates[1:], confidence)
    return float(replicates[0]), low, high, valid


def geometry(training, test, training_label, training_context, test_context, k):
    """Impurity, distance to the k-th and Mahalanobis distance of test rows; rows of norm 1, all labelled."""
    impurity, distance = np.full(len(test), np.nan), np.full(len(test), np.nan)
    for i, x in enumerate(test):
        here = np.flatnonzero(training_context == test_context[i])
        if len(here) < k:
            continue
        cosine = training[here] @ x
        nearest = here[np.argsort(-cosine, kind="stable")[:k]]
        impurity[i] = 1 - abs(2 * training_label[nearest].mean() - 1)
        distance[i] = 1 - np.sort(cosine)[-k]
    means = [training[training_label == c].mean(axis=0) for c in (0, 1)]
    centred = training - np.array(means)[training_label.astype(int)]
    scatter = centred.T @ centred / len(training)
    scatter += 1e-3 * np.trace(scatter) / len(scatter) * np.eye(len(scatter))
    inverse = np.linalg.inv(scatter)
    apart = [np.sqrt(np.einsum("ij,jk,ik->i", test - m, inverse, test - m)) for m in means]
    return impurity, distance, np.minimum(*apart)


def scores_of(heads, e, f, threshold):
    """8 x test rows."""
    z = heads.of["z_linear"][e, f, heads.test]
    size = np.abs(z)
    by_name = {name: heads.of[name][e, f, heads.test]
               for name in ("impurity", "ensemble", "mahalanobis", "neighbor_distance")}
    by_name |= {"msp": -size - np.log1p(np.exp(-size)), "max_logit": -size,
                "energy": -(size / 2 + np.log1p(np.exp(-size))), "threshold_distance": -np.abs(z - threshold)}
    return np.stack([by_name[name] for name in SCORES])


def detection_rows(study, task, heads, thresholds, times):
    """{(level, encoder, dataset, context, finding, score): row}.

    heads       {dataset: Heads}
    thresholds  {(encoder, dataset, finding): t}
    times       {dataset: (1 + B) x test rows}
    """
    confidence, rows, pooled, cells = study["confidence"], {}, {}, []
    for dataset, of in heads.items():
        context, w = of.context[of.test], times[dataset]
        for e, encoder in enumerate(of.encoders):
            for f, finding in enumerate(of.findings):
                score = scores_of(of, e, f, thresholds[encoder, dataset, finding])
                label = of.label[f, of.test]
                takes = ~np.isnan(label) & ~np.isnan(score[0])
                z = of.of["z_linear"][e, f, of.test]
                wrong = (z >= thresholds[encoder, dataset, finding]) != (label == 1)
                score, wrong, c, times_of = score[:, takes], wrong[takes], context[takes], w[:, takes]
                cell = "cell", encoder, dataset, "", finding
                counts = {"rows": takes.sum(), "errors": wrong.sum(),
                          "without_neighbors": (~np.isnan(label) & ~takes).sum()}
                sums = [pair_sums(s, wrong, c, times_of) for s in score]
                gaps = [auroc(sums[0]) - auroc(s) for s in sums]
                cells.append((cell, gaps))
                for s, name in enumerate(SCORES):
                    row = dict(counts, pairs=sums[s][1][0])
                    row["auroc"], row["auroc_low"], row["auroc_high"], row["n_boot_valid"] = estimate(
                        auroc(sums[s]), confidence)
                    row["aurc"], row["aurc_low"], row["aurc_high"], _ = estimate(
                        aurc(score[s], wrong, times_of), confidence)
                    rows[(*cell, name)] = row
                groups = [("encoder", encoder, "", "", ""), ("dataset", "", dataset, "", ""),
                          ("task", "", "", "", "")]
                for group in groups:
                    for s in range(len(SCORES)):
                        pooled.setdefault(group, []).append((s, sums[s], gaps[s], counts))
                for one in np.unique(c):
                    part = [pair_sums(s[c == one], wrong[c == one], c[c == one], times_of[:, c == one])
                            for s in score]
                    inside = {"rows": (c == one).sum(), "errors": wrong[c == one].sum(), "without_neighbors": 0}
                    for s in range(len(SCORES)):
                        pooled.setdefault(("context", "", "", str(one), ""), []).append(
                            (s, part[s], auroc(part[0]) - auroc(part[s]), inside))
    for group, parts in pooled.items():
        first = sum(p[1] for s, p, _, _ in parts if s == 0), sum(p[0] for s, p, _, _ in parts if s == 0)
        for s, name in enumerate(SCORES):
            mine = [p for p in parts if p[0] == s]
            sums = sum(p[1][0] for p in mine), sum(p[1][1] for p in mine)
            row = {key: sum(p[3][key] for p in mine) for key in mine[0][3]}
            row["pairs"] = sums[1][0]
            row["auroc"], row["auroc_low"], row["auroc_high"], row["n_boot_valid"] = estimate(auroc(sums),
                                                                                              confidence)
            gap = auroc((first[1], first[0])) - auroc(sums)
            if s:
                row["gap"], row["gap_low"], row["gap_high"], row["gap_n_boot_valid"] = estimate(gap, confidence)
                row["p"] = bootstrap_p(gap[1:], 0) if not math.isnan(gap[0]) else math.nan
                value = np.array([p[2][0] for p in mine])
                ends = [interval(p[2][1:], confidence) for p in mine]
                row["won"], row["lost"], row["even"] = ((value > 0).sum(), (value < 0).sum(), (value == 0).sum())
                row["undecided"] = np.isnan(value).sum()
                row["clearly_won"] = sum(v > 0 and end[0] > 0 for v, end in zip(value, ends))
                row["clearly_lost"] = sum(v < 0 and end[1] < 0 for v, end in zip(value, ends))
            rows[(*group, name)] = row
    for s, name in enumerate(SCORES):
        if s == 0:
            continue
        p = [bootstrap_p(gaps[s][1:], 0) if not math.isnan(gaps[s][0]) else math.nan for _, gaps in cells]
        for (cell, gaps), one, q in zip(cells, p, benjamini_hochberg(p)):
            row = rows[(*cell, name)]
            row["gap"], row["gap_low"], row["gap_high"], row["gap_n_boot_valid"] = estimate(gaps[s], confidence)
            row["p"], row["q"] = one, float(q)
    return rows


def platt(z, label):
    """Slope and intercept, by Newton's steps to the end."""
    positive, negative = (label == 1).sum(), (label == 0).sum()
    target = np.where(label == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))
    a = np.array([0.0, math.log((positive + 1) / (negative + 1))])
    x = np.stack([z, np.ones(len(z))], axis=1)
    for _ in range(200):
        p = 1 / (1 + np.exp(-(x @ a)))
        step = np.linalg.solve((x.T * (p * (1 - p))) @ x + 1e-14 * np.eye(2), x.T @ (p - target))
        a = a - step * min(1, 1 / np.abs(step).max())
        if np.abs(step).max() < 1e-13:
            break
    return a


def policy_errors(heads, f, thresholds, training_d, sensitivity):
    """{policy: expected error of each case}, single encoders' errors (E x cases), labels, and which rows."""
    label = heads.label[f, heads.test]
    cases = ~np.isnan(label)
    label = label[cases]
    z = heads.of["z_linear"][:, f][:, heads.test][:, cases]
    known, known_label = heads.of["z_linear"][:, f][:, heads.validation], heads.label[f, heads.validation]
    known, known_label = known[:, ~np.isnan(known_label)], known_label[~np.isnan(known_label)]
    wrong = (z >= thresholds[:, None]) != (label == 1)
    curves = [platt(one, known_label) for one in known]
    chance = lambda of: np.stack([1 / (1 + np.exp(-(a * row + b))) for (a, b), row in zip(curves, of)])
    p, at = chance(z), chance(thresholds[:, None])
    mean, mean_threshold = p.mean(axis=0), threshold_of(chance(known).mean(axis=0), known_label, sensitivity)[0]

    def lowest(values):
        # Where no encoder has a value all of them count.
        chosen = (values == np.where(np.isnan(values), np.inf, values).min(axis=0)) | np.isnan(values).all(axis=0)
        return (chosen * wrong).sum(axis=0) / chosen.sum(axis=0)

    impurity = heads.of["impurity"][:, f][:, heads.test][:, cases]
    errors = {"single": wrong.mean(axis=0), "oracle": wrong.all(axis=0), "majority": wrong.mean(axis=0) > 0.5,
              "most_confident": lowest(-np.abs(p - at)),
              "lowest_d": lowest(np.repeat(training_d[:, None], z.shape[1], axis=1)),
              "lowest_impurity": lowest(impurity),
              "mean_probability": (mean >= mean_threshold) != (label == 1)}
    return errors, wrong, label, cases


def selection_rows(study, task, heads, thresholds, training_d, times):
    """{(level, finding, policy): row}. training_d: {(encoder, finding): D}; the rest as `detection_rows`."""
    findings = {}  # finding: (errors {policy: 2 x (1 + B)}, rows 2 x (1 + B), patients of each label)
    some = next(iter(heads.values()))
    for f, finding in enumerate(some.findings):
        errors = {policy: np.zeros((2, len(next(iter(times.values()))))) for policy in POLICIES}
        rows = np.zeros_like(errors["single"])
        patients = [set(), set()]
        alone = np.zeros((len(some.encoders), *rows.shape))
        for dataset, of in heads.items():
            t = np.array([thresholds[e, dataset, finding] for e in of.encoders])
            d = np.array([training_d[e, finding] for e in of.encoders])
            by_policy, wrong, label, cases = policy_errors(of, f, t, d, study["sensitivity"])
            w = times[dataset][:, cases]
            for side in (0, 1):
                here = label == side
                rows[side] += w[:, here].sum(axis=1)
                patients[side] |= set(of.patient[of.test][cases][here])
                alone[:, side] += (w[:, here] @ wrong[:, here].T).T
                for policy, values in by_policy.items():
                    errors[policy][side] += w[:, here] @ values[here]
        errors["independent"] = rows * np.prod(divide(alone, rows), axis=0)
        findings[str(finding)] = errors, rows, patients
    out = {}

    def put(level, finding, rate, rows, patients, parts=None):
        for policy in POLICIES:
            single, oracle = (rate[p].mean(axis=0) for p in ("single", "oracle"))
            balanced = rate[policy].mean(axis=0)
            row = {"positives": rows[1][0], "negatives": rows[0][0], "patients": len(patients[0] | patients[1]),
                   "positive_patients": len(patients[1]), "negative_patients": len(patients[0]),
                   "few_patients": min(map(len, patients)) < 10}
            for name, values in (("miss", rate[policy][1]), ("false_alarm", rate[policy][0]),
                                 ("balanced_error", balanced),
                                 ("gap_closed", divide(single - balanced, single - oracle))):
                row[name], row[name + "_low"], row[name + "_high"], valid = estimate(values, study["confidence"])
                row["n_boot_valid" if name == "miss" else name + "_valid"] = valid
            for name, side in (("miss", 1), ("false_alarm", 0)):
                prefix = "" if name == "miss" else name + "_"
                bound = constant_bound(rate[policy][side], [len(one[side]) for one in parts or [patients]],
                                       study["confidence"])
                row[prefix + "all_equal"] = bound[0]
                row[prefix + "bound_low"], row[prefix + "bound_high"] = (
                    (math.nan, math.nan) if policy == "independent" else bound[1:])
            out[level, finding, policy] = row

    for finding, (errors, rows, patients) in findings.items():
        put("finding", finding, {p: divide(v, rows) for p, v in errors.items()}, rows, patients)
    total = sum(rows for _, rows, _ in findings.values())
    everyone = [set().union(*(patients[side] for _, _, patients in findings.values())) for side in (0, 1)]
    put("micro", "", {p: divide(sum(e[p] for e, _, _ in findings.values()), total) for p in POLICIES}, total,
        everyone)
    put("macro", "", {p: np.mean([divide(e[p], r) for e, r, _ in findings.values()], axis=0) for p in POLICIES},
        total, everyone, [patients for _, _, patients in findings.values()])
    return out
