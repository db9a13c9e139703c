"""The method a second time: discordance, levels, bootstrap and tests in plain numpy.

Blind sets, retention, associations and ablations stand in files of their own beside this one.

Written from the description of the method alone, by brute force and in double precision, without a look at
the program: every cosine of a context is computed, every list sorted, every resample counted. It is slow and
means to be obvious. `run(study_file)` returns what `candor run` should have written.

Shapes: N rows of a pool, E encoders, B resamples, P patients, R draws.
"""

import math
from dataclasses import dataclass

import numpy as np

from reference.ablations import ablation_rows
from reference.associations import (auroc_rows, contrast_rows, correct_associations, distance_rows,
                                    slope_rows, spearman_rows)
from reference.blind_sets import blind_counts, consensus_rows, overlap_rows
from reference.cohort import Cell, asking_contexts, draw_pool, load_study, make_cell, pooled_cells
from reference.inference import (benjamini_hochberg, bootstrap_p, constant_bound, divide, interval, resample_weights,
                                 smallest_bootstrap_p)
from reference.retention import mean_areas, retention_rows


# ---- the operator ----------------------------------------------------------------------------------------

def operator(units, lists, queries, k):
    """c-, c+, DM and s1 of each query. Sums run over rows of one length, so equal rows give equal cosines."""
    out = np.empty((4, len(queries)))
    for q, x in enumerate(queries):
        top = []
        for side in lists[q]:
            cosines = (units[side] * units[x]).sum(axis=1)
            top.append(np.sort(cosines)[::-1][:k])
        c_neg, c_pos = (float(t.sum() / k) for t in top)
        out[:, q] = c_neg, c_pos, c_neg - c_pos, top[0][0]
    return out


def pair_counts(positive, negative):
    """Twice the U statistic of scores, pair by pair: [s+ > s-] counts two, equality one."""
    return 2 * (positive[:, None] > negative[None, :]) + (positive[:, None] == negative[None, :])


# ---- what a cell and a group of cells say ----------------------------------------------------------------

@dataclass
class Scores:
    """What one encoder makes of one cell: counts observed and in every resample, as integers."""
    cell: Cell
    discordant: np.ndarray   # R x positives
    ties: np.ndarray
    values: np.ndarray       # 4 x queries of draw 0: c-, c+, DM, s1
    patients: np.ndarray     # of the queries
    weights: np.ndarray      # B x P

    def sums(self):
        """Observed (row 0) and resampled counts: discordant, ties and queries, draws added up."""
        m = self.cell.positives
        w = np.vstack([np.ones(self.weights.shape[1], np.int64), self.weights])[:, self.patients[:m]]
        draws = len(self.discordant)
        return np.stack([w @ self.discordant.sum(axis=0), w @ self.ties.sum(axis=0),
                         draws * w.sum(axis=1)], axis=1)

    def margin_sums(self):
        """Observed and resampled: twice U, pairs, twice the right positives, positives; negatives alike."""
        m = self.cell.positives
        dm = self.values[2]
        w = np.vstack([np.ones(self.weights.shape[1], np.int64), self.weights])[:, self.patients]
        wp, wn = w[:, :m], w[:, m:]
        u = ((wp @ pair_counts(-dm[:m], -dm[m:])) * wn).sum(axis=1)
        right_pos = wp @ (2 * (dm[:m] < 0) + (dm[:m] == 0))
        right_neg = wn @ (2 * (dm[m:] > 0) + (dm[m:] == 0))
        return np.stack([u, wp.sum(axis=1) * wn.sum(axis=1), right_pos, wp.sum(axis=1), right_neg,
                         wn.sum(axis=1)], axis=1)


def rates(sums):
    return divide(sums[:, 0], sums[:, 2]), divide(2 * sums[:, 0] + sums[:, 1], 2 * sums[:, 2])


def margins(sums):
    auroc = divide(sums[:, 0], 2 * sums[:, 1])
    balanced = (divide(sums[:, 2], 2 * sums[:, 3]) + divide(sums[:, 4], 2 * sums[:, 5])) / 2
    return auroc, balanced


def excludes_half(low, high):
    """Not where undefined."""
    return int(high < 0.5 or low > 0.5)


def rate_fields(d, mid, patients, confidence, parts=None):
    """Columns that every table of rates has; d and mid hold the observed value and then the resamples'. parts: of a mean,
    the patients of each rate."""
    low, high, valid = interval(d[1:], confidence)
    # [v, v] says nothing about uncertainty: the bound over patients stands in for it.
    same, *bounds = constant_bound(d, parts or patients, confidence)
    # Statements about chance count ties half (METHODS 3).
    middle = mid[1:][~np.isnan(mid[1:])]
    constant = bool(len(middle) and (middle == middle[0]).all()) and mid[0] in (0.0, 1.0)
    reach = bounds if constant else interval(mid[1:], confidence)[:2]
    return {"d": d[0], "d_low": low, "d_high": high, "rate_mid": mid[0], "n_boot_valid": valid,
            "patients": patients, "few_patients": int(patients < 10), "all_equal": int(same),
            "bound_low": bounds[0], "bound_high": bounds[1],
            "excludes_half": excludes_half(*reach)}


def margin_fields(auroc, balanced, confidence):
    out = {"margin_auroc": auroc[0], "margin_balanced_accuracy": balanced[0]}
    out["margin_auroc_low"], out["margin_auroc_high"], out["margin_auroc_n_boot_valid"] = interval(
        auroc[1:], confidence)
    out["margin_balanced_accuracy_low"], out["margin_balanced_accuracy_high"], _ = interval(
        balanced[1:], confidence)
    return out


def draw_rates(group):
    """The pooled rate of each draw."""
    return sum(s.discordant.sum(axis=1) for s in group) / sum(s.cell.positives for s in group)


def spread(values):
    """Standard deviation over the draws; undefined for one."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan


def plain_counts(group):
    """Counts of draw 0 of pooled cells."""
    return {"queries": sum(s.cell.positives for s in group),
            "discordant": int(sum(s.discordant[0].sum() for s in group)),
            "ties": int(sum(s.ties[0].sum() for s in group))}


def patients_of(group):
    return len({int(p) for s in group for p in s.patients[:s.cell.positives]})


def cap_fields(scores):
    m = scores.cell.positives
    c_neg, _, dm, s1 = scores.values[:, :m]
    out = {}
    for name, cosine in (("cap", c_neg), ("cap1", s1)):
        cap = 0.5 * np.sqrt(np.maximum(0, 2 - 2 * cosine[dm > 0]))
        quartiles = np.quantile(cap, [0.25, 0.5, 0.75]) if len(cap) else [math.nan] * 3
        out.update({f"{name}_q1": quartiles[0], f"{name}_median": quartiles[1], f"{name}_q3": quartiles[2]})
    return out


def panel_rows(task, level, encoders, anchors, d):
    """d: E x (1 + B), observed first. Rows of the panel table; what there is no encoder for is undefined."""
    invalid = np.isnan(d).any(axis=0)
    anchors = np.array(anchors, bool)
    nothing = np.full(d.shape[1], math.nan)
    statistics = {"anchor": d[anchors].mean(axis=0) if anchors.any() else nothing,
                  "median_without_anchor": nothing if anchors.all() else np.median(d[~anchors], axis=0),
                  "best": d.min(axis=0), "median": np.median(d, axis=0), "highest": d.max(axis=0),
                  "range": d.max(axis=0) - d.min(axis=0), "above_0.40": (d > 0.40).sum(axis=0).astype(float),
                  "best_below_half": (d.min(axis=0) < 0.5).astype(float)}
    who = {"best": encoders[int(d[:, 0].argmin())], "highest": encoders[int(d[:, 0].argmax())],
           "anchor": encoders[int(anchors.argmax())] if anchors.any() else ""}
    return {(task, level, name): {"encoder": who.get(name, ""), "values": np.where(invalid, np.nan, v)}
            for name, v in statistics.items()}


# ---- one task ---------------------------------------------------------------------------------------------

class Tables(dict):
    """Rows by table and key."""

    def __init__(self):
        super().__init__((name, {}) for name in (
            "cells", "findings", "tasks", "rules", "skipped", "panels", "families", "overlap",
            "overlap_summary", "consensus", "retention", "associations", "distances", "contrasts",
            "ablations"))


def rules_of(study, pool):
    op = study["operator"]
    rules = [op["candidates"]] + list(op["also"])
    if pool.repeats and not study["also_is_set"] and "distinct" not in rules:
        rules.append("distinct")
    if study["ablations"]:
        rules += [r for r in ("equal", "distinct", "literal", "unequal") if r not in rules]
    return rules


def in_figures(group):
    """The cells that count in findings and tasks: queries against a whole reference do not."""
    return [s for s in group if not s.cell.pooled_reference]


def score_cell(study, pool, weights, encoder, cell):
    draws = [operator(pool.units[encoder], lists, cell.queries, study["operator"]["k"])
             for lists in cell.lists]
    dm = np.array([v[2, :cell.positives] for v in draws])
    return Scores(cell, (dm > 0).astype(np.int64), (dm == 0).astype(np.int64), draws[0],
                  np.array(pool.patient)[cell.queries], weights)


def score(study, task, pool, weights, tables):
    """{(encoder, rule, finding): [Scores]} of the scored cells; the others become rows of `skipped`."""
    primary = study["operator"]["candidates"]
    out = {}
    for rule in rules_of(study, pool):
        for f, finding in enumerate(task["findings"]):
            for encoder in task["encoders"]:
                out[encoder, rule, finding] = []
            cells = [make_cell(study, pool, f, finding, c, rule) for c in asking_contexts(pool)]
            for cell in cells + pooled_cells(study, task, pool, f, finding, rule):
                if cell.reason:
                    tables["skipped"][task["id"], finding, cell.context, rule] = {
                        "primary": int(rule == primary), "n_pos": cell.n_pos, "n_neg": cell.n_neg,
                        "n": cell.n, "reason": cell.reason}
                    continue
                for encoder in task["encoders"]:
                    out[encoder, rule, finding].append(score_cell(study, pool, weights, encoder, cell))
    return out


def pooled_row(group, confidence, primary):
    """What every table says of pooled cells, and the observed and resampled d and rate_mid."""
    d, mid = rates(sum(s.sums() for s in group))
    n_pos, n_neg = sum(s.cell.n_pos for s in group), sum(s.cell.n_neg for s in group)
    return {"n_pos": n_pos, "n_neg": n_neg, "prevalence": n_pos / (n_pos + n_neg),
            "images_a_patient": (n_pos + n_neg) / sum(s.cell.patients for s in group),
            "n": min(s.cell.n for s in group), "primary": int(primary), **plain_counts(group),
            **rate_fields(d, mid, patients_of(group), confidence)}, d, mid


def margin_row(group, confidence):
    auroc, balanced = margins(sum(s.margin_sums() for s in group))
    return margin_fields(auroc, balanced, confidence), auroc, balanced


def tabulate(study, task, encoder, rule, groups, tables):
    """Rows of one encoder under one rule at every level.

    Returns its observed and resampled rate_mid by (level, finding) for the primary rule.
    """
    name, confidence = task["id"], study["bootstrap"]["confidence"]
    primary = rule == study["operator"]["candidates"]
    whole = in_figures(s for group in groups.values() for s in group)
    by_finding, of_findings, levels = [], [], {}
    for finding, group in groups.items():
        for s in group:
            row, _, _ = pooled_row([s], confidence, primary)
            tables["rules"][name, encoder, "cell", finding, s.cell.context, rule] = row
            if primary:
                tables["cells"][name, encoder, finding, s.cell.context] = {
                    **row, "pooled_reference": int(s.cell.pooled_reference),
                    "negative_queries": len(s.cell.queries) - s.cell.positives,
                    "draw_sd": spread(draw_rates([s])), **cap_fields(s), **margin_row([s], confidence)[0]}
        group = in_figures(group)
        if not group:
            continue
        of_findings.append(patients_of(group))
        row, d, mid = pooled_row(group, confidence, primary)
        tables["rules"][name, encoder, "finding", finding, "", rule] = row
        if primary:
            levels["finding", finding] = mid
            margin, auroc, balanced = margin_row(group, confidence)
            by_finding.append((d, mid, auroc, balanced, draw_rates(group)))
            tables["findings"][name, encoder, finding] = {
                **row, "contexts": len(group), "draw_sd": spread(draw_rates(group)),
                "negative_queries": sum(len(s.cell.queries) - s.cell.positives for s in group),
                "p": bootstrap_p(mid[1:], 0.5), "margin_p": bootstrap_p(auroc[1:], 0.5),
                "margin_excludes_half": excludes_half(margin["margin_auroc_low"],
                                                      margin["margin_auroc_high"]),
                **margin}
    if not whole:
        return {}
    row, _, middle = pooled_row(whole, confidence, primary)
    tables["rules"][name, encoder, "task", "", "", rule] = row
    if not primary:
        return {}
    tables["tasks"][name, encoder, "micro"] = {
        **row, "findings": len(by_finding), "draw_sd": spread(draw_rates(whole)),
        **margin_row(whole, confidence)[0]}
    macro, mid, auroc, balanced, draws = (np.mean(column, axis=0) for column in zip(*by_finding))
    tables["tasks"][name, encoder, "macro"] = {
        **plain_counts(whole), **rate_fields(macro, mid, patients_of(whole), confidence, of_findings),
        "findings": len(by_finding), "draw_sd": spread(draws), **margin_fields(auroc, balanced, confidence)}
    return {**levels, ("micro", ""): middle, ("macro", ""): mid}


def tabulate_panels(study, task, by_encoder, tables):
    """by_encoder: {encoder: {(level, finding): observed and resampled rate_mid}}."""
    anchor = {e["id"]: e.get("anchor", False) for e in study["encoders"]}
    for level in ("micro", "macro"):
        d = np.stack([by_encoder[e][level, ""] for e in task["encoders"]])
        rows = panel_rows(task["id"], level, task["encoders"], [anchor[e] for e in task["encoders"]], d)
        for key, row in rows.items():
            low, high, valid = interval(row["values"][1:], study["bootstrap"]["confidence"])
            tables["panels"][key] = {"encoder": row["encoder"], "value": row["values"][0], "low": low,
                                     "high": high, "n_boot_valid": valid, "encoders": len(task["encoders"])}


def tabulate_families(study, task, tables):
    alpha = study["test"]["alpha"]
    rows = list(tables["findings"].values())
    for family, prefix, valid in (("discordance against chance", "", "n_boot_valid"),
                                  ("margin AUROC against chance", "margin_", "margin_auroc_n_boot_valid")):
        p = np.array([row[prefix + "p"] for row in rows])
        q = benjamini_hochberg(p)
        for row, value in zip(rows, q):
            row[prefix + "q"] = value
            row[prefix + "reject"] = int(value <= alpha)  # not where undefined
        m = int((~np.isnan(p)).sum())
        floor = min((smallest_bootstrap_p(row[valid]) for row in rows if row[valid]), default=1.0)
        enough = [j for j in range(1, m + 1) if floor * m / j <= alpha]
        tables["families"][family, task["id"]] = {
            "m": m, "undefined": int(np.isnan(p).sum()), "rejected": int((q <= alpha).sum()),
            "smallest_p": floor, "at_floor": int((p <= floor).sum()), "needed": enough[0] if enough else -1}


def tabulate_instruments(study, task, pool, weights, scores, by_encoder, tables):
    """Blind sets, retention, associations and ablations."""
    rule = study["operator"]["candidates"]
    groups = {(e, f): in_figures(scores[e, rule, f]) for e in task["encoders"] for f in task["findings"]}
    tables["overlap"], tables["overlap_summary"], families = overlap_rows(study, task, groups)
    tables["families"].update(families)
    tables["consensus"] = consensus_rows(study, task, groups, weights)
    tables["retention"], task_retention, families, exclusions = retention_rows(
        study, task, pool, groups, weights)
    tables["families"].update(families)
    pool.exclusions.update(exclusions)
    tables["associations"] = {**spearman_rows(study, task, by_encoder, task_retention, study["aurocs"]),
                              **auroc_rows(task, by_encoder, study["aurocs"]),
                              **slope_rows(task, by_encoder, mean_areas(study, task, pool))}
    tables["distances"], families = distance_rows(study, task, by_encoder)
    tables["families"].update(families)
    tables["contrasts"] = contrast_rows(study, task, by_encoder)
    if study["ablations"]:
        tables["ablations"] = ablation_rows(
            study, task, pool, scores, in_figures,
            lambda encoder, cell: score_cell(study, pool, weights, encoder, cell), rates)


def run_task(study, task):
    pool = draw_pool(study, task)
    weights = resample_weights(study["seed"], task["id"], study["bootstrap"]["resamples"], pool.clusters)
    tables = Tables()
    scores = score(study, task, pool, weights, tables)
    by_encoder = {}
    for encoder in task["encoders"]:
        for rule in rules_of(study, pool):
            groups = {finding: scores[encoder, rule, finding] for finding in task["findings"]}
            levels = tabulate(study, task, encoder, rule, groups, tables)
            if levels:
                by_encoder[encoder] = levels
    if by_encoder:
        tabulate_panels(study, task, by_encoder, tables)
    tabulate_families(study, task, tables)
    tabulate_instruments(study, task, pool, weights, scores, by_encoder, tables)
    return tables, collect_cases(study, task, pool, scores), pool


def collect_cases(study, task, pool, all_scores):
    """Cases by finding, context, label and key; the matrices are E x cases."""
    rule = study["operator"]["candidates"]
    out = {name: [] for name in ("image_id", "dataset", "patient", "context", "finding", "label")}
    blocks = []
    for finding in task["findings"]:
        for c in range(len(all_scores[task["encoders"][0], rule, finding])):
            scores = [all_scores[e, rule, finding][c] for e in task["encoders"]]
            cell = scores[0].cell
            for q, x in enumerate(cell.queries):
                out["image_id"].append(pool.image[x])
                out["dataset"].append(study["datasets"][pool.dataset[x]]["id"])
                out["patient"].append(pool.patient[x])
                out["context"].append(cell.context)
                out["finding"].append(finding)
                out["label"].append(1 if q < cell.positives else 0)
            blocks.append(np.stack([s.values for s in scores], axis=1))
    values = np.concatenate(blocks, axis=2) if blocks else np.empty((4, len(task["encoders"]), 0))
    out["c_neg"], out["c_pos"], out["dm"], out["s1"] = values
    out["blind_encoders"] = blind_counts(out["dm"], out["label"])
    return out


def run(path, ablations=False, aurocs=None):
    """All tasks of a study: {task: (tables, cases, pool)}. `aurocs` of heads, as `associations` takes them."""
    study = load_study(path)
    study["ablations"] = ablations
    study["aurocs"] = aurocs or {}
    results = {task["id"]: run_task(study, task) for task in study["tasks"]}
    correct_associations(study, [tables for tables, _, _ in results.values()])
    return results
