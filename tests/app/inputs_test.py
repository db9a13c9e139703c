"""The studies in inputs/: their files are what their script makes, and they run as they stand."""

import csv
import os
import re
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np

from reference.agreement import disagreements, read_table, run_candor

INPUTS = os.path.join(os.environ["CANDOR_SOURCE"], "inputs")


class Inputs(unittest.TestCase):
    def test_committed_files_are_made_by_the_script(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-B", os.path.join(INPUTS, "make_features.py"),
                            os.environ["CANDOR"], folder], check=True)
            for name in ("table.csv", "boxes.csv"):
                with open(os.path.join(folder, "digits", name), "rb") as made, \
                        open(os.path.join(INPUTS, "digits", name), "rb") as kept:
                    self.assertEqual(made.read(), kept.read(), name)
            for place, encoders in (("wdbc/features", 5), ("digits/features", 7), ("digits/erased", 7)):
                names = sorted(os.listdir(os.path.join(INPUTS, place)))
                self.assertEqual(names, sorted(os.listdir(os.path.join(folder, place))))
                self.assertEqual(len(names), encoders)
                for name in names:
                    with self.subTest(place=place, features=name), \
                            h5py.File(os.path.join(folder, place, name)) as made, \
                            h5py.File(os.path.join(INPUTS, place, name)) as kept:
                        self.assertEqual(made.keys(), kept.keys())
                        for text in kept.keys() - {"features"}:
                            np.testing.assert_array_equal(made[text][:], kept[text][:])
                        a, b = made["features"], kept["features"]
                        self.assertEqual(a.dtype, b.dtype)
                        # Another BLAS may round the doubles otherwise: then the stored type's last bit may
                        # flip (eps is its unit step at 1), or a rectified 0 become some rounding error.
                        np.testing.assert_allclose(a[:].astype(float), b[:].astype(float),
                                                   rtol=np.finfo(a.dtype).eps, atol=1e-12)

    def test_erased_pixels_are_the_mean_inside_the_boxes_and_the_original_outside(self):
        digits = os.path.join(INPUTS, "digits")
        with open(os.path.join(digits, "source.csv"), encoding="utf-8") as f:
            pixels = {r[0]: np.array(r[2:], float).reshape(8, 8) for r in list(csv.reader(f))[1:]}
        with open(os.path.join(digits, "table.csv"), encoding="utf-8") as f:
            positive = {(r["image_id"], finding) for r in csv.DictReader(f)
                        for finding in r if r[finding] == "1"}
        inside = {key: np.zeros((8, 8), bool) for key in positive}
        with open(os.path.join(digits, "boxes.csv"), encoding="utf-8") as f:
            for r in csv.DictReader(f):
                x, y, width, height = (int(r[c]) for c in ("x", "y", "width", "height"))
                self.assertLessEqual(max(x + width, y + height), 8)
                inside[r["image_id"], r["finding"]][y:y + height, x:x + width] = True
        with h5py.File(os.path.join(digits, "erased", "pixels.h5")) as f:
            found = {(i.decode(), r.decode()): row.astype(float).reshape(8, 8)
                     for i, r, row in zip(f["image_id"][:], f["finding"][:], f["features"][:])}
        self.assertEqual(found.keys(), positive)
        self.assertEqual(len(found), 1797)
        for (image, region), erased in found.items():
            here = inside[image, region]
            self.assertTrue(here.any(), image)
            # Exact: the mean is a multiple of 1/64 below 16, which half precision holds.
            np.testing.assert_array_equal(erased, np.where(here, pixels[image].mean(), pixels[image]), image)

    def test_studies_run_and_agree_with_the_reference(self):
        for study in ("wdbc", "digits"):
            with self.subTest(study=study), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(INPUTS, study, "study.toml")
                results = run_candor(path, os.path.join(folder, "out.h5"), ranks=2)
                problems = disagreements(path, results)
                self.assertEqual(problems[:20], [], f"{len(problems)} differences")
                if study == "digits":
                    self.heads_are_as_told(results)

    def heads_are_as_told(self, results):
        with open(os.path.join(INPUTS, "README.md"), encoding="utf-8") as f:
            told = dict(re.findall(r"\| `(\w+)`[^|]* \| (\d.* \[.*\]) \|", f.read()))
        with h5py.File(results) as f:
            policies = {policy: row for (level, _, policy), row in
                        read_table(f, "selection", ("level", "finding", "policy")).items() if level == "macro"}
            scores = {key[-1]: row for key, row in
                      read_table(f, "detection", ("level", "encoder", "context", "finding", "dataset", "score")).items()
                      if key[0] == "task"}
        for table, column, names in ((policies, "miss", ("single", "majority", "oracle", "independent")),
                                     (scores, "auroc", ("impurity", "msp", "threshold_distance"))):
            for name in names:
                found = [100 * table[name][column + end] for end in ("", "_low", "_high")]
                # One case of 24 to 43 of a finding, over ten findings, is 0.4 at the most.
                np.testing.assert_allclose([float(number) for number in re.findall(r"[\d.]+", told[name])], found,
                                           atol=0.5, err_msg=name)
        self.assertEqual((scores["msp"]["won"], scores["msp"]["lost"]), (2, 68))
        np.testing.assert_allclose(policies["most_confident"]["gap_closed"], 0.629, atol=0.02)


if __name__ == "__main__":
    unittest.main()
