"""The program against the reference on random studies: every cosine, count, rate and interval."""

import os
import tempfile
import unittest

from reference.agreement import disagreements, run_candor
from reference.study_maker import make_study

STUDIES = 40


class Agreement(unittest.TestCase):
    def test_random_studies(self):
        for seed in range(STUDIES):
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                study = make_study(folder, seed)
                problems = disagreements(study, run_candor(study, os.path.join(folder, "out.h5")))
                self.assertEqual(problems[:20], [], f"{len(problems)} differences")


if __name__ == "__main__":
    unittest.main()
