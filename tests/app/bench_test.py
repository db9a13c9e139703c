"""candor bench: what it prints, on made and on given features; what goes wrong ends in one line."""

import json
import os
import subprocess
import tempfile
import unittest

import h5py
import numpy as np

from testing.program import CANDOR, errors_in, on_ranks

KEYS = ["name", "work", "peer", "seconds", "peer_seconds", "ratio", "ratio_low", "ratio_high", "rounds"]


def bench(*words, ranks=1):
    return subprocess.run(on_ranks(ranks, CANDOR, "bench", *words), capture_output=True, text=True, timeout=300)


class BenchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def features(self, values, name="features.h5"):
        path = os.path.join(self.folder, name)
        with h5py.File(path, "w") as file:
            file["features"] = values
            file.create_dataset("image_id", data=[f"i{i}" for i in range(len(values))],
                                dtype=h5py.string_dtype())
        return path

    def measured(self, *words):
        done = bench(*words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done, json.loads(done.stdout)

    def test_ratios_are_of_the_seconds(self):
        done, rows = self.measured("--only", "cell-64,rates", "--only", "auroc", "--rounds", "3")
        self.assertEqual([row["name"] for row in rows], ["cell-64", "auroc", "rates"])
        self.assertEqual(done.stderr.splitlines(), [f"candor: measuring {row['name']}" for row in rows])
        for row in rows:
            self.assertEqual(list(row), KEYS)
            self.assertEqual(row["rounds"], 3)
            self.assertGreater(row["seconds"], 0)
            self.assertAlmostEqual(row["ratio"], row["seconds"] / row["peer_seconds"])
            self.assertLessEqual(row["ratio_low"], row["ratio_high"])

    def test_text_names_the_kernels(self):
        done = bench("--only", "cell-64", "--rounds", "1", "--quiet")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0].split(), KEYS)
        self.assertRegex(lines[-1], r"^BLAS .*, kernel \w+; vectors \w+$")

    def test_given_features(self):
        values = np.random.default_rng(0).normal(size=(1001, 32)).astype(np.float16)
        _, rows = self.measured(self.features(values), "--rounds", "1")
        self.assertEqual([(row["name"], row["work"]) for row in rows],
                         [("cell", "both labels of 500 + 500 rows, d = 32"),
                          ("census", "1,001 rows, 12 findings, d = 32")])

    def test_equal_rows(self):
        rows = self.measured(self.features(np.ones((1000, 300), np.float32)), "--rounds", "1")[1]
        self.assertEqual(len(rows), 2)

    def refused(self, code, message, *words, ranks=1):
        done = bench(*words, ranks=ranks)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        said = errors_in(done)
        self.assertEqual(len(said), 1, done.stderr)
        self.assertIn(message, said[0])
        if ranks == 1:
            self.assertEqual(done.stderr.splitlines(), said)

    def test_refusals(self):
        values = np.ones((1000, 4), np.float32)
        values[:, 1] = np.arange(1000)
        self.refused(2, "no such benchmark; there are cell-1024, ", "--only", "cel")
        self.refused(2, "no such benchmark of a feature file; there are cell, census", self.features(values),
                     "--only", "auroc")
        self.refused(2, "--rounds 0: must be a whole number, 1 to", "--rounds", "0")
        self.refused(2, "measures one process", "--only", "cell-64", ranks=2)
        self.refused(3, "has 999 rows", self.features(values[1:], "few.h5"))
        self.refused(3, "holds float64 features", self.features(values.astype(float), "double.h5"))
        self.refused(3, "nowhere.h5", os.path.join(self.folder, "nowhere.h5"))
        values[7] = 0
        self.refused(3, "zero.h5, row 7: is all zeros", self.features(values, "zero.h5"))
        values[7] = np.nan
        self.refused(3, "nan.h5, row 7: is all zeros or holds NaN", self.features(values, "nan.h5"))


if __name__ == "__main__":
    unittest.main()
