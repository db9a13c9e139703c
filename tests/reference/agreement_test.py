"""The program against the reference on random studies: every cosine, count, rate and interval."""

import os
import tempfile
import unittest

import h5py

from reference.agreement import TEXT_KEYS, disagreements, run_candor
from reference.study_maker import make_study

STUDIES = 40


class Agreement(unittest.TestCase):
    def test_random_studies(self):
        for seed in range(STUDIES):
            ablations, permuted = seed % 3 == 0, seed % 2 == 0
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                study = make_study(folder, seed)
                out = run_candor(study, os.path.join(folder, "out.h5"), *["--ablations"] * ablations,
                                 *["--set", "test.permutations=0"] * (not permuted))
                problems = disagreements(study, out, ablations, permuted)
                self.assertEqual(problems[:20], [], f"{len(problems)} differences")
                with h5py.File(out) as file:
                    missing = TEXT_KEYS.keys() - file["tables"].keys()
                self.assertEqual(missing, set() if ablations else {"ablations"})


if __name__ == "__main__":
    unittest.main()
