"""candor plan and candor bench --profile: what they count is what a run does; what goes wrong ends in one line."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import h5py
import numpy as np

from testing.program import CANDOR, errors_in, on_ranks

NUMBERS = ["start", "open", "audit_value", "audit_row", "build", "world", "counting", "draw", "sum", "pair", "tally", "rank",
           "retention", "summary", "overlap", "overlap_context", "write", "text"]
OF_SEARCH = ["look", "look_row", "load", "product", "fill", "decide"]
COLUMNS = {
    "work": ["task", "encoders", "rows", "contexts", "cells", "cells_scored", "cases", "searches", "pieces", "flops"],
    "stages": ["ranks", "name", "flops", "seconds", "cpu_seconds", "fixed_seconds"],
    "scaling": ["ranks", "seconds", "cpu_seconds", "fixed_seconds", "fixed_share", "balance", "pieces", "idle_ranks",
                "longest_piece", "bytes_read", "most_read", "memory", "least_memory"]}
WARNING = r"^warning: at (\d+) ranks? (.*)$"


def candor(*words, ranks=1, cwd=None):
    return subprocess.run(on_ranks(ranks, CANDOR, *words), capture_output=True, text=True, timeout=300, cwd=cwd)


def profile_text(**seconds):
    """A profile on which each piece takes a nanosecond, but for those that are named."""
    lines = ['machine = "made"', "[seconds]"] + [f"{key} = {seconds.get(key, 1e-9)!r}" for key in NUMBERS]
    lines += ["[search]", "dimension = [16, 1024]"]
    return "\n".join(lines + [f"{key} = [{seconds.get(key, 1e-9)!r}, {seconds.get(key, 1e-9)!r}]"
                              for key in OF_SEARCH]) + "\n"


class Case(unittest.TestCase):
    def refused(self, code, message, *words, ranks=1):
        done = candor(*words, ranks=ranks)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        said = errors_in(done)
        self.assertEqual(len(said), 1, done.stderr)
        self.assertIn(message, said[0])


class Plan(Case):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        assert candor("synth", "--shape", "small", "-o", cls.path("made"), "--quiet").returncode == 0
        cls.study = cls.path("made/study.toml")
        cls.profile = cls.written("machine.toml", profile_text())

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @classmethod
    def written(cls, name, text):
        with open(cls.path(name), "w") as file:
            file.write(text)
        return cls.path(name)

    def plan(self, *words, study=None, profile=None):
        done = candor("plan", study or self.study, "--profile", profile or self.profile, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def table(self, name, *words, **more):
        rows = json.loads(self.plan(name, "--format", "json", *words, **more))
        self.assertEqual(list(rows[0]), COLUMNS[name])
        return rows

    def test_it_counts_what_a_run_counts(self):
        output = self.path("run.h5")
        done = candor("run", self.study, "-o", output, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        work = {row["task"]: row for row in self.table("work")}
        with h5py.File(output) as file:
            cells, skipped = file["tables/cells"][:], file["tables/skipped"][:]
            self.assertEqual(set(work), {task.decode() for task in cells["task"]})
            for name, row in work.items():
                dm = file[f"cases/{name}/dm"]
                self.assertEqual(row["encoders"], dm.shape[0])
                self.assertEqual(row["cases"], dm.size)
                scored = cells[cells["task"] == name.encode()]
                self.assertEqual(row["cells_scored"], len(scored))
                left_out = {(one["finding"], one["context"]) for one in skipped if one["task"] == name.encode()}
                self.assertEqual(row["cells"] - row["cells_scored"], row["encoders"] * len(left_out))
                self.assertGreaterEqual(row["searches"], len({(one["encoder"], one["context"]) for one in scored}))
            stages = [stage["name"].decode() for stage in file["run/stages"][:]]
            # Of each encoder's files all rows are read, and the rows of pools again.
            features = sum(self.bytes_of(os.path.join(folder, name))
                           for folder, _, names in os.walk(self.path("made/features")) for name in names)
        self.assertEqual([row["name"] for row in self.table("stages")], stages)
        read = self.table("scaling")[0]["bytes_read"]
        self.assertGreater(read, features)
        self.assertLess(read, 4 * features)

    def bytes_of(self, path):
        with h5py.File(path) as file:
            return file["features"].size * file["features"].dtype.itemsize

    def test_bytes_of_a_census(self):
        """One context, in which everything takes part: read once to be checked and once to be searched."""
        ids = [f"i{i}" for i in range(60)]
        os.makedirs(self.path("one"), exist_ok=True)
        self.written("one/t.csv", "image_id,split,f\n" + "".join(f"{x},test,{n % 2}\n" for n, x in enumerate(ids)))
        for encoder, shape, kind in (("a", (60, 12), "f2"), ("b", (60, 5), "f8")):
            with h5py.File(self.path(f"one/{encoder}.h5"), "w") as file:
                # A run refuses them; a plan reads headers alone.
                file["features"] = np.full(shape, np.nan, kind)
                file["image_id"] = ids
        study = self.written("one/study.toml", '[study]\nname = "one"\n[[encoder]]\nid = "a"\n[[encoder]]\nid = "b"\n'
                             '[[dataset]]\nid = "d"\ntable = "t.csv"\nfeatures = "{encoder}.h5"\n'
                             '[[task]]\nid = "t"\ndatasets = ["d"]\nfindings = ["f"]\n')
        scaling = self.table("scaling", study=study)
        searched = 60 * 12 * 2 + 60 * 5 * 8
        self.assertEqual(scaling[0]["bytes_read"], 2 * searched)
        self.assertEqual(scaling[0]["most_read"], searched)
        work = self.table("work", study=study)
        self.assertEqual([(row["rows"], row["contexts"], row["cells"], row["searches"]) for row in work], [(60, 1, 2, 2)])
        self.assertEqual(candor("run", study, "-o", self.path("one/o.h5")).returncode, 3)
        self.refused(3, "no cell of task", "plan", study, "--profile", self.profile, "--set", "operator.k=40")

    def test_ranks(self):
        scaling = self.table("scaling", "--ranks", "48")
        self.assertEqual([row["ranks"] for row in scaling], [1, 2, 4, 8, 16, 32, 48, 64, 128, 256, 512, 1024, 2048, 4096])
        self.assertEqual(scaling[0]["balance"], 1)
        self.assertEqual(scaling[0]["seconds"], scaling[0]["cpu_seconds"])
        for row in scaling:
            self.assertAlmostEqual(row["fixed_share"], row["fixed_seconds"] / row["seconds"])
            self.assertTrue(0 < row["balance"] <= 1)
        self.assertEqual({row["ranks"] for row in self.table("stages", "--ranks", "48")}, {48})
        self.assertEqual({row["ranks"] for row in self.table("stages")}, {1})

    def test_seconds_are_those_of_the_profile(self):
        slow = self.written("slow.toml", profile_text(start=100.0))
        start = self.table("stages", "--ranks", "3", profile=slow)[0]
        self.assertEqual(start["name"], "start")
        self.assertAlmostEqual(start["cpu_seconds"], 300, delta=3)
        self.assertAlmostEqual(start["seconds"], 100, delta=1)
        self.assertAlmostEqual(start["fixed_seconds"], 100, delta=1)

    def test_overrides(self):
        profile = self.written("tally.toml", profile_text(tally=1.0))
        some, tenth = (next(row["cpu_seconds"] for row in self.table("stages", *more, profile=profile)
                            if row["name"] == "count")
                       for more in ([], ["--set", "bootstrap.resamples=20"]))
        with open(self.study) as file:
            resamples = int(re.search(r"resamples = (\d+)", file.read())[1])
        self.assertAlmostEqual(some / tenth, resamples / 20, places=3)

    def test_formats_of_every_table(self):
        for name, columns in COLUMNS.items():
            rows = self.table(name)
            read = list(csv.DictReader(io.StringIO(self.plan(name, "--format", "csv"))))
            self.assertEqual(list(read[0]), columns)
            self.assertEqual(len(read), len(rows))
            for text in (self.plan(name, "--format", "md"), self.plan(name, "--format", "tex"), self.plan(name)):
                self.assertIn(str(read[-1][columns[0]]), text)
                self.assertGreaterEqual(len(text.splitlines()), len(rows))
            self.assertNotIn("==", self.plan(name))
        self.assertTrue(self.plan("work", "--format", "md").startswith("| "))
        self.assertIn("tabular", self.plan("work", "--format", "tex"))

    def test_the_whole_page(self):
        done = candor("plan", self.study, "--ranks", "6", "--profile", self.profile)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(re.findall("^== (.*)", done.stdout, re.M), list(COLUMNS))
        self.assertRegex(done.stdout, r"(?m)^On 6 ranks of one thread: about .*, .* of processors, \d+ MiB a rank "
                                      r"\(with --memory at least \d+ MiB\), balance [\d.]+ %\.$")
        self.assertIn(f"from {self.profile} (made)", done.stdout)
        self.assertIn("playing the schedule", candor("plan", self.study, "--profile", self.profile, "--verbose").stderr)

    def test_warnings(self):
        def at(profile):
            return {text.split(" ")[0] + " " + text.split(" ")[1]: int(ranks)
                    for ranks, text in re.findall(WARNING, self.plan(profile=profile), re.M)}

        # Only what each rank does alike takes time: from two ranks on it is all of it.
        alike = at(self.written("alike.toml", profile_text(start=1000.0)))
        self.assertEqual(alike["what every"], 2)
        # Only products do: the study has few pieces, which all of 4,096 ranks cannot share.
        scaling = self.table("scaling")
        shared = at(self.written("shared.toml", profile_text(product=10.0)))
        self.assertNotIn("what every", shared)
        self.assertEqual(shared["there are"], next(row["ranks"] for row in scaling if row["pieces"] < row["ranks"]))
        self.assertEqual(shared["the mean"], next(row["ranks"] for row in scaling if row["balance"] < 0.95))
        self.assertIn("one piece", shared)

    def test_it_measures_without_a_profile(self):
        done = candor("plan", self.study)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = [line for line in done.stderr.splitlines() if "measuring again" not in line]  # a busy machine
        self.assertEqual(said, ["candor: measuring this machine; candor bench --profile FILE does it once for all"])
        self.assertIn("Times as just measured here (", done.stdout)

    def test_help(self):
        done = candor("plan", "--help")
        self.assertEqual(done.returncode, 0)
        for option in ("--ranks", "--profile", "--format", "--set", "--quiet", "--verbose"):
            self.assertIn(option, done.stdout)

    def test_refusals(self):
        self.refused(2, "name a study file", "plan")
        for ranks in ("0", "1048577", "99999999999999999999", "1.5", "abc", ""):
            self.refused(2, f"--ranks {ranks}: must be a whole number, 1 to 1048576", "plan", self.study, "--ranks", ranks)
        self.refused(2, 'has no table "scalin", did you mean "scaling"?; it has work, stages, scaling', "plan", self.study,
                     "scalin")
        self.refused(2, "is of one table; name it: work, stages, scaling", "plan", self.study, "--format", "csv")
        self.refused(2, "xml", "plan", self.study, "work", "--format", "xml")
        self.refused(2, "--rank", "plan", self.study, "--rankss", "2")
        self.refused(2, "more", "plan", self.study, "work", "more")
        self.refused(2, "plays all ranks in one process", "plan", self.study, ranks=2)
        self.refused(2, "operator.kk", "plan", self.study, "--set", "operator.kk=2")
        self.refused(2, "nowhere.toml: cannot be read: No such file", "plan", self.path("nowhere.toml"))
        self.refused(2, "nowhere.toml: cannot be read: No such file", "plan", self.study, "--profile",
                     self.path("nowhere.toml"))
        self.refused(2, "--profile: has an empty name", "plan", self.study, "--profile", "")
        self.refused(2, "study.toml: is no profile of candor bench", "plan", self.study, "--profile", self.study)
        self.refused(2, "seconds.tally: is missing; measure anew with candor bench --profile", "plan", self.study,
                     "--profile", self.written("less.toml", re.sub("tally.*\n", "", profile_text())))
        for draw in (0.0, 1e-15, 1e308):
            self.refused(2, "seconds.draw: must be 1e-13 to 1000", "plan", self.study, "--profile",
                         self.written("impossible.toml", profile_text(draw=draw)))
        self.refused(2, "machine: must be one line without control characters", "plan", self.study, "--profile",
                     self.written("escape.toml", profile_text().replace("made", "\\u001b[31m")))

    def test_features_that_do_not_fit(self):
        folder = self.path("spoilt")
        shutil.copytree(self.path("made"), folder)
        study = os.path.join(folder, "study.toml")
        path = sorted(os.path.join(at, name) for at, _, names in os.walk(os.path.join(folder, "features"))
                      for name in names)[0]
        with h5py.File(path, "r+") as file:
            values = file["features"][:]
            del file["features"]
            file["features"] = np.hstack([values, values])
        self.refused(3, "columns where", "plan", study, "--profile", self.profile)
        os.remove(path)
        self.refused(3, os.path.basename(path), "plan", study, "--profile", self.profile)


class Profile(Case):
    def test_a_profile_is_measured_and_never_replaces_anything_else(self):
        with tempfile.TemporaryDirectory() as folder:
            path, other = os.path.join(folder, "m.toml"), os.path.join(folder, "other.toml")
            done = candor("bench", "--profile", path)
            self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
            said = [line for line in done.stderr.splitlines() if "measuring again" not in line]  # a busy machine
            self.assertEqual(said, ["candor: measuring what the pieces of a run take", f"candor: wrote {path}"])
            with open(path) as file:
                text = file.read()
            for key in NUMBERS + OF_SEARCH:
                values = re.findall(rf"^{key} = \[?([^#\]]+)\]? +#", text, re.M)
                self.assertEqual(len(values), 1, key)
                for value in values[0].split(","):
                    self.assertTrue(1e-13 <= float(value) < 10, f"{key} {value}")
            # Some thirty multiplications and additions a nanosecond at most, and not a thousand times less.
            product = [float(v) for v in re.search(r"product = \[(.*)\]", text)[1].split(",")]
            self.assertTrue(1e-9 < product[-1] < 1e-5, product)
            self.assertEqual(os.listdir(folder), ["m.toml"])
            self.refused(2, "exists; name another file or give --overwrite", "bench", "--profile", path)
            with open(path, "w") as file:  # of a version that knew fewer pieces
                file.write(re.sub("tally.*\n", "", text))
            quiet = candor("bench", "--profile", path, "--overwrite", "--quiet")
            self.assertEqual((quiet.returncode, quiet.stdout, quiet.stderr), (0, "", ""))
            with open(path) as file:
                self.assertIn("tally", file.read())
            with open(other, "w") as file:
                file.write("mine\n")
            self.refused(2, "is no profile of candor bench, and --overwrite replaces nothing else", "bench", "--profile",
                         other, "--overwrite")
            with open(other) as file:
                self.assertEqual(file.read(), "mine\n")

    def test_refusals(self):
        for more in (["x.h5"], ["--only", "cell"], ["--rounds", "2"], ["--threads", "1"], ["--json"]):
            self.refused(2, "--profile: measures by itself", "bench", "--profile", "m.toml", *more)
        self.refused(2, "--overwrite: is of --profile FILE alone", "bench", "--overwrite")
        self.refused(2, "measures one process", "bench", "--profile", "m.toml", ranks=2)
        started = time.monotonic()
        self.refused(4, "/nowhere/m.toml: cannot be written", "bench", "--profile", "/nowhere/m.toml")
        self.assertLess(time.monotonic() - started, 5, "it measured first")
        self.refused(2, "--profile: has an empty name", "bench", "--profile", "")


if __name__ == "__main__":
    unittest.main()
