"""Associations over encoders, distances from the anchor and contrasts a second time (METHODS 11).

D is rate_mid. by_encoder: {encoder: {(level, finding): observed value, then the resamples'}}.
aurocs: {(task, encoder, finding): AUROC of the linear heads}, finding "" for the mean over findings; those that are
undefined are not in it.
"""

import math
from itertools import combinations, permutations

import numpy as np
from scipy import stats

from reference.inference import benjamini_hochberg, bootstrap_p, interval
from reference.retention import spearman


def whole_ranks(x):
    """Twice the mid-ranks less their mean, as whole numbers."""
    return [int(r) for r in 2 * stats.rankdata(x) - (len(x) + 1)]


def spearman_p(x, y):
    """Spearman's rho, p by Student's t and, up to 10 pairs, the share of orders at least as extreme."""
    rho, n = spearman(x, y), len(x)
    if math.isnan(rho):
        return rho, math.nan, math.nan
    p = 0.0 if abs(rho) == 1 else float(stats.spearmanr(x, y).pvalue)
    u, v = whole_ranks(x), whole_ranks(y)
    observed = abs(sum(a * b for a, b in zip(u, v)))
    if n > 10:
        return rho, p, math.nan
    as_extreme = sum(abs(sum(a * b for a, b in zip(u, order))) >= observed for order in permutations(v))
    return rho, p, as_extreme / math.factorial(n)


def association(n, value=math.nan, standard_error=math.nan, p=math.nan, exact_p=math.nan):
    return {"n": n, "value": value, "standard_error": standard_error, "p": p, "exact_p": exact_p,
            "undefined": int(math.isnan(p))}


def spearman_rows(study, task, by_encoder, retention, aurocs):
    """D of the task (micro) with parameters, year, retention and task AUROC, and of the last two."""
    encoders = {e["id"]: e for e in study["encoders"] if e["id"] in by_encoder}
    d = {e: by_encoder[e]["micro", ""][0] for e in by_encoder}
    auroc = {e: aurocs[task["id"], e, ""] for e in by_encoder if (task["id"], e, "") in aurocs}
    rows = {}

    def put(x, group, values, y="d", others=d):
        chosen = [e for e in values if e in others]
        a, b = [values[e] for e in chosen], [others[e] for e in chosen]
        rho, p, exact = spearman_p(a, b)
        rows[task["id"], "spearman", x, y, group] = association(len(chosen), rho, p=p, exact_p=exact)

    put("parameters", "without the anchor",
        {e: v["parameters"] for e, v in encoders.items() if "parameters" in v and not v.get("anchor")})
    put("year", "panel", {e: v["year"] for e, v in encoders.items() if "year" in v})
    put("retention", "panel", retention)
    put("task_auroc", "panel", auroc)
    put("retention", "panel", retention, "task_auroc", auroc)
    domains = {}
    for e in by_encoder:
        domains.setdefault(encoders[e].get("domain", ""), []).append(e)
    for domain, members in domains.items():
        if domain and len(members) >= 5:
            within = {e: v for e, v in retention.items() if e in members}
            put("retention", f"domain {domain}", within)
            put("retention", f"domain {domain}", within, "task_auroc", auroc)
    return rows


def auroc_rows(task, by_encoder, aurocs):
    """Mean D by 5 points of task AUROC, and the share of D above 0.25 among cells with one above 0.75."""
    cells = [(aurocs[task["id"], e, f], values[0]) for e, levels in by_encoder.items()
             for (level, f), values in levels.items() if level == "finding" and (task["id"], e, f) in aurocs]
    bins, rows = {}, {}
    for auroc, d in cells:
        bins.setdefault(min(int(20 * auroc), 19), []).append(d)
    for i, values in bins.items():
        name = f"[{i / 20:.2f}, {(i + 1) / 20:.2f}" + ("]" if i == 19 else ")")
        rows[task["id"], "bin", "task_auroc", "d", name] = association(len(values), sum(values) / len(values))
    above = [d > 0.25 for auroc, d in cells if auroc > 0.75]
    if above:
        rows[task["id"], "share", "task_auroc", "d", "task_auroc > 0.75"] = association(
            len(above), sum(above) / len(above))
    for row in rows.values():
        row["undefined"] = 0
    return rows


def slope_rows(task, by_encoder, areas):
    """Least squares of D on the mean evidence area of the finding, over all pairs and over findings."""
    cells = [(areas[f], values[0]) for levels in by_encoder.values()
             for (level, f), values in levels.items()
             if level == "finding" and not math.isnan(areas.get(f, math.nan))]
    findings = {}
    for levels in by_encoder.values():
        for (level, f), values in levels.items():
            if level == "finding" and not math.isnan(areas.get(f, math.nan)):
                findings.setdefault(f, []).append(values[0])
    means = [(areas[f], sum(v) / len(v)) for f, v in findings.items()]
    rows = {}
    for group, points in (("encoder x finding", cells), ("finding", means)):
        x, y = [p[0] for p in points], [p[1] for p in points]
        row = association(len(points))
        if len(points) >= 2 and len(set(x)) > 1:
            fit = stats.linregress(x, y)
            # A line through two points has no error, and nothing to test.
            row = association(len(points), float(fit.slope), *(float(fit.stderr), float(fit.pvalue))
                              if len(points) > 2 else ())
        rows[task["id"], "slope", "area", "d", group] = row
    return rows


def distance_rows(study, task, by_encoder):
    """D(anchor) - D(encoder) at every level, paired by resample; families of the micro and finding rows."""
    anchors = [e["id"] for e in study["encoders"] if e.get("anchor") and e["id"] in by_encoder]
    rows, families = {}, {}
    for anchor in anchors:
        for e in by_encoder:
            if e == anchor:
                continue
            for (level, finding), values in by_encoder[e].items():
                gap = by_encoder[anchor][level, finding] - values
                low, high, valid = interval(gap[1:], study["bootstrap"]["confidence"])
                rows[task["id"], level, finding, e, anchor] = {
                    "distance": float(gap[0]), "low": low, "high": high, "n_boot_valid": valid,
                    "p": bootstrap_p(gap[1:], 0), "q": math.nan, "reject": 0}
    for level, family in (("micro", "distance from the anchor"),
                          ("finding", "distance from the anchor, by finding")):
        members = [row for key, row in rows.items() if key[1] == level]
        for row, q in zip(members, benjamini_hochberg([row["p"] for row in members])):
            row["q"], row["reject"] = float(q), int(q <= study["test"]["alpha"])
        if members:
            families[family, task["id"]] = {"m": len(members), "undefined": 0,
                                            "rejected": sum(row["reject"] for row in members)}
    return rows, families


def student_interval(values, confidence):
    """Mean and Student's t interval of independent values; the interval needs two."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, math.nan, math.nan
    quantile = stats.t.ppf((1 + confidence) / 2, len(values) - 1)
    half = quantile * np.std(values, ddof=1) / math.sqrt(len(values))
    return mean, float(mean - half), float(mean + half)


def contrast_rows(study, task, by_encoder):
    """Arms: means over (encoder, finding). Differences: means over findings of the arms' mean D."""
    confidence, rows = study["bootstrap"]["confidence"], {}
    for contrast in study["contrasts"]:
        if contrast["task"] != task["id"] or not by_encoder:
            continue
        findings = [f for level, f in by_encoder[task["encoders"][0]] if level == "finding"]
        arms = {arm: np.array([[by_encoder[e]["finding", f] for f in findings] for e in encoders])
                for arm, encoders in contrast["arms"].items()}  # encoders x findings x (1 + B)

        def row(cells, p):
            values = cells.reshape(-1, cells.shape[-1])
            value, low, high = student_interval(values[:, 0], confidence)
            boot_low, boot_high, valid = interval(values[:, 1:].mean(axis=0), confidence)
            return {"cells": len(values), "value": value, "low": low, "high": high, "boot_low": boot_low,
                    "boot_high": boot_high, "n_boot_valid": valid, "p": p}

        for arm, cells in arms.items():
            rows[task["id"], contrast["id"], "arm", arm, ""] = {
                "encoders": len(cells), "q": math.nan, "reject": 0, **row(cells, math.nan)}
        for a, b in combinations(arms, 2):
            gap = arms[a].mean(axis=0) - arms[b].mean(axis=0)
            differs = len(gap) > 1 and np.ptp(gap[:, 0]) > 0
            p = float(stats.ttest_1samp(gap[:, 0], 0).pvalue) if differs else math.nan
            rows[task["id"], contrast["id"], "difference", a, b] = row(gap, p)
    return rows


def correct_associations(study, all_tables):
    """q over every defined p of the study's associations and contrast differences."""
    members = [row for tables in all_tables for row in tables["associations"].values()]
    members += [row for tables in all_tables for key, row in tables["contrasts"].items()
                if key[2] == "difference"]
    tested = [row["p"] if math.isnan(row.get("exact_p", math.nan)) else row["exact_p"] for row in members]
    for row, q in zip(members, benjamini_hochberg(tested)):
        row["q"], row["reject"] = float(q), int(q <= study["test"]["alpha"])
    all_tables[0]["families"]["associations", ""] = {
        "m": sum(not math.isnan(row["p"]) for row in members),
        "rejected": sum(row["reject"] for row in members)}
