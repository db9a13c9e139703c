"""The studies in inputs/: their features are what their script makes, and they run as they stand."""

import os
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np

from reference.agreement import disagreements, run_candor

INPUTS = os.path.join(os.environ["CANDOR_SOURCE"], "inputs")


class Inputs(unittest.TestCase):
    def test_committed_features_are_made_by_the_script(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-B", os.path.join(INPUTS, "make_features.py"),
                            os.environ["CANDOR"], folder], check=True)
            with open(os.path.join(folder, "digits", "table.csv"), "rb") as made, \
                    open(os.path.join(INPUTS, "digits", "table.csv"), "rb") as kept:
                self.assertEqual(made.read(), kept.read())
            for study, encoders in (("wdbc", 5), ("digits", 7)):
                names = sorted(os.listdir(os.path.join(INPUTS, study, "features")))
                self.assertEqual(names, sorted(os.listdir(os.path.join(folder, study, "features"))))
                self.assertEqual(len(names), encoders)
                for name in names:
                    with self.subTest(study=study, features=name), \
                            h5py.File(os.path.join(folder, study, "features", name)) as made, \
                            h5py.File(os.path.join(INPUTS, study, "features", name)) as kept:
                        np.testing.assert_array_equal(made["image_id"][:], kept["image_id"][:])
                        a, b = made["features"], kept["features"]
                        self.assertEqual(a.dtype, b.dtype)
                        # Another BLAS may round the doubles otherwise: then the stored type's last bit may
                        # flip (eps is its unit step at 1), or a rectified 0 become some rounding error.
                        np.testing.assert_allclose(a[:].astype(float), b[:].astype(float),
                                                   rtol=np.finfo(a.dtype).eps, atol=1e-12)

    def test_studies_run_and_agree_with_the_reference(self):
        for study in ("wdbc", "digits"):
            with self.subTest(study=study), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(INPUTS, study, "study.toml")
                problems = disagreements(path, run_candor(path, os.path.join(folder, "out.h5"), ranks=2))
                self.assertEqual(problems[:20], [], f"{len(problems)} differences")


if __name__ == "__main__":
    unittest.main()
