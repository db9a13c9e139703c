"""candor show, as a user meets it, on a results file written here with h5py by the names the README lists."""

import csv
import io
import json
import os
import subprocess
import tempfile
import unittest

import h5py
import numpy as np

from testing.locales import comma_locale

CANDOR = os.environ["CANDOR"]

STUDY = """
[study]
name = "toy"
seed = 7

[operator]
k = 3

[[encoder]]
id = "good"

[[encoder]]
id = "blind"
anchor = true

[[dataset]]
id = "films"
table = "films.csv"
features = "{encoder}/{dataset}.h5"

[[task]]
id = "chest"
label = "Chest films"
datasets = ["films"]
findings = ["Edema", "R&D 50%"]
encoders = ["*"]
"""

NAN = float("nan")
FINDINGS = ["Edema", "R&D 50%"]
D = {("good", "Edema"): 0.1, ("good", "R&D 50%"): 1 / 3, ("blind", "Edema"): 0.5, ("blind", "R&D 50%"): NAN}


ACROSS = {
    "overlap_summary": {"task": str, "null": str, "tests": int, "one_empty": int, "above": int,
                        "rejected": int, "mean_delta_jaccard": float},
    "consensus": {"task": str, "level": str, "encoders": int, "blind": int, "positives": int, "share": float,
                  "low": float, "high": float, "independent_share": float, "bound_low": float, "bound_high": float},
    "retention": {"task": str, "level": str, "encoder": str, "retention": float, "low": float, "high": float},
    "associations": {"task": str, "x": str, "y": str, "group": str, "n": int, "value": float, "p": float,
                     "exact_p": float},
    "distances": {"task": str, "level": str, "anchor": str, "reject": int, "distance": float},
    "heads": {"task": str, "level": str, "encoder": str, "kind": str, "violations": int, "auroc": float,
              "auroc_low": float, "auroc_high": float},
    "detection": {"task": str, "level": str, "score": str, "won": int, "lost": int, "even": int, "auroc": float,
                  "auroc_low": float, "auroc_high": float},
    "selection": {"task": str, "level": str, "policy": str, "positives": int, "encoders": int, "miss": float,
                  "miss_low": float, "miss_high": float, "gap_closed": float, "gap_closed_low": float,
                  "gap_closed_high": float, "bound_low": float, "bound_high": float},
}


def rate(d):
    """The columns that every table of rates has."""
    low, high = (NAN, NAN) if np.isnan(d) else (d - 0.05, d + 0.05)
    return {"queries": 100, "patients": 90, "discordant": 10, "ties": 0, "d": d, "d_low": low,
            "d_high": high, "rate_mid": d, "n_boot_valid": 1000, "few_patients": 0, "all_equal": 0,
            "pooled_reference": 0,
            "bound_low": NAN, "bound_high": NAN, "draw_sd": NAN, "excludes_half": int(high < 0.5)}


def table_of(rows, columns=None):
    """A compound array of rows: text as fixed-length UTF-8, whole numbers as int64, reals as float64."""
    columns = columns or {name: type(value) for name, value in rows[0].items()}
    fields = []
    for name, kind in columns.items():
        if kind is str:
            longest = max([len(row[name].encode()) for row in rows], default=1)
            fields.append((name, h5py.string_dtype("utf-8", max(longest, 1))))
        else:
            fields.append((name, "<i8" if kind is int else "<f8"))
    cells = [tuple(row[n].encode() if k is str else row[n] for n, k in columns.items()) for row in rows]
    return np.array(cells, dtype=np.dtype(fields))


def write_results(path):
    names = list(D.items())
    findings = [{"task": "chest", "encoder": e, "finding": f, **rate(d), "p": 2e-05, "q": 0.012}
                for (e, f), d in names]
    cells = [{"task": "chest", "encoder": e, "finding": f, "context": "films", **rate(d)}
             for (e, f), d in names]
    tasks = [{"task": "chest", "encoder": e, "level": "micro", "anchor": int(e == "blind"), **rate(d)}
             for e, d in (("blind", 0.5), ("good", 0.2))]
    panels = [{"task": "chest", "level": "micro", "statistic": s, "encoder": e, "encoders": 2, "value": v,
               "low": v, "high": v} for s, e, v in (("best", "good", 0.2), ("above_0.40", "", 1.0))]
    families = [{"family": "discordance against chance", "task": "chest", "test": "bootstrap", "m": 3,
                 "undefined": 1, "alpha": 0.05, "smallest_p": 2 / 1001, "at_floor": 1, "needed": 1,
                 "rejected": 2}]
    rules = [{"task": "chest", "encoder": "good", "rule": "equal"}]
    nothing = {"task": str, "reason": str, "primary": int}
    excluded = {"task": str, "dataset": str, "what": str, "detail": str, "rows": int}
    with h5py.File(path, "w", track_order=True) as file:
        file.attrs["complete"] = np.int64(1)
        run = file.create_group("run")
        for name, value in {"format": "candor-results", "version": "0.1.0", "commit": "0123456789abcdef",
                            "start": "2026-01-02T03:04:05Z", "study": STUDY}.items():
            run.attrs.create(name, np.bytes_(value.encode()))
        for name, value in {"format_version": 1, "dirty": 0, "ranks": 2}.items():
            run.attrs[name] = np.int64(value)
        tables = file.create_group("tables", track_order=True)
        for name, rows in {"cells": cells, "findings": findings, "tasks": tasks, "panels": panels,
                           "rules": rules, "families": families}.items():
            tables[name] = table_of(rows)
        tables["skipped"] = table_of([], nothing)
        for name, columns in ACROSS.items():
            tables[name] = table_of([], columns)
        tables["exclusions"] = table_of([], excluded)
        cases = file.create_group("cases/chest")
        for name, values in {"dataset": ["films"] * 4, "image_id": ["a", "b", "c", "a"],
                             "patient_id": ["1", "1", "", "1"]}.items():
            cases[name] = np.array([v.encode() for v in values], dtype=h5py.string_dtype("utf-8", 5))


def show(*arguments, **more):
    return subprocess.run([CANDOR, "show", *arguments], capture_output=True, text=True, timeout=60, **more)


class ShowTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = os.path.join(cls.folder.name, "out.h5")
        write_results(cls.file)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def output(self, *arguments, **more):
        done = show(*arguments, **more)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.returncode, 0)
        return done.stdout

    def error(self, *arguments):
        done = show(*arguments)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("candor: error: "), done.stderr)
        return done.returncode, done.stderr

    def test_overview(self):
        text = self.output(self.file)
        self.assertIn("Study toy, seed 7; candor 0.1.0, commit 0123456789, on 2 ranks, "
                      "2026-01-02T03:04:05Z\n", text)
        # Image "a" is queried twice, "c" has no patient: three images of two patients.
        self.assertIn("Chest films (chest): 2 encoders, 2 findings, 1 context, "
                      "3 images queried of 2 patients\n", text)
        self.assertIn('candidates "equal", k = 3; D in percent [95 % interval over patients]\n', text)
        good, blind = [line for line in text.splitlines() if line.startswith(("good ", "blind "))]
        self.assertEqual(" ".join(good.split()),
                         "good 20.0* [15.0, 25.0] 10.0* [5.0, 15.0] 33.3* [28.3, 38.3]")
        self.assertEqual(" ".join(blind.split()), "blind (anchor) 50.0= [45.0, 55.0] 50.0= [45.0, 55.0] -")
        self.assertIn("chance = 50.0; * lowest of its column; = interval holds 50.0\n", text)
        self.assertIn("discordance against chance: 2 of 3 rejected at q <= 0.05, bootstrap", text)
        self.assertIn("warning: patients repeat: 3 images of 2 patients were queried", text)

    def test_csv_holds_every_digit(self):
        text = self.output(self.file, "findings", "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        with h5py.File(self.file) as file:
            stored = file["tables/findings"][:]
        self.assertEqual(list(rows[0]), list(stored.dtype.names))
        for row, record in zip(rows, stored):
            self.assertEqual(row["finding"], record["finding"].decode())
            self.assertEqual(int(row["queries"]), record["queries"])
            for name in ("d", "d_low", "p", "draw_sd"):
                value = float(row[name]) if row[name] else NAN
                np.testing.assert_equal(value, record[name])

    def test_json(self):
        rows = json.loads(self.output(self.file, "findings", "--format", "json"))
        self.assertEqual([(row["encoder"], row["finding"]) for row in rows], list(D))
        self.assertEqual(rows[1]["d"], 1 / 3)
        self.assertIsNone(rows[3]["d"])

    def test_formats_for_people(self):
        chosen = ("findings", "--where", "encoder=good", "--columns", "finding,d,p")
        self.assertEqual(self.output(self.file, *chosen),
                         "finding   d %        p\n"
                         "-------  ----  -------\n"
                         "Edema    10.0  2.0e-05\n"
                         "R&D 50%  33.3  2.0e-05\n")
        self.assertIn("\n| R&D 50% | 33.3 | 2.0e-05 |\n", self.output(self.file, *chosen, "--format", "md"))
        self.assertIn("R\\&D 50\\% & 33.3 & 2.0e-05 \\\\\n", self.output(self.file, *chosen, "--format=tex"))

    def test_locale_changes_nothing(self):
        commas = comma_locale(os.path.join(self.folder.name, "locales"))
        if commas is None:
            self.skipTest("no sources of a comma-decimal locale here")
        for form in ("text", "csv", "md", "tex"):
            plain = self.output(self.file, "cells", "--format", form,
                                env={**os.environ, "LC_ALL": "C"})
            german = self.output(self.file, "cells", "--format", form,
                                 env=commas)
            self.assertEqual(plain, german)

    def test_where(self):
        cells = (self.file, "cells", "--format", "csv")
        self.assertEqual(self.output(*cells, "--where", "encoder!=good", "--where", "d=0.5", "--columns",
                                     "encoder", "--columns", "finding"), "encoder,finding\nblind,Edema\n")
        self.assertEqual(self.output(*cells, "--where=d=nan", "--columns", "finding"), "finding\nR&D 50%\n")

    def test_nothing_found_is_said(self):
        done = show(self.file, "cells", "--where", "finding=Edma", "--format", "csv", "--columns", "d")
        self.assertEqual((done.returncode, done.stdout), (0, "d\n"))
        self.assertEqual(done.stderr,
                         'candor: note: no row of table cells has finding=Edma; did you mean "Edema"?\n')
        self.output(self.file, "cells", "--where", "finding=Edma", "--quiet")

    def test_list(self):
        rows = json.loads(self.output(self.file, "--list", "--format", "json"))
        self.assertEqual({row["table"]: row["rows"] for row in rows},
                         {"cells": 4, "findings": 4, "tasks": 2, "panels": 2, "rules": 1, "families": 1,
                          "skipped": 0, "exclusions": 0, **dict.fromkeys(ACROSS, 0)})
        columns = {row["table"]: row["columns"] for row in rows}
        self.assertEqual(columns["skipped"], "task,reason,primary")

    def test_empty_table(self):
        self.assertEqual(self.output(self.file, "skipped", "--format", "csv"), "task,reason,primary\n")

    def test_errors_of_usage(self):
        for arguments, part in {
            (): "name a results file",
            (self.file, "fndings"): 'no table "fndings", did you mean "findings"?; it has cells, findings,',
            (self.file, "cells", "--fromat", "csv"): "did you mean --format?",
            (self.file, "cells", "--form", "csv"): "no such option",
            (self.file, "cells", "--format", "cvs"): "use one of text, csv, json, md, tex",
            (self.file, "cells", "--where", "d"): '"d" must be column=value',
            (self.file, "cells", "--where", "d=0,5"): 'holds numbers, and "0,5" is none',
            (self.file, "cells", "--where", "encodr=x"): 'did you mean "encoder"?',
            (self.file, "cells", "--columns", "encodr"): 'did you mean "encoder"?',
            (self.file, "cells", "--columns", "d,d"): '"d" is named twice',
            (self.file, "cells", "third"): '"third"',
            (self.file, "--where", "d=1"): "name the table",
            (self.file, "--format", "csv"): "the overview is text only",
            (self.file, "cells", "--list"): "lists all tables",
        }.items():
            with self.subTest(arguments):
                code, message = self.error(*arguments)
                self.assertEqual(code, 2)
                self.assertIn(part, message)

    def test_files_that_are_no_results(self):
        other = os.path.join(self.folder.name, "features.h5")
        with h5py.File(other, "w") as file:
            file["features"] = np.zeros((2, 2))
        for path in (other, os.path.join(self.folder.name, "missing.h5"), os.path.abspath(__file__)):
            with self.subTest(path):
                code, message = self.error(path)
                self.assertEqual(code, 3)
                self.assertIn(path, message)

    def test_help(self):
        self.assertIn("Usage: candor show OUT.h5 [TABLE]", self.output("--help"))

    def test_a_reader_that_leaves_early(self):
        for arguments in ([], ["cells"]):
            # The pipe has no reader at all by the time that candor writes.
            read, write = os.pipe()
            os.close(read)
            done = subprocess.run([CANDOR, "show", self.file, *arguments], stdout=write,
                                  stderr=subprocess.PIPE, timeout=60)
            os.close(write)
            self.assertEqual((done.returncode, done.stderr), (0, b""))

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full here")
    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([CANDOR, "show", self.file], stdout=full, stderr=subprocess.PIPE,
                                  timeout=60)
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"candor: error: standard output: No space left on device", done.stderr)


if __name__ == "__main__":
    unittest.main()
