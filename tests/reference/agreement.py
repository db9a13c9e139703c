"""Runs the program on a study and compares everything it wrote with the reference."""

import math
import subprocess

import h5py
import numpy as np

from reference import candor_reference as reference
from testing.program import CANDOR, on_ranks

# Integers are compared exactly. Ratios of integers below 2^53 differ by the rounding of one or two divisions;
# means over findings, interpolated quantiles and Benjamini-Hochberg add a handful of roundings of numbers up
# to 1 (to the number of encoders for counts): 1e-13 is far above 20 * 2^-53 and far below 1 / queries^2.
RATE_TOLERANCE = 1e-13

TEXT_KEYS = {
    "cells": ("task", "encoder", "finding", "context"), "findings": ("task", "encoder", "finding"),
    "tasks": ("task", "encoder", "level"),
    "rules": ("task", "encoder", "level", "finding", "context", "rule"),
    "skipped": ("task", "finding", "context", "rule"), "panels": ("task", "level", "statistic"),
    "families": ("family", "task"),
    "overlap": ("task", "level", "finding", "encoder_a", "encoder_b", "null"),
    "overlap_summary": ("task", "null"), "consensus": ("task", "level", "finding"),
    "retention": ("task", "encoder", "level", "region"),
    "associations": ("task", "kind", "x", "y", "group"),
    "distances": ("task", "level", "finding", "encoder", "anchor"),
    "contrasts": ("task", "contrast", "kind", "arm", "against"),
    "ablations": ("task", "encoder", "level", "finding"),
}

# Sums over the ranges of hypergeometric distributions, over cosines and over ranks: some hundreds of
# roundings of numbers up to 1.
SUM_TOLERANCE = 1e-12
# Tails: logarithms of factorials or whole numbers are good to some 1e-14 of numbers up to 1e3; scipy's
# quantiles of Student's t to 1e-10.
TAIL_TOLERANCE = 1e-10


def cosine_tolerance(dimension):
    """Bound on the difference of two double evaluations of a mean of cosines of unit vectors.

    A dot product of d terms is off by at most d u sum|a_i b_i| <= d u (u = 2^-53), each norm adds about
    (d/2 + 1) u, the division and the mean of k a few more: below (2 d + 8) u for each of the two programs.
    """
    return 4 * (dimension + 8) * 2.0 ** -53


def run_candor(study, out, *options, ranks=1):
    """The program's results file of a study; its messages on failure."""
    command = on_ranks(ranks, CANDOR, "run", study, "-o", out, *options)
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}\nexit {done.returncode}\n{done.stderr}")
    return out


def read_table(file, name, keys=None):
    """{key: {column: value}} in the file's order, text decoded; the key by those columns."""
    rows = {}
    for record in file[f"tables/{name}"][:]:
        row = {column: record[column].decode() if record.dtype[column].kind == "S" else record[column].item()
               for column in record.dtype.names}
        key = tuple(row[column] for column in keys or TEXT_KEYS[name])
        assert key not in rows, f"{name}: {key} stands there twice"
        rows[key] = row
    return rows


def equal_values(expected, found, absolute, relative):
    if isinstance(expected, (int, str, np.integer)):
        return expected == found
    if math.isnan(expected) or math.isnan(found):
        return math.isnan(expected) and math.isnan(found)
    return abs(expected - found) <= absolute + relative * abs(expected)


def tolerance_of(table, column, dimension):
    """Absolute and relative tolerance."""
    if column.startswith("cap"):
        # sqrt(2 - 2c) / 2 magnifies the error e of c: by at most sqrt(2e) / 2, at c = 1; interpolation adds
        # none.
        return math.sqrt(2 * cosine_tolerance(dimension)), 0
    if column in ("log10_p", "smallest_log10_p"):
        return 0, TAIL_TOLERANCE
    if table == "overlap" and column in ("p", "q"):
        return 0, 1e3 * TAIL_TOLERANCE  # 10^x magnifies the error of x, at least -308, by ln 10
    if table == "contrasts" and column in ("low", "high"):
        return 20 * TAIL_TOLERANCE, 0  # half a width: a quantile of Student's t, 12.7 at most, times at most 1
    if table in ("associations", "contrasts"):
        return SUM_TOLERANCE, TAIL_TOLERANCE  # quotients of sums, and Student's t of them
    if table in ("overlap", "overlap_summary", "consensus", "retention"):
        return SUM_TOLERANCE, 0
    return RATE_TOLERANCE, 0


def may_be_extra(name, row):
    """Rows of later instruments that say why they are undefined, and families without tests."""
    if name == "families" and row["family"].startswith("impurity less "):
        return True  # of heads, which are compared elsewhere
    if row.get("null") == "relabel" or row.get("family") == "blind-set overlap, relabel":
        return True  # of permutations, which campaign/permutations compares
    return (name == "associations" and row["undefined"] != "") or (name == "families" and row["m"] == 0)


# What tests against chance say: by bootstrap here, by permutations, which campaign/permutations compares.
OF_TESTS = {"findings": {"p", "q", "reject", "margin_p", "margin_q", "margin_reject"},
            "families": {"rejected", "smallest_p", "at_floor", "needed"}}


def is_of_permutations(name, key, column):
    return column in OF_TESTS.get(name, ()) and (name != "families" or key[0].endswith(" against chance"))


def compare_table(name, expected, found, dimension, permuted):
    """Lines that say where a table differs; nothing where it does not."""
    problems = [f"{name}: no row {key}" for key, row in expected.items()
                if key not in found and row.get("m") != 0]
    problems += [f"{name}: row {key} should not be there" for key, row in found.items()
                 if key not in expected and not may_be_extra(name, row)]
    for key in expected.keys() & found.keys():
        for column, value in expected[key].items():
            # Not every table has every column that the reference knows; the columns are checked elsewhere.
            if column not in found[key] or (permuted and is_of_permutations(name, key, column)):
                continue
            other = found[key][column]
            if column == "undefined" and isinstance(other, str):
                other = int(other != "")  # that there is a reason, not its words
            if column == "reason":
                if not other.startswith(value):
                    problems.append(f"{name} {key}: reason {other!r}, not {value!r}")
            elif not equal_values(value, other, *tolerance_of(name, column, dimension)):
                problems.append(f"{name} {key} {column}: {other!r}, not {value!r}")
    return problems


def compare_cases(task, expected, group, dimension):
    problems = []
    columns = ["image_id", "dataset", "context", "finding", "label"]
    columns += ["blind_encoders"] if "blind_encoders" in group else []
    for column in columns:
        found = [v.decode() if isinstance(v, bytes) else int(v) for v in group[column][:]]
        if found != list(expected[column]):
            problems.append(f"cases/{task}/{column}: {len(found)} entries, {len(expected[column])} expected, "
                            "or in another order")
    if problems:
        return problems
    for column in ("dm", "c_pos", "c_neg", "s1"):
        found = group[column][:]
        if found.shape != expected[column].shape or np.isnan(found).any():
            problems.append(f"cases/{task}/{column}: shape {found.shape}, not {expected[column].shape}, "
                            "or NaN")
            continue
        worst = np.abs(found - expected[column]).max(initial=0)
        if worst > cosine_tolerance(dimension):
            problems.append(f"cases/{task}/{column}: off by {worst}")
    return problems


def compare_exclusions(file, expected, study):
    """expected: {(task, dataset, what, detail): rows}; only what the reference counts is compared."""
    kinds = {key[2] for key in expected}
    found = {}
    for record in file["tables/exclusions"][:]:
        key = tuple(record[c].decode() for c in ("task", "dataset", "what", "detail"))
        if record["rows"] and (key[2] in kinds or key in expected):
            found[key] = int(record["rows"])
    return [f"exclusions {key}: {found.get(key)}, not {expected.get(key)}"
            for key in sorted(found.keys() | expected.keys()) if found.get(key) != expected.get(key)]


def head_aurocs(file):
    """What the heads of a results file reached, as the associations want it. Heads are compared elsewhere."""
    return {(row["task"].decode(), row["encoder"].decode(), row["finding"].decode()): float(row["auroc"])
            for row in file["tables/heads"][:]
            if row["level"] in (b"finding", b"task") and row["kind"] == b"linear"
            and not math.isnan(row["auroc"])}


def disagreements(study, results, ablations=False, permuted=True):
    """Every place where the results file differs from the reference, as lines of text.

    ablations  the study was run with --ablations
    permuted   tests against chance are by permutations, and not compared here
    """
    problems = []
    with h5py.File(results, "r") as file:
        expected = reference.run(study, ablations, head_aurocs(file))
        dimension = 0
        exclusions = {}
        merged = {name: {} for name in TEXT_KEYS}
        for task, (tables, cases, pool) in expected.items():
            dimension = max([dimension] + [u.shape[1] for u in pool.units.values()])
            for name, rows in tables.items():
                merged[name].update(rows)
            exclusions.update({(task, *key): rows for key, rows in pool.exclusions.items()})
        for name in merged.keys() & file["tables"].keys():
            problems += compare_table(name, merged[name], read_table(file, name), dimension, permuted)
        for task, (_, cases, _) in expected.items():
            problems += compare_cases(task, cases, file[f"cases/{task}"], dimension)
        problems += compare_exclusions(file, exclusions, study)
    return problems
