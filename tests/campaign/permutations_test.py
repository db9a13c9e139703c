"""Label permutations, wide intervals and the relabel null against numpy, which permutes the labels of all rows and draws all keys
anew as the method is worded, scipy and statsmodels."""

import os
import subprocess
import tempfile
import unittest

import h5py
import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests

CANDOR = os.environ["CANDOR"]
K = 3
STUDY = """
[study]
name = "permutations"
[operator]
k = 3
candidates = "{rule}"
also = []
[test]
permutations = {permutations}
[heads]
kinds = []
[[encoder]]
id = "one"
[[encoder]]
id = "two"
[[dataset]]
id = "data"
table = "table.csv"
features = "{{encoder}}.h5"
[[task]]
id = "task"
datasets = ["data"]
findings = ["a", "b"]
context = ["view"]
"""


class Made:
    """Two encoders that share geometry; finding a is in neither, b is in both. Patients of 1 to `images` images of one label
    mostly."""

    def __init__(self, seed, patients, images):
        random = np.random.default_rng(seed)
        self.patient = np.repeat(np.arange(patients), random.integers(1, images + 1, patients))
        n = len(self.patient)
        self.view = (self.patient % 3 == 0).astype(int)
        own = random.random((patients, 2)) < (0.3, 0.4)
        self.labels = own[self.patient].astype(int)
        flips = random.random((n, 2)) < (0.1 if images > 1 else 0)
        self.labels = np.where(flips, 1 - self.labels, self.labels)
        shared = (1.5 if images > 1 else 0) * random.normal(size=(patients, 6))[self.patient] + random.normal(size=(n, 6))
        shared[:, 0] += 1.5 * self.labels[:, 1]
        self.features = [shared, np.sqrt(0.7) * shared + np.sqrt(0.3) * random.normal(size=(n, 6))]

    def write(self, folder, rule, permutations):
        ids = [f"i{i}" for i in range(len(self.patient))]
        with open(os.path.join(folder, "table.csv"), "w") as f:
            f.write("image_id,patient_id,split,view,a,b\n")
            for i, image in enumerate(ids):
                f.write(f"{image},p{self.patient[i]},test,v{self.view[i]},{self.labels[i, 0]},{self.labels[i, 1]}\n")
        for encoder, values in zip(("one", "two"), self.features):
            with h5py.File(os.path.join(folder, encoder + ".h5"), "w") as f:
                f["features"] = values
                f.create_dataset("image_id", data=ids, dtype=h5py.string_dtype())
        with open(os.path.join(folder, "study.toml"), "w") as f:
            f.write(STUDY.format(rule=rule, permutations=permutations))

    def cosines(self, encoder, rows):
        unit = self.features[encoder][rows]
        unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
        return unit @ unit.T


def margins(cosine, label, patient, order, distinct):
    """DM of the positives and of the negatives of the bank; the positives themselves."""
    unit = patient if distinct else np.arange(len(label))
    side = []
    for value in (0, 1):
        rows = [i for i in order if label[i] == value]
        if distinct:
            first = {}
            for i in rows:
                first.setdefault(patient[i], i)
            rows = list(first.values())
        side.append(rows)
    n = min(len(side[0]), len(side[1])) - 1
    if n < K:
        return None
    positives = [i for i in order if label[i] == 1]
    negatives = [i for i in order if label[i] == 0][:n + 1]
    out = []
    for x in positives + negatives:
        mean = []
        for rows in side:
            own = any(unit[i] == unit[x] for i in rows[:n])
            near = [i for i in rows[:n + own] if unit[i] != unit[x]]
            mean.append(np.sort(cosine[x, near])[-K:].mean())
        out.append(mean[0] - mean[1])
    return np.array(out[:len(positives)]), np.array(out[len(positives):]), np.array(positives)


def statistics(positive, negative):
    wins = (positive[:, None] < negative[None]).sum() + (positive[:, None] == negative[None]).sum() / 2
    return (positive > 0).mean() + (positive == 0).mean() / 2, wins / (len(positive) * len(negative))


def permuted(random, label, patient):
    """Whole patients exchange their labels with patients of as many rows."""
    out = label.copy()
    rows = {p: np.flatnonzero(patient == p) for p in np.unique(patient)}
    for size in {len(r) for r in rows.values()}:
        alike = [p for p in rows if len(rows[p]) == size]
        for to, giver in zip(alike, random.permutation(alike)):
            out[rows[to]] = label[rows[giver]]
    return out


class Permutations(unittest.TestCase):
    def run_study(self, made, rule, permutations=200):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        made.write(folder.name, rule, permutations)
        done = subprocess.run([CANDOR, "run", "study.toml", "-o", "out.h5", "--quiet", "--threads", "1"], cwd=folder.name,
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        file = h5py.File(os.path.join(folder.name, "out.h5"))
        self.addCleanup(file.close)
        return {name: file["tables"][name][:] for name in ("cells", "findings", "tasks", "overlap", "families")}

    def check_cells(self, made, rule):
        """Means within 5 standard errors of both sides; standard deviations, of 200 and 150 values, within 5 of theirs."""
        random = np.random.default_rng(1)
        permutations, again = 200, 150
        tables = self.run_study(made, rule, permutations)
        for cell in tables["cells"]:
            encoder = int(cell["encoder"] == b"two")
            rows = np.flatnonzero(made.view == int(cell["context"].decode()[-1]))
            label, patient = made.labels[rows, int(cell["finding"] == b"b")], made.patient[rows]
            cosine = made.cosines(encoder, rows)
            null = []
            for _ in range(again):
                found = margins(cosine, permuted(random, label, patient), patient, random.permutation(len(rows)),
                                rule == "distinct")
                if found is not None:
                    null.append(statistics(*found[:2]))
            null = np.array(null)
            for at, prefix in ((0, "null"), (1, "margin_null")):
                mean, sd = null[:, at].mean(), null[:, at].std(ddof=1)
                error = sd * np.sqrt(1 / permutations + 1 / len(null))
                self.assertLess(abs(cell[prefix + "_mean"] - mean), 5 * error, (rule, cell))
                error = np.sqrt(1 / (2 * permutations) + 1 / (2 * len(null)))
                self.assertLess(abs(np.log(cell[prefix + "_sd"] / sd)), 5 * error, (rule, cell))
        return tables

    def test_nulls_of_single_images(self):
        tables = self.check_cells(Made(3, 240, 1), "equal")
        self.check_tests(tables, 200)

    def test_nulls_of_repeated_patients(self):
        self.check_tests(self.check_cells(Made(4, 130, 3), "distinct"), 200)

    def test_nulls_of_repeated_patients_under_equal(self):
        tables = self.check_cells(Made(5, 130, 3), "equal")
        # Images of a patient are near each other and share their label: what labels that say nothing give is no half.
        self.assertLess(max(tables["cells"]["null_mean"]), 0.45)

    def check_tests(self, tables, permutations):
        findings = tables["findings"]
        for prefix, value, p, q in (("null", "rate_mid", "p", "q"), ("margin_null", "margin_auroc", "margin_p", "margin_q")):
            t = abs(findings[value] - findings[prefix + "_mean"]) / findings[prefix + "_sd"]
            np.testing.assert_allclose(findings[p], 2 * stats.t.sf(t, permutations - 1), rtol=1e-9)
            reject, expected, _, _ = multipletests(findings[p], method="fdr_bh")
            np.testing.assert_allclose(findings[q], expected, rtol=1e-12)
        self.assertEqual(set(findings["test"]), {b"permutation"})
        self.assertEqual({row["test"] for row in tables["families"] if b"chance" in row["family"]}, {b"permutation"})

    def test_without_permutations_the_bootstrap_serves_and_is_named_so(self):
        tables = self.run_study(Made(3, 240, 1), "equal", 0)
        self.assertEqual(set(tables["findings"]["test"]), {b"bootstrap"})
        for name in ("null_mean", "d_wide_low", "margin_auroc_wide_high"):
            self.assertTrue(np.isnan(tables["cells"][name]).all(), name)
        self.assertTrue(np.isfinite(tables["findings"]["p"]).all())

    def test_rank_p_from_999_permutations_on(self):
        for permutations in (998, 999):
            findings = self.run_study(Made(3, 240, 1), "equal", permutations)["findings"]
            self.assertEqual(np.isfinite(findings["rank_p"]).all(), permutations == 999)
            self.assertEqual(np.isfinite(findings["margin_rank_p"]).any(), permutations == 999)
        np.testing.assert_allclose(findings["rank_p"] * 1000, np.rint(findings["rank_p"] * 1000), atol=1e-9)
        # Both are p of the same: 1 where labels say nothing, and so on.
        np.testing.assert_allclose(findings["rank_p"], findings["p"], atol=5 * 0.5 / np.sqrt(999))

    def test_wide_intervals(self):
        made = Made(6, 400, 1)
        random = np.random.default_rng(2)
        findings = self.run_study(made, "equal")["findings"]
        for row in findings:
            encoder, finding = int(row["encoder"] == b"two"), int(row["finding"] == b"b")
            drawn = []
            for _ in range(120):
                take = random.permutation(400)[:100]
                sums = np.zeros(4)
                for view in (0, 1):
                    rows = np.flatnonzero(np.isin(made.patient, take) & (made.view == view))
                    found = margins(made.cosines(encoder, rows), made.labels[rows, finding], made.patient[rows],
                                    random.permutation(len(rows)), False)
                    if found is not None:
                        positive, negative, _ = found
                        pairs = len(positive) * len(negative)
                        sums += ((positive > 0).sum(), len(positive), statistics(positive, negative)[1] * pairs, pairs)
                drawn.append((sums[0] / sums[1], sums[2] / sums[3]))
            sd = np.std(drawn, axis=0, ddof=1) / np.sqrt(3)
            for at, name in ((0, "d"), (1, "margin_auroc")):
                half = (row[name + "_wide_high"] - row[name + "_wide_low"]) / 2
                if row[name + "_wide_low"] > 0 and row[name + "_wide_high"] < 1:
                    # Candidates here are drawn of all rows, there of those in the banks: a little less.
                    error = np.sqrt(1 / 400 + 1 / 240)
                    self.assertLess(abs(np.log(half / (stats.t.ppf(0.975, 199) * sd[at]))), 5 * error + 0.05, row)
                    np.testing.assert_allclose((row[name + "_wide_high"] + row[name + "_wide_low"]) / 2, row[name])

    def test_the_relabel_null_contains_geometry_that_is_shared(self):
        made = Made(7, 300, 1)
        random = np.random.default_rng(3)
        overlap = self.run_study(made, "equal")["overlap"]
        for finding in (0, 1):
            rows = {row["null"]: row for row in overlap if row["level"] == b"finding" and row["finding"] == b"ab"[finding:finding + 1]}
            relabel, pooled = rows[b"relabel"], rows[b"pooled"]

            def excess(sets):
                """Of sets (n, blind to one, blind to two, to both), one a context."""
                n, a, b, both = np.array(sets).T
                variance = a * (n - a) * b * (n - b) / (n ** 2 * (n - 1))
                return (both.sum() - (a * b / n).sum()) / np.sqrt(variance.sum())

            null = []
            for _ in range(150):
                sets = []
                for view in (0, 1):
                    inside = np.flatnonzero(made.view == view)
                    label = random.permutation(made.labels[inside, finding])
                    order = random.permutation(len(inside))
                    blind = [margins(made.cosines(e, inside), label, made.patient[inside], order, False)[0] > 0
                             for e in (0, 1)]
                    sets.append((len(blind[0]), blind[0].sum(), blind[1].sum(), (blind[0] & blind[1]).sum()))
                null.append(excess(sets))
            mean, sd = np.mean(null), np.std(null, ddof=1)
            # What the table says of the observed excess: its p back to t, and t to the null's own scale.
            t = stats.t.isf(relabel["p"], 199)
            if finding == 0:
                self.assertLess(pooled["p"], relabel["p"])
            n, a, b, o = (float(relabel[c]) for c in ("n", "blind_a", "blind_b", "overlap"))
            observed = (o - a * b / n) / np.sqrt(a * (n - a) * b * (n - b) / (n ** 2 * (n - 1)))
            # Pooled over two contexts instead of in each: nearly the same here. Means and deviations of two samples of
            # some 200 are known to 0.1 and 7 %.
            self.assertLess(abs(t - (observed - mean) / sd), 0.6 + 0.25 * abs(t), (finding, t, observed, mean, sd))


if __name__ == "__main__":
    unittest.main()
