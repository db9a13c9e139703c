"""The scripts of jobs/ on a real Slurm of two nodes: what is submitted ends with the results of a run without Slurm, and
what cannot be done is said."""

import csv
import os
import shutil
import subprocess
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from cluster import wait_until
from submitted import CANDOR, SITE, SOURCE, SUBMIT, Jobs, main

import h5py

WDBC = os.path.join(SOURCE, "inputs", "wdbc", "study.toml")


class Chain(Jobs):
    def test_check_run_and_tables_in_folders_with_odd_names(self):
        inputs = os.path.join(self.scratch, "Müllers Bilder")
        shutil.copytree(os.path.dirname(WDBC), inputs)
        study = os.path.join(inputs, "Größe 2.toml")
        os.rename(os.path.join(inputs, "study.toml"), study)
        out = os.path.join(self.scratch, "Ergebnis: 100% 'süß' & gut")

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
                             (4, ",".join(self.slurm.nodes).encode(), str(jobs[1]).encode()))
            rates = [row["d"] for row in f["tables/findings"][:]]
        with open(os.path.join(out, "tables", "findings.csv"), newline="") as f:
            self.assertEqual([float(row["d"]) for row in csv.DictReader(f)], rates)
        tables = os.listdir(os.path.join(out, "tables"))
        self.assertLessEqual({"overview.txt", "cells.csv", "tasks.csv", "tasks.md", "findings.md"}, set(tables))
        self.assertEqual([name for name in tables if name.endswith(".part")], [])
        self.assertTrue(os.path.exists(os.path.join(out, "report", "index.html")))
        self.assertFalse(os.path.exists(os.path.join(out, "report.part")))
        with open(os.path.join(out, f"provenance-{jobs[1]}.txt")) as f:
            provenance = f.read()
        for text in ("restart 0\n$ srun --kill-on-bad-exit=1", "--time-limit", self.slurm.nodes[0][:-1] + "[1-2]",
                     "\ncommit ", "libmpi", "-- modules\n", f"JobId={jobs[1]}", "\nSLURM_NTASKS=4",
                     f'CANDOR_PROGRAM="{CANDOR}"', "\nOMP_NUM_THREADS=1"):
            self.assertIn(text, provenance)
        self.assertIn(f"Gr____e_2-run-{jobs[1]}.out", os.listdir(out))  # two bytes a letter

        # Once more: everything is there already, and nothing of it changes.
        stamp = os.stat(results).st_mtime_ns
        jobs = self.submit(study, out)
        self.assert_states(jobs, "COMPLETED", "COMPLETED", "COMPLETED", out=out)
        self.assertIn("already holds the results", self.log(out))
        self.assertEqual(os.stat(results).st_mtime_ns, stamp)

    def test_wrong_data_end_the_chain_at_once(self):
        folder = os.path.join(self.scratch, "wrong")
        shutil.copytree(os.path.dirname(WDBC), folder)
        os.remove(os.path.join(folder, "features", "mean.h5"))
        out = os.path.join(self.scratch, "of wrong data")
        jobs = self.submit(os.path.join(folder, "study.toml"), out)
        self.assert_states(jobs, "FAILED", "CANCELLED", "CANCELLED", out=out)
        self.assertEqual(self.slurm.job(jobs[0])["ExitCode"], "3:0")
        self.assertEqual(self.log(out).count("candor: error:"), 1)
        self.assertIn("mean.h5", self.log(out))

    def test_a_killed_run_without_locks_is_waited_for(self):
        out = os.path.join(self.scratch, "no locks")
        heartbeat = os.path.join(out, "study.h5.journal", "heartbeat")
        os.makedirs(os.path.dirname(heartbeat))
        open(heartbeat, "w").close()
        os.utime(heartbeat, times=(time.time() - 112,) * 2)  # candor believes it for 120 s
        jobs = self.submit(WDBC, out)
        self.assert_states(jobs, "COMPLETED", "COMPLETED", "COMPLETED", out=out)
        self.assertIn("waiting for the run", self.log(out))

    def test_a_run_that_gets_nowhere_is_not_repeated_for_ever(self):
        warn = 'scancel --batch --signal=USR1 "$SLURM_JOB_ID"; exec sleep 60'  # as where there is too little time
        for name, instead, restarts, message in (("killed", "kill -9 $$", "1", "nothing was kept twice in a row"),
                                                 ("warned", warn, "2", "warned 3 times in a row before anything")):
            program = os.path.join(self.scratch, name)
            with open(program, "w") as f:
                f.write(f'#!/bin/sh\n[ "$1" != run ] || {{ {instead}; }}\nexec "{CANDOR}" "$@"\n')
            os.chmod(program, 0o755)
            out = os.path.join(self.scratch, name + " and nowhere")
            jobs = self.submit(WDBC, out, site=f"CANDOR_PROGRAM='{program}'\n")
            self.assert_states(jobs, "COMPLETED", "FAILED", "CANCELLED", out=out)
            self.assertEqual(self.slurm.job(jobs[1])["Restarts"], restarts)
            self.assertIn(message, self.log(out))

    def test_what_cannot_be_submitted(self):
        self.assertIn("no such study", self.submit(WDBC + "x", self.scratch, code=2))
        self.assertIn("cannot be made", self.submit(WDBC, os.path.join(WDBC, "out"), code=4))
        self.assertIn("must be a whole number", self.submit(WDBC, self.scratch, site="CANDOR_NODES=two\n", code=2))
        self.assertIn("OUT_DIR: has an empty name", self.submit(WDBC, "", code=2))
        for setting in ("CANDOR_NODES=0", "CANDOR_THREADS=0", "CANDOR_RANKS_PER_NODE=08", "CANDOR_MAX_RESTARTS=x",
                        "CANDOR_LAUNCHER=foo", "CANDOR_TIME=tomorrow", "CANDOR_SHORT_TIME=1h"):
            self.assertIn(f"{setting}: must be",
                          self.submit(WDBC, self.scratch, "--dry-run", site=setting + "\n", code=2))
        self.assertIn("--set: needs section.key=value", self.submit(WDBC, self.scratch, "--dry-run", "--", "--set", code=2))
        done = self.slurm.run(SUBMIT, WDBC, self.scratch, variables={"CANDOR_SITE": self.scratch})
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("no file that can be read", done.stderr)
        out = os.path.join(self.scratch, "too many nodes")
        self.assertIn("nothing of the study was submitted", self.submit(WDBC, out, site="CANDOR_NODES=3\n", code=4))
        self.assertEqual(os.listdir(out), [])
        wait_until(lambda: self.slurm.run("squeue", "-h").stdout == "", 20, "an empty queue")

    def test_of_two_that_submit_at_once_one_does(self):
        out = os.path.join(self.scratch, "at once")
        site = os.path.join(self.scratch, "at once.env")
        with open(site, "w") as f:
            f.write(SITE)
        with ThreadPoolExecutor() as pool:
            done = list(pool.map(lambda _: self.slurm.run(SUBMIT, WDBC, out, variables={"CANDOR_SITE": site}), range(4)))
        self.assertEqual(sorted(one.returncode for one in done), [0, 2, 2, 2], [one.stderr for one in done])
        for one in done:
            if one.returncode:
                self.assertRegex(one.stderr, "another submit.sh is at it|is still in the queue")
        with open(os.path.join(out, "submitted.txt")) as f:
            jobs = f.read().split()[2:]
        self.assertEqual(len(jobs), 3)
        self.assert_states(jobs, "COMPLETED", "COMPLETED", "COMPLETED", out=out)
        self.assertEqual(len([name for name in os.listdir(out) if name.endswith(".out")]), 3)

    def test_steps_without_pmix_are_refused(self):
        out = os.path.join(self.scratch, "none.h5")
        for ranks in (1, 4):
            done = self.slurm.run("srun", f"-n{ranks}", "--mpi=none", "--kill-on-bad-exit=1", CANDOR, "run", WDBC, "-o", out)
            self.assertEqual(done.returncode, 4, done.stderr)
            errors = [line for line in done.stderr.splitlines() if "candor:" in line]
            self.assertEqual(len(errors), 1, done.stderr)
            self.assertIn(f"srun started {ranks} x candor without PMIx", errors[0])
            self.assertNotIn("OMPI was not built", done.stderr)
        self.assertFalse(os.path.exists(out))


@unittest.skipUnless(os.geteuid() == 0, "only root may mount a small disk")
class Disk(Jobs):
    def mount(self, name, options):
        folder = os.path.join(self.scratch, name)
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
        self.assertNotIn("printf", self.log(out))  # the script says in its own words what it could not write
        self.assertEqual([name for name in os.listdir(out) if name.endswith((".h5", ".part"))], [])
        subprocess.run(["mount", "-o", "remount,size=64m", out], check=True)
        jobs = self.submit(WDBC, out)
        self.assert_states(jobs, "COMPLETED", "COMPLETED", "COMPLETED", out=out)
        self.assert_same(os.path.join(out, "study.h5"), self.without_slurm(WDBC))

    def test_a_folder_that_cannot_be_written(self):
        out = self.mount("read-only", "ro")
        self.assertIn("cannot be written", self.submit(WDBC, out, code=4))
        done = self.slurm.run("srun", "-n4", "--mpi=pmix", "--kill-on-bad-exit=1", CANDOR, "run", WDBC, "-o",
                         os.path.join(out, "x.h5"))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(done.stderr.count("candor: error:"), 1, done.stderr)


class Scaling(Jobs):
    def test_refusals(self):
        for options, threads, message in ((["--ranks"], 1, "--ranks: needs a value"),
                                          (["--weak"], 1, "--weak: needs a value"),
                                          ([], 0, "CANDOR_THREADS=0: must be")):
            done = self.slurm.run(os.path.join(SOURCE, "jobs", "scaling.sh"), WDBC, self.scratch, *options,
                                  variables={"CANDOR_THREADS": str(threads)})
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(message, done.stderr)

    def test_table(self):
        out = os.path.join(self.scratch, "scal ing")
        site = os.path.join(self.scratch, "scaling.env")
        with open(site, "w") as f:
            f.write(SITE)
        for options, file, ranks, rows in ((["--ranks", "1 4"], "strong.csv", ["1", "4"], ["", ""]),
                                           (["--ranks", "2 4", "--weak", "200"], "weak.csv", ["2", "4"], ["200", "283"])):
            done = self.slurm.run(os.path.join(SOURCE, "jobs", "scaling.sh"), WDBC, out, *options,
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


class Calibration(Jobs):
    def test_all_ranks_prove_it(self):
        out = os.path.join(self.scratch, "cali bration")
        site = os.path.join(self.scratch, "calibration.env")
        with open(site, "w") as f:
            f.write(SITE)
        script = os.path.join(SOURCE, "jobs", "calibrate.sh")
        done = self.slurm.run(script, out, "--dry-run", "--", "--quick", variables={"CANDOR_SITE": site})
        self.assertIn("--job-name=candor-calibrate", done.stdout)
        self.assertFalse(os.path.exists(out))
        done = self.slurm.run(script, out, "--", "--quick", variables={"CANDOR_SITE": site})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_states([int(done.stdout.split()[-1])], "COMPLETED", out=out)
        with open(os.path.join(out, "calibration.txt")) as f:
            self.assertRegex(f.read(), r"\Apass +planted: ")
        self.assertTrue(os.path.exists(os.path.join(out, "calibration.h5")))


if __name__ == "__main__":
    main()
