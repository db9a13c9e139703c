"""A run that is ended at any moment, in any way, is finished by the same command, with the same bits (DESIGN 6)."""

import glob
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import h5py
import numpy as np

from testing.program import CANDOR, errors_in, on_ranks, write_features, write_table

STOPS = int(os.environ.get("CANDOR_TEST_STOPS", "8"))  # stops of the random test
WAYS = ["kill the launcher", "kill a rank", "USR1 to all", "USR1 to a rank", "TERM to a rank", "INT to a rank"]


def environment(**more):
    plain = {k: v for k, v in os.environ.items() if k not in ("SLURM_JOB_END_TIME", "HDF5_USE_FILE_LOCKING")}
    return plain | {"OMPI_MCA_mpi_yield_when_idle": "1", "OPENBLAS_NUM_THREADS": "1"} | more


class Study:
    """A census of 7,000 images with three findings in two contexts, two encoders, boxes for retention."""

    ROWS, DIMENSION = 7000, 256

    def __init__(self, folder):
        self.folder = folder
        draw = np.random.RandomState(5)
        labels = draw.rand(self.ROWS, 3) < (0.5, 0.2, 0.05)
        ids = [f"i{i:05d}" for i in range(self.ROWS)]
        write_table(self.path("table.csv"), "image_id,patient_id,split,view,a,b,c",
                    ((ids[i], f"p{i // 2}", "test", "AP" if i % 3 else "PA", *map(int, row))
                     for i, row in enumerate(labels)))
        for e, shift in (("one", 0.2), ("two", 0.5)):
            features = draw.standard_normal((self.ROWS, self.DIMENSION)).astype("f4")
            features[:, :3] += shift * labels
            write_features(self.path(f"{e}.h5"), features, ids)
        with open(self.path("study.toml"), "w") as f:
            f.write("""
[study]
name = "resume"
[operator]
bank_cap = 0
also = ["distinct", "unequal"]
[pool]
rows = 0
[bootstrap]
resamples = 200
[test]
permutations = 40
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
findings = ["a", "b", "c"]
context = ["view"]
""")

    def path(self, name):
        return os.path.join(self.folder, name)

    def words(self, ranks, *options, out="out.h5"):
        words = [CANDOR, "run", self.path("study.toml"), "-o", self.path(out), "--ablations"]
        if "--block" not in options:
            words += ["--block", "128"]
        return on_ranks(ranks, *words, *options)

    def run(self, ranks, *options, out="out.h5", **variables):
        return subprocess.run(self.words(ranks, *options, out=out), capture_output=True, text=True, timeout=120,
                              env=environment(**variables))

    def start(self, ranks, *options, out="out.h5", **variables):
        return subprocess.Popen(self.words(ranks, *options, out=out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True, env=environment(**variables), start_new_session=True)


def rank_processes(job, ranks):
    """The processes of the ranks of a job, none where it has ended or not yet begun them."""
    if ranks == 1:
        return [job.pid]
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(job.pid)], capture_output=True, text=True)
    return [int(pid) for pid in found.stdout.split()]


def of_process(pid, name):
    try:
        with open(f"/proc/{pid}/{name}") as f:
            return f.read()
    except FileNotFoundError:
        return ""


def is_candor(pid):
    return of_process(pid, "comm").strip() == os.path.basename(CANDOR)


def starts_mpi(pid):
    return "/mca_" in of_process(pid, "maps")  # Open MPI has loaded components of its own


def notes_signals(pid):
    caught = [int(line.split()[1], 16) for line in of_process(pid, "status").splitlines() if line.startswith("SigCgt")]
    return bool(caught) and bool(caught[0] >> (signal.SIGUSR1 - 1) & 1)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class Resume(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.study = Study(cls.scratch.name)
        start = time.monotonic()
        done = cls.study.run(1, out="whole.h5")
        cls.seconds = time.monotonic() - start
        assert done.returncode == 0, done.stderr

    def setUp(self):
        for path in glob.glob(self.study.path("out.h5*")):
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)

    def assert_whole(self):
        """The output is what a run without interruption wrote, to the bit, and nothing is left beside it."""
        out, whole = self.study.path("out.h5"), self.study.path("whole.h5")
        compared = subprocess.run(["h5diff", "-v", "--exclude-path", "/run", whole, out], capture_output=True, text=True)
        self.assertEqual(compared.returncode, 0, compared.stdout)
        with h5py.File(whole) as a, h5py.File(out) as b:
            names = []
            a.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
            names = [name for name in names if not name.startswith("run/")]
            self.assertGreater(len(names), 10)
            for name in names:
                self.assertEqual(a[name][()].tobytes(), b[name][()].tobytes(), name)
        self.assertEqual(glob.glob(self.study.path("out.h5?*")), [])

    def stop(self, ranks, number=signal.SIGUSR1):
        """A run that is asked to stop when it has kept something more, and does."""
        before = sum(map(os.path.getsize, self.records()))
        job = self.study.start(ranks)
        while sum(map(os.path.getsize, self.records())) <= before:
            self.assertIsNone(job.poll())
            time.sleep(0.005)
        os.kill(job.pid, number)
        _, error = job.communicate(timeout=30)
        self.assertEqual(job.returncode, 75, error)
        self.assertTrue(os.path.isdir(self.study.path("out.h5.journal")))
        return error

    def records(self):
        return sorted(glob.glob(self.study.path("out.h5.journal/*.records")), key=os.path.getsize)

    def kept(self):
        return sorted((path, os.path.getsize(path)) for ending in ("records", "checkpoint")
                      for path in glob.glob(self.study.path(f"out.h5.journal/*.{ending}")))

    # ---- any moment, any way, any number of ranks

    def test_ended_at_random_moments(self):
        choice = random.Random(11)
        stops = 0
        while stops < STOPS:
            # Wherever the last one was ended, the next goes on; at random it is left to finish, and begun anew.
            ranks, way = choice.choice([1, 2, 3, 5]), choice.choice(WAYS)
            job = self.study.start(ranks)
            deadline = time.monotonic() + choice.uniform(0.2, 0.3 + self.seconds)
            while job.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            pids = rank_processes(job, ranks)
            asked = time.monotonic()
            if job.poll() is None and len(pids) == ranks:
                target = choice.choice(pids)
                try:
                    if way == "kill the launcher":
                        os.killpg(job.pid, signal.SIGKILL)
                    elif way == "kill a rank":
                        os.kill(target, signal.SIGKILL)
                    elif way == "USR1 to all":
                        os.kill(job.pid, signal.SIGUSR1)
                    else:
                        os.kill(target, getattr(signal, "SIG" + way.split()[0]))
                except ProcessLookupError:
                    pass
            _, error = job.communicate(timeout=60)
            while any(map(is_alive, pids)):  # ranks whose launcher was killed end by themselves
                self.assertLess(time.monotonic() - asked, 30, "ranks are left behind")
                time.sleep(0.02)
            with self.subTest(way=way, ranks=ranks, seconds=round(time.monotonic() - asked, 2)):
                if os.path.exists(self.study.path("out.h5")):  # came to its end before it was ended
                    self.assertEqual(self.study.run(1).returncode, 0)
                    self.assert_whole()
                    self.setUp()
                    continue
                stops += 1
                if "kill" not in way and "stopped" in error:
                    self.assertEqual(job.returncode, 75, error)
                    self.assertLess(time.monotonic() - asked, 10)
                self.assertNotIn(job.returncode, (2, 3, 70), error)
                self.assertNotEqual(job.returncode, 0, error)
        done = self.study.run(3)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_whole()

    def test_signals_keep_what_is_finished(self):
        for number, name in ((signal.SIGUSR1, "SIGUSR1"), (signal.SIGTERM, "SIGTERM"), (signal.SIGINT, "SIGINT")):
            error = self.stop(1, number)
            self.assertIn(f"candor: stopped on {name}; run the same command again to go on", error)
            done = self.study.run(2)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assert_whole()
            os.remove(self.study.path("out.h5"))

    def test_a_stop_goes_to_all_ranks_and_is_said_once(self):
        error = self.stop(3)
        self.assertEqual(error.count("candor: stopped on SIGUSR1"), 1, error)

    def test_signals_are_heeded_from_the_start(self):
        heeded = 0
        for ranks in (1, 2):
            for delay in (0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1):
                job = self.study.start(ranks)
                pids = []
                while len(pids) < ranks or not all(map(is_candor, pids)):  # mpirun forwards to what it has started
                    pids = rank_processes(job, ranks)
                    self.assertIsNone(job.poll())
                time.sleep(delay)
                mpi_started = list(map(starts_mpi, pids))
                noting = list(map(notes_signals, pids))
                heeds = all(noting)
                os.kill(job.pid, signal.SIGUSR1)
                _, error = job.communicate(timeout=60)
                with self.subTest(ranks=ranks, delay=delay, heeds=heeds):
                    self.assertTrue(all(notes or not started for notes, started in zip(noting, mpi_started)))
                    if heeds:
                        heeded += 1
                        self.assertIn(job.returncode, (0, 75), error)
                    elif job.returncode not in (0, 75):  # the system was still loading the program
                        self.assertEqual(glob.glob(self.study.path("out.h5*")), [])
                    self.assertEqual(os.path.exists(self.study.path("out.h5")), job.returncode == 0)
                    self.assertEqual(glob.glob(self.study.path("*.part")), [])
                self.setUp()
        self.assertGreater(heeded, 9)

    # ---- what a crash leaves

    def test_a_torn_tail_is_dropped(self):
        for spoil in (lambda b: b[:-3], lambda b: b + b[:11], lambda b: b[:-1] + bytes([b[-1] ^ 1]), lambda b: b[:40]):
            self.stop(1)
            path = self.records()[-1]
            with open(path, "rb") as f:
                intact = f.read()
            with open(path, "wb") as f:
                f.write(spoil(intact))
            done = self.study.run(2)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assert_whole()
            os.remove(self.study.path("out.h5"))

    def test_work_that_nobody_knows_the_origin_of_is_not_thrown_away(self):
        self.stop(2)
        begun, folder = self.study.path("out.h5.journal/begun-for"), self.study.path("out.h5.journal")
        with open(begun, "rb") as f:
            whole = f.read()
        for damaged in (b"", whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), None):
            if damaged is None:
                os.remove(begun)
            else:
                with open(begun, "wb") as f:
                    f.write(damaged)
            before = sorted(os.listdir(folder))
            for done in (self.study.run(3), subprocess.run([CANDOR, "show", folder], capture_output=True, text=True)):
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertIn(f"{begun}: is missing or damaged", done.stderr)
                self.assertEqual(len(errors_in(done)), 1)
            self.assertEqual(sorted(os.listdir(folder)), before)
        with open(begun, "wb") as f:
            f.write(whole)
        self.assertIn("going on from", self.study.run(2).stderr)
        self.assert_whole()

    # ---- refusals

    def test_another_study_input_or_version_is_refused(self):
        self.stop(1)
        folder, before = self.study.path("out.h5.journal"), sorted(os.listdir(self.study.path("out.h5.journal")))
        table = self.study.path("table.csv")
        with open(table) as f:
            text = f.read()
        try:
            done = self.study.run(2, "--set", "bootstrap.resamples=300")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("another study", done.stderr)
            self.assertIn("resamples", done.stderr)
            with open(table, "w") as f:
                f.write(text.replace("i00007,p3", "i00007,p4"))
            done = self.study.run(2)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("other inputs", done.stderr)
            self.assertIn("table.csv", done.stderr)
        finally:
            with open(table, "w") as f:
                f.write(text)
        self.assertEqual(sorted(os.listdir(folder)), before)
        # What it was begun for goes on, and whatever it was begun for is replaced on demand.
        self.stop(2)
        done = self.study.run(1, "--overwrite", "--set", "bootstrap.resamples=300")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(os.path.exists(folder))

    def test_what_is_no_file_in_the_journal_is_refused(self):
        self.stop(1)
        path = self.study.path("out.h5.journal/99999999-000000.records")
        for make, unmake in ((os.mkfifo, os.remove), (os.mkdir, os.rmdir)):
            make(path)
            for more in ([], ["--overwrite"]):
                done = self.study.run(2, *more)
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertIn("99999999-000000.records: is not a regular file; remove it", done.stderr)
            unmake(path)
        self.assertEqual(self.study.run(2).returncode, 0)
        self.assert_whole()
        os.remove(self.study.path("out.h5"))
        with open(self.study.path("out.h5.journal"), "w"):
            done = self.study.run(1)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("out.h5.journal/lock: cannot be opened: Not a directory; see that", done.stderr)

    def test_other_blocks_go_on_with_those_of_the_journal(self):
        self.stop(2)
        done = self.study.run(3, "--block", "4096", "--threads", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_whole()

    # ---- time

    def test_a_time_limit_stops_in_time(self):
        for ranks in (1, 3):
            start = time.monotonic()
            done = self.study.run(ranks, "--time-limit", "1s", "--set", "bootstrap.resamples=200000")
            self.assertEqual(done.returncode, 75, done.stderr)
            self.assertIn("stopped before the time limit; run the same command again", done.stderr)
            # A limit that lets nothing be finished is told, since the same again would never end.
            self.assertEqual("nothing more could be finished" in done.stderr, self.kept() == [], done.stderr)
            shutil.rmtree(self.study.path("out.h5.journal"), ignore_errors=True)
            self.assertLess(time.monotonic() - start, 11)
        done = self.study.run(2, "--time-limit", "1:00:00", "--overwrite")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_whole()
        for wrong in ("", "0s", "12", "-3m", "1h30", "ever"):
            done = self.study.run(1, "--time-limit", wrong)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("90s, 30m, 2h or 1:30:00", done.stderr)

    def test_the_limit_of_slurm_is_read(self):
        def run(left, *options):
            return self.study.run(2, *options, SLURM_JOB_END_TIME=str(int(time.time() + left)))

        # However near it is, something gets done before it, and at last all of it.
        for _ in range(100):
            before = self.kept()
            done = run(6)
            if done.returncode == 0:
                break
            self.assertEqual(done.returncode, 75, done.stderr)
            self.assertEqual("nothing more could be finished" in done.stderr, self.kept() == before, done.stderr)
        self.assert_whole()
        # One that is far, or past, since the job was given more time, changes nothing.
        for left in (3600, -5):
            done = run(left, "--overwrite")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assert_whole()

    # ---- two runs

    def test_without_locks_a_sign_of_life_keeps_others_out(self):
        beat = self.study.path("out.h5.journal/heartbeat")
        job = self.study.start(1, HDF5_USE_FILE_LOCKING="FALSE")
        while not os.path.exists(beat):
            self.assertIsNone(job.poll())
            time.sleep(0.01)
        job.send_signal(signal.SIGSTOP)  # slow, not dead
        for variables in ({"HDF5_USE_FILE_LOCKING": "FALSE"}, {}):
            done = self.study.run(2, **variables)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("another run, which was alive", done.stderr)
        job.kill()
        job.communicate(timeout=30)
        done = self.study.run(2, HDF5_USE_FILE_LOCKING="FALSE")
        self.assertEqual(done.returncode, 2, done.stderr)
        os.utime(beat, (time.time() - 130, time.time() - 130))
        done = self.study.run(2, HDF5_USE_FILE_LOCKING="FALSE")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_whole()

    def test_a_finished_output_is_left_alone(self):
        self.assertEqual(self.study.run(2).returncode, 0)
        before = os.stat(self.study.path("out.h5")).st_mtime_ns
        done = self.study.run(3)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("already holds", done.stderr)
        self.assertEqual(os.stat(self.study.path("out.h5")).st_mtime_ns, before)


if __name__ == "__main__":
    if os.geteuid() == 0:
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
