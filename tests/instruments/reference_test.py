"""Compares candor's detection and selection with numpy, scipy, scikit-learn and the definitions in plain
Python on random cases: reference.py writes them, the suite instruments_reference checks them."""

import os
import subprocess
import tempfile
import unittest

import reference


class Reference(unittest.TestCase):
    def test_other_people_answer_the_same(self):
        program = os.path.join(os.environ["CANDOR_BUILD"], "tests", "test_instruments")
        with tempfile.TemporaryDirectory() as folder:
            cases = os.path.join(folder, "cases.csv")
            reference.write(cases)
            run = subprocess.run(
                [program, "--run_test=instruments_reference", "--log_level=message", "--color_output=no"],
                env={**os.environ, "CANDOR_INSTRUMENTS_REFERENCE": cases}, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout)
        print(*(line for line in run.stdout.splitlines() if line.startswith("compared")), sep="\n")
        for kind, count in reference.CASES.items():
            self.assertIn(f"compared {count} cases of {kind};", run.stdout)


if __name__ == "__main__":
    unittest.main()
