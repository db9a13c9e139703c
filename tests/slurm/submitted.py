"""What the tests of jobs/ share: a cluster, and how studies are submitted to it."""

import os
import subprocess
import sys
import tempfile
import unittest

from cluster import Cluster, enter, why_not

SOURCE = os.environ["CANDOR_SOURCE"]
CANDOR = os.environ["CANDOR"]
SUBMIT = os.path.join(SOURCE, "jobs", "submit.sh")
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "DEADLINE", "BOOT_FAIL")

SITE = f"""
CANDOR_PROGRAM='{CANDOR}'
CANDOR_NODES=2
CANDOR_RANKS_PER_NODE=2
CANDOR_TIME=00:05:00
CANDOR_SHORT_TIME=00:05:00
CANDOR_MPIRUN_OPTIONS=(--bind-to none)
"""


class Jobs(unittest.TestCase):
    """Tests on a Slurm of two nodes, one for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.slurm = Cluster(nodes=2, cpus=2)
        cls.addClassCleanup(cls.slurm.stop)
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.scratch = holder.name

    def submit(self, study, out, *options, site="", code=0):
        path = os.path.join(self.scratch, f"site {self.id()}.env")
        with open(path, "w") as f:
            f.write(SITE + site)
        done = self.slurm.run(SUBMIT, study, out, *options, variables={"CANDOR_SITE": path})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        if code:
            return done.stderr
        if "--dry-run" in options:
            return done.stdout
        with open(os.path.join(out, "submitted.txt")) as f:
            return [int(number) for number in f.read().splitlines()[-1].split()[2:]]

    def log(self, out):
        text = ""
        for name in sorted(name for name in os.listdir(out) if name.endswith(".out")):
            with open(os.path.join(out, name), errors="replace") as f:
                text += f"\n== {name}\n" + f.read()
        return text

    def assert_states(self, jobs, *states, out, seconds=60):
        for job, state in zip(jobs, states):
            told = self.slurm.wait_for_state(job, ENDED, seconds)
            self.assertEqual(told["JobState"], state, f"{told}{self.log(out)}")

    def assert_same(self, results, reference):
        done = subprocess.run(["h5diff", "-v", "--exclude-path", "/run", results, reference], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        self.assertIn("/tables/cells", done.stdout)
        self.assertFalse(os.path.exists(results + ".journal"))

    def without_slurm(self, study):
        results = os.path.join(self.scratch, f"{os.path.basename(study)} {self.id()}.h5")
        done = self.slurm.run(CANDOR, "run", study, "-o", results, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        return results


def main():
    reason = why_not()
    if reason:
        print("skipped: a Slurm of several nodes cannot be made here:", reason)
        sys.exit(77)
    enter([sys.executable, "-B", *sys.argv])
    unittest.main()
