"""candor pairs, on a made study with planted pairs and against numpy; what goes wrong ends in one line."""

import csv
import io
import os
import shutil
import subprocess
import tempfile
import unittest

import numpy as np

from testing.program import CANDOR, errors_in, on_ranks, write_features, write_table

HEADER = ("rank,task,finding,context,positive_image,positive_dataset,positive_patient,negative_image,"
          "negative_dataset,negative_patient,same_patient,cosine_close,cosine_far,z_close,z_far,score")
IMAGES, CONTEXTS = 120, ("ap", "pa")
PLANTED = [("i000", "i061"), ("i006", "i067"), ("i012", "i073")]  # all in context ap, positive then negative

STUDY = """
[study]
name = "pairs"
[operator]
k = 2
[bootstrap]
resamples = 20
[[encoder]]
id = "clip"
[[encoder]]
id = "dino"
[[encoder]]
id = "flat"
[[encoder]]
id = "other"
[[dataset]]
id = "films"
label = "Films, all"
table = "data/films.csv"
features = "data/{encoder}.h5"
[[task]]
id = "chest"
datasets = ["films"]
findings = ["edema", "mass"]
encoders = ["clip", "dino", "flat"]
context = ["view"]
[[task]]
id = "lone"
datasets = ["films"]
findings = ["mass"]
encoders = ["other", "clip"]
"""


class Study:
    """120 images of two views. Planted pairs point the same way under clip and opposite ways under dino; clip
    and dino are random else. Encoder flat gives every image one row."""

    def __init__(self, folder):
        self.folder = folder
        os.mkdir(self.path("data"))
        random = np.random.RandomState(5)
        self.ids = [f"i{i:03d}" for i in range(IMAGES)]
        self.view = [CONTEXTS[i // 3 % 2] for i in range(IMAGES)]
        self.labels = {"edema": [str(int(i < 60)) for i in range(IMAGES)],
                       "mass": [("1", "0", "", "-1")[(i * 7 + i // 11) % 4] for i in range(IMAGES)]}
        self.patient = ["" if i % 10 == 9 else f"p{i % 61}" for i in range(IMAGES)]  # i and i + 61 are one
        self.features = {e: random.standard_normal((IMAGES, 24)).astype("f4") for e in ("clip", "dino", "other")}
        self.features["flat"] = np.ones((IMAGES, 3), "f4")
        for size, (x, y) in zip((0.1, 0.2, 0.3), PLANTED):
            x, y = self.ids.index(x), self.ids.index(y)
            for encoder, sign in (("clip", 1), ("dino", -1)):
                rows = self.features[encoder]
                rows[y] = sign * rows[x] + size * rows[y]
        for encoder in self.features:
            self.write_features(encoder)
        self.write_table()
        with open(self.path("study.toml"), "w") as file:
            file.write(STUDY)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write_table(self):
        write_table(self.path("data/films.csv"), "image_id,patient_id,split,view,edema,mass",
                    zip(self.ids, self.patient, ["test"] * IMAGES, self.view, *self.labels.values()))

    def write_features(self, encoder):
        write_features(self.path(f"data/{encoder}.h5"), self.features[encoder], self.ids)

    def candor(self, *words, ranks=1, cwd=None):
        return subprocess.run(on_ranks(ranks, CANDOR, *words), capture_output=True, text=True, timeout=120, cwd=cwd)

    def by_definition(self, close, far, units, per_image):
        """(score, finding, context, positive, negative, cosines, z) of every pair, best first."""
        unit = {e: f / np.linalg.norm(f.astype("f8"), axis=1, keepdims=True) for e, f in self.features.items()}
        found = []
        for finding, context in units:
            here = [i for i in range(IMAGES) if self.view[i] == context]
            rows = [np.array([i for i in here if self.labels[finding][i] == label]) for label in "10"]
            cosine = [unit[e][rows[0]] @ unit[e][rows[1]].T for e in (close, far)]  # fewer than 512 rows each
            z = [(c - c.mean()) / c.std() for c in cosine]
            score = np.minimum(z[0], -z[1])
            for p in range(len(rows[0])):
                best = [n for n in np.argsort(-score[p]) if score[p, n] > 0]
                for n in best[:per_image or None]:
                    found.append((score[p, n], finding, context, self.ids[rows[0][p]], self.ids[rows[1][n]],
                                  cosine[0][p, n], cosine[1][p, n], z[0][p, n], z[1][p, n]))
        return sorted(found, reverse=True)


class Pairs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.study = Study(cls.folder.name)
        cls.results = cls.study.path("out.h5")
        done = cls.study.candor("run", cls.study.path("study.toml"), "-o", cls.results)
        assert done.returncode == 0, done.stderr

    def pairs(self, *options, close="clip", far="dino", **more):
        return self.study.candor("pairs", self.results, "--close", close, "--far", far, *options, **more)

    def rows(self, *options, stderr="", **more):
        done = self.pairs(*options, **more)
        self.assertEqual((done.returncode, done.stderr), (0, stderr))
        self.assertEqual(done.stdout.split("\n")[0], HEADER)
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def assert_fails(self, done, code, line):
        self.assertEqual(done.stdout, "")
        self.assertEqual(errors_in(done), ["candor: error: " + line], done.stderr)
        self.assertEqual(done.returncode, code)

    # ---- what is listed

    def test_planted_pairs_lead_the_list(self):
        rows = self.rows("--finding", "edema")
        found = {(r["positive_image"], r["negative_image"]) for r in rows[:3]}
        self.assertEqual(found, set(PLANTED))
        for row in rows[:3]:
            self.assertEqual((row["task"], row["finding"], row["context"]), ("chest", "edema", "ap"))
            self.assertEqual((row["positive_dataset"], row["negative_dataset"]), ("films", "films"))
            x = self.study.ids.index(row["positive_image"])
            self.assertEqual(row["positive_patient"], self.study.patient[x])
            self.assertEqual(row["same_patient"], "1")  # i and i + 61
            self.assertGreater(float(row["cosine_close"]), 0.9)
            self.assertLess(float(row["cosine_far"]), -0.9)
        self.assertEqual([int(r["rank"]) for r in rows], list(range(1, len(rows) + 1)))
        self.assertEqual({r["same_patient"] for r in rows[3:] if r["positive_patient"] != r["negative_patient"]
                          or not r["positive_patient"]}, {"0"})

    def test_numpy_lists_the_same(self):
        units = [(f, c) for f in ("edema", "mass") for c in CONTEXTS]
        for per_image in (1, 2, 0):
            for top in (0, 7):
                with self.subTest(per_image=per_image, top=top):
                    rows = self.rows("--task", "chest", "--top", str(top), "--per-image", str(per_image))
                    expected = self.study.by_definition("clip", "dino", units, per_image)[:top or None]
                    self.assertGreater(len(expected), 6)
                    self.assertEqual([(r["finding"], r["context"], r["positive_image"], r["negative_image"])
                                      for r in rows], [e[1:5] for e in expected])
                    # 24 terms of a product and some 1,000 of a mean, each with a rounding of 1e-16.
                    for name, column in (("cosine_close", 5), ("cosine_far", 6), ("z_close", 7),
                                         ("z_far", 8), ("score", 0)):
                        np.testing.assert_allclose([float(r[name]) for r in rows],
                                                   [e[column] for e in expected], rtol=1e-12, atol=1e-13)

    def test_conditions_and_parts(self):
        every = self.rows("--top", "0", "--per-image", "0", "--task", "chest")
        some = self.rows("--top", "0", "--per-image", "0", "--finding", "mass", "--context", "pa",
                         "--close-above", "0.2", "--far-below", "-0.1")
        expected = [r for r in every if (r["finding"], r["context"]) == ("mass", "pa")
                    and float(r["cosine_close"]) >= 0.2 and float(r["cosine_far"]) <= -0.1]
        self.assertGreater(len(some), 2)
        for row in some + expected:
            del row["rank"]
        self.assertEqual(some, expected)

    def test_nothing_to_list(self):
        note = ('candor: no pairs of "chest, edema, ap", "chest, edema, pa", "chest, mass, ap", "chest, mass, pa": '
                'all pairs have one cosine under encoder "flat"\n'
                'candor: no pair is closer than usual under "clip" and farther under "flat"\n')
        self.assertEqual(self.rows(far="flat", stderr=note), [])
        self.assertEqual(self.rows("--quiet", far="flat"), [])
        empty = 'candor: no pair is closer than usual under "clip" and farther under "dino"\n'
        self.assertEqual(self.rows("--close-above", "1", "--far-below", "-1", stderr=empty), [])

    def test_the_same_bytes_on_any_number_of_ranks(self):
        alone = self.pairs("--top", "0", "--per-image", "3")
        for ranks in (2, 3):
            together = self.pairs("--top", "0", "--per-image", "3", ranks=ranks)
            self.assertEqual((together.returncode, together.stderr), (0, ""))
            self.assertEqual(together.stdout, alone.stdout)

    # ---- where it is written

    def test_an_output_file(self):
        path = self.study.path("list.csv")
        for options in ((), ("--overwrite",)):
            done = self.pairs("-o", path, *options, ranks=2 if options else 1)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            with open(path, newline="") as file:
                self.assertEqual(file.read(), self.pairs().stdout)
        self.assert_fails(self.pairs("-o", path), 2,
                          f"{path}: exists; name another output or give --overwrite")
        for what in (self.results, self.study.path("study.toml")):
            self.assert_fails(self.pairs("-o", what, "--overwrite", ranks=3), 2,
                              f"{what}: is no list of pairs of candor, and --overwrite replaces nothing else; "
                              "name another output or remove it yourself")
        nowhere = self.study.path("none/list.csv")
        self.assert_fails(self.pairs("-o", nowhere), 4,
                          f"{nowhere}: cannot be written: No such file or directory; check that the folder exists, its "
                          "rights and its free space")
        self.assertEqual([n for n in os.listdir(self.study.folder) if n.endswith(".part")], [])

    # ---- the command line

    def test_what_the_study_does_not_know(self):
        for options, line in (
                (dict(close="clop"), '--close clop: no such encoder; did you mean "clip"?'),
                (dict(far="clip"), "--far clip: is the encoder of --close too; name another one"),
                (dict(close="dino", far="other"),
                 "--close dino --far other: no task of the study has both encoders")):
            self.assert_fails(self.pairs(**options), 2, line)
        for options, line in (
                (("--task", "chess"), '--task chess: no such task; did you mean "chest"?'),
                (("--task", "lone"), '--far dino: is no encoder of task "lone", which has other, clip'),
                (("--finding", "oedema"), '--finding oedema: no such finding; did you mean "edema"?'),
                (("--context", "lateral"), "--context lateral: no such context; there are ap, pa"),
                (("--top", "-1"), "--top -1: must be a whole number, at least 0; 0 sets no limit"),
                (("--per-image", "x"), "--per-image x: must be a whole number, at least 0; 0 sets no limit"),
                (("--close-above", "1.5"), "--close-above 1.5: must be a cosine, -1 to 1"),
                (("--far-below", "0,5"), "--far-below 0,5: must be a cosine, -1 to 1"),
                (("--threads", "0"), "--threads 0: must be a whole number, 1 to 1048576"),
                (("--per-imag", "1"), "--per-imag: candor pairs has no such option; did you mean --per-image?")):
            with self.subTest(options=options):
                self.assert_fails(self.pairs(*options), 2, line)
        self.assert_fails(self.pairs("--task", "chess", ranks=3), 2, '--task chess: no such task; did you mean "chest"?')
        for words, line in (((), "candor pairs: name a results file: candor pairs OUT.h5 --close A --far B"),
                            ((self.results, "--far", "a"), "candor pairs: name the encoder that confuses: --close A"),
                            ((self.results, "--close", "a"), "candor pairs: name the encoder that tells apart: --far B")):
            self.assert_fails(self.study.candor("pairs", *words), 2, line)

    # ---- the study and its inputs, found again

    def test_overrides_of_the_run_hold(self):
        results = self.study.path("fewer.h5")
        done = self.study.candor("run", self.study.path("study.toml"), "-o", results, "--set", "pool.rows=60")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.study.candor("pairs", results, "--close", "clip", "--far", "dino", "--top", "0", "--per-image", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        images = {r[n] for r in csv.DictReader(io.StringIO(done.stdout)) for n in ("positive_image", "negative_image")}
        self.assertGreater(len(images), 20)
        self.assertLessEqual(len(images), 60)

    def test_a_moved_study(self):
        with tempfile.TemporaryDirectory() as folder:
            moved = Study(folder)
            run = moved.candor("run", "study.toml", "-o", "out.h5", cwd=folder)
            self.assertEqual(run.returncode, 0, run.stderr)
            words = ["--close", "clip", "--far", "dino"]
            here = moved.candor("pairs", "out.h5", *words, cwd=folder)
            self.assertEqual((here.returncode, here.stderr), (0, ""))
            # Named as the run named it, it stands beside the results.
            self.assertEqual(moved.candor("pairs", moved.path("out.h5"), *words, cwd="/").stdout, here.stdout)
            os.mkdir(moved.path("new"))
            for name in ("study.toml", "data"):
                shutil.move(moved.path(name), moved.path("new"))
            for ranks in (1, 3):
                self.assert_fails(moved.candor("pairs", moved.path("out.h5"), *words, ranks=ranks, cwd="/"), 3,
                                  f'{moved.path("out.h5")}: was made from "study.toml", which is neither there nor '
                                  "beside it; give its place: --study STUDY.toml")
            told = moved.candor("pairs", moved.path("out.h5"), *words, "--study", moved.path("new/study.toml"))
            self.assertEqual((told.returncode, told.stdout, told.stderr), (0, here.stdout, ""))
            wrong = moved.candor("pairs", moved.path("out.h5"), *words, "--study", moved.path("no.toml"))
            self.assert_fails(wrong, 3, f'{moved.path("no.toml")}: is no file; give --study STUDY.toml')

    def test_changed_inputs(self):
        with tempfile.TemporaryDirectory() as folder:
            study = Study(folder)
            results = study.path("out.h5")
            self.assertEqual(study.candor("run", study.path("study.toml"), "-o", results).returncode, 0)
            words = ["pairs", results, "--close", "clip", "--far", "dino"]
            kept = study.candor(*words).stdout
            with open(study.path("study.toml"), "a") as file:  # its text is in the results
                file.write("# a remark\n")
            self.assertEqual(study.candor(*words).stdout, kept)

            def fails(name):
                self.assert_fails(study.candor(*words), 3, f"{study.path(name)}: changed since {results} was written; "
                                  "run the study again")
            study.features["other"][7, 3] += 1  # not asked about, and yet the study is another one
            study.write_features("other")
            fails("data/other.h5")
            study.labels["mass"][5] = "0"
            study.write_table()
            fails("data/films.csv")
            os.remove(study.path("data/films.csv"))
            self.assert_fails(study.candor(*words), 3,
                              f'{study.path("data/films.csv")}: cannot be read: No such file or directory')
            for name, line in ((study.path("none.h5"), "none.h5"), (study.path("data/clip.h5"), "clip.h5")):
                done = study.candor("pairs", name, "--close", "clip", "--far", "dino")
                self.assertEqual(done.returncode, 3)
                self.assertIn(line, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
