"""Compares candor's statistics with numpy, scipy, statsmodels and scikit-learn on random cases: reference.py
writes them, the suite stats_reference of the room's test program checks them."""

import os
import subprocess
import tempfile
import unittest

import reference


class Reference(unittest.TestCase):
    def test_other_people_answer_the_same(self):
        program = os.path.join(os.environ["CANDOR_BUILD"], "tests", "test_stats")
        with tempfile.TemporaryDirectory() as folder:
            cases = os.path.join(folder, "cases.csv")
            reference.write(cases)
            run = subprocess.run(
                [program, "--run_test=stats_reference", "--log_level=message", "--color_output=no"],
                env={**os.environ, "CANDOR_STATS_REFERENCE": cases}, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout)
        print(*(line for line in run.stdout.splitlines() if line.startswith("compared")), sep="\n")
        for kind, count in reference.CASES.items():
            self.assertIn(f"compared {count} cases of {kind};", run.stdout)


if __name__ == "__main__":
    unittest.main()
