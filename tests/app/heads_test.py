"""Heads, detection and selection of a made study with splits: the same bytes at any rank count, and every table
recomputed from what the file holds of single rows, from the features and from the operator's reference."""

import math
import os
import subprocess
import unittest

import h5py
import numpy as np

from reference import candor_reference, head_results
from reference.agreement import read_table, run_candor
from reference.inference import interval, resample_weights
from reference.streams import image_key
from testing.program import write_features, write_table
from testing.scratch import InFolder

ENCODERS = {"wide": 24, "small": 5, "noise": 12}
FINDINGS = ("edema", "mass")
SPLITS = ("train", "train", "train", "val", "test", "test")
SEED, RESAMPLES, K = 42, 60, 3

STUDY = """
[study]
name = "Heads"
[operator]
k = 3
also = []
candidates = "equal"
[pool]
splits = ["{split}"]
rows = 0
[bootstrap]
resamples = 60
[heads]
kinds = {kinds}
epochs = 60
ensemble = 3
[[encoder]]
id = "wide"
[[encoder]]
id = "small"
[[encoder]]
id = "noise"
anchor = true
[[dataset]]
id = "a"
table = "a.csv"
features = "{{encoder}}-{{dataset}}.h5"
[[dataset]]
id = "b"
table = "b.csv"
features = "{{encoder}}-{{dataset}}.h5"
[[task]]
id = "chest"
datasets = ["a", "b"]
findings = ["edema", "mass"]
context = ["dataset", "view"]
"""


def make_study(folder):
    """Two datasets of 420 and 240 images, two images a patient, some labels missing, one view of b
    with fewer training rows than k."""
    random = np.random.default_rng(5)
    for dataset, rows in (("a", 420), ("b", 240)):
        lines = ["image_id,patient_id,split,view,edema,mass"]
        hidden = random.normal(0, 1, (rows, 3))
        for i in range(rows):
            labels = [int(hidden[i, f] + 0.5 * random.normal() > 0.6) for f in range(2)]
            stated = [str(v) if random.random() > 0.06 else random.choice(["", "-1"]) for v in labels]
            # Of b's second view two rows are trained on and four tested.
            view = "pa" if (random.random() < 0.4 if dataset == "a" else i in (0, 1, 8, 9, 10, 11)) else "ap"
            lines.append(f"{dataset}{i},{dataset}p{i // 2:03},{SPLITS[i // 2 % 6]},{view}," + ",".join(stated))
        with open(os.path.join(folder, dataset + ".csv"), "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")
        for encoder, d in ENCODERS.items():
            told = 0 if encoder == "noise" else 2 if encoder == "wide" else 1
            values = told * hidden @ random.normal(0, 1, (3, d)) + random.normal(0, 1, (rows, d)) + 0.5
            with h5py.File(os.path.join(folder, f"{encoder}-{dataset}.h5"), "w") as f:
                f["features"] = values.astype("float64" if encoder == "small" else "float32")
                f["image_id"] = [f"{dataset}{i}" for i in range(rows)]
    for name, split, kinds in (("study", "test", '["linear", "hidden"]'), ("training", "train", "[]")):
        with open(os.path.join(folder, name + ".toml"), "w", encoding="utf-8") as out:
            out.write(STUDY.format(split=split, kinds=kinds))


def all_datasets(path):
    """{name: bytes} of all but /run."""
    found = {}
    with h5py.File(path) as f:
        f.visititems(lambda name, item: found.update({name: item[()].tobytes()})
                     if isinstance(item, h5py.Dataset) and not name.startswith("run") else None)
    return found


class Heads(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = cls.folder
        make_study(folder)
        cls.path = run_candor(os.path.join(folder, "study.toml"), os.path.join(folder, "1.h5"))
        cls.file = h5py.File(cls.path)
        cls.addClassCleanup(cls.file.close)
        cls.heads = {d: head_results.Heads(cls.file[f"heads/chest/{d}"]) for d in ("a", "b")}
        cls.table = read_table(cls.file, "heads", ("level", "dataset", "encoder", "kind", "finding"))
        patients = sorted({p for of in cls.heads.values() for p in of.patient[of.test]})
        weights = resample_weights(SEED, "chest", RESAMPLES, len(patients))
        cls.times = {}
        for dataset, of in cls.heads.items():
            place = np.searchsorted(patients, of.patient[of.test])
            cls.times[dataset] = np.vstack([np.ones(len(place), np.int64), weights[:, place]])
        cls.thresholds = {(e, d, f): cls.table["dataset", d, e, "linear", f]["threshold"]
                          for e in ENCODERS for d in cls.heads for f in FINDINGS}
        cls.study = {"confidence": 0.95, "sensitivity": 0.8}

    def close(self, found, expected, tolerance, what):
        if math.isnan(expected) or math.isnan(found):
            self.assertTrue(math.isnan(expected) and math.isnan(found), f"{what}: {found}, not {expected}")
        else:
            self.assertLessEqual(abs(found - expected), tolerance, f"{what}: {found}, not {expected}")

    def agree(self, name, keys, expected, tolerance=1e-12):
        """Every expected row stands in the table, with these values."""
        found = read_table(self.file, name, keys)
        self.assertEqual(found.keys(), expected.keys())
        for key, row in expected.items():
            for column, value in row.items():
                if column in found[key]:
                    self.close(found[key][column], value, tolerance, (name, key, column))

    def test_the_same_bytes_on_any_number_of_ranks(self):
        one = all_datasets(self.path)
        self.assertIn("heads/chest/a/z_hidden", one)
        for ranks in (2, 3, 5):
            out = os.path.join(self.folder, f"{ranks}.h5")
            run_candor(os.path.join(self.folder, "study.toml"), out, "--threads", str(ranks % 2 + 1), ranks=ranks)
            other = all_datasets(out)
            self.assertEqual(one.keys(), other.keys())
            self.assertEqual([name for name in one if one[name] != other[name]], [], ranks)

    def test_other_tables_know_nothing_of_heads(self):
        out = run_candor(os.path.join(self.folder, "study.toml"),
                         os.path.join(self.folder, "without.h5"), "--set", "heads.kinds=[]")
        one, other = all_datasets(self.path), all_datasets(out)
        for name in ("cells", "findings", "tasks", "panels", "rules", "overlap", "consensus", "retention",
                     "distances", "skipped"):
            self.assertEqual(one[f"tables/{name}"], other[f"tables/{name}"], name)
        self.assertEqual(one["cases/chest/dm"], other["cases/chest/dm"])
        with h5py.File(out) as f:
            self.assertEqual({row["undefined"] for row in f["tables/heads"][:]},
                             {b"no kinds of heads are asked for"})
            self.assertEqual(len(f["tables/detection"]) + len(f["tables/selection"]), 0)
            self.assertNotIn("heads", f)

    def test_the_rows_are_those_of_the_splits(self):
        for dataset, of in self.heads.items():
            for image, split in zip(of.image, np.where(of.test, "test", "val")):
                self.assertEqual(SPLITS[int(image[1:]) // 2 % 6], split)
            self.assertEqual(of.validation.sum() + of.test.sum(),
                             sum(SPLITS[i // 2 % 6] in ("val", "test") for i in range(420 if dataset == "a" else 240)))

    def test_heads(self):
        for kind in ("linear", "hidden"):
            z = "z_" + kind
            means = {}
            for f, finding in enumerate(FINDINGS):
                over = {e: [0, 0] for e in ENCODERS}
                for dataset, of in self.heads.items():
                    label = of.label[f, of.test]
                    takes = ~np.isnan(label)
                    for e, encoder in enumerate(of.encoders):
                        row = self.table["dataset", dataset, encoder, kind, finding]
                        t, found = head_results.threshold_of(of.of[z][e, f, of.validation],
                                                             of.label[f, of.validation], 0.8)
                        self.assertEqual((row["threshold"], row["sensitivity"]), (t, found))
                        sums = head_results.pair_sums(of.of[z][e, f, of.test][takes], label[takes] == 1,
                                                      of.context[of.test][takes], self.times[dataset][:, takes])
                        self.compare_auroc(row, sums)
                        over[encoder] = [a + b for a, b in zip(over[encoder], sums)]
                        self.assertEqual(row["violations"], 0)
                        self.assertEqual((row["epochs"], row["members"]), (60, 3 if kind == "linear" else 1))
                        self.assertEqual(math.isnan(row["member_sd"]), kind == "hidden")
                for encoder in ENCODERS:
                    self.compare_auroc(self.table["finding", "", encoder, kind, finding], over[encoder])
                    means.setdefault(encoder, []).append(head_results.auroc(over[encoder]))
            for encoder, aurocs in means.items():
                row = self.table["task", "", encoder, kind, ""]
                mean = np.mean(aurocs, axis=0)
                self.close(row["auroc"], mean[0], 1e-12, encoder)
                low, high, valid = interval(mean[1:], 0.95)
                self.close(row["auroc_low"], low, 1e-12, encoder)
                self.close(row["auroc_high"], high, 1e-12, encoder)
                self.assertEqual(row["n_boot_valid"], valid)
        # Features tell the findings, noise does not.
        self.assertGreater(self.table["task", "", "wide", "linear", ""]["auroc"], 0.8)
        self.assertLess(abs(self.table["task", "", "noise", "linear", ""]["auroc"] - 0.5), 0.1)

    def compare_auroc(self, row, sums):
        values = head_results.auroc(sums)
        self.assertEqual(row["pairs"], sums[1][0])
        self.close(row["auroc"], values[0], 1e-12, row)
        low, high, valid = interval(values[1:], 0.95)
        self.close(row["auroc_low"], low, 1e-12, row)
        self.close(row["auroc_high"], high, 1e-12, row)
        self.assertEqual(row["n_boot_valid"], valid)

    def test_scores_of_the_features(self):
        for dataset, of in self.heads.items():
            with open(os.path.join(self.folder, dataset + ".csv"), encoding="utf-8") as f:
                table = [line.strip().split(",") for line in f][1:]
            training = [i for i, row in enumerate(table) if row[2] == "train"]
            context = np.array([f"{dataset} / {row[3]}" for row in table])
            at = {row[0]: i for i, row in enumerate(table)}
            test = [at[image] for image in of.image[of.test]]
            for e, encoder in enumerate(of.encoders):
                with h5py.File(os.path.join(self.folder, f"{encoder}-{dataset}.h5")) as f:
                    values = f["features"][:].astype(float)
                values /= np.linalg.norm(values, axis=1, keepdims=True)
                for f, finding in enumerate(FINDINGS):
                    label = np.array([float(row[4 + f]) if row[4 + f] in ("0", "1") else np.nan for row in table])
                    known = [i for i in training if not np.isnan(label[i])]
                    asked = [i for i in test if not np.isnan(label[i])]
                    takes = ~np.isnan(label[test])
                    expected = head_results.geometry(values[known], values[asked], label[known], context[known],
                                                     context[asked], K)
                    # The covariance's condition magnifies roundings of 1e-16 by 1e4 at the most here.
                    for name, answer, tolerance in zip(("impurity", "neighbor_distance", "mahalanobis"), expected,
                                                       (1e-12, 1e-12, 1e-8)):
                        found = of.of[name][e, f, of.test]
                        np.testing.assert_allclose(found[takes], answer, rtol=tolerance, atol=tolerance,
                                                   err_msg=f"{dataset} {encoder} {finding} {name}")
                        self.assertTrue(np.isnan(found[~takes]).all())
                        self.assertTrue(np.isnan(of.of[name][e, f, of.validation]).all())
                    spread = of.of["ensemble"][e, f, of.test]
                    self.assertTrue(((spread >= 0) & (spread < 0.5)).all())

    def test_some_rows_have_too_few_neighbors(self):
        rows = read_table(self.file, "detection", ("level", "encoder", "dataset", "context", "finding", "score"))
        self.assertEqual({key[3] for key in rows if key[0] == "context"}, {"a / ap", "a / pa", "b / ap"})
        for finding in FINDINGS:
            self.assertIn(rows["cell", "wide", "b", "", finding, "msp"]["without_neighbors"], (3, 4))

    def test_detection(self):
        expected = head_results.detection_rows(self.study, "chest", self.heads, self.thresholds, self.times)
        self.assertEqual(len(expected), (3 * 2 * 2 + 3 + 2 + 3 + 1) * 8)
        self.agree("detection", ("level", "encoder", "dataset", "context", "finding", "score"), expected)
        families = read_table(self.file, "families", ("family", "task"))
        for score in head_results.SCORES[1:]:
            self.assertEqual(families[f"impurity less {score}", "chest"]["m"], 12)

    def test_risk_coverage(self):
        expected = head_results.risk_rows(self.heads, self.thresholds, 20)
        self.assertEqual(len(expected), (3 + 1) * 9 * 20)
        rows = [dict(zip(record.dtype.names, record)) for record in self.file["tables/risk_coverage"][:]]
        self.assertEqual(len(rows), len(expected))
        for row in rows:
            key = row["level"].decode(), row["encoder"].decode(), row["score"].decode(), round(20 * row["coverage"])
            self.close(row["risk"], expected[key], 1e-13, key)
            self.assertEqual(row["cells"], 12 if key[0] == "task" else 4)

    def test_selection(self):
        results = candor_reference.run(os.path.join(self.folder, "training.toml"))
        findings = results["chest"][0]["findings"]
        training_d = {(e, f): findings["chest", e, f]["rate_mid"] for e in ENCODERS for f in FINDINGS}
        expected = head_results.selection_rows(self.study, "chest", self.heads, self.thresholds, training_d, self.times)
        self.assertEqual(len(expected), (2 + 1 + 1) * 8)
        self.agree("selection", ("level", "finding", "policy"), expected)
        for row in read_table(self.file, "selection", ("level", "finding", "policy")).values():
            self.assertEqual(row["encoders"], 3)

    def test_errors_that_no_resample_moves_have_a_bound(self):
        """At a sensitivity of 1 no positive is missed by all encoders; impurity and D stay what they are."""
        out = run_candor(os.path.join(self.folder, "study.toml"), os.path.join(self.folder, "sensitive.h5"),
                         "--set", "heads.sensitivity=1", "--set", 'heads.kinds=["linear"]')
        with h5py.File(out) as f:
            heads = {d: head_results.Heads(f[f"heads/chest/{d}"]) for d in ("a", "b")}
            table = read_table(f, "heads", ("level", "dataset", "encoder", "kind", "finding"))
            found = read_table(f, "selection", ("level", "finding", "policy"))
        thresholds = {key: table["dataset", key[1], key[0], "linear", key[2]]["threshold"] for key in self.thresholds}
        expected = head_results.selection_rows(self.study | {"sensitivity": 1.0}, "chest", heads, thresholds,
                                               {(e, f): 0 for e in ENCODERS for f in FINDINGS}, self.times)
        columns = ("all_equal", "bound_low", "bound_high", "false_alarm_all_equal", "false_alarm_bound_low",
                   "false_alarm_bound_high", "positive_patients", "negative_patients", "few_patients")
        for key, row in expected.items():
            if key[2] == "lowest_d":
                continue  # needs D
            for column in columns:
                self.close(found[key][column], row[column], 1e-12, (key, column))
        for finding in FINDINGS:
            row = found["finding", finding, "oracle"]
            self.assertEqual((row["miss"], row["miss_high"], row["all_equal"], row["bound_low"]), (0, 0, 1, 0))
            self.assertGreater(row["bound_high"], 0)

    def test_the_overview_tells_of_them(self):
        said = subprocess.run([os.environ["CANDOR"], "show", self.path], check=True, capture_output=True,
                              text=True).stdout.replace("\n", " ")
        self.assertIn("Linear heads, AUROC over findings: lowest under noise", said)
        self.assertIn("Errors of linear heads, AUROC within context: impurity at", said)
        self.assertIn("that all 3 encoders scored (macro)", said)


class Extremes(InFolder):
    """Heads of features at the ends of what a double holds, and of findings that training rows show one label of."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(3)
        label = random.integers(0, 2, 240)
        split = np.array(["train", "train", "val", "test"])[np.arange(240) % 4]
        alone = np.where(split == "train", 0, random.integers(0, 2, 240))
        unseen = np.where(split == "train", "", alone.astype(str))
        ids = [f"i{i}" for i in range(240)]
        write_table(os.path.join(cls.folder, "t.csv"), "image_id,split,told,alone,unseen",
                    zip(ids, split, label, alone, unseen))
        values = random.normal(0, 1, (240, 12)) + label[:, None]
        # Powers of two, which change no digit.
        for name, exponent in (("plain", 0), ("huge", 650), ("tiny", -650)):
            write_features(os.path.join(cls.folder, name + ".h5"), np.ldexp(values, exponent), ids)
        with open(os.path.join(cls.folder, "s.toml"), "w", encoding="utf-8") as out:
            out.write('[study]\nname = "Extremes"\n[pool]\nsplits = ["test"]\n[bootstrap]\nresamples = 40\n'
                      '[heads]\nepochs = 4\nensemble = 2\n[[dataset]]\nid = "d"\ntable = "t.csv"\n'
                      'features = "{encoder}.h5"\n' +
                      "".join(f'[[encoder]]\nid = "{name}"\n' for name in ("plain", "huge", "tiny")) +
                      '[[task]]\nid = "t"\ndatasets = ["d"]\nfindings = ["told", "alone", "unseen"]\n')
        cls.path = run_candor(os.path.join(cls.folder, "s.toml"), os.path.join(cls.folder, "s.h5"))

    def test_no_scale_changes_a_head(self):
        with h5py.File(self.path) as f:
            of = head_results.Heads(f["heads/t/d"])
            for kind in ("z_linear", "z_hidden"):
                for e in (1, 2):
                    np.testing.assert_array_equal(of.of[kind][e], of.of[kind][0])
                self.assertGreater(np.nanstd(of.of[kind][0, 0]), 0)
            detected = read_table(f, "detection", ("level", "encoder", "dataset", "context", "finding", "score"))
            for (level, encoder, *rest), row in detected.items():
                if level == "cell" and encoder != "plain":
                    plain = detected[(level, "plain", *rest)]
                    np.testing.assert_equal(row["auroc"], plain["auroc"])

    def test_one_label_teaches_nothing(self):
        with h5py.File(self.path) as f:
            of = head_results.Heads(f["heads/t/d"])
            for kind in ("z_linear", "z_hidden"):
                self.assertTrue(np.isnan(of.of[kind][:, 1:]).all())
            table = read_table(f, "heads", ("level", "encoder", "kind", "finding"))
            for finding, why in (("told", ""), ("alone", "training rows of one label alone"),
                                 ("unseen", "no training row is labelled")):
                for level in ("dataset", "finding"):
                    for kind in ("linear", "hidden"):
                        row = table[level, "plain", kind, finding]
                        self.assertEqual(row["undefined"], why)
                        self.assertEqual(math.isnan(row["auroc"]), why != "")
                        if level == "dataset":
                            self.assertEqual([math.isnan(row[c]) for c in ("threshold", "loss", "lipschitz")],
                                             3 * [why != ""])
            selection = read_table(f, "selection", ("level", "finding", "policy"))
            self.assertEqual(selection["macro", "", "oracle"]["findings"], 1)


class DrawnSplits(InFolder):
    """One of two datasets has no split column."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_study(cls.folder)
        with open(os.path.join(cls.folder, "b.csv"), encoding="utf-8") as f:
            cls.rows = [line.strip().split(",") for line in f]
        cls.write_b(cls.rows)

    @classmethod
    def write_b(cls, rows):
        """The table of b without its column `split`; every seventh row without a patient."""
        with open(os.path.join(cls.folder, "b.csv"), "w", encoding="utf-8") as out:
            for row in rows:
                patient = "" if row[0] != "image_id" and int(row[0][1:]) % 7 == 0 else row[1]
                out.write(",".join([row[0], patient, *row[3:]]) + "\n")

    def run_with(self, name, *words, ranks=1):
        return run_candor(os.path.join(self.folder, "study.toml"), os.path.join(self.folder, name), "--set",
                          "heads.epochs=3", *words, ranks=ranks)

    def test_without_shares_it_has_no_heads(self):
        with h5py.File(self.run_with("none.h5")) as f:
            heads = read_table(f, "heads", ("level", "dataset", "encoder", "kind", "finding"))
            of_b = {key: row for key, row in heads.items() if key[:2] == ("dataset", "b")}
            self.assertEqual(of_b.keys(), {("dataset", "b", "", "", "")})
            self.assertEqual([row["undefined"] for row in of_b.values()],
                             ["it has no splits and [heads] split draws none"])
            self.assertEqual(len([key for key in heads if key[:2] == ("dataset", "a")]), 12)
            self.assertNotIn("b", f["heads/chest"])
            detected = read_table(f, "detection", ("level", "encoder", "dataset", "context", "finding", "score"))
            self.assertEqual({key[2] for key in detected if key[0] == "cell"}, {"a"})
            # All its rows take part in the operator: it has no others.
            self.assertTrue(any(key[3].startswith("b / ")
                                for key in read_table(f, "cells", ("task", "encoder", "finding", "context"))))

    def test_shares_draw_them_by_patient_key(self):
        shares = ("--set", "heads.split=[0.5, 0.2, 0.3]")
        one = self.run_with("one.h5", *shares)
        part = {}
        for image, patient in ((row[0], "" if int(row[0][1:]) % 7 == 0 else row[1]) for row in self.rows[1:]):
            place = (image_key(patient or image, SEED) & 0xFFFFFFFF) / 2**32
            part[image] = "train" if place < 0.5 else "val" if place < 0.7 else "test"
        with h5py.File(one) as f:
            heads = head_results.Heads(f["heads/chest/b"])
            found = dict(zip(heads.image, np.where(heads.test, "test", "val")))
            self.assertEqual(found, {image: which for image, which in part.items() if which != "train"})
            trained = read_table(f, "heads", ("level", "dataset", "encoder", "kind", "finding"))
            for f_at, finding in enumerate(FINDINGS):
                labelled = sum(part[row[0]] == "train" and row[4 + f_at] in ("0", "1") for row in self.rows[1:])
                self.assertEqual(trained["dataset", "b", "wide", "linear", finding]["training_rows"], labelled)
            # Those of a are its column's.
            of_a = head_results.Heads(f["heads/chest/a"])
            for image, split in zip(of_a.image, np.where(of_a.test, "test", "val")):
                self.assertEqual(SPLITS[int(image[1:]) // 2 % 6], split)
        # In another order of rows, on more ranks.
        self.write_b([self.rows[0], *reversed(self.rows[1:])])
        other = all_datasets(self.run_with("other.h5", *shares, ranks=2))
        self.write_b(self.rows)
        expected = all_datasets(one)
        self.assertEqual([name for name in expected if expected[name] != other.get(name)], [])


if __name__ == "__main__":
    unittest.main()
