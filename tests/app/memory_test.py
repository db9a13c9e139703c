"""candor run --memory: kept on every number of ranks, by features of which most are as good as equal too."""

import json
import os
import re
import subprocess
import tempfile
import unittest

import h5py
import numpy as np

from plan_test import profile_text
from testing.program import CANDOR, errors_in, on_ranks, write_features, write_table

IMAGES = 1800
STUDY = """
[study]
name = "memory"
[operator]
negative_queries = "all"
[bootstrap]
resamples = 20
[test]
permutations = 40
[[encoder]]
id = "wide"
[[encoder]]
id = "signs"
[[dataset]]
id = "data"
table = "table.csv"
features = "{encoder}.h5"
[[task]]
id = "task"
datasets = ["data"]
findings = ["a", "b", "c"]
"""


class MemoryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        random = np.random.default_rng(7)
        ids = [f"i{i}" for i in range(IMAGES)]
        labels = (random.random((IMAGES, 3)) < (0.1, 0.3, 0.5)).astype(int)
        # One number a row: every cosine is 1 or -1, so that each query has a thousand nearest neighbours.
        features = {"wide": random.normal(size=(IMAGES, 300)), "signs": random.normal(size=(IMAGES, 1))}
        write_table(os.path.join(cls.folder, "table.csv"), "image_id,patient_id,split,a,b,c",
                    ((ids[i], f"p{i}", "test", *row) for i, row in enumerate(labels)))
        for encoder, values in features.items():
            write_features(os.path.join(cls.folder, encoder + ".h5"), values.astype("f4"), ids)
        cls.profile = os.path.join(cls.folder, "machine.toml")
        with open(cls.profile, "w") as profile:
            profile.write(profile_text())
        with open(os.path.join(cls.folder, "study.toml"), "w") as study:
            study.write(STUDY)
        with open(os.path.join(cls.folder, "table.csv")) as table, \
                open(os.path.join(cls.folder, "no-splits.csv"), "w") as other:
            other.writelines(line.replace(",split", "").replace(",test", "") for line in table)
        # The same without a split column, so that splits are drawn and heads trained.
        with open(os.path.join(cls.folder, "heads.toml"), "w") as study:
            study.write(STUDY.replace("table.csv", "no-splits.csv")
                        + '[heads]\nepochs = 2\nensemble = 2\nsplit = [0.6, 0.2, 0.2]\n')

    def run_study(self, output, *words, ranks=1, study="study.toml"):
        return subprocess.run(on_ranks(ranks, CANDOR, "run", study, "-o", output, "--quiet", "--threads", "1", *words),
                              cwd=self.folder, capture_output=True, text=True, timeout=300)

    def refused(self, size, *words, study="study.toml", ranks=1):
        done = self.run_study(f"refused-{study}.h5", *words, "--memory", size, study=study, ranks=ranks)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.folder, f"refused-{study}.h5")))
        return errors_in(done)[0]

    def test_sizes_that_are_none(self):
        for size in ("", "0", "-1", "lots", " 2G", "2X"):
            self.assertEqual(self.refused(size), f"candor: error: --memory {size}: must be a size of more than "
                                                 "nothing, e.g. 512M or 2G")

    def test_the_size_that_is_offered_is_kept_and_changes_nothing(self):
        self.kept_by("study.toml")

    def test_it_is_kept_with_heads_too(self):
        self.kept_by("heads.toml")

    def test_it_is_kept_with_ablations_too(self):
        self.kept_by("study.toml", "--ablations", all_ranks=(1, 3))

    def kept_by(self, study, *words, all_ranks=(1, 2, 3, 5)):
        free = f"free-{len(words)}-{study}.h5"
        self.assertEqual(self.run_study(free, *words, study=study).returncode, 0)
        for ranks in all_ranks:
            # Ranks that search one group together send each other what they keep, and need more.
            offered = re.fullmatch(r"candor: error: --memory: 1024 bytes are too few: this study takes about (\d+)M a rank",
                                   self.refused("1K", *words, study=study, ranks=ranks))
            self.assertIsNotNone(offered)
            limit = int(offered[1])
            if not words:
                # What plan says is no less than what is refused: 16 MiB below what is offered, for other processes.
                done = subprocess.run([CANDOR, "plan", study, "scaling", "--ranks", str(ranks), "--format", "json",
                                       "--quiet", "--profile", self.profile], cwd=self.folder, capture_output=True,
                                      text=True, timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)
                planned = next(row for row in json.loads(done.stdout) if row["ranks"] == ranks)["least_memory"]
                self.assertGreaterEqual(planned, limit - 16 << 20)
            output = f"kept{ranks}-{len(words)}-{study}.h5"
            done = self.run_study(output, *words, "--memory", f"{limit}M", ranks=ranks, study=study)
            self.assertEqual(done.returncode, 0, done.stderr)
            same = subprocess.run(["h5diff", "--exclude-path", "/run", free, output], cwd=self.folder,
                                  capture_output=True)
            self.assertEqual(same.returncode, 0)
            with h5py.File(os.path.join(self.folder, output)) as file:
                self.assertEqual(file["run"].attrs["memory"], limit << 20)
                self.assertLessEqual(file["run"].attrs["peak_memory"], limit << 20)

    def test_an_address_space_too_small_ends_the_run(self):
        # OpenBLAS asks for ever for a buffer that it does not get. How much the program takes without differs; with
        # less than that it is MPI that does not start.
        told = set()
        for kibibytes in range(300_000, 800_000, 50_000):
            done = subprocess.run(["sh", "-c", f'ulimit -v {kibibytes}; exec "$@"', "sh", CANDOR, "run", "study.toml", "-o",
                                   "limited.h5", "--overwrite", "--quiet", "--threads", "2", "--set", "pool.rows=300"],
                                  cwd=self.folder,
                                  capture_output=True, text=True, timeout=100)
            errors = errors_in(done)
            self.assertTrue(len(errors) == 1 or done.returncode == 0 or
                            any(word in done.stderr for word in ("mca_", "libgomp", "error occurred in MPI_Init")),
                            done.stderr)
            told.update(error.split(":")[2].strip() for error in errors)
        self.assertIn("BLAS", told)


if __name__ == "__main__":
    unittest.main()
