"""Ablations a second time (METHODS 12.7): context match removed, and every candidate rule side by side."""

import math

import numpy as np

from reference.cohort import cell_of_rows
from reference.inference import interval


def merged_scores(study, pool, f, finding, matched, score_cell):
    """The cell of the whole pool, asked by the positives of the matched cells under the primary rule."""
    asked = {x for s in matched for x in s.cell.queries[:s.cell.positives]}
    everything = list(range(len(pool.image)))
    cell = cell_of_rows(study, pool, f, finding, "(merged)", study["operator"]["candidates"], everything,
                        [r in asked for r in everything])
    assert not cell.reason, cell.reason
    return score_cell(cell)


def ablation_rows(study, task, pool, scores, in_figures, score_cell, rates):
    """scores: [Scores] by (encoder, rule, finding), under all four rules.

    score_cell  (encoder, cell) to Scores
    rates       sums to the observed and resampled d and rate_mid
    """
    primary, confidence, rows = study["operator"]["candidates"], study["bootstrap"]["confidence"], {}
    for e in task["encoders"]:
        matched = {f: in_figures(scores[e, primary, f]) for f in task["findings"]}
        merged = {name: merged_scores(study, pool, f, name, matched[name], lambda cell: score_cell(e, cell))
                  for f, name in enumerate(task["findings"]) if matched[name]}
        for subject in [*merged, ""] if merged else []:
            names = [subject] if subject else list(merged)
            with_match = [s for name in names for s in matched[name]]
            d, without = (rates(sum(s.sums() for s in some))[0]
                          for some in (with_match, [merged[name] for name in names]))
            n_pos, n_neg = (sum(getattr(s.cell, c) for s in with_match) for c in ("n_pos", "n_neg"))
            row = {"n_pos": n_pos, "n_neg": n_neg, "prevalence": n_pos / (n_pos + n_neg),
                   "images_a_patient": (n_pos + n_neg) / sum(s.cell.patients for s in with_match),
                   "queries": sum(s.cell.positives for s in with_match),
                   "n_matched": min(s.cell.n for s in with_match),
                   "n_merged": min(merged[name].cell.n for name in names)}
            for column, values in (("matched", d), ("merged", without), ("difference", without - d)):
                low, high, _ = interval(np.asarray(values[1:]), confidence)
                row.update({column: float(values[0]), f"{column}_low": low, f"{column}_high": high})
            for rule in ("equal", "distinct", "literal", "unequal"):
                group = [s for name in task["findings"] if not subject or name == subject
                         for s in in_figures(scores[e, rule, name])]
                row[rule] = float(rates(sum(s.sums() for s in group))[0][0]) if group else math.nan
            rows[task["id"], e, "finding" if subject else "task", subject] = row
    return rows
