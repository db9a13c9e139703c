"""One study gives the same bits at any rank count, thread count, block size and order of input rows."""

import os
import subprocess
import tempfile
import unittest

import h5py

from reference.agreement import run_candor
from reference.study_maker import make_study

# Uneven on purpose: several datasets, contexts and tasks, and cells too small for some ranks to get any. Both
# have an anchor, erased files, and a dataset that asks its reference.
STUDIES = {
    "everything": dict(seed=191, rows=(60, 170), operator={"also": ["distinct", "literal", "unequal"],
                                                          "candidates": "equal", "k": 2}, draws=2),
    "larger": dict(seed=69, rows=(1500, 1600), operator={"k": 5, "bank_cap": 4000}, draws=1),
}


# Every table has rows: heads are trained where a dataset has no splits too.
OPTIONS = ("--ablations", "--set", "heads.split=[0.5, 0.2, 0.3]", "--set", "heads.epochs=3", "--set",
           "heads.ensemble=2", "--set", "test.permutations=64")


def datasets_of(path):
    """Name, type, shape and bytes of every dataset outside /run."""
    out = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset) and name.split("/")[0] != "run":
            out[name] = (str(item.dtype), item.shape, item[()].tobytes())

    with h5py.File(path, "r") as f:
        f.visititems(visit)
    return out


class Invariance(unittest.TestCase):
    def check(self, name, variants):
        """variants: label: (options, ranks, seed that permutes the input rows)."""
        with tempfile.TemporaryDirectory() as folder:
            study = make_study(os.path.join(folder, "plain"), **STUDIES[name])
            first = run_candor(study, os.path.join(folder, "first.h5"), *OPTIONS)
            expected = datasets_of(first)
            empty = [t for t in expected if t.startswith("tables/") and len(expected[t][2]) == 0]
            self.assertEqual(empty, [])
            for label, (options, ranks, order_seed) in variants.items():
                with self.subTest(study=name, variant=label):
                    path = study
                    if order_seed is not None:
                        path = make_study(os.path.join(folder, label), order_seed=order_seed, **STUDIES[name])
                    out = run_candor(path, os.path.join(folder, f"{label}.h5"), *OPTIONS, *options,
                                     ranks=ranks)
                    found = datasets_of(out)
                    self.assertEqual(found.keys(), expected.keys())
                    different = [d for d in expected if found[d] != expected[d]]
                    self.assertEqual(different, [])
                    done = subprocess.run(["h5diff", "--exclude-path", "/run", first, out],
                                          capture_output=True, text=True, timeout=120)
                    # Its exit code, not its words: it calls empty tables "not comparable".
                    self.assertEqual(done.returncode, 0, done.stdout)

    def test_ranks(self):
        self.check("everything", {f"ranks{n}": ((), n, None) for n in (2, 3, 5, 7)})
        self.check("larger", {f"ranks{n}": ((), n, None) for n in (2, 7)})

    def test_threads(self):
        self.check("larger", {f"threads{n}": (("--threads", str(n)), 1, None)
                              for n in range(1, min(4, len(os.sched_getaffinity(0))) + 1)})

    def test_blocks(self):
        self.check("larger", {f"block{n}": (("--block", str(n)), ranks, None)
                              for n, ranks in ((64, 1), (1000, 1), (4096, 1), (64, 3))})

    def test_order_of_rows(self):
        for name in STUDIES:
            self.check(name, {"shuffled": ((), 1, 1), "again": ((), 3, 2)})


if __name__ == "__main__":
    unittest.main()
