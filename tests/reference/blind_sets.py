"""Blind sets a second time (METHODS 6): overlaps by whole numbers of any length, consensus by counting."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np

from reference.inference import benjamini_hochberg, constant_bound, divide, interval


def overlap_distribution(strata):
    """Ways to have each overlap: list of whole numbers by overlap, and their sum.

    strata: (population, size a, size b) each; the overlap is the sum of independent hypergeometric ones.
    """
    ways = [1]
    for n, a, b in strata:
        here = [math.comb(a, i) * math.comb(n - a, b - i) for i in range(min(a, b) + 1)]
        longer = [0] * (len(ways) + len(here) - 1)
        for i, x in enumerate(ways):
            for j, y in enumerate(here):
                longer[i + j] += x * y
        ways = longer
    return ways, sum(ways)


def log10_share(part, whole):
    """log10(part / whole) of whole numbers, to full relative precision also where the share is nearly 1."""
    if 2 * part > whole:
        return math.log1p(-float(Fraction(whole - part, whole))) / math.log(10)
    return math.log10(part) - math.log10(whole)


def overlap_fields(strata, overlap):
    """Jaccard, its expectation, the tail: NaN where both sets are empty."""
    a, b = sum(s[1] for s in strata), sum(s[2] for s in strata)
    if not a and not b:
        return dict.fromkeys(("jaccard", "expected_jaccard", "delta_jaccard", "log10_p", "p"), math.nan)
    ways, total = overlap_distribution(strata)
    expected = sum(Fraction(w * i, total * (a + b - i)) for i, w in enumerate(ways))
    jaccard = Fraction(overlap, a + b - overlap)
    tail = sum(ways[overlap:])
    return {"jaccard": float(jaccard), "expected_jaccard": float(expected),
            "delta_jaccard": float(jaccard - expected), "log10_p": log10_share(tail, total),
            "p": float(Fraction(tail, total))}


def blind(scores):
    """Positives of a cell that are discordant: True or False each, in the order of the queries."""
    return scores.values[2, :scores.cell.positives] > 0


def overlap_rows(study, task, groups):
    """Tables overlap and overlap_summary, and the families. groups: [Scores] by (encoder, finding)."""
    encoders, name = task["encoders"], task["id"]
    rows, summary, families = {}, {}, {}
    for null in ("pooled", "stratified"):
        tested = []
        for finding in [*task["findings"], ""]:
            findings = [finding] if finding else task["findings"]
            sets = {e: [blind(s) for f in findings for s in groups[e, f]] for e in encoders}
            if not sets[encoders[0]]:
                continue
            for a, b in combinations(encoders, 2):
                strata = [(len(x), int(x.sum()), int(y.sum())) for x, y in zip(sets[a], sets[b])]
                overlap = sum(int((x & y).sum()) for x, y in zip(sets[a], sets[b]))
                whole = tuple(sum(column) for column in zip(*strata))
                row = {"contexts": len(strata), "n": whole[0], "blind_a": whole[1], "blind_b": whole[2],
                       "overlap": overlap, "q": math.nan, "reject": 0,
                       **overlap_fields(strata if null == "stratified" else [whole], overlap)}
                rows[name, "finding" if finding else "task", finding, a, b, null] = row
                if finding:
                    tested.append(row)
        q = benjamini_hochberg([row["p"] for row in tested])
        for row, value in zip(tested, q):
            row["q"], row["reject"] = float(value), int(value <= study["test"]["alpha"])
        defined = [row for row in tested if not math.isnan(row["p"])]
        above = sum(row["delta_jaccard"] > 0 for row in defined)
        rejected = sum(row["reject"] for row in defined)
        tests = len(defined)
        summary[name, null] = {
            "pairs": math.comb(len(encoders), 2), "tests": tests, "undefined": len(tested) - tests,
            "one_empty": sum(row["blind_a"] == 0 or row["blind_b"] == 0 for row in defined),
            "above": above, "above_share": float(divide(above, tests)), "rejected": rejected,
            "rejected_share": float(divide(rejected, tests)),
            "mean_delta_jaccard": float(divide(sum(row["delta_jaccard"] for row in defined), tests)),
            "smallest_log10_p": min((row["log10_p"] for row in defined), default=math.nan)}
        families[f"blind-set overlap, {null}", name] = {
            "m": tests, "undefined": len(tested) - tests, "rejected": rejected}
    return rows, summary, families


def majority_share(rates):
    """Chance that more than half of independent encoders are blind, summed over all sets of them."""
    share = 0.0
    for size in range(len(rates) // 2 + 1, len(rates) + 1):
        for chosen in combinations(range(len(rates)), size):
            share += math.prod(r if e in chosen else 1 - r for e, r in enumerate(rates))
    return share


def consensus_rows(study, task, groups, weights):
    encoders, rows = task["encoders"], {}
    for finding in [*task["findings"], ""]:
        findings = [finding] if finding else task["findings"]
        cells = [[groups[e, f][c] for e in encoders] for f in findings
                 for c in range(len(groups[encoders[0], f]))]
        if not cells:
            continue
        bits = [np.stack([blind(s) for s in cell]) for cell in cells]  # encoders x positives each
        counts = np.concatenate([b.sum(axis=0) for b in bits])
        patients = np.concatenate([cell[0].patients[:cell[0].cell.positives] for cell in cells])
        consensus = 2 * counts > len(encoders)
        w = weights[:, patients]
        confidence = study["bootstrap"]["confidence"]
        resampled = divide(w @ consensus, w.sum(axis=1))
        low, high, valid = interval(resampled, confidence)
        distinct = len(set(patients.tolist()))
        same, bound_low, bound_high = constant_bound(np.append(consensus.mean(), resampled), distinct, confidence)
        rows[task["id"], "finding" if finding else "task", finding] = {
            "encoders": len(encoders), "positives": len(counts), "patients": distinct,
            "blind": int(consensus.sum()), "share": float(consensus.mean()), "low": low, "high": high,
            "n_boot_valid": valid, "few_patients": int(distinct < 10),
            "all_equal": int(same), "bound_low": bound_low, "bound_high": bound_high,
            "all_blind": int((counts == len(encoders)).sum()), "none_blind": int((counts == 0).sum()),
            "independent_share": sum(b.shape[1] * majority_share(b.mean(axis=1).tolist())
                                     for b in bits) / len(counts)}
    return rows


def blind_counts(dm, label):
    """Encoders blind to each case; -1 for negatives. dm: E x cases."""
    return np.where(np.array(label, int) == 1, (dm > 0).sum(axis=0), -1)
