"""A study on a real Slurm of two nodes that is interrupted in every way, one after the other, and still ends with the
results of a run without Slurm."""

import os
import signal
import subprocess

from cluster import wait_until
from submitted import CANDOR, ENDED, Jobs, main

import h5py
import numpy as np


def make_long_study(folder, encoders=32, images=3000):
    """A study that takes about ten seconds on four ranks, in pieces of less than one."""
    os.mkdir(folder)
    random = np.random.default_rng(11)
    names = [f"img{i:05d}" for i in range(images)]
    with open(os.path.join(folder, "table.csv"), "w") as f:
        f.write("image_id,patient_id,split,a,b,c\n")
        for name, labels in zip(names, random.random((images, 3)) < 0.4):
            f.write(f"{name},{name},test," + ",".join(str(int(label)) for label in labels) + "\n")
    for encoder in range(encoders):
        with h5py.File(os.path.join(folder, f"e{encoder}.h5"), "w") as f:
            f["features"] = random.standard_normal((images, 64)).astype("f2")
            f["image_id"] = [name.encode() for name in names]
    study = os.path.join(folder, "long.toml")
    with open(study, "w") as f:
        f.write('[study]\nname = "Long"\n[operator]\ndraws = 6\n[bootstrap]\nresamples = 50\n'
                '[test]\npermutations = 20\n' +
                "".join(f'[[encoder]]\nid = "e{encoder}"\n' for encoder in range(encoders)) +
                '[[dataset]]\nid = "d"\ntable = "table.csv"\nfeatures = "{encoder}.h5"\n'
                '[[task]]\nid = "t"\ndatasets = ["d"]\nfindings = ["a", "b", "c"]\n')
    return study


class Interrupted(Jobs):
    def setUp(self):
        self.study = make_long_study(os.path.join(self.scratch, "long"))
        self.out = os.path.join(self.scratch, "of the long one")
        self.journal = os.path.join(self.out, "long.h5.journal")

    def kept(self):
        try:
            return sum(entry.stat().st_size for entry in os.scandir(self.journal) if "records" in entry.name)
        except FileNotFoundError:
            return 0

    def wait_until_kept_more(self, job, after=-1):
        """Waits for a stretch of the run after restart `after` to keep something of its own. Returns its restart."""
        def restart():
            told = self.slurm.job(job)
            self.assertNotIn(told["JobState"], ENDED, f"{told}{self.log(self.out)}")
            return told["JobState"] == "RUNNING" and int(told["Restarts"]) > after and told["Restarts"]
        wait_until(restart, 60, lambda: f"after restart {after}: {self.slurm.job(job)}{self.log(self.out)}")
        before = self.kept()
        wait_until(lambda: self.kept() > before, 60, lambda: f"more in the journal{self.log(self.out)}")
        return int(self.slurm.job(job)["Restarts"])

    def ranks(self, node):
        return self.slurm.pids(node, r"^\S*candor run ")

    def test_all(self):
        reference = subprocess.Popen([CANDOR, "run", self.study, "-o", os.path.join(self.scratch, "long.h5"), "--quiet",
                                      "--threads", "1"], env=self.slurm.environment)
        jobs = self.submit(self.study, self.out)
        run = jobs[1]
        first, second = self.slurm.nodes

        last = self.wait_until_kept_more(run)
        with self.subTest("a rank is lost"):
            os.kill(self.ranks(second)[0], signal.SIGKILL)
        with self.subTest("a node is lost"):
            last = self.wait_until_kept_more(run, last)
            self.slurm.crash(second)
            self.slurm.boot(second)
        with self.subTest("a job of more weight takes the nodes"):
            last = self.wait_until_kept_more(run, last)
            urgent = self.slurm.run("srun", "--partition=urgent", "--nodes=2", "--ntasks=4", "hostname")
            self.assertEqual(urgent.returncode, 0, urgent.stderr)
            self.assertEqual(sorted(set(urgent.stdout.split())), self.slurm.nodes)
        with self.subTest("the time is up"):
            last = self.wait_until_kept_more(run, last)
            stopped = self.ranks(first) + self.ranks(second)
            self.assertEqual(len(stopped), 4)
            for pid in stopped:  # so that the study is not done before
                os.kill(pid, signal.SIGSTOP)
            self.assertEqual(self.slurm.run("scontrol", "update", f"jobid={run}", "timelimit=1").returncode, 0)
            wait_until(lambda: all(self.is_pending(pid, signal.SIGUSR1) for pid in stopped), 50, "Slurm's warning")
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        with self.subTest("scancel"):
            last = self.wait_until_kept_more(run, last)
            kept = self.kept()
            self.slurm.run("scancel", str(run))
            self.assert_states(jobs, "COMPLETED", "CANCELLED", "CANCELLED", out=self.out)
            self.assertGreaterEqual(self.kept(), kept)
            self.assertFalse(os.path.exists(os.path.join(self.out, "long.h5")))

        jobs = self.submit(self.study, self.out, site="CANDOR_LAUNCHER=mpirun\n")
        with self.subTest("warned under mpirun"):
            self.wait_until_kept_more(jobs[1])
            self.slurm.run("scancel", "--batch", "--signal=USR1", str(jobs[1]))
        self.assert_states(jobs, "COMPLETED", "COMPLETED", "COMPLETED", out=self.out, seconds=180)
        self.assertGreaterEqual(int(self.slurm.job(jobs[1])["Restarts"]), 1)
        log = self.log(self.out)
        self.assertIn("ended with 75", log)
        self.assertGreaterEqual(log.count("kept yes"), 3, log)
        # After a lost rank, when the time was up, and under mpirun; a lost node is Slurm's, or the script's where MPI
        # ended first.
        self.assertGreaterEqual(log.count("back into the queue"), 3, log)
        self.assertEqual(reference.wait(), 0)
        self.assert_same(os.path.join(self.out, "long.h5"), os.path.join(self.scratch, "long.h5"))

    def is_pending(self, pid, number):
        with open(f"/proc/{pid}/status") as f:
            masks = [int(line.split()[1], 16) for line in f if line.startswith(("SigPnd", "ShdPnd"))]
        return any(mask >> (number - 1) & 1 for mask in masks)


if __name__ == "__main__":
    main()
