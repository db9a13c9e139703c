"""The README is true: its commands run, its example works as printed, its tables name every column and key."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np

from testing.scratch import InFolder

CANDOR = os.environ["CANDOR"]
SOURCE = os.environ["CANDOR_SOURCE"]
BUILD = os.environ["CANDOR_BUILD"]
with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as f:
    README = f.read()


def blocks(language):
    """Bodies of the fenced blocks of a language, without the indentation of a list item around them."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", README, re.M | re.S)
    return [re.sub(rf"^{indent}", "", body, flags=re.M) for indent, body in found]


def block_with(language, text):
    matching = [block for block in blocks(language) if text in block]
    assert len(matching) == 1, f"{len(matching)} {language} blocks hold {text!r}"
    return matching[0]


def section(title):
    """Text of a section: from its heading to the next of the same or a higher level."""
    head = re.search(rf"^(#+) {re.escape(title)}.*$", README, re.M)
    assert head, title
    end = re.search(rf"^#{{1,{len(head[1])}}} ", README[head.end():], re.M)
    return README[head.end():head.end() + end.start()] if end else README[head.end():]


def names_in(text):
    return set(re.findall(r"`([^`\n]+)`", text))


def run(command, folder, python=False):
    environment = dict(os.environ, PATH=os.path.dirname(CANDOR) + ":" + os.environ["PATH"])
    words = [sys.executable, "-c", command] if python else ["bash", "-euo", "pipefail", "-c", command]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise AssertionError(f"{command}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class OwnFeatures(InFolder):
    """The section "Your own features in five minutes", typed as it stands, on made data."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = cls.folder
        random = np.random.RandomState(5)
        header = block_with("csv", "image_id").splitlines()[0]
        ids = [f"{i:04d}" for i in range(120)]
        labels = random.choice(["1", "0", "0", "", "-1"], size=(len(ids), 2))
        with open(os.path.join(folder, "chest.csv"), "w") as f:
            f.write(header + "\n")
            for i, image in enumerate(ids):
                f.write(f"{image},p{i // 2},test,{'PA' if i % 3 else 'AP'},{labels[i][0]},{labels[i][1]}\n")
        os.mkdir(os.path.join(folder, "features"))
        with open(os.path.join(folder, "ids.txt"), "w") as f:
            f.write("\n".join(ids) + "\n")
        values = random.standard_normal((len(ids), 12)).astype("f4")
        np.save(os.path.join(folder, "rad-dino.npy"), values)
        np.savez(os.path.join(folder, "dinov3-l.npz"), features=values, image_id=np.array(ids))
        np.save(os.path.join(folder, "values.npy"), values)

        run(block_with("sh", "candor import"), folder)
        # The Python way to the same file.
        os.rename(os.path.join(folder, "features/rad-dino.h5"), os.path.join(folder, "imported.h5"))
        run("import numpy as np\nfeatures = np.load('values.npy')\nimage_ids = open('ids.txt').read().split()\n" +
            block_with("python", "N x d numpy array"), folder, python=True)
        with open(os.path.join(folder, "chest.toml"), "w") as f:
            f.write(block_with("toml", "[[task]]"))
        # More ranks than a small machine has cores.
        os.environ["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
        cls.shown = run(block_with("sh", "candor check chest.toml"), folder)

    def test_the_imported_file_holds_what_python_writes(self):
        with h5py.File(os.path.join(self.folder, "imported.h5")) as a, \
                h5py.File(os.path.join(self.folder, "features/rad-dino.h5")) as b:
            np.testing.assert_array_equal(a["features"][:].astype("f2"), b["features"][:])
            self.assertEqual(list(a["image_id"].asstr()[:]), list(b["image_id"].asstr()[:]))

    def test_check_run_and_show_say_something(self):
        for text in ("No input stands against a run.", "rad-dino", "dinov3-l", "pneumothorax"):
            self.assertIn(text, self.shown)

    def test_the_plan_has_the_tables_that_are_told_of(self):
        run(block_with("sh", "candor plan"), self.folder)
        with open(os.path.join(self.folder, "scaling.csv")) as f:
            self.assertTrue(f.read().startswith("ranks,seconds,"))
        told = {}
        for line in section("What will it take").splitlines():
            cells = [cell.strip() for cell in line.split("|")]
            if len(cells) == 5 and names_in(cells[2]):
                table = (names_in(cells[1]) or {table}).pop()
                told.setdefault(table, []).extend(re.findall(r"`(\w+)`", cells[2]))
        self.assertEqual(list(told), ["work", "stages", "scaling"])
        for table, columns in told.items():
            shown = run(f"candor plan chest.toml {table} --profile machine.toml --format csv", self.folder)
            self.assertEqual(sorted(shown.splitlines()[0].split(",")), sorted(columns))
        warnings = re.findall(r"^\| `([^`]+)` \| .*(?:fewer|likewise|evenly)", section("What will it take"), re.M)
        self.assertEqual(len(warnings), 4)
        shown = run("candor plan chest.toml --profile machine.toml", self.folder)
        said = [w for w in warnings if all(part in shown for part in re.split(r" ?\.\.\. ?|N", w))]
        self.assertGreaterEqual(len(said), 3, shown)

    def test_reading_in_python(self):
        printed = run(block_with("python", "pandas"), self.folder, python=True)
        self.assertIn("rad-dino", printed)
        self.assertNotIn("b'", printed)

    def test_what_a_results_file_holds_is_documented(self):
        with h5py.File(os.path.join(self.folder, "chest.h5")) as f:
            self.assertEqual(set(f["cases/chest"]) - names_in(section("cases/TASK")), set())
            self.assertEqual(set(f["run"].attrs) - names_in(section("Results file")), set())
            self.assertEqual(set(f), {"cases", "run", "tables"})

    def test_every_attribute_of_the_run_is_known(self):
        with h5py.File(os.path.join(self.folder, "chest.h5")) as f:
            for name, value in f["run"].attrs.items():
                text = value.decode() if isinstance(value, bytes) else str(value)
                if name != "job_id":
                    self.assertNotIn(text.lower(), ("", "unknown", "none") if name != "commit" else ("", "unknown"), name)


class Study(InFolder):
    """A study that uses everything: boxes, erased features, an anchor, a contrast, ablations."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run(f"candor run {SOURCE}/inputs/digits/study.toml -o d.h5 --set bootstrap.resamples=10 --ablations --quiet",
            cls.folder)
        with h5py.File(os.path.join(cls.folder, "d.h5")) as f:
            cls.columns = {name: list(table.dtype.names) for name, table in f["tables"].items()}
            text = f["run"].attrs["study"]
            cls.study = text.decode() if isinstance(text, bytes) else text

    def test_every_key_of_a_study_is_documented(self):
        # The effective study of a run holds every key with its value.
        documented = names_in(section("Study file"))
        keys = {line.split(" = ")[0] for line in self.study.splitlines() if " = " in line}
        self.assertGreater(len(keys), 20)
        self.assertEqual(keys - documented, set())

    def documented(self, table):
        if table in ("families", "skipped", "exclusions"):
            return names_in(section("tables/families"))
        # These two say "as in cells".
        cells = names_in(section("tables/cells")) if table in ("findings", "tasks") else set()
        return names_in(section(f"tables/{table}:")) | cells

    def test_every_column_of_every_table_is_documented(self):
        self.assertGreater(len(self.columns), 14)
        for table, columns in self.columns.items():
            self.assertEqual(set(columns) - self.documented(table), set(), table)

    def test_no_column_is_documented_that_does_not_exist(self):
        for title in re.findall(r"^#### tables/(\w+):", README, re.M):
            for line in section(f"tables/{title}:").splitlines():
                if line.startswith("| `"):
                    # A value of a column may stand behind it in parentheses.
                    named = names_in(re.sub(r"\([^)]*\)", "", line.split("|")[1]))
                    self.assertEqual(named - set(self.columns[title]), set(), title)


class Commands(unittest.TestCase):
    def test_the_demo_prints_what_the_readme_shows(self):
        with tempfile.TemporaryDirectory() as folder:
            run(f"mpirun --oversubscribe -n 2 candor run {SOURCE}/inputs/wdbc/study.toml -o w.h5", folder)
            shown = run("candor show w.h5", folder)
            self.assertIn(block_with("text", "chance = 50.0"), shown)
            run("h5repack -m 1024 -f GZIP=6 w.h5 small.h5", folder)
            run("candor show small.h5 findings && h5diff w.h5 small.h5", folder)

    @unittest.skipUnless(os.path.realpath(BUILD) == os.path.realpath(os.path.join(SOURCE, "build", "release")),
                         "the demo builds into build/release")
    def test_the_demo_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            printed = run(f"{SOURCE}/jobs/demo.sh {folder}", folder)
            self.assertIn("worst", printed)

    def test_the_benchmarks_are_those_that_are_shown(self):
        command = block_with("sh", "candor bench\n").strip()
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("vectors", run(command + " --only cell-64 --rounds 1", folder))
            listed = subprocess.run([CANDOR, "bench", "--only", "none"], capture_output=True, text=True).stderr
        shown = re.findall(r"^\| `([\w-]+)` \|", section("How fast is it here"), re.M)
        self.assertEqual(shown, listed.strip().split("there are ")[1].split(", "))

    def test_help_and_version(self):
        for command in ("check", "plan", "run", "show", "report", "diff", "import", "pairs", "embed", "synth", "bench"):
            self.assertIn("--help", run(f"candor {command} --help", "/"))
        version = run("candor --version", "/")
        for word in ("candor ", "commit ", "compiler ", "blas ", "hdf5 ", "mpi ", "libtorch "):
            self.assertIn("\n" + word, "\n" + version)

    def test_an_installed_candor_runs_from_anywhere(self):
        with tempfile.TemporaryDirectory() as folder:
            run(f"cmake --install {BUILD} --prefix {folder}/usr", folder)
            out = subprocess.run([f"{folder}/usr/bin/candor", "--version"], cwd="/", capture_output=True, text=True)
            self.assertEqual(out.returncode, 0)

    def test_files_that_are_named_exist(self):
        for name in set(re.findall(r"(?:jobs|tests|inputs)/[\w./-]+\w", README)):
            self.assertTrue(os.path.exists(os.path.join(SOURCE, name)), name)

    def test_the_picture_is_drawn_from_results(self):
        with tempfile.TemporaryDirectory() as folder:
            run(f"candor run {SOURCE}/inputs/digits/study.toml -o d.h5 --quiet", folder)
            run("candor report d.h5 -o r", folder)
            for shipped, drawn in (("discordance", "forest-digits"), ("heat-map", "heat-map-digits")):
                with open(os.path.join(folder, f"r/figures/{drawn}.svg"), encoding="utf-8") as f:
                    drawn = f.read()
                with open(os.path.join(SOURCE, f"inputs/digits/{shipped}.svg"), encoding="utf-8") as f:
                    shipped = f.read()
                # Numbers and marks stand where they stand in the shipped picture; fonts may differ.
                for pattern in (r"<use xlink:href='#gpPt\d+' transform='translate\(([\d.]+),([\d.]+)\)", r"<text>(?:<.*?>)?([^<]*)"):
                    self.assertEqual(re.findall(pattern, drawn), re.findall(pattern, shipped))
            self.assertIn("Grey values without place", shipped)

    def test_two_files_are_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            study = f"candor run {SOURCE}/inputs/wdbc/study.toml --quiet --set bootstrap.resamples=50"
            run(f"{study} -o before.h5 && {study} -o after.h5 --set operator.k=1", folder)
            run(block_with("sh", "candor diff"), folder)
            with open(os.path.join(folder, "moved.csv")) as f:
                self.assertTrue(f.read().startswith("task,encoder,finding,d_a,"))

    def test_the_report_has_the_files_that_are_told_of(self):
        with tempfile.TemporaryDirectory() as folder:
            run(f"candor run {SOURCE}/inputs/digits/study.toml -o chest.h5 --quiet --ablations "
                "--set bootstrap.resamples=50 --set heads.split=[0.6,0.2,0.2] --set heads.epochs=1", folder)
            run(block_with("sh", "chest-report"), folder)
            for name in names_in("\n".join(re.findall(r"^\| (`.*?) \|", section("The report"), re.M))):
                of_tables = ("table-", "rates-", "detection-", "gaps-", "selection-")
                place = "tables" if name.startswith(of_tables) else "figures"
                path = os.path.join(folder, "chest-report", place, name.replace("TASK", "digits"))
                for ending in (".csv", ".md", ".tex") if place == "tables" else (".csv", ".gp", ".svg", ".pdf"):
                    self.assertTrue(os.path.exists(path + ending), path + ending)


if __name__ == "__main__":
    unittest.main()
