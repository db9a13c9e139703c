"""candor embed with what every build has: IDX files and built-in encoders. Features are what numpy makes of the same
bytes; the same file at any number of ranks and threads and after any interruption; nothing bad becomes a row."""

import csv
import gzip
import os
import re
import signal
import struct
import subprocess
import tempfile
import time
import unittest

import h5py
import numpy as np

from testing.fashion import make_fashion
from testing.program import CANDOR, errors_in, on_ranks

SIDE = 12
STUDY = """
[study]
name = "embed"
[[encoder]]
id = "pixels"
[[encoder]]
id = "patches"
[[encoder]]
id = "random"
[[encoder]]
id = "gradients"
[[dataset]]
id = "data"
table = "table.csv"
features = "features/{encoder}.h5"
erased = "erased/{encoder}.h5"
boxes = "boxes.csv"
[[task]]
id = "task"
datasets = ["data"]
findings = ["shirt"]
"""
RECIPE = f"""
study = "study.toml"
[[images]]
dataset = "data"
path = "{{file}}#{{number}}"
[[encoder]]
id = "pixels"
kind = "pixels"
size = {SIDE}
batch = 4
[[encoder]]
id = "patches"
kind = "patch-means"
size = {SIDE}
grid = 3
batch = 7
[[encoder]]
id = "gradients"
kind = "gradients"
size = 8
grid = 2
batch = 5
[[encoder]]
id = "random"
kind = "random-convolution"
size = [20, 24]
grid = 2
channels = 16
batch = 3
"""


def write_idx(path, images):
    data = struct.pack(">IIII", 0x803, *images.shape) + images.tobytes()
    with (gzip.open if path.endswith(".gz") else open)(path, "wb") as f:
        f.write(data)


class Images:
    """Images in two IDX files, one of them gzipped; every third has a region of one or two boxes, some two regions."""

    def __init__(self, folder, count=53):
        self.folder = folder
        draw = np.random.RandomState(3)
        self.pixels = draw.randint(1, 256, (count, SIDE, SIDE)).astype(np.uint8)
        first = count // 2
        write_idx(self.path("a-idx3-ubyte.gz"), self.pixels[:first])
        write_idx(self.path("b.idx"), self.pixels[first:])
        order = draw.permutation(count)
        self.ids = [f"{i:03d}" for i in order]
        self.order = order
        with open(self.path("table.csv"), "w") as f:
            f.write("image_id,file,number,shirt\n")
            for i in order:
                f.write(f"{i:03d},{'a-idx3-ubyte.gz' if i < first else 'b.idx'},{i if i < first else i - first},{i % 2}\n")
        self.erased = {}  # (id, region): mask
        with open(self.path("boxes.csv"), "w") as f:
            f.write("image_id,finding,x,y,width,height,image_width,image_height\n")
            for i in range(0, count, 3):
                for region in ("mass", "shirt")[:1 + i % 2]:
                    mask = np.zeros((SIDE, SIDE), bool)
                    for _ in range(2):
                        x, y, w, h = draw.randint(0, 8), draw.randint(0, 8), draw.randint(1, 5), draw.randint(1, 5)
                        f.write(f"{i:03d},{region},{x},{y},{w},{h},{SIDE},{SIDE}\n")
                        mask[y:y + h, x:x + w] = True
                    self.erased[f"{i:03d}", region] = mask
        self.write("study.toml", STUDY)
        self.write("recipe.toml", RECIPE)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)

    def words(self, ranks, *options):
        return on_ranks(ranks, CANDOR, "embed", self.path("recipe.toml"), *options)

    def embed(self, ranks=1, *options):
        return subprocess.run(self.words(ranks, *options), capture_output=True, text=True, timeout=120)

    def outputs(self):
        found = {}
        for place in ("features", "erased"):
            for name in sorted(os.listdir(self.path(place))) if os.path.isdir(self.path(place)) else ():
                with open(self.path(f"{place}/{name}"), "rb") as f:
                    found[f"{place}/{name}"] = f.read()
        return found

    def clear(self):
        for name in self.outputs():
            os.remove(self.path(name))


def features(path):
    with h5py.File(path) as f:
        findings = f["finding"].asstr()[:] if "finding" in f else [None] * len(f["image_id"])
        return list(zip(f["image_id"].asstr()[:], findings)), f["features"][:]


class Embed(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.images = Images(scratch.name)

    def refused(self, code, *parts, options=(), ranks=1):
        done = self.images.embed(ranks, *options)
        errors = errors_in(done)
        self.assertEqual((done.returncode, len(errors)), (code, 1), done.stderr)
        for part in parts:
            self.assertIn(part, errors[0])

    def test_features_are_those_of_numpy(self):
        images = self.images
        done = images.embed()
        self.assertEqual(done.returncode, 0, done.stderr)
        keys, rows = features(images.path("features/pixels.h5"))
        self.assertEqual(keys, [(i, None) for i in images.ids])
        whole = images.pixels[images.order].astype(np.float32) / np.float32(255)
        np.testing.assert_array_equal(rows, whole.reshape(len(whole), -1))
        _, rows = features(images.path("features/patches.h5"))
        # Sums of 16 numbers in double, rounded once to single precision.
        np.testing.assert_allclose(rows, whole.astype(float).reshape(-1, 3, 4, 3, 4).mean(axis=(2, 4)).reshape(-1, 9),
                                   rtol=2**-24)
        keys, rows = features(images.path("erased/pixels.h5"))
        self.assertEqual(keys, [(i, r) for i in images.ids for r in ("mass", "shirt") if (i, r) in images.erased])
        for (image, region), row in zip(keys, rows):
            picture = images.pixels[int(image)] / np.float32(255)
            expected = np.where(images.erased[image, region], picture.astype(float).mean(), picture).astype(np.float32)
            np.testing.assert_allclose(row, expected.ravel(), rtol=2**-23)

    def test_a_run_takes_them(self):
        self.assertEqual(self.images.embed(2, "--type", "float16", "--quiet").returncode, 0)
        with h5py.File(self.images.path("features/random.h5")) as f:
            self.assertEqual((f["features"].dtype, f["features"].shape), (np.float16, (53, 64)))
        out = self.images.path("out.h5")
        subprocess.run([CANDOR, "run", self.images.path("study.toml"), "-o", out, "--quiet"], check=True, timeout=120)
        with h5py.File(out) as f:
            self.assertEqual(len(np.unique(f["tables/retention"]["encoder"])), 4)

    def test_the_same_bytes_on_any_ranks_and_threads(self):
        made = []
        for ranks, options in ((1, ()), (2, ()), (3, ()), (5, ()), (1, ("--threads", "2"))):
            if "--threads" in options and len(os.sched_getaffinity(0)) < 2:
                continue
            self.images.clear()
            done = self.images.embed(ranks, *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            made.append(self.images.outputs())
            self.assertEqual(len(made[0]), 8)
            self.assertEqual(made[-1].keys(), made[0].keys())  # and no journals beside them
            for name, data in made[-1].items():
                self.assertEqual(data, made[0][name], f"{name}, {ranks} ranks {options}")

    def test_what_is_there_stays_unless_it_was_made_otherwise(self):
        images = self.images
        self.assertEqual(images.embed(1, "--only", "pixels,patches").returncode, 0)
        times = {name: os.stat(images.path(name)).st_mtime_ns for name in images.outputs()}
        self.assertEqual(len(times), 4)
        done = images.embed()
        self.assertEqual(done.stderr.count("is there already"), 4)
        self.assertEqual({n: os.stat(images.path(n)).st_mtime_ns for n in times}, times)
        images.write("recipe.toml", RECIPE.replace("grid = 3", "grid = 4"))
        self.refused(2, "features/patches.h5: exists and was made otherwise; give --overwrite to replace it")
        self.assertEqual(images.embed(1, "--overwrite", "--only", "patches").returncode, 0)
        self.assertEqual(features(images.path("features/patches.h5"))[1].shape, (53, 16))

    def test_bad_images(self):
        images = self.images
        # Black is all zero, so it has no direction; and one place leads nowhere.
        black = images.pixels.copy()
        black[40] = 0
        write_idx(images.path("b.idx"), black[26:])
        for ranks in (1, 3):
            self.refused(3, "b.idx#14, id \"040\": gets features that are all zero", ranks=ranks)
        with open(images.path("table.csv"), "a") as f:
            f.write("lost,b.idx,99,1\n")
        done = images.embed(2, "--on-bad", "skip", "--only", "pixels", "--overwrite")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('pixels.h5 lacks 2 of 54 images: "040", "lost"', done.stderr)
        keys, _ = features(images.path("features/pixels.h5"))
        self.assertEqual([k for k, _ in keys], [i for i in images.ids if i != "040"])
        with open(images.path("features/pixels.h5.omitted.csv")) as f:
            self.assertEqual([(r["image_id"], r["why"]) for r in csv.DictReader(f)],
                             [("040", "gets features that are all zero"), ("lost", "has no image 99, it holds 27")])

    def test_what_is_wrong_is_told(self):
        images = self.images
        for old, new, code, message in (
                ('id = "random"', 'id = "randm"', 2, 'no "randm"; did you mean "random"?'),
                ('dataset = "data"', 'dataset = "date"', 2, 'no "date"; did you mean "data"?'),
                ("#{number}", "#{numbr}", 2, 'asks for the column "numbr"; did you mean "number"?'),
                ("#{number}", "", 3, "holds many images; say which"),
                ("{file}", "x{file}", 3, 'there is no such file'),
                ('kind = "pixels"', 'file = "no.pt"', 3, "no.pt")):
            images.write("recipe.toml", RECIPE.replace(old, new))
            self.refused(code, message)
        images.write("recipe.toml", RECIPE)
        with open(images.path("boxes.csv"), "a") as f:
            f.write(f"nobody,mass,1,1,2,2,{SIDE},{SIDE}\n")
        self.refused(3, 'id "nobody": there is no such image in the table')
        with open(images.path("b.idx"), "r+b") as f:
            f.truncate(200)
        images.write("study.toml", STUDY.replace('boxes = "boxes.csv"', ""))
        self.refused(3, "b.idx", "ends before the last of its 27 images", ranks=2)

    def test_boxes_of_another_size(self):
        with open(self.images.path("boxes.csv"), "a") as f:
            f.write("001,mass,1,1,2,2,24,24\n")
        self.refused(3, 'id "001": is 12 x 12 pixels, and its boxes are for 24 x 24', ranks=2)


class Interrupted(unittest.TestCase):
    """Enough work for some seconds; ended in different ways, then gone on with at another number of ranks."""

    @staticmethod
    def wait_for_rows(images, run):
        """Waits until the run has kept rows of its own. Whether it has, and is still at work."""
        journal = images.path("features/random.h5.journal")
        def kept():
            return {name for name in os.listdir(journal) if name.endswith(".rows")} if os.path.isdir(journal) else set()
        before = kept()
        while run.poll() is None:
            try:
                if kept() - before:
                    return True
            except FileNotFoundError:  # it is being removed
                pass
            time.sleep(0.02)
        return False

    @staticmethod
    def wait_until_gone(folder):
        """Ranks outlive a launcher that was killed by a moment, and hold the output."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
            if f"embed {folder}" not in found:
                return
            time.sleep(0.1)

    def test_goes_on_with_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            images = Images(folder, 800)
            images.write("recipe.toml", RECIPE.replace("size = [20, 24]", "size = 96").replace("channels = 16", "channels = 48"))
            only = ("--only", "random")
            done = images.embed(1, *only)
            self.assertEqual(done.returncode, 0, done.stderr)
            expected = images.outputs()
            images.clear()
            stops = 0
            for ranks, way in ((2, signal.SIGUSR1), (1, signal.SIGTERM), (3, signal.SIGKILL), (1, signal.SIGINT)):
                run = subprocess.Popen(images.words(ranks, *only), stderr=subprocess.PIPE, text=True,
                                       start_new_session=True)
                if self.wait_for_rows(images, run):
                    os.killpg(run.pid, way) if way == signal.SIGKILL else run.send_signal(way)
                told = run.communicate(timeout=60)[1]
                self.wait_until_gone(folder)
                if run.returncode != 0:
                    stops += 1
                    if ranks == 1:
                        self.assertEqual(run.returncode, 75, told)
                        self.assertIn("run the same command again to go on", told)
            self.assertGreater(stops, 0)
            self.assertTrue(any(name.endswith(".journal") for name in os.listdir(images.path("features"))) or
                            os.path.exists(images.path("features/random.h5")))
            done = images.embed(2, *only)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual({n: d == expected[n] for n, d in images.outputs().items()}, dict.fromkeys(expected, True))
            # What a run that was killed behind its last step has left is cleared away.
            os.mkdir(images.path("features/random.h5.journal"))
            for name in ("00000001-000000.rows", "made-from", "made-from.part"):
                images.write(f"features/random.h5.journal/{name}", "left")
            self.assertEqual(images.embed(2, *only).returncode, 0)
            self.assertEqual(images.outputs().keys(), expected.keys())

    def test_a_journal_of_another_recipe_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            images = Images(folder, 800)
            images.write("recipe.toml", RECIPE.replace("size = [20, 24]", "size = 128").replace("channels = 16", "channels = 64"))
            run = subprocess.Popen(images.words(1, "--only", "random"), stderr=subprocess.PIPE, text=True)
            self.assertTrue(self.wait_for_rows(images, run))
            run.send_signal(signal.SIGUSR1)
            self.assertEqual((run.wait(timeout=60), run.stderr.close()), (75, None))
            shown = subprocess.run([CANDOR, "show", images.path("features/random.h5.journal")], capture_output=True, text=True)
            self.assertEqual(shown.returncode, 2)
            self.assertIn("is what candor embed has kept of a feature file", shown.stderr)
            images.write("recipe.toml", RECIPE)
            done = images.embed(1, "--only", "random")
            self.assertEqual(done.returncode, 2)
            self.assertIn("random.h5.journal: holds unfinished features of another kind", done.stderr)
            self.assertEqual(images.embed(1, "--only", "random", "--overwrite").returncode, 0)


class Fashion(unittest.TestCase):
    """inputs/fashion on a small stand-in for its data, as far as no encoder needs a file."""

    def test_its_built_in_encoders(self):
        with tempfile.TemporaryDirectory() as folder:
            make_fashion(folder)
            for name in ("resnet18-random", "mobilenet-random", "convnet-random", "convnet"):
                os.makedirs(os.path.join(folder, "encoders"), exist_ok=True)
                with open(os.path.join(folder, "encoders", name + ".pt"), "w") as f:
                    f.write("digested, never loaded")
            only = ("pixels", "patch-means", "gradients", "random-convolution")
            done = subprocess.run(on_ranks(2, CANDOR, "embed", os.path.join(folder, "embed.toml"), "--only", ",".join(only)),
                                  capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(folder, "study.toml")) as f:
                study = f.read()
            told = dict(re.findall(r"\| `([\w-]+)` \| ([\d,]+) \|", self.section()))
            for name in only:
                keys, rows = features(os.path.join(folder, "features", name + ".h5"))
                self.assertEqual((len(keys), f"{rows.shape[1]:,}"), (500, told[name]))
                self.assertEqual(len(features(os.path.join(folder, "erased", name + ".h5"))[0]), 200)
            self.assertEqual(list(told), re.findall(r'^\[\[encoder\]\]\nid = "([\w-]+)"', study, re.M))

    @staticmethod
    def section():
        with open(os.path.join(os.environ["CANDOR_SOURCE"], "inputs", "README.md"), encoding="utf-8") as f:
            return f.read().split("\n## fashion\n")[1]


class Told(unittest.TestCase):
    """What the README says of recipes."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.images = Images(scratch.name, 12)
        with open(os.path.join(os.environ["CANDOR_SOURCE"], "README.md"), encoding="utf-8") as f:
            self.text = re.search(r"^## From images.*?(?=^## )", f.read(), re.M | re.S)[0]

    def test_its_example(self):
        recipe = re.search(r"```toml\n(.*?)```", self.text, re.S)[1]
        self.images.write("chest.toml", STUDY.replace('id = "data"', 'id = "hospital"').replace('["data"]', '["hospital"]')
                          .replace('"pixels"', '"rad-dino"').replace('"random"', '"dinov3-l"'))
        self.images.write("recipe.toml", recipe.replace("images/{image_id}.png", "{file}#{number}"))
        self.images.write("rad-dino.pt", "of no use here, but digested")
        done = self.images.embed(2, "--only", "dinov3-l")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(features(self.images.path("features/dinov3-l.h5"))[1].shape, (12, 128))

    def test_its_keys(self):
        told = {}
        for line in self.text.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if line.startswith("|") and len(cells) == 4 and "`" in cells[1]:
                found = re.findall(r"`([^`]+)`", cells[0])
                place = found[0] if found else "" if "`study`" in line else place
                told.setdefault(place, set()).update(re.findall(r"`([^`]+)`", cells[1]))

        def known(recipe):
            self.images.write("recipe.toml", recipe)
            message = self.images.embed().stderr
            self.assertIn('"zzzzzzzzzzzz"', message)
            return set(re.findall(r'"([^"]+)"', message.split("known:")[1]))

        self.assertEqual(told[""] | {"encoder", "images"}, known("zzzzzzzzzzzz = 1\n" + RECIPE))
        self.assertEqual(told["[[images]]"], known(RECIPE.replace("[[images]]", "[[images]]\nzzzzzzzzzzzz = 1")))
        keys = set()
        for kind in ("patch-means", "gradients", "random-convolution"):
            keys |= known(RECIPE.replace('kind = "pixels"', f'zzzzzzzzzzzz = 1\nkind = "{kind}"'))
        keys |= known(RECIPE.replace('kind = "pixels"', 'zzzzzzzzzzzz = 1\nfile = "x.pt"\noutput = "patches"'))
        self.assertEqual(told["[[encoder]]"], keys)


if __name__ == "__main__":
    unittest.main()
