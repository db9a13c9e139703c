"""candor calibrate: every proof passes, in less than a minute, and says the same on any number of ranks; one that fails is told."""

import os
import re
import subprocess
import tempfile
import time
import unittest

import h5py
import numpy as np

CANDOR = os.environ["CANDOR"]
SOURCE = os.environ["CANDOR_SOURCE"]
PIXELS = os.path.join(SOURCE, "inputs/digits/features/pixels.h5")
PROOFS = ["planted", "label shuffle", "coverage", "size of tests", "overlap nulls", "overlap sweep", "exact neighbours"]
LINE = re.compile(r"(pass|shown|FAIL) +([a-z ]+): (.+): expected (-?[\d.]+), observed (-?[\d.]+)"
                  r"(?:, within (-?[\d.]+) to (-?[\d.]+))?(?: \(standard error [\d.]+\))?")


def calibrate(folder, *words, ranks=1):
    return subprocess.run(["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(ranks), CANDOR, "calibrate", "--quiet",
                           "--threads", "1", *words], cwd=folder, capture_output=True, text=True, timeout=600)


class Calibrate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = scratch.name
        before = os.times()
        begun = time.monotonic()
        cls.done = calibrate(cls.folder, "--quick", "--features", PIXELS, "-o", "out.h5")
        cls.elapsed = time.monotonic() - begun
        cls.processors = os.times().children_user - before.children_user

    def test_every_proof_passes(self):
        self.assertEqual(self.done.returncode, 0, self.done.stdout + self.done.stderr)
        lines = [LINE.fullmatch(line) for line in self.done.stdout.splitlines()]
        self.assertTrue(all(lines), self.done.stdout)
        self.assertEqual(list(dict.fromkeys(line[2] for line in lines)), PROOFS)
        for line in lines:
            self.assertEqual(line[1] == "shown", line[6] is None, line[0])
        self.assertIn("rows of pixels.h5", self.done.stdout)

    def test_it_takes_less_than_a_minute(self):
        # Of processors, so that what runs beside it does not count.
        self.assertLess(self.processors, 60)

    def test_the_table_says_what_is_printed(self):
        with h5py.File(os.path.join(self.folder, "out.h5")) as f:
            self.assertEqual(f["run"].attrs["quick"], 1)
            table = f["tables/calibration"][:]
        lines = [LINE.fullmatch(line) for line in self.done.stdout.splitlines()]
        self.assertEqual(len(table), len(lines))
        for row, line in zip(table, lines):
            self.assertEqual((row["proof"].decode(), row["what"].decode()), (line[2], line[3]))
            self.assertAlmostEqual(row["observed"], float(line[5]), delta=1e-4)
            self.assertEqual(bool(row["judged"]), line[1] != "shown")
        shown = subprocess.run([CANDOR, "show", "out.h5", "calibration", "--format", "csv"], cwd=self.folder,
                               capture_output=True, text=True)
        self.assertEqual(len(shown.stdout.splitlines()), len(table) + 1, shown.stderr)

    def test_the_same_on_any_number_of_ranks(self):
        for ranks in (2, 3):
            done = calibrate(self.folder, "--quick", "--features", PIXELS, ranks=ranks)
            self.assertEqual((done.returncode, done.stdout), (0, self.done.stdout))

    def test_what_fails_ends_with_1(self):
        # Rows that are all but one and the same are no draw at random of anything: each has ties alone. Labels over them
        # still give one half; of what cannot be, a file of NaN is refused.
        with h5py.File(os.path.join(self.folder, "nan.h5"), "w") as f:
            f["features"] = np.full((40, 2), np.nan, "f4")
        done = calibrate(self.folder, "--quick", "--features", "nan.h5")
        self.assertEqual(done.returncode, 3)
        self.assertIn("a row holds NaN or Inf or is all zero", done.stderr)

    def test_what_is_refused(self):
        for words, message in ((("--quick", "--figure", "x"), "which neither --quick nor --only others makes"),
                               (("--quick", "-o", "out.h5"), "out.h5: exists"),
                               (("--only", "luck"), "--only luck: is none of the proofs: planted, label shuffle"),
                               (("--fast",), "--fast")):
            done = calibrate(self.folder, *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
