"""Synthetic studies: the same bytes however they are written, sound inputs, and the rates that they are said to hold."""

import csv
import filecmp
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

import h5py
import numpy as np

from reference.agreement import run_candor
from testing.program import CANDOR, errors_in, on_ranks



def candor(*words, ranks=1):
    return subprocess.run(on_ranks(ranks, CANDOR, *words), capture_output=True, text=True, timeout=600)


def files_of(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder)
                  for where, _, names in os.walk(folder) for name in names)


def read_csv(*path):
    with open(os.path.join(*path), encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


class Synth(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name

    def path(self, *names):
        return os.path.join(self.scratch, *names)

    def synth(self, name, *options, ranks=1, shape="small"):
        done = candor("synth", "--shape", shape, "-o", self.path(name), *options, ranks=ranks)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.path(name)

    def assert_same(self, a, b):
        self.assertEqual(files_of(a), files_of(b))
        _, differing, errors = filecmp.cmpfiles(a, b, files_of(a), shallow=False)
        self.assertEqual((differing, errors), ([], []))

    def assert_fails(self, done, code, *words):
        lines = errors_in(done)
        self.assertEqual(len(lines), 1, done.stderr)
        for word in words:
            self.assertIn(word, lines[0])
        self.assertEqual(done.returncode, code, done.stderr)

    # ---- what is written

    def test_the_same_bytes_on_any_number_of_ranks_and_threads(self):
        first = self.synth("r1")
        for ranks in (2, 3, 5):
            self.assert_same(first, self.synth(f"r{ranks}", ranks=ranks))
        self.assert_same(first, self.synth("threads", "--threads", "2"))

    def test_another_seed_makes_other_images(self):
        a, b = self.synth("a", "--scale", "0.2"), self.synth("b", "--scale", "0.2", "--seed", "7")
        same = [n for n in files_of(a) if os.path.exists(os.path.join(b, n)) and filecmp.cmp(
            os.path.join(a, n), os.path.join(b, n), shallow=False)]
        # What an encoder notices of missing evidence is a fact of the shape.
        self.assertEqual(same, ["planted-retention.csv"])
        with open(os.path.join(a, "study.toml"), encoding="utf-8") as f:
            self.assertIn("--shape small --scale 0.2 --seed 42", f.readline())

    def test_the_small_study_is_sound_and_has_everything(self):
        folder = self.synth("small")
        done = candor("check", os.path.join(folder, "study.toml"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for text in ("No input stands against a run.", "uncertain label excluded", "blank label excluded",
                     "blank context", "no patient id", "asked of the whole reference", "say that there is no box",
                     "patients have several images"):
            self.assertIn(text, done.stdout)
        # A run says what is left out once a task and reason, and warns after it.
        ran = candor("run", os.path.join(folder, "study.toml"), "-o", self.path("small.h5"), "--set",
                     "bootstrap.resamples=100")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        left_out = re.findall(r'^candor: (task ".*": )\d+ rows: (.*); \d+ entr(?:y|ies) of the table exclusions$',
                              ran.stderr, re.M)
        self.assertGreater(len(left_out), 10)
        self.assertEqual(len(left_out), len(set(left_out)))
        self.assertNotIn("exclusions", ran.stderr[ran.stderr.index("candor: warning: "):])
        duplicates = done.stdout.split("== duplicates")[1].split("\n\n")[0]
        self.assertIn("site-a", duplicates)
        with h5py.File(os.path.join(folder, "features", "good", "site-a.h5")) as f:
            self.assertEqual(f["features"].dtype, np.float16)
            self.assertEqual(f["features"].shape, (1200, 96))
            self.assertTrue(np.isfinite(f["features"][:]).all())

    def test_the_paper_s_study_in_small_is_sound(self):
        # Rows of 400 each: what differs at scale 1 is their number alone.
        folder = self.synth("paper", "--scale", "0.0001", shape="paper", ranks=2)
        shipped = os.path.join(os.environ["CANDOR_SOURCE"], "inputs", "paper", "study.toml")
        with open(shipped, encoding="utf-8") as f, open(os.path.join(folder, "study.toml"), encoding="utf-8") as made:
            self.assertTrue(made.read().endswith(f.read()))
        done = candor("check", os.path.join(folder, "study.toml"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        planted = read_csv(folder, "planted.csv")
        tasks = {row["task"] for row in planted}
        self.assertEqual(len(tasks), 12)
        with h5py.File(os.path.join(folder, "features", "virchow2", "pcam.h5")) as f:
            self.assertEqual(f["features"].shape, (400, 2560))

    # ---- what is planted

    def test_a_run_finds_what_was_planted(self):
        differences, weights, rates = [], [], []
        for seed in range(4):
            folder = self.synth(f"seed{seed}", "--scale", "3", "--seed", str(seed), ranks=2)
            out = run_candor(os.path.join(folder, "study.toml"), self.path(f"{seed}.h5"), "--set",
                             "bootstrap.resamples=10", ranks=2)
            planted = {(r["task"], r["encoder"], r["finding"], r["context"]): r
                       for r in read_csv(folder, "planted.csv") if r["level"] == "cell"}
            with h5py.File(out) as f:
                cells = f["tables/cells"][:]
                retention = f["tables/retention"][:]
            found = {tuple(c[k].decode() for k in ("task", "encoder", "finding", "context")): c
                     for c in cells if c["queries"] and not c["pooled_reference"]}
            self.assertEqual(set(found), set(planted))
            for key, cell in found.items():
                self.assertEqual((cell["n"], cell["queries"]), (int(planted[key]["n"]), int(planted[key]["queries"])))
                differences.append(cell["rate_mid"] - float(planted[key]["d"]))
                weights.append(cell["queries"])
                rates.append((key[1], cell["rate_mid"], float(planted[key]["standard_error"])))
            self.check_retention(folder, retention)
        # Cells share candidates and queries share a cell, so the spread of the cells themselves is the error.
        differences, weights = np.array(differences), np.array(weights, float)
        mean = (weights * differences).sum() / weights.sum()
        error = np.sqrt((weights**2 * (differences - mean)**2).sum()) / weights.sum()
        self.assertGreater(len(differences), 400)
        self.assertLess(error, 0.005)
        self.assertLess(abs(mean), 4 * error, f"{mean} +- {error}")
        # In the order in which they were planted.
        means = [np.average([r for name, r, _ in rates if name == e],
                            weights=[w for w, (name, _, _) in zip(weights, rates) if name == e])
                 for e in ("seeing", "good", "fair", "poor", "random")]
        self.assertEqual(means, sorted(means))
        self.assertGreater(means[-1] - means[0], 0.1)

    def check_retention(self, folder, table):
        dataset_of = {"chest": "site-b", "chest-boxed": "boxed"}
        planted = {(r["dataset"], r["encoder"]): float(r["retention"]) for r in read_csv(folder, "planted-retention.csv")}
        rows = [r for r in table if r["level"] == b"micro"]
        self.assertGreaterEqual(len(rows), 10)
        for row in rows:
            expected = planted[dataset_of[row["task"].decode()], row["encoder"].decode()]
            # Rounding to float16 moves a unit row's numbers by at most 2^-11 of themselves.
            self.assertAlmostEqual(row["retention"], expected, delta=2**-10)

    # ---- what goes wrong

    def test_options(self):
        for options, words in ((["--scale", "0"], ["--scale 0", "above 0"]), (["--scale", "-1"], ["--scale -1"]),
                               (["--scale", "nan"], ["--scale nan"]), (["--scale", "1,5"], ["--scale 1,5"]),
                               (["--scale", "1e9"], ["at most 1000"]), (["--seed", "-3"], ["--seed -3"]),
                               (["--sead", "3"], ["did you mean --seed"])):
            for ranks in (1, 3):
                done = candor("synth", "--shape", "small", "-o", self.path("x"), *options, ranks=ranks)
                self.assert_fails(done, 2, *words)
        self.assert_fails(candor("synth", "--shape", "papers", "-o", self.path("x")), 2, "did you mean paper?")
        self.assert_fails(candor("synth", "-o", self.path("x")), 2, "name a shape")
        self.assert_fails(candor("synth", "--shape", "small"), 2, "-o DIR")
        self.assertEqual(os.listdir(self.scratch), [])

    def test_nothing_that_is_there_is_touched(self):
        folder = self.synth("done", "--scale", "0.2")
        before = {name: os.stat(os.path.join(folder, name)).st_mtime_ns for name in files_of(folder)}
        self.assert_fails(candor("synth", "--shape", "small", "--scale", "0.2", "-o", folder), 2, folder, "not empty",
                          f"it holds this study, finished: candor run {folder}/study.toml")
        self.assertEqual(before, {name: os.stat(os.path.join(folder, name)).st_mtime_ns for name in files_of(folder)})
        with open(self.path("file"), "w", encoding="utf-8") as f:
            f.write("mine")
        self.assert_fails(candor("synth", "--shape", "small", "-o", self.path("file"), ranks=3), 2, "is no folder")
        os.mkdir(self.path("empty"))
        self.synth("empty", "--scale", "0.2")

    def test_a_study_that_the_disk_cannot_hold(self):
        done = candor("synth", "--shape", "paper", "--scale", "1000", "-o", self.path("huge"), ranks=2)
        self.assert_fails(done, 4, "GB and the disk has room for", "--scale")
        self.assertEqual(os.listdir(self.scratch), [])

    def test_a_file_that_cannot_be_written(self):
        # No file above 8 MiB: room for what MPI keeps in files, none for 60,000 rows of site A.
        done = subprocess.run(["bash", "-c", 'trap "" XFSZ; ulimit -f 8192; exec "$@"', "bash", CANDOR, "synth", "--shape",
                               "small", "--scale", "50", "-o", self.path("limited")],
                              capture_output=True, text=True, timeout=120)
        self.assert_fails(done, 4, ".part")
        left = files_of(self.path("limited"))
        self.assertNotIn("study.toml", left)
        self.assertEqual([name for name in left if name.endswith(".part")], ["study.toml.part"])

    def test_killed_it_looks_unfinished_and_the_same_command_finishes_it(self):
        whole = self.synth("whole", "--scale", "30")
        command = [CANDOR, "synth", "--shape", "small", "--scale", "30", "-o", self.path("killed")]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not any(name.endswith(".h5") for name in files_of(self.path("killed"))):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        left = files_of(self.path("killed"))
        self.assertNotIn("study.toml", left)
        self.assertIn("study.toml.part", left)
        done = candor("check", self.path("killed", "study.toml"))
        self.assertNotEqual(done.returncode, 0)
        # Another study does not go into it.
        self.assert_fails(candor(*command[1:-1], self.path("killed"), "--seed", "5"), 2, "not empty")
        kept = next(name for name in left if name.endswith(".h5"))
        stamp = os.stat(self.path("killed", kept)).st_mtime_ns
        self.assertEqual(candor(*command[1:], ranks=2).returncode, 0)
        self.assertEqual(os.stat(self.path("killed", kept)).st_mtime_ns, stamp)
        self.assert_same(whole, self.path("killed"))


if __name__ == "__main__":
    unittest.main()
