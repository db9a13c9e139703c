"""What goes wrong ends in one line, the right exit code, no hang, and nothing half-written (DESIGN 3, 5, 6)."""

import os
import shutil
import subprocess
import tempfile
import time
import unittest

import h5py
import numpy as np

from testing.program import CANDOR, errors_in, on_ranks, write_features, write_table

LIMIT = 30  # seconds in which all ranks must have ended after a failure


class Study:
    """A small study of 40 images in a folder of its own, to be spoiled."""

    def __init__(self, folder, positives=20, images=40):
        self.folder = folder
        random = np.random.RandomState(3)
        self.ids = [f"img{i:03d}" for i in range(images)]
        self.features = random.standard_normal((images, 6)).astype("f4")
        self.rows = [[image, f"p{i}", "test", str(int(i < positives))] for i, image in enumerate(self.ids)]
        self.write_table()
        for encoder in ("one", "two"):
            self.write_features(encoder, self.features)
        self.text = """
[study]
name = "small"
[operator]
k = 2
[bootstrap]
resamples = 50
[[encoder]]
id = "one"
[[encoder]]
id = "two"
[[dataset]]
id = "data"
table = "table.csv"
features = "{encoder}.h5"
[[task]]
id = "task"
datasets = ["data"]
findings = ["finding"]
"""
        self.write("study.toml", self.text)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text, mode="w"):
        with open(self.path(name), mode) as f:
            f.write(text)

    def write_table(self):
        write_table(self.path("table.csv"), "image_id,patient_id,split,finding", self.rows)

    def write_features(self, encoder, values):
        write_features(self.path(f"{encoder}.h5"), values, self.ids[:len(values)])

    def run(self, *options, ranks=1, out="out.h5", command="run", launcher=()):
        words = [CANDOR, command, self.path("study.toml")]
        if command == "run":
            words += ["-o", self.path(out)]
        start = time.monotonic()
        # A launcher gives the other ranks of one that failed a second before it kills them; none of them needs it.
        done = subprocess.run([*launcher, *on_ranks(ranks, *words), *options], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "OMPI_MCA_odls_base_sigkill_timeout": "0"})
        done.seconds = time.monotonic() - start
        return done


class Failure(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.study = Study(self.scratch.name)

    def assert_fails(self, done, code, *words):
        lines = errors_in(done)
        self.assertEqual(len(lines), 1, done.stderr)
        for word in words:
            self.assertIn(word, lines[0])
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertLess(done.seconds, LIMIT)
        left = [name for name in os.listdir(self.study.folder) if ".part" in name or ".journal" in name]
        self.assertEqual(left, [])

    def on_1_and_3_ranks(self, code, *words, options=(), **arguments):
        for ranks in (1, 3):
            with self.subTest(ranks=ranks):
                self.assert_fails(self.study.run(*options, ranks=ranks, **arguments), code, *words)
                self.assertFalse(os.path.exists(self.study.path(arguments.get("out", "out.h5"))))

    # ---- the command line and the study file: 2

    def test_unknown_options_and_keys_name_the_nearest(self):
        self.on_1_and_3_ranks(2, "--treads", "did you mean --threads", options=["--treads", "1"])
        self.on_1_and_3_ranks(2, "operator.kk", 'did you mean "k"', options=["--set", "operator.kk=3"])

    def test_a_study_that_is_missing(self):
        os.remove(self.study.path("study.toml"))
        self.on_1_and_3_ranks(2, "study.toml: cannot be read: No such file")
        self.assert_fails(self.study.run(command="check"), 2, "study.toml: cannot be read: No such file")

    def test_more_threads_than_processors(self):
        self.on_1_and_3_ranks(2, "--threads 4096", "processors", options=["--threads", "4096"])

    def test_a_bad_study_names_file_and_key(self):
        self.study.write("study.toml", self.study.text.replace("k = 2", "k = 0"))
        self.on_1_and_3_ranks(2, "study.toml", "operator.k")

    def test_numbers_beyond_reason(self):
        self.on_1_and_3_ranks(2, "--block", options=["--block", "9223372036854775807"])
        self.on_1_and_3_ranks(2, "resamples", options=["--set", "bootstrap.resamples=9223372036854775807"])

    def test_commands(self):
        for words, text in ((["rum"], "did you mean run?"), (["run"], "name a study file"), (["show"], "name a results")):
            done = subprocess.run([CANDOR, *words], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)

    # ---- the data: 3

    def test_missing_files(self):
        os.remove(self.study.path("two.h5"))
        self.on_1_and_3_ranks(3, "two.h5")
        os.remove(self.study.path("table.csv"))
        self.on_1_and_3_ranks(3, "table.csv")

    def test_a_feature_file_cut_short(self):
        with open(self.study.path("two.h5"), "rb") as f:
            whole = f.read()
        for length in (0, 4, 100, len(whole) // 2, len(whole) - 1):
            with self.subTest(length=length):
                self.study.write("two.h5", whole[:length], "wb")
                self.on_1_and_3_ranks(3, "two.h5")

    def test_damaged_texts_never_give_a_number_in_silence(self):
        # Ids of variable length lie in a heap that HDF5 1.10 follows wherever its numbers lead. A crash inside that
        # call ends as wrong data do; memory that the call spoiled before may still end the process by a signal later.
        with h5py.File(self.study.path("two.h5"), "w") as f:
            f["features"] = self.study.features
            f.create_dataset("image_id", data=self.study.ids, dtype=h5py.string_dtype())
        with open(self.study.path("two.h5"), "rb") as f:
            whole = f.read()
        heap = whole.index(b"GCOL")
        for seed in range(25):
            random = np.random.default_rng(seed)
            spoiled = bytearray(whole)
            for place in random.integers(heap, heap + 600, 12):
                spoiled[place] = random.integers(256)
            self.study.write("two.h5", bytes(spoiled), "wb")
            with self.subTest(seed=seed):
                done = self.study.run()
                self.assertIn(done.returncode, (0, 3, -6, -11), done.stderr)
                self.assertEqual(len(errors_in(done)), int(done.returncode == 3), done.stderr)
                self.assertEqual(os.path.exists(self.study.path("out.h5")), done.returncode == 0)
                if done.returncode == 0:  # the damage lies in bytes that nothing reads
                    os.remove(self.study.path("out.h5"))

    def test_what_is_no_file(self):
        for name in ("two.h5", "table.csv"):
            os.remove(self.study.path(name))
            os.mkfifo(self.study.path(name))
            self.on_1_and_3_ranks(3, name, "is not a regular file")

    def test_nan_in_the_rows_of_the_last_rank_alone(self):
        spoiled = self.study.features.copy()
        spoiled[-1, 2] = np.nan
        self.study.write_features("two", spoiled)  # encoders are shared out: with 3 ranks only one reads "two"
        self.on_1_and_3_ranks(3, "two.h5, row 39", '"img039"', "on_bad_row")

    def test_zero_rows_are_left_out_of_every_encoder_when_allowed(self):
        spoiled = self.study.features.copy()
        spoiled[[0, 30]] = 0
        self.study.write_features("two", spoiled)
        done = self.study.run("--set", "pool.on_bad_row=drop", ranks=2)
        self.assertEqual(done.returncode, 0, done.stderr)
        with h5py.File(self.study.path("out.h5")) as f:
            cells = f["tables/cells"][:]
            self.assertEqual(set(cells["n_pos"]), {19})
            self.assertEqual(set(cells["n_neg"]), {19})
            self.assertNotIn(b"img000", f["cases/task/image_id"][:])
            self.assertTrue(np.isfinite(f["cases/task/dm"][:]).all())
        # All other rows score as in a study that never had the two.
        self.study.rows = [r for i, r in enumerate(self.study.rows) if i not in (0, 30)]
        self.study.write_table()
        clean = self.study.run(out="clean.h5")
        self.assertEqual(clean.returncode, 0, clean.stderr)
        with h5py.File(self.study.path("out.h5")) as a, h5py.File(self.study.path("clean.h5")) as b:
            np.testing.assert_array_equal(a["cases/task/dm"][:], b["cases/task/dm"][:])

    def test_missing_features(self):
        self.study.write_features("two", self.study.features[:38])
        self.on_1_and_3_ranks(3, "two.h5", '"img038", "img039"', "on_missing")
        done = self.study.run("--set", "pool.on_missing=intersect", ranks=3)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("missing features", done.stderr)

    def test_a_bad_label_names_row_and_column(self):
        self.study.rows[4][3] = "0,5"
        self.study.rows[4] = self.study.rows[4][:3] + ['"0,5"']
        self.study.write_table()
        self.on_1_and_3_ranks(3, "table.csv", "row 6", '"finding"', "0,5")

    def test_a_patient_in_two_splits(self):
        self.study.rows[0][1] = self.study.rows[1][1] = "p7"
        self.study.rows[1][2] = "train"
        self.study.write_table()
        self.on_1_and_3_ranks(3, "p7", "on_leak")
        self.assertEqual(self.study.run("--set", "pool.on_leak=drop").returncode, 0)

    def test_nothing_to_score(self):
        for row in self.study.rows:
            row[3] = "0"
        self.study.write_table()
        self.on_1_and_3_ranks(3, "no cell", "no positives")

    def test_check_tells_every_problem_and_ends_with_3(self):
        spoiled = self.study.features.copy()
        spoiled[5] = np.inf
        self.study.write_features("two", spoiled[:39])
        self.study.rows[0][1] = self.study.rows[1][1] = "p7"
        self.study.rows[1][2] = "train"
        self.study.write_table()
        for ranks in (1, 3):
            done = self.study.run(command="check", ranks=ranks)
            self.assert_fails(done, 3, "3 problems")
            self.assertEqual(sum(line.startswith("problem: ") for line in done.stdout.splitlines()), 3, done.stdout)
            for text in ("p7", "img005", "img039"):
                self.assertIn(text, done.stdout)

    # ---- the machine: 4

    def test_an_output_that_cannot_be_written(self):
        for ranks in (1, 3):
            self.assert_fails(self.study.run(ranks=ranks, out="nowhere/out.h5"), 4, "nowhere")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("mount"), "needs root for a small file system")
    def test_a_full_disk(self):
        small = self.study.path("small")
        os.mkdir(small)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", small], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", small])
        for ranks in (1, 3):
            self.assert_fails(self.study.run(ranks=ranks, out="small/out.h5"), 4, "out.h5", "No space left on device")
            self.assertIn(os.listdir(small), ([], ["out.h5.journal"]))  # what was finished is kept
        # The same command goes on when there is room.
        subprocess.run(["mount", "-o", "remount,size=16m", small], check=True)
        self.assertEqual(self.study.run(ranks=2, out="small/out.h5").returncode, 0)
        self.assertEqual(os.listdir(small), ["out.h5"])

    def test_a_launcher_that_is_not_its_mpi_s(self):
        # What processes of another MPI's mpirun and of srun without PMIx find in their environment.
        for variables, rank, words in ((("PMI_SIZE=3",), "PMI_RANK", ("started 3 copies", "--mpi=pmix")),
                                       (("SLURM_JOBID=7", "SLURM_STEPID=0", "SLURM_STEP_NUM_TASKS=3"),
                                        "SLURM_PROCID", ("started 3 x candor without PMIx", "mpirun"))):
            with self.subTest(rank=rank):
                self.assert_fails(self.study.run(launcher=("env", *variables, f"{rank}=0")), 4, *words)
                other = self.study.run(launcher=("env", *variables, f"{rank}=2"))
                self.assertEqual((other.returncode, other.stdout, other.stderr), (4, "", ""))
        # A batch script's own shell, whose job has several tasks, is no launcher.
        done = self.study.run(launcher=("env", "SLURM_JOBID=7", "SLURM_JOB_ID=7", "SLURM_NTASKS=3", "SLURM_PROCID=0"))
        self.assertEqual(done.returncode, 0, done.stderr)

    # ---- what must not be believed

    def test_an_encoder_that_tells_nothing_apart_is_not_the_best(self):
        self.study.write_features("two", np.ones((40, 6), "f4"))
        done = self.study.run()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ties", done.stderr)
        with h5py.File(self.study.path("out.h5")) as f:
            tasks = {(r["encoder"], r["level"]): r for r in f["tables/tasks"][:]}
            panels = {(r["level"], r["statistic"]): r for r in f["tables/panels"][:]}
            collapsed = tasks[b"two", b"micro"]
            self.assertEqual((collapsed["d"], collapsed["rate_mid"], collapsed["excludes_half"]), (0, 0.5, 0))
            lower = min(r["rate_mid"] for (_, level), r in tasks.items() if level == b"micro")
            self.assertEqual(panels[b"micro", b"best"]["value"], lower)
        shown = subprocess.run([CANDOR, "show", self.study.path("out.h5")], capture_output=True, text=True).stdout
        row = next(line for line in shown.splitlines() if line.startswith("two"))
        self.assertIn("50.0", row)
        self.assertIn("t more than 1 % ties", shown)

    def test_columns_that_are_not_there_are_told(self):
        self.study.write("table.csv", "image_id,patient,fold,finding\n" +
                         "".join(",".join(r) + "\n" for r in self.study.rows))
        done = self.study.run()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('warning: ' + self.study.path("table.csv") + ' has no column "patient_id"', done.stderr)
        self.assertIn("no split column, all rows taken", done.stderr)
        with h5py.File(self.study.path("out.h5")) as f:
            told = {(r["what"].decode(), r["rows"]) for r in f["tables/exclusions"][:]}
        self.assertEqual(told, {("no split column, all rows taken", 40),
                                ("no patient id, each image its own patient", 40)})

    def test_too_few_resamples_are_told(self):
        self.assertIn("too few", self.study.run("--set", "bootstrap.resamples=5").stderr)

    # ---- outputs and other runs

    def test_a_finished_output_is_left_alone(self):
        first = self.study.run(ranks=2)
        self.assertEqual(first.returncode, 0, first.stderr)
        stamp = os.stat(self.study.path("out.h5")).st_mtime_ns
        again = self.study.run(ranks=3)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("already holds", again.stderr)
        self.assert_fails(self.study.run("--set", "operator.k=3", ranks=2), 2, "out.h5", "--overwrite")
        self.assert_fails(self.study.run("--ablations", ranks=2), 2, "out.h5", "without --ablations", "--overwrite")
        self.assertEqual(os.stat(self.study.path("out.h5")).st_mtime_ns, stamp)
        changed = self.study.run("--set", "operator.k=3", "--overwrite")
        self.assertEqual(changed.returncode, 0, changed.stderr)
        self.assertNotEqual(os.stat(self.study.path("out.h5")).st_mtime_ns, stamp)

    def test_a_folder_as_output(self):
        os.mkdir(self.study.path("folder"))
        for ranks in (1, 3):
            self.assert_fails(self.study.run("--overwrite", ranks=ranks, out="folder"), 2, "folder", "name a file")

    def test_overwriting_replaces_results_and_nothing_else(self):
        # The study's own inputs, by their names, by a hard link and by a symbolic one; another user's file; a device.
        os.link(self.study.path("one.h5"), self.study.path("hard.h5"))
        os.symlink("one.h5", self.study.path("soft.h5"))
        os.symlink("loop.h5", self.study.path("loop.h5"))
        self.study.write("notes.txt", "mine")
        os.mkfifo(self.study.path("pipe.h5"))
        files = ("one.h5", "table.csv", "study.toml", "hard.h5", "notes.txt")
        before = {}
        for name in files:
            with open(self.study.path(name), "rb") as f:
                before[name] = f.read()
        for name in files + ("soft.h5", "loop.h5", "pipe.h5"):
            for ranks in (1, 3):
                with self.subTest(name=name, ranks=ranks):
                    self.assert_fails(self.study.run("--overwrite", ranks=ranks, out=name), 2, name)
        for name in files:
            with open(self.study.path(name), "rb") as f:
                self.assertEqual(f.read(), before[name], name)
        self.assertTrue(os.path.islink(self.study.path("soft.h5")))
        self.assertTrue(os.path.islink(self.study.path("loop.h5")))

    def test_import_replaces_feature_files_and_nothing_else(self):
        np.save(self.study.path("x.npy"), self.study.features)
        self.study.write("ids.txt", "\n".join(self.study.ids))
        os.link(self.study.path("one.h5"), self.study.path("same.h5"))
        for source, out in (("x.npy", "x.npy"), ("x.npy", "ids.txt"), ("x.npy", "table.csv"), ("one.h5", "same.h5")):
            with self.subTest(out=out):
                with open(self.study.path(out), "rb") as f:
                    before = f.read()
                words = [CANDOR, "import", "-o", self.study.path(out), self.study.path(source), "--overwrite"]
                words += ["--ids", self.study.path("ids.txt")] if source == "x.npy" else []
                done = subprocess.run(words, capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 2, done.stderr)
                with open(self.study.path(out), "rb") as f:
                    self.assertEqual(f.read(), before)
        words = [CANDOR, "import", "-o", self.study.path("two.h5"), self.study.path("x.npy"), "--overwrite",
                 "--ids", self.study.path("ids.txt")]
        self.assertEqual(subprocess.run(words, capture_output=True, timeout=60).returncode, 0)

    def test_two_runs_never_share_an_output(self):
        import fcntl
        os.mkdir(self.study.path("out.h5.journal"))
        with open(self.study.path("out.h5.journal/lock"), "w") as held:
            fcntl.lockf(held, fcntl.LOCK_EX)
            done = self.study.run(ranks=2)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("another run", done.stderr)
        # The lock died with its holder: what it left behind stands in nobody's way.
        self.assertEqual(self.study.run(ranks=2).returncode, 0)
        self.assertFalse(os.path.exists(self.study.path("out.h5.journal")))

    def test_read_only_inputs_serve_two_runs_at_once(self):
        for name in os.listdir(self.study.folder):
            os.chmod(self.study.path(name), 0o444)
        other = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, other)
        os.chmod(self.study.folder, 0o555)
        self.addCleanup(os.chmod, self.study.folder, 0o755)
        words = [CANDOR, "run", self.study.path("study.toml"), "-o"]
        jobs = [subprocess.Popen([*words, os.path.join(other, f"{i}.h5")], stderr=subprocess.PIPE) for i in range(2)]
        for job in jobs:
            self.assertEqual((job.wait(timeout=60), job.stderr.read().splitlines()[-1]),
                             (0, f"candor: wrote {job.args[-1]}".encode()))
            job.stderr.close()

    def test_a_killed_rank_ends_the_job_and_the_next_run_succeeds(self):
        # Long enough to be killed in the middle.
        words = on_ranks(3, CANDOR, "run", self.study.path("study.toml"), "-o", self.study.path("out.h5"),
                         "--set", "bootstrap.resamples=5000000")
        job = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        ranks = []
        for _ in range(100):
            time.sleep(0.1)
            children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(job.pid)], capture_output=True, text=True).stdout.split()
            ranks = [int(pid) for pid in children]
            if len(ranks) == 3:
                break
        self.assertEqual(len(ranks), 3)
        journal = self.study.path("out.h5.journal")
        for _ in range(600):  # until something is finished
            kept = [name for name in os.listdir(journal) if name.endswith(".records")] if os.path.isdir(journal) else []
            if any(os.path.getsize(os.path.join(journal, name)) > 1000 for name in kept):
                break
            time.sleep(0.1)
        os.kill(ranks[1], 9)
        self.assertNotEqual(job.wait(timeout=LIMIT), 0)
        self.assertFalse(os.path.exists(self.study.path("out.h5")))
        # What it finished is of no use to another study, which says so.
        other = self.study.run(ranks=2)
        self.assertEqual(other.returncode, 2, other.stderr)
        self.assertIn("another study", other.stderr)
        self.assertEqual(self.study.run("--overwrite", ranks=2).returncode, 0)
        self.assertFalse(os.path.exists(self.study.path("out.h5.journal")))

    # ---- ranks with nothing to do

    def test_more_ranks_than_work(self):
        outputs = []
        for ranks in (1, 5, 8):
            done = self.study.run(ranks=ranks, out=f"{ranks}.h5")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertLess(done.seconds, LIMIT)
            with h5py.File(self.study.path(f"{ranks}.h5")) as f:
                outputs.append((f["tables/findings"][:].tobytes(), f["cases/task/dm"][:].tobytes()))
        self.assertEqual(outputs[0], outputs[1])
        self.assertEqual(outputs[0], outputs[2])


if __name__ == "__main__":
    unittest.main()
