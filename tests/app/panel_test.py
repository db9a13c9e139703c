"""The instruments of a panel on studies whose answers are known: planted blind sets, angles and contexts."""

import csv
import math
import os
import shutil
import subprocess
import unittest
from fractions import Fraction
from itertools import combinations

import h5py
import numpy as np

from reference.agreement import read_table, run_candor
from testing.scratch import InFolder

ENCODERS = ("near", "twin", "far", "mix", "flat")  # flat is the anchor

# Positives 0-11 of finding f lie in context s1, 12-19 in s2; g has the positives 0-5, in s1.
BLIND = {
    "f": {"near": {0, 1, 2, 3, 4, 5, 12, 13}, "twin": {0, 1, 2, 3, 6, 12}, "far": {0, 1, 7, 8}, "mix": set(),
          "flat": {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14, 15, 16, 17}},
    "g": {"near": set(), "twin": set(), "far": {0}, "mix": set(), "flat": {0, 1, 2}},
}
POSITIVES = {"f": 20, "g": 6}
IN_S1 = {"f": 12, "g": 6}
NEGATIVES = {("f", "s1"): 14, ("f", "s2"): 10, ("g", "s1"): 7}

# Retention of region f on its positives 0-5: cosines as fractions of Pythagorean triples (cosine, sine, 1).
RETAINED = {"near": [(3, 4, 5), (4, 3, 5), (5, 12, 13), (12, 5, 13), (8, 15, 17), (15, 8, 17)],
            "twin": [(3, 4, 5)] * 6, "far": [(4, 3, 5)] * 6, "mix": [(5, 12, 13)] * 6,
            "flat": [(12, 5, 13)] * 6}
LESION = (4, 3, 5)  # on two images, under every encoder

DIMENSIONS = 3 + 20 + 1  # three axes, one a positive, one for what erasing adds


def axis(i):
    return np.eye(DIMENSIONS, dtype=int)[i]


def context_of(finding, i):
    return "s1" if i < IN_S1[finding] else "s2"


def tilted(first, i):
    """A whole-number vector of length m^2 + 1 between the axis `first` and the i-th positive's own.

    The cosine with `first` is (m^2 - 1) / (m^2 + 1), that of two such vectors the product of theirs.
    """
    m = i + 2
    return (m * m - 1) * axis(first) + 2 * m * axis(3 + i)


def positive_row(encoder, finding, i):
    """k = 1. A seeing positive lies on axis 0, with the others; a blind one leans to axis 1, on which all
    negatives lie, and is nearer to them than to any other positive.

    `mix` keeps the two contexts of f apart only because they are matched: its positives of s1 lean to axis 0,
    on which the negatives of s2 lie.
    """
    if i in BLIND[finding][encoder]:
        return tilted(1, i)
    if encoder == "mix" and finding == "f":
        return tilted(0, i) if context_of(finding, i) == "s1" else axis(2)
    return axis(0)


def negative_row(encoder, finding, context):
    return axis(0) if encoder == "mix" and finding == "f" and context == "s2" else axis(1)


def erased_row(row, triple):
    """A row whose cosine with `row` (of whole length, nothing on the last axis) is triple[0] / triple[2]."""
    length = math.isqrt(int((row * row).sum()))
    return triple[0] * row + triple[1] * length * axis(DIMENSIONS - 1)


def write_csv(path, header, records):
    with open(path, "w", newline="", encoding="utf-8") as f:
        out = csv.writer(f)
        out.writerow(header)
        out.writerows(records)


def write_features(path, ids, rows, regions=None):
    with h5py.File(path, "w") as f:
        f["features"] = np.array(rows, np.float64)
        f.create_dataset("image_id", data=list(ids), dtype=h5py.string_dtype())
        if regions is not None:
            f.create_dataset("finding", data=list(regions), dtype=h5py.string_dtype())


def make_panel(folder):
    images = {}  # id: (context, f, g, {encoder: row})
    for finding in ("f", "g"):
        for i in range(POSITIVES[finding]):
            images[f"{finding}{i}"] = (context_of(finding, i), finding, 1,
                                       {e: positive_row(e, finding, i) for e in ENCODERS})
    for (finding, context), count in NEGATIVES.items():
        for i in range(count):
            images[f"{finding}-{context}-{i}"] = (context, finding, 0,
                                                  {e: negative_row(e, finding, context) for e in ENCODERS})
    # A finding is not mentioned on the images of the other.
    write_csv(os.path.join(folder, "table.csv"), ["image_id", "patient_id", "site", "f", "g"],
              ([i, f"of-{i}", context] + [label if finding == column else "" for column in ("f", "g")]
               for i, (context, finding, label, _) in images.items()))
    # The last one is annotated with f, and is no positive of it.
    annotated = [(f"f{i}", "f") for i in range(6)] + [("f-s1-0", "lesion"), ("g0", "lesion"), ("f-s2-0", "f")]
    for e in ENCODERS:
        write_features(os.path.join(folder, f"{e}.h5"), images, [image[3][e] for image in images.values()])
        triples = RETAINED[e] + [LESION, LESION, (3, 4, 5)]
        write_features(os.path.join(folder, f"{e}-erased.h5"), [i for i, _ in annotated],
                       [erased_row(images[i][3][e], t) for (i, _), t in zip(annotated, triples)],
                       [r for _, r in annotated])
    # Two squares of 4 x 4 that share 2 x 2: 28 of 100 pixels; four of 2 x 2: 4 each; none on f5.
    write_csv(os.path.join(folder, "boxes.csv"),
              ["image_id", "finding", "x", "y", "width", "height", "image_width", "image_height"],
              [["f0", "f", 0, 0, 4, 4, 10, 10], ["f0", "f", 2, 2, 4, 4, 10, 10]] +
              [[f"f{i}", "f", 8, 8, 2, 2, 10, 10] for i in range(1, 5)])
    encoders = "".join(f'[[encoder]]\nid = "{e}"\nparameters = {(n + 1) * 1000000}\n'
                       f'anchor = {"true" if e == "flat" else "false"}\n' for n, e in enumerate(ENCODERS))
    study = os.path.join(folder, "study.toml")
    with open(study, "w", encoding="utf-8") as f:
        f.write(f"""[study]
name = "panel"
[operator]
k = 1
bank_cap = 0
[bootstrap]
resamples = 100
{encoders}
[[dataset]]
id = "data"
table = "table.csv"
features = "{{encoder}}.h5"
erased = "{{encoder}}-erased.h5"
boxes = "boxes.csv"
[[task]]
id = "panel"
datasets = ["data"]
findings = ["f", "g"]
context = ["site"]
[[contrast]]
id = "arms"
task = "panel"
arms = {{ seeing = ["mix", "far"], confusing = ["near", "twin"] }}
""")
    return study


def cosine(triple):
    return Fraction(triple[0], triple[2])


class Panel(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.out = run_candor(make_panel(cls.folder), os.path.join(cls.folder, "out.h5"),
                             "--ablations", ranks=2)

    def table(self, name):
        with h5py.File(self.out) as f:
            return read_table(f, name)

    def assert_near(self, found, expected, what=""):
        # Quotients and means of a few numbers up to 1.
        self.assertAlmostEqual(found, float(expected), delta=1e-13, msg=what)

    def rate(self, encoder, finding):
        return Fraction(len(BLIND[finding][encoder]), POSITIVES[finding])

    # ---- the plant

    def test_planted_positives_are_blind_and_no_others(self):
        with h5py.File(self.out) as f:
            cases = f["cases/panel"]
            encoders = [e.decode() for e in cases["encoder"][:]]
            for c, (image, finding, label) in enumerate(zip(cases["image_id"].asstr()[:],
                                                            cases["finding"].asstr()[:], cases["label"][:])):
                who = {e for e in encoders if label and int(image[1:]) in BLIND[finding][e]}
                if label:
                    dm = cases["dm"][:, c]
                    self.assertEqual({e for e, margin in zip(encoders, dm) if margin > 0}, who, image)
                self.assertEqual(cases["blind_encoders"][c], len(who) if label else -1, image)

    def test_rates(self):
        for (_, encoder, finding), row in self.table("findings").items():
            self.assert_near(row["d"], self.rate(encoder, finding), (encoder, finding))

    def test_prevalence(self):
        row = self.table("rules")["panel", "near", "finding", "f", "", "equal"]
        self.assert_near(row["prevalence"], Fraction(20, 44))
        self.assertEqual(row["images_a_patient"], 1)

    # ---- blind sets

    def test_every_overlap(self):
        """Tails as quotients of whole numbers, for the pooled null."""
        rows = self.table("overlap")
        for finding, n in POSITIVES.items():
            for a, b in combinations(ENCODERS, 2):
                row = rows["panel", "finding", finding, a, b, "pooled"]
                x, y = BLIND[finding][a], BLIND[finding][b]
                self.assertEqual((row["n"], row["blind_a"], row["blind_b"], row["overlap"]),
                                 (n, len(x), len(y), len(x & y)))
                if not x | y:
                    for column in ("jaccard", "expected_jaccard", "delta_jaccard", "log10_p", "p", "q"):
                        self.assertTrue(math.isnan(row[column]), column)
                    self.assertEqual(row["reject"], 0)
                    continue
                ways = [math.comb(len(x), i) * math.comb(n - len(x), len(y) - i)
                        for i in range(min(len(x), len(y)) + 1)]
                self.assertEqual(sum(ways), math.comb(n, len(y)))
                p = Fraction(sum(ways[len(x & y):]), sum(ways))
                expected = sum(Fraction(w * i, sum(ways) * (len(x) + len(y) - i)) for i, w in enumerate(ways))
                self.assert_near(row["p"], p, (a, b))
                self.assertAlmostEqual(row["log10_p"], math.log10(p), delta=1e-12)
                self.assert_near(row["jaccard"], Fraction(len(x & y), len(x | y)), (a, b))
                self.assert_near(row["expected_jaccard"], expected, (a, b))
                self.assert_near(row["delta_jaccard"], Fraction(len(x & y), len(x | y)) - expected, (a, b))

    def test_the_overlap_of_near_and_twin_by_hand(self):
        rows = self.table("overlap")
        pooled = rows["panel", "finding", "f", "near", "twin", "pooled"]
        self.assertEqual((pooled["contexts"], pooled["overlap"]), (2, 5))
        # (C(8,5) C(12,1) + C(8,6)) / C(20,6)
        self.assert_near(pooled["p"], Fraction(700, 38760))
        self.assert_near(pooled["jaccard"], Fraction(5, 9))
        # In s1 5 of 6 and 5 of 12, in s2 2 and 1 of 8: P(5 in s1) + P(4 in s1) P(1 in s2)
        stratified = rows["panel", "finding", "f", "near", "twin", "stratified"]
        self.assert_near(stratified["p"], Fraction(6, 792) + Fraction(90, 792) * Fraction(2, 8))
        self.assertEqual(stratified["jaccard"], pooled["jaccard"])
        # At the task level g adds 6 positives that both see; a stratum without blind ones changes nothing.
        task = rows["panel", "task", "", "near", "twin", "stratified"]
        self.assertEqual((task["contexts"], task["n"], task["blind_a"], task["blind_b"]), (3, 26, 8, 6))
        self.assert_near(task["p"], stratified["p"])
        self.assertTrue(math.isnan(task["q"]))
        # (C(8,5) C(18,1) + C(8,6)) / C(26,6)
        self.assert_near(rows["panel", "task", "", "near", "twin", "pooled"]["p"], Fraction(1036, 230230))

    def test_one_empty_set_and_none(self):
        rows = self.table("overlap")
        for null in ("pooled", "stratified"):
            self.assertTrue(math.isnan(rows["panel", "finding", "g", "near", "twin", null]["p"]))
            one = rows["panel", "finding", "g", "near", "far", null]
            self.assertEqual((one["p"], one["jaccard"], one["expected_jaccard"]), (1, 0, 0))
            self.assert_near(rows["panel", "finding", "g", "far", "flat", null]["p"], Fraction(1, 2))

    def test_summary_of_overlaps(self):
        overlaps = self.table("overlap")
        for null in ("pooled", "stratified"):
            row = self.table("overlap_summary")["panel", null]
            # Of 2 x 10 pairs those of near, twin and mix on g have nothing to overlap.
            self.assertEqual((row["pairs"], row["tests"], row["undefined"]), (10, 17, 3))
            delta = [r["delta_jaccard"] for key, r in overlaps.items()
                     if key[1] == "finding" and key[5] == null and not math.isnan(r["p"])]
            self.assertEqual(len(delta), 17)
            self.assertEqual(row["above"], sum(d > 0 for d in delta))
            self.assert_near(row["above_share"], Fraction(row["above"], 17))
            self.assert_near(row["mean_delta_jaccard"], sum(delta) / 17)
            family = self.table("families")[f"blind-set overlap, {null}", "panel"]
            self.assertEqual((family["m"], family["undefined"], family["rejected"]), (17, 3, row["rejected"]))

    def test_consensus(self):
        rows = self.table("consensus")
        f = rows["panel", "finding", "f"]
        # Three of five: 0, 1, 2, 3 and 12; nobody is blind to 10, 11, 18 and 19.
        self.assertEqual((f["encoders"], f["positives"], f["patients"], f["blind"]), (5, 20, 20, 5))
        self.assertEqual((f["all_blind"], f["none_blind"], f["few_patients"]), (0, 4, 0))
        self.assert_near(f["share"], Fraction(1, 4))
        # Rates in s1 1/2, 5/12, 1/3, 0, 5/6; in s2 1/4, 1/8, 0, 0, 3/4.
        s1 = Fraction(25 + 25 + 35 + 50 + 5, 432)  # all four, then each of them seeing alone
        s2 = Fraction(3, 128)
        self.assert_near(f["independent_share"], (12 * s1 + 8 * s2) / 20)
        g = rows["panel", "finding", "g"]
        self.assertEqual((g["positives"], g["blind"], g["none_blind"], g["few_patients"]), (6, 0, 3, 1))
        self.assertEqual((g["share"], g["low"], g["high"], g["independent_share"]), (0, 0, 0, 0))
        # None of n patients: at the bound, none at all has a chance of 2.5 %.
        self.assertEqual((g["all_equal"], g["bound_low"]), (1, 0))
        self.assertAlmostEqual((1 - g["bound_high"]) ** g["patients"], 0.025, 12)
        self.assertTrue(f["all_equal"] == 0 and math.isnan(f["bound_high"]))
        task = rows["panel", "task", ""]
        self.assertEqual((task["positives"], task["blind"], task["none_blind"]), (26, 5, 7))
        self.assert_near(task["independent_share"], (12 * s1 + 8 * s2) / 26)

    # ---- retention

    def test_retention_is_the_cosine_of_the_planted_angle(self):
        rows = self.table("retention")
        for e in ENCODERS:
            values = [cosine(t) for t in RETAINED[e]]
            region, lesion = rows["panel", e, "region", "f"], rows["panel", e, "region", "lesion"]
            self.assert_near(region["retention"], sum(values) / 6, e)
            self.assert_near(lesion["retention"], cosine(LESION), e)
            micro, macro = (rows["panel", e, level, ""]["retention"] for level in ("micro", "macro"))
            self.assert_near(micro, (sum(values) + 2 * cosine(LESION)) / 8, e)
            self.assert_near(macro, (sum(values) / 6 + cosine(LESION)) / 2, e)
            self.assertEqual([region[c] for c in ("images", "patients", "boxes", "cases")], [6, 6, 5, 6])
            self.assert_near(region["area"], Fraction(28 + 4 * 4, 500))
            self.assertEqual((lesion["images"], lesion["boxes"]), (2, 0))
            self.assertTrue(math.isnan(lesion["area"]))
            self.assertTrue(math.isnan(lesion["correlation"]))
            self.assertNotEqual(lesion["undefined"], "")

    def test_an_annotated_image_that_is_not_positive_is_left_out_and_counted(self):
        with h5py.File(self.out) as f:
            found = [(r["dataset"].decode(), r["detail"].decode(), int(r["rows"]))
                     for r in f["tables/exclusions"][:]
                     if r["what"] == b"erased features of an image that is not positive"]
        self.assertEqual(found, [("data", "f", 1)])

    def test_correlation_of_retention_with_the_margin(self):
        row = self.table("retention")["panel", "near", "region", "f"]
        # The margins of near rise from 0 to 5; the ranks of its cosines are 3 4 1 6 2 5.
        with h5py.File(self.out) as f:
            cases = f["cases/panel"]
            at = [list(cases["image_id"].asstr()[:]).index(f"f{i}") for i in range(6)]
            margins = cases["dm"][:][[e.decode() for e in cases["encoder"][:]].index("near")][at]
        self.assertTrue((np.diff(margins) > 0).all())
        self.assert_near(row["correlation"], 1 - Fraction(6 * (4 + 4 + 4 + 4 + 9 + 1), 6 * 35))

    # ---- associations

    def test_retention_with_discordance_over_the_panel(self):
        row = self.table("associations")["panel", "spearman", "retention", "d", "panel"]
        # Retention: mix twin near far flat. D: mix far twin near flat. Squared rank differences 0 1 1 4 0.
        self.assertEqual(row["n"], 5)
        self.assert_near(row["value"], 1 - Fraction(6 * 6, 5 * 24))
        self.assert_near(row["exact_p"], Fraction(28, 120))
        # Student's t with 3 degrees of freedom, whose distribution function is elementary.
        t = 0.7 * math.sqrt(3 / (1 - 0.49))
        angle = math.atan(t / math.sqrt(3))
        self.assertAlmostEqual(row["p"], 1 - 2 / math.pi * (angle + math.sin(angle) * math.cos(angle)),
                               delta=1e-12)

    def test_parameters_leave_the_anchor_out(self):
        rows = self.table("associations")
        row = rows["panel", "spearman", "parameters", "d", "without the anchor"]
        self.assertEqual((row["n"], row["value"], row["p"]), (4, -1, 0))
        self.assert_near(row["exact_p"], Fraction(2, 24))
        year = rows["panel", "spearman", "year", "d", "panel"]
        self.assertTrue(math.isnan(year["value"]))
        self.assertNotEqual(year["undefined"], "")

    def test_distance_from_the_anchor(self):
        rows = self.table("distances")
        self.assertEqual({key[4] for key in rows}, {"flat"})
        self.assertEqual({key[3] for key in rows}, {"near", "twin", "far", "mix"})
        for e in ("near", "twin", "far", "mix"):
            gap = {f: self.rate("flat", f) - self.rate(e, f) for f in POSITIVES}
            for f in POSITIVES:
                self.assert_near(rows["panel", "finding", f, e, "flat"]["distance"], gap[f])
            micro, macro = (rows["panel", level, "", e, "flat"]["distance"] for level in ("micro", "macro"))
            self.assert_near(micro, (20 * gap["f"] + 6 * gap["g"]) / 26)
            self.assert_near(macro, (gap["f"] + gap["g"]) / 2)
        self.assertEqual(self.table("families")["distance from the anchor", "panel"]["m"], 4)
        self.assertEqual(self.table("families")["distance from the anchor, by finding", "panel"]["m"], 8)

    def test_contrast(self):
        rows = self.table("contrasts")
        seeing, confusing = (rows["panel", "arms", "arm", a, ""] for a in ("seeing", "confusing"))
        self.assertEqual((seeing["encoders"], seeing["cells"], confusing["cells"]), (2, 4, 4))
        self.assert_near(seeing["value"], (Fraction(4, 20) + Fraction(1, 6)) / 4)
        self.assert_near(confusing["value"], (Fraction(8, 20) + Fraction(6, 20)) / 4)
        row = rows["panel", "arms", "difference", "seeing", "confusing"]
        # f: 1/10 - 7/20, g: 1/12 - 0; their mean and half their distance are the mean and its standard error.
        a, b = Fraction(-1, 4), Fraction(1, 12)
        self.assertEqual(row["cells"], 2)
        self.assert_near(row["value"], (a + b) / 2)
        error = float(b - a) / 2
        quantile = math.tan(math.pi * 0.475)  # of Student's t with 1 degree of freedom at 0.975
        for column, side in (("low", -1), ("high", 1)):
            # Libraries give this quantile to ten digits.
            self.assertAlmostEqual(row[column], float(a + b) / 2 + side * quantile * error, delta=1e-9)
        p = 1 - 2 / math.pi * math.atan(abs(float(a + b) / 2) / error)
        self.assertAlmostEqual(row["p"], p, delta=1e-12)

    # ---- ablations

    def test_context_match_removed(self):
        rows = self.table("ablations")
        for e in ENCODERS:
            for finding in POSITIVES:
                row = rows["panel", e, "finding", finding]
                # Without the match mix meets the negatives of s2 beside its positives of s1.
                merged = Fraction(12, 20) if (e, finding) == ("mix", "f") else self.rate(e, finding)
                self.assert_near(row["matched"], self.rate(e, finding))
                self.assert_near(row["merged"], merged, (e, finding))
                self.assert_near(row["difference"], merged - self.rate(e, finding))
                for rule in ("equal", "distinct", "literal", "unequal"):
                    self.assert_near(row[rule], self.rate(e, finding), rule)
            f = rows["panel", e, "finding", "f"]
            self.assertEqual((f["n_pos"], f["n_neg"], f["queries"], f["n_merged"]), (20, 24, 20, 19))
        self.assert_near(rows["panel", "mix", "task", ""]["merged"], Fraction(12, 26))


# ---- queries against a reference

# (id, patient, view, label, row). On axis 0 positives, on axis 1 negatives of the reference. "both" is in
# both tables, apart from all others; "sibling" is another image of its patient. Of the six positives in AP
# five are candidates; "p2" has the last key, so that "both" is among them.
REFERENCE = [(f"p{i}", f"of-p{i}", "AP", 1, (1, 0, 0)) for i in range(5)]
REFERENCE += [("both", "shared", "AP", 1, (0, 3, 4))]
REFERENCE += [(f"n{i}", f"of-n{i}", "AP", 0, (0, 1, 0)) for i in range(6)]
REFERENCE += [("lone", "of-lone", "PA", 1, (1, 0, 0))]
REFERENCE += [(f"m{i}", f"of-m{i}", "PA", 0, (0, 1, 0)) for i in range(3)]
ASKING = [("right", "q0", "AP", 1, (4, 3, 0)), ("wrong", "q1", "AP", 1, (3, 4, 0)),
          ("both", "shared", "AP", 1, (0, 3, 4)), ("sibling", "shared", "AP", 1, (0, 3, 4)),
          ("low", "q2", "AP", 0, (3, 4, 0)),
          # The reference has one positive in PA and no LL at all.
          ("fallen", "q3", "PA", 1, (4, 3, 0)), ("fallen-low", "q4", "PA", 0, (3, 4, 0)),
          ("stranger", "q5", "LL", 1, (3, 4, 0))]
MARGINS = {"right": -0.2, "wrong": 0.2, "both": 0.6, "sibling": -0.4, "low": 0.2, "fallen": -0.2,
           "fallen-low": 0.2, "stranger": 0.2}


class Reference(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = cls.folder
        for name, rows in (("hospital", REFERENCE), ("boxes", ASKING)):
            write_csv(os.path.join(folder, f"{name}.csv"), ["image_id", "patient_id", "view", "f"],
                      (row[:4] for row in rows))
            write_features(os.path.join(folder, f"{name}.h5"), [r[0] for r in rows], [r[4] for r in rows])
        write_features(os.path.join(folder, "erased.h5"), [r[0] for r in ASKING], [r[4] for r in ASKING],
                       ["f"] * len(ASKING))
        study = os.path.join(folder, "study.toml")
        with open(study, "w", encoding="utf-8") as f:
            f.write("""[study]
name = "reference"
[operator]
k = 1
bank_cap = 0
also = ["distinct", "literal"]
[bootstrap]
resamples = 50
[[encoder]]
id = "e"
[[dataset]]
id = "hospital"
table = "hospital.csv"
features = "{dataset}.h5"
[[dataset]]
id = "boxes"
table = "boxes.csv"
features = "{dataset}.h5"
erased = "erased.h5"
reference = "hospital"
[[task]]
id = "asked"
datasets = ["boxes"]
findings = ["f"]
context = ["dataset", "view"]
""")
        cls.out = run_candor(study, os.path.join(folder, "out.h5"))
        cls.study = study

    def table(self, name):
        with h5py.File(self.out) as f:
            return read_table(f, name)

    def test_an_image_of_both_is_in_one_pair(self):
        """Random features: "both" stands in two tables, and in no pair twice."""
        study = os.path.join(self.folder, "pairs.toml")
        with open(self.study, encoding="utf-8") as f:
            text = f.read()
        with open(study, "w", encoding="utf-8") as f:
            f.write(text.replace('[[dataset]]\nid = "hospital"', '[[encoder]]\nid = "far"\n'
                                 '[[dataset]]\nid = "hospital"').replace('"{dataset}.h5"',
                                                                       '"{dataset}-{encoder}.h5"')
                    .replace('erased = "erased.h5"\n', ""))
        random = np.random.default_rng(1)
        for name, rows in (("hospital", REFERENCE), ("boxes", ASKING)):
            for encoder in ("e", "far"):
                write_features(os.path.join(self.folder, f"{name}-{encoder}.h5"), [r[0] for r in rows],
                               random.standard_normal((len(rows), 3)))
        out = run_candor(study, os.path.join(self.folder, "pairs.h5"))
        done = subprocess.run([os.environ["CANDOR"], "pairs", out, "--close", "e", "--far", "far", "--top", "0",
                               "--per-image", "0"], capture_output=True, text=True, check=True)
        pairs = [(r["context"], r["positive_image"], r["negative_image"])
                 for r in csv.DictReader(done.stdout.splitlines())]
        self.assertTrue(any(pair[1] == "both" for pair in pairs))
        self.assertEqual(len(set(pairs)), len(pairs))

    def test_no_context_in_common_is_an_error(self):
        """Everything would be asked of the whole reference, which is in no figure."""
        folder = os.path.join(self.folder, "apart")
        os.mkdir(folder)
        write_csv(os.path.join(folder, "boxes.csv"), ["image_id", "patient_id", "view", "f"],
                  (("q" + r[0], r[1], "XX", r[3]) for r in ASKING))
        write_features(os.path.join(folder, "boxes.h5"), ["q" + r[0] for r in ASKING], [r[4] for r in ASKING])
        for name in ("hospital.csv", "hospital.h5", "study.toml"):
            shutil.copy(os.path.join(self.folder, name), folder)
        study = os.path.join(folder, "study.toml")
        with open(study, encoding="utf-8") as f:
            text = f.read().replace('erased = "erased.h5"\n', "")
        with open(study, "w", encoding="utf-8") as f:
            f.write(text)
        for command in (["check", study], ["run", study, "-o", os.path.join(folder, "out.h5")]):
            done = subprocess.run([os.environ["CANDOR"], *command], capture_output=True, text=True)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn('no cell of task "asked" can be scored', done.stdout + done.stderr)
        self.assertFalse(os.path.exists(os.path.join(folder, "out.h5")))

    def test_an_image_of_both_is_no_duplicate_of_itself(self):
        done = subprocess.run([os.environ["CANDOR"], "check", self.study], capture_output=True, text=True,
                              check=True)
        duplicates = done.stdout.split("== duplicates\n")[1].split("\n\n")[0].splitlines()
        row = dict(zip(duplicates[0].split(), duplicates[2].split()))
        # AP: of five equal positives four, of six negatives five, "sibling" and "low"; PA: two of three.
        self.assertEqual(row["duplicate_rows"], "13")

    def test_margins_and_who_is_asked_where(self):
        with h5py.File(self.out) as f:
            cases = f["cases/asked"]
            images = list(cases["image_id"].asstr()[:])
            self.assertEqual(set(cases["dataset"].asstr()[:]), {"boxes"})
            self.assertEqual(sorted(images), sorted(MARGINS))
            for image, context, margin in zip(images, cases["context"].asstr()[:], cases["dm"][0]):
                own = image in ("right", "wrong", "both", "sibling", "low")
                self.assertEqual(context, "hospital / AP" if own else "(pooled)", image)
                # Cosines of the 3-4-5 triangle: right meets 4/5 and 3/5. "both" is never its own neighbour;
                # its sibling finds it, and it alone, at 1.
                self.assertAlmostEqual(margin, MARGINS[image], delta=1e-14, msg=image)

    def test_counts_and_n_are_the_reference_s(self):
        cells = self.table("cells")
        self.assertEqual(set(cells), {("asked", "e", "f", "hospital / AP"), ("asked", "e", "f", "(pooled)")})
        for context, counts in (("hospital / AP", (6, 6, 5, 4, 1, 2, 0)),
                                ("(pooled)", (7, 9, 6, 2, 1, 1, 1))):
            row = cells["asked", "e", "f", context]
            self.assertEqual(tuple(row[c] for c in ("n_pos", "n_neg", "n", "queries", "negative_queries",
                                                    "discordant", "pooled_reference")), counts, context)

    def test_the_whole_reference_stays_outside_the_figures(self):
        row = self.table("findings")["asked", "e", "f"]
        self.assertEqual((row["queries"], row["discordant"], row["patients"]), (4, 2, 3))
        self.assertEqual(self.table("tasks")["asked", "e", "micro"]["queries"], 4)
        self.assertEqual(self.table("consensus")["asked", "finding", "f"]["positives"], 4)

    def test_margins_of_the_whole_reference_are_correlated_with_nothing(self):
        row = self.table("retention")["asked", "e", "region", "f"]
        self.assertEqual((row["images"], row["cases"], row["retention"]),
                         (sum(r[3] == "1" or r[3] == 1 for r in ASKING), 4, 1))

    def test_a_shared_patient_is_one_patient(self):
        """Under `distinct` the sibling loses its only neighbour, under `literal` it keeps it."""
        rows = self.table("rules")
        for rule, discordant in (("equal", 2), ("literal", 2), ("distinct", 3)):
            self.assertEqual(rows["asked", "e", "cell", "f", "hospital / AP", rule]["discordant"], discordant)

    def test_unscored_contexts_and_fallen_queries_are_told(self):
        skipped = self.table("skipped")
        self.assertIn("fewer than k", skipped["asked", "f", "hospital / PA", "equal"]["reason"])
        self.assertIn("no positives", skipped["asked", "f", "hospital / LL", "equal"]["reason"])
        with h5py.File(self.out) as f:
            found = {(r["dataset"].decode(), r["detail"].decode()): int(r["rows"])
                     for r in f["tables/exclusions"][:]
                     if r["what"].startswith(b"own context not scored")}
        self.assertEqual(found, {("boxes", "f"): 3})


if __name__ == "__main__":
    unittest.main()
