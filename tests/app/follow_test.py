"""candor show OUT.h5.journal: how far a study is, without disturbing it."""

import csv
import glob
import io
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from heads_test import STUDY, make_study
from resume_test import Study, environment
from testing.program import CANDOR
from testing.scratch import InFolder


def show(*words):
    return subprocess.run([CANDOR, "show", *words], capture_output=True, text=True, timeout=60, env=environment())


def table(text, name):
    """Rows of a table of the page, by column; columns are two blanks apart."""
    lines = text.split(f"== {name}\n")[1].split("\n\n")[0].splitlines()
    split = lambda line: re.split(r"  +", line.strip())
    return [dict(zip(split(lines[0]), split(line))) for line in lines[1:] if not set(line) <= set("- ")]


class Follow(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.study = Study(cls.folder)
        cls.output = cls.study.path("out.h5")
        cls.journal = cls.output + ".journal"

    def setUp(self):
        for path in glob.glob(self.study.path("out.h5*")):
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)

    def wait_for(self, job, condition):
        while not condition():
            self.assertIsNone(job.poll())
            time.sleep(0.005)

    def stop(self, ranks):
        """A run that is ended when it has kept something more."""
        def kept():
            return sum(map(os.path.getsize, glob.glob(self.journal + "/*.records")))

        before = kept()
        job = self.study.start(ranks)
        self.wait_for(job, lambda: kept() > before)
        os.kill(job.pid, signal.SIGUSR1)
        _, error = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 75, error)

    def state(self):
        return {name: os.stat(os.path.join(self.journal, name)).st_mtime_ns for name in os.listdir(self.journal)}

    def test_what_is_kept_and_left_of_an_ended_run(self):
        shares = []
        for session, ranks in ((1, 1), (2, 3)):
            self.stop(ranks)
            before = self.state()
            done = show(self.journal)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(self.state(), before)
            page = done.stdout
            self.assertIn("no run is at work; the same candor run goes on", page)
            self.assertRegex(page, rf"Session {session} on {ranks} rank")
            search = table(page, "stages")[0]
            self.assertEqual(search["pieces"], "4")  # two encoders, two contexts
            self.assertEqual(sum(int(search[name]) for name in ("finished", "begun", "left")), 4)
            shares.append(float(search["done_share %"]))
            for row in table(page, "ranks"):
                self.assertLess(int(row["rank"]), ranks)
                self.assertGreater(int(row["panels_decided"]) + int(row["encounters_kept"])
                                   + int(row["results_kept"]), 0)
            # The parts of what is left add up to it.
            if search["finished"] != "4":
                left = table(page, "left")
                groups = {(row["task"], row["encoder"]): int(row["groups"]) for row in left if row["name"] == "search"}
                self.assertTrue(groups)
                self.assertLessEqual(set(groups), {("task", "one"), ("task", "two")})
                self.assertEqual(set(groups.values()), {2})
        self.assertGreater(shares[0], 0)
        self.assertGreaterEqual(shares[1], shares[0])  # nothing that was kept is lost

    def test_a_torn_record_counts_for_nothing(self):
        self.stop(1)
        whole = table(show(self.journal).stdout, "stages")[0]
        path = glob.glob(self.journal + "/*.records")[0]
        for keep in (40, 0):
            with open(path, "r+b") as f:
                f.truncate(keep)
            for checkpoint in glob.glob(self.journal + "/*.checkpoint"):
                os.remove(checkpoint)
            search = table(show(self.journal).stdout, "stages")[0]
            self.assertEqual((search["done_share %"], search["left"]), ("0.0", "4"))
        self.assertNotEqual(whole["done_share %"], "0.0")

    def test_a_run_is_followed_to_its_results(self):
        for ranks in (1, 3):
            self.setUp()
            job = self.study.start(ranks)
            self.wait_for(job, lambda: os.path.exists(self.journal + "/begun-for"))
            looked = show(self.journal)
            follower = show(self.journal, "--follow")
            self.assertEqual((follower.returncode, follower.stderr), (0, ""))
            self.assertTrue(os.path.exists(self.output))
            self.assertIn("a run is at work", looked.stdout)
            self.assertTrue(follower.stdout.endswith(f"{self.output} holds the results: candor show {self.output}\n"))
            _, error = job.communicate(timeout=60)
            self.assertEqual(job.returncode, 0, error)
            # Afterwards.
            self.assertEqual(show(self.journal, "--follow").returncode, 0)
            self.assertEqual(show(self.output, "--follow").returncode, 0)
            done = show(self.journal)
            self.assertEqual(done.returncode, 2)
            self.assertIn("is gone, since its run is finished", done.stderr)

    def test_it_waits_for_what_was_ended_and_not_for_older_results(self):
        open(self.output, "w").close()
        os.utime(self.output, (1, 1))
        os.rename(self.output, self.output + "-old")
        self.stop(2)
        os.rename(self.output + "-old", self.output)
        follower = subprocess.Popen([CANDOR, "show", "--follow", self.journal], stdout=subprocess.PIPE, text=True,
                                    env=environment())
        time.sleep(1.5)
        self.assertIsNone(follower.poll())
        os.remove(self.output)
        self.assertEqual(self.study.run(2).returncode, 0)
        text, _ = follower.communicate(timeout=60)
        self.assertEqual(follower.returncode, 0)
        self.assertIn("no run is at work", text)
        self.assertIn("holds the results", text)

    def test_heads_and_their_scores_are_told(self):
        with tempfile.TemporaryDirectory() as folder:
            make_study(folder)
            study, output = os.path.join(folder, "study.toml"), os.path.join(folder, "heads.h5")
            with open(study, "w") as f:
                f.write(STUDY.format(split="test", kinds='["linear"]'))
            job = subprocess.Popen([CANDOR, "run", study, "-o", output], stderr=subprocess.PIPE, text=True,
                                   env=environment())
            results = os.path.join(output + ".journal", "00000001-000000.results")
            self.wait_for(job, lambda: os.path.exists(results) and os.path.getsize(results) > 0)
            os.kill(job.pid, signal.SIGUSR1)
            _, error = job.communicate(timeout=60)
            self.assertEqual(job.returncode, 75, error)
            page = show(output + ".journal").stdout
            stages = {row["name"]: row for row in table(page, "stages")}
            self.assertEqual(stages["search"]["done_share %"], "100.0")
            # Three encoders on two datasets, an ensemble of three.
            self.assertEqual((stages["heads"]["pieces"], stages["scores of failure"]["pieces"]), ("18", "6"))
            kept = sum(int(stages[name]["finished"]) for name in ("heads", "scores of failure"))
            self.assertGreater(kept, 0)
            self.assertEqual(table(page, "ranks")[0]["results_kept"], str(kept))

    def test_tables_in_every_format(self):
        self.stop(2)
        stages = json.loads(show(self.journal, "stages", "--format", "json").stdout)
        self.assertEqual(json.loads(show(self.journal + "/", "stages", "--format", "json").stdout), stages)
        self.assertEqual([row["name"] for row in stages], ["search"])
        self.assertEqual(stages[0]["pieces"], 4)
        self.assertTrue(0 < stages[0]["done_share"] <= 1)
        shown = table(show(self.journal).stdout, "stages")[0]
        self.assertEqual(f"{100 * stages[0]['done_share']:.1f}", shown["done_share %"])
        ranks = list(csv.DictReader(io.StringIO(show(self.journal, "ranks", "--format", "csv").stdout)))
        self.assertTrue({int(row["rank"]) for row in ranks} <= {0, 1})
        self.assertTrue(all(float(row["seconds_since"]) >= 0 for row in ranks))
        some = show(self.journal, "ranks", "--where", "rank=0", "--columns", "rank", "--format", "csv").stdout
        self.assertEqual(some.split()[0], "rank")
        listed = json.loads(show(self.journal, "--list", "--format", "json").stdout)
        self.assertEqual([row["table"] for row in listed], ["stages", "left", "ranks"])
        left = show(self.journal, "left", "--format", "csv").stdout.splitlines()
        self.assertEqual(left[0], "name,task,encoder,done_share,groups,finished,begun")

    def test_on_a_terminal_one_line_is_rewritten(self):
        self.stop(1)
        leader, follower = pty.openpty()
        job = subprocess.Popen([CANDOR, "show", self.journal, "--follow"], stdout=subprocess.PIPE, stderr=follower,
                               text=True, env=environment())
        os.close(follower)
        said = b""
        run = None
        try:
            while True:
                ready, _, _ = select.select([leader], [], [], 60)
                self.assertTrue(ready, said)
                try:
                    piece = os.read(leader, 4096)
                except OSError:  # the follower has closed its end
                    break
                if not piece:
                    break
                said += piece
                if run is None and b"no run is at work" in said:
                    run = self.study.start(1)
        finally:
            os.close(leader)
            if run is not None:
                run.communicate(timeout=120)
        out, _ = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0)
        self.assertTrue(out.endswith(f"candor show {self.output}\n"))
        # Each text begins where the last one did, and nothing of it stays behind.
        self.assertTrue(said.startswith(b"\r\033[Kcandor: "), said)
        self.assertTrue(said.endswith(b"\r\033[K"), said)
        self.assertNotIn(b"\n", said)
        self.assertRegex(said, rb"search: [\d.]+ %, \d of 4; no run is at work")

    def test_refusals(self):
        for words, message in ((["none.h5.journal"], "is no journal"), (["none.h5", "--follow"], "is no journal")):
            done = show(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(message, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        self.stop(1)
        for words, message in ((["cells"], "has no table"), (["stges"], 'did you mean "stages"?'),
                               (["--format", "csv"], "name a table"), (["stages", "--follow"], "goes with no table"),
                               (["--where", "rank=0"], "name the table")):
            done = show(self.journal, *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stdout)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    if os.geteuid() == 0:
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
