"""The scripts of jobs/ on a real Slurm of two nodes: what is submitted ends with the results of a run without Slurm,
whatever happens to it on the way."""

import csv
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from cluster import Cluster, enter, wait_until, why_not

import h5py
import numpy as np

SOURCE = os.environ["CANDOR_SOURCE"]
CANDOR = os.environ["CANDOR"]
SUBMIT = os.path.join(SOURCE, "jobs", "submit.sh")
WDBC = os.path.join(SOURCE, "inputs", "wdbc", "study.toml")
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "DEADLINE", "BOOT_FAIL")

SITE = f"""
CANDOR_PROGRAM='{CANDOR}'
CANDOR_NODES=2
CANDOR_RANKS_PER_NODE=2
CANDOR_TIME=00:05:00
CANDOR_SHORT_TIME=00:05:00
CANDOR_MPIRUN_OPTIONS=(--bind-to none)
"""


def setUpModule():
    global slurm, scratch
    slurm = Cluster(nodes=2, cpus=2)
    unittest.addModuleCleanup(slurm.stop)
    holder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(holder.cleanup)
    scratch = holder.name


def make_long_study(folder, encoders=32, images=4000):
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
        f.write('[study]\nname = "Long"\n[operator]\ndraws = 6\n[bootstrap]\nresamples = 50\n' +
                "".join(f'[[encoder]]\nid = "e{encoder}"\n' for encoder in range(encoders)) +
                '[[dataset]]\nid = "d"\ntable = "table.csv"\nfeatures = "{encoder}.h5"\n'
                '[[task]]\nid = "t"\ndatasets = ["d"]\nfindings = ["a", "b", "c"]\n')
    return study


class Jobs(unittest.TestCase):
    def submit(self, study, out, *options, site="", code=0):
        path = os.path.join(scratch, f"site {self.id()}.env")
        with open(path, "w") as f:
            f.write(SITE + site)
        done = slurm.run(SUBMIT, study, out, *options, variables={"CANDOR_SITE": path})
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
            told = slurm.wait_for_state(job, ENDED, seconds)
            self.assertEqual(told["JobState"], state, f"{told}{self.log(out)}")

    def assert_same(self, results, reference):
        done = subprocess.run(["h5diff", "-v", "--exclude-path", "/run", results, reference], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        self.assertIn("/tables/cells", done.stdout)
        self.assertFalse(os.path.exists(results + ".journal"))

    def without_slurm(self, study):
        results = os.path.join(scratch, f"{os.path.basename(study)} {self.id()}.h5")
        done = slurm.run(CANDOR, "run", study, "-o", results, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        return results


class Chain(Jobs):
    def test_check_run_and_tables_in_folders_with_odd_names(self):
        inputs = os.path.join(scratch, "Müllers Bilder")
        shutil.copytree(os.path.dirname(WDBC), inputs)
        study = os.path.join(inputs, "Größe 2.toml")
        os.rename(os.path.join(inputs, "study.toml"), study)
        out = os.path.join(scratch, "Ergebnis: 100% 'süß' & gut")

        shown = self.submit(study, out, "--dry-run", "--", "--set", "operator.k=3", "--memory", "1G")
        self.assertFalse(os.path.exists(out))
        check, run, report = shown.splitlines()
        for line, words in ((check, ("check.sbatch", "--nodes=1", "--set operator.k=3")),
                            (run, ("study.sbatch", "--nodes=2", "afterok:CHECK", "--kill-on-invalid-dep=yes",
                                   "--set operator.k=3 --memory 1G")),
                            (report, ("report.sbatch", "afterok:RUN", "--kill-on-invalid-dep=yes"))):
            for word in ("sbatch --parsable", *words):
                self.assertIn(word, line)
        self.assertNotIn("--memory", check)

        jobs = self.submit(study, out)
        self.assertIn("still in the queue", self.submit(study, out, code=2))
        self.assert_states(jobs, "COMPLETED", "COMPLETED", "COMPLETED", out=out)
        results = os.path.join(out, "Größe 2.h5")
        self.assert_same(results, self.without_slurm(study))
        with h5py.File(results) as f:
            self.assertEqual((f["run"].attrs["ranks"], f["run"].attrs["hosts"], f["run"].attrs["job_id"]),
                             (4, b"n1,n2", str(jobs[1]).encode()))
            rates = [row["d"] for row in f["tables/findings"][:]]
        with open(os.path.join(out, "tables", "findings.csv"), newline="") as f:
            self.assertEqual([float(row["d"]) for row in csv.DictReader(f)], rates)
        tables = os.listdir(os.path.join(out, "tables"))
        self.assertLessEqual({"overview.txt", "cells.csv", "tasks.csv", "tasks.md", "findings.md"}, set(tables))
        self.assertEqual([name for name in tables if name.endswith(".part")], [])
        with open(os.path.join(out, f"provenance-{jobs[1]}.txt")) as f:
            provenance = f.read()
        for text in ("restart 0\n$ srun --kill-on-bad-exit=1", "--time-limit", "n[1-2]", "\ncommit ", "libmpi",
                     "-- modules\n", f"JobId={jobs[1]}", "\nSLURM_NTASKS=4", f'CANDOR_PROGRAM="{CANDOR}"', "\nOMP_NUM_THREADS=1"):
            self.assertIn(text, provenance)
        self.assertIn(f"Gr____e_2-run-{jobs[1]}.out", os.listdir(out))  # two bytes a letter

        # Once more: everything is there already, and nothing of it changes.
        stamp = os.stat(results).st_mtime_ns
        jobs = self.submit(study, out)
        self.assert_states(jobs, "COMPLETED", "COMPLETED", "COMPLETED", out=out)
        self.assertIn("already holds the results", self.log(out))
        self.assertEqual(os.stat(results).st_mtime_ns, stamp)

    def test_wrong_data_end_the_chain_at_once(self):
        folder = os.path.join(scratch, "wrong")
        shutil.copytree(os.path.dirname(WDBC), folder)
        os.remove(os.path.join(folder, "features", "mean.h5"))
        out = os.path.join(scratch, "of wrong data")
        jobs = self.submit(os.path.join(folder, "study.toml"), out)
        self.assert_states(jobs, "FAILED", "CANCELLED", "CANCELLED", out=out)
        self.assertEqual(slurm.job(jobs[0])["ExitCode"], "3:0")
        self.assertEqual(self.log(out).count("candor: error:"), 1)
        self.assertIn("mean.h5", self.log(out))

    def test_a_killed_run_without_locks_is_waited_for(self):
        out = os.path.join(scratch, "no locks")
        heartbeat = os.path.join(out, "study.h5.journal", "heartbeat")
        os.makedirs(os.path.dirname(heartbeat))
        open(heartbeat, "w").close()
        os.utime(heartbeat, times=(time.time() - 112,) * 2)  # candor believes it for 120 s
        jobs = self.submit(WDBC, out)
        self.assert_states(jobs, "COMPLETED", "COMPLETED", "COMPLETED", out=out)
        self.assertIn("waiting for the run", self.log(out))

    def test_a_run_that_gets_nowhere_is_not_repeated_for_ever(self):
        program = os.path.join(scratch, "killed")
        with open(program, "w") as f:
            f.write(f'#!/bin/sh\n[ "$1" != run ] || kill -9 $$\nexec "{CANDOR}" "$@"\n')
        os.chmod(program, 0o755)
        out = os.path.join(scratch, "nowhere")
        jobs = self.submit(WDBC, out, site=f"CANDOR_PROGRAM='{program}'\n")
        self.assert_states(jobs, "COMPLETED", "FAILED", "CANCELLED", out=out)
        self.assertEqual(slurm.job(jobs[1])["Restarts"], "1")
        self.assertIn("nothing was kept twice in a row", self.log(out))

    def test_what_cannot_be_submitted(self):
        self.assertIn("no such study", self.submit(WDBC + "x", scratch, code=2))
        self.assertIn("cannot be made", self.submit(WDBC, os.path.join(WDBC, "out"), code=4))
        self.assertIn("must be a whole number", self.submit(WDBC, scratch, site="CANDOR_NODES=two\n", code=2))
        out = os.path.join(scratch, "too many nodes")
        self.assertIn("nothing of the study was submitted", self.submit(WDBC, out, site="CANDOR_NODES=3\n", code=4))
        self.assertEqual(slurm.run("squeue", "-h").stdout, "")

    def test_steps_without_pmix_are_refused(self):
        out = os.path.join(scratch, "none.h5")
        for ranks in (1, 4):
            done = slurm.run("srun", f"-n{ranks}", "--mpi=none", "--kill-on-bad-exit=1", CANDOR, "run", WDBC, "-o", out)
            self.assertEqual(done.returncode, 4, done.stderr)
            errors = [line for line in done.stderr.splitlines() if "candor:" in line]
            self.assertEqual(len(errors), 1, done.stderr)
            self.assertIn(f"srun started {ranks} x candor without PMIx", errors[0])
            self.assertNotIn("OMPI was not built", done.stderr)
        self.assertFalse(os.path.exists(out))


class Interrupted(Jobs):
    """One study that is interrupted in every way, one after the other, and still ends with the right results."""

    def setUp(self):
        self.study = make_long_study(os.path.join(scratch, "long"))
        self.out = os.path.join(scratch, "of the long one")
        self.journal = os.path.join(self.out, "long.h5.journal")

    def kept(self):
        try:
            return sum(entry.stat().st_size for entry in os.scandir(self.journal) if "records" in entry.name)
        except FileNotFoundError:
            return 0

    def wait_until_kept_more(self, job, after=-1):
        """Waits for a stretch of the run after restart `after` to keep something of its own. Returns its restart."""
        def restart():
            told = slurm.job(job)
            self.assertNotIn(told["JobState"], ENDED, f"{told}{self.log(self.out)}")
            return told["JobState"] == "RUNNING" and int(told["Restarts"]) > after and told["Restarts"]
        wait_until(restart, 60, lambda: f"after restart {after}: {slurm.job(job)}{self.log(self.out)}")
        before = self.kept()
        wait_until(lambda: self.kept() > before, 60, lambda: f"more in the journal{self.log(self.out)}")
        return int(slurm.job(job)["Restarts"])

    def ranks(self, node):
        return slurm.pids(node, r"^\S*candor run ")

    def test_all(self):
        reference = subprocess.Popen([CANDOR, "run", self.study, "-o", os.path.join(scratch, "long.h5"), "--quiet",
                                      "--threads", "1"], env=slurm.environment)
        jobs = self.submit(self.study, self.out)
        run = jobs[1]

        with self.subTest("a rank is lost"):
            last = self.wait_until_kept_more(run)
            os.kill(self.ranks("n2")[0], signal.SIGKILL)
        with self.subTest("a node is lost"):
            last = self.wait_until_kept_more(run, last)
            slurm.crash("n2")
            slurm.boot("n2")
        with self.subTest("the job is put back into the queue, as a preemption does"):
            last = self.wait_until_kept_more(run, last)
            self.assertEqual(slurm.run("scontrol", "requeue", str(run)).returncode, 0)
        with self.subTest("the time is up"):
            last = self.wait_until_kept_more(run, last)
            stopped = self.ranks("n1") + self.ranks("n2")
            self.assertEqual(len(stopped), 4)
            for pid in stopped:  # so that the study is not done before
                os.kill(pid, signal.SIGSTOP)
            self.assertEqual(slurm.run("scontrol", "update", f"jobid={run}", "timelimit=1").returncode, 0)
            wait_until(lambda: all(self.is_pending(pid, signal.SIGUSR1) for pid in stopped), 50, "Slurm's warning")
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        with self.subTest("scancel"):
            last = self.wait_until_kept_more(run, last)
            kept = self.kept()
            slurm.run("scancel", str(run))
            self.assert_states(jobs, "COMPLETED", "CANCELLED", "CANCELLED", out=self.out)
            self.assertGreaterEqual(self.kept(), kept)
            self.assertFalse(os.path.exists(os.path.join(self.out, "long.h5")))

        jobs = self.submit(self.study, self.out, site="CANDOR_LAUNCHER=mpirun\n")
        with self.subTest("warned under mpirun"):
            self.wait_until_kept_more(jobs[1])
            slurm.run("scancel", "--batch", "--signal=USR1", str(jobs[1]))
        self.assert_states(jobs, "COMPLETED", "COMPLETED", "COMPLETED", out=self.out)
        self.assertGreaterEqual(int(slurm.job(jobs[1])["Restarts"]), 1)
        log = self.log(self.out)
        self.assertIn("ended with 75", log)
        self.assertGreaterEqual(log.count("kept yes"), 3, log)
        # After a lost rank, when the time was up, and under mpirun; a lost node is Slurm's, or the script's where MPI
        # ended first.
        self.assertGreaterEqual(log.count("back into the queue"), 3, log)
        self.assertEqual(reference.wait(), 0)
        self.assert_same(os.path.join(self.out, "long.h5"), os.path.join(scratch, "long.h5"))

    def is_pending(self, pid, number):
        with open(f"/proc/{pid}/status") as f:
            masks = [int(line.split()[1], 16) for line in f if line.startswith(("SigPnd", "ShdPnd"))]
        return any(mask >> (number - 1) & 1 for mask in masks)


@unittest.skipUnless(os.geteuid() == 0, "only root may mount a small disk")
class Disk(Jobs):
    def mount(self, name, options):
        folder = os.path.join(scratch, name)
        os.mkdir(folder)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, text=True)
        if done.returncode:
            self.skipTest("mounting is not allowed here: " + done.stderr.strip())
        self.addCleanup(subprocess.run, ["umount", "-l", folder])
        return folder

    def test_a_full_disk(self):
        out = self.mount("small", "size=100k")
        jobs = self.submit(WDBC, out)
        self.assert_states(jobs, "COMPLETED", "FAILED", "CANCELLED", out=out)
        self.assertIn("No space left", self.log(out))
        self.assertEqual([name for name in os.listdir(out) if name.endswith((".h5", ".part"))], [])
        subprocess.run(["mount", "-o", "remount,size=4m", out], check=True)
        jobs = self.submit(WDBC, out)
        self.assert_states(jobs, "COMPLETED", "COMPLETED", "COMPLETED", out=out)
        self.assert_same(os.path.join(out, "study.h5"), self.without_slurm(WDBC))

    def test_a_folder_that_cannot_be_written(self):
        out = self.mount("read-only", "ro")
        self.assertIn("cannot be written", self.submit(WDBC, out, code=4))
        done = slurm.run("srun", "-n4", "--mpi=pmix", "--kill-on-bad-exit=1", CANDOR, "run", WDBC, "-o",
                         os.path.join(out, "x.h5"))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(done.stderr.count("candor: error:"), 1, done.stderr)


class Scaling(Jobs):
    def test_table(self):
        out = os.path.join(scratch, "scal ing")
        site = os.path.join(scratch, "scaling.env")
        with open(site, "w") as f:
            f.write(SITE)
        for options, file, ranks, rows in ((["--ranks", "1 4"], "strong.csv", ["1", "4"], ["", ""]),
                                           (["--ranks", "2 4", "--weak", "200"], "weak.csv", ["2", "4"], ["200", "283"])):
            done = slurm.run(os.path.join(SOURCE, "jobs", "scaling.sh"), WDBC, out, *options,
                             variables={"CANDOR_SITE": site})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assert_states([int(done.stdout.split()[-1])], "COMPLETED", out=out)
            with open(os.path.join(out, file), newline="") as f:
                table = list(csv.DictReader(f))
            self.assertEqual([row["ranks"] for row in table], ranks)
            self.assertEqual([row["rows"] for row in table], rows)
            self.assertEqual((table[0]["speed_up"], table[0]["efficiency"]), ("1.00", "1.00"))
            gain = float(table[0]["seconds"]) / float(table[1]["seconds"])
            more = int(ranks[1]) / int(ranks[0])
            expected = gain / more if file == "strong.csv" else gain
            self.assertAlmostEqual(float(table[1]["efficiency"]), expected, delta=0.05 * expected + 0.01)
            self.assertAlmostEqual(float(table[1]["speed_up"]), expected * more, delta=0.05 * expected * more + 0.02)


if __name__ == "__main__":
    reason = why_not()
    if reason:
        print("skipped: a Slurm of several nodes cannot be made here:", reason)
        sys.exit(77)
    enter([sys.executable, "-B", *sys.argv])
    unittest.main()
