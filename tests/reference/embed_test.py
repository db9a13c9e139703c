"""candor embed against PyTorch and torchvision on the same files, where they and Pillow are installed and candor was built
with them (-DCANDOR_WITH_EMBED=ON): decoding, the preprocessing path, TorchScript encoders, ranks."""

import os
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np

from testing.fashion import INPUTS, make_fashion
from testing.program import CANDOR, on_ranks

try:
    import PIL.Image
    import torch
    import torchvision
except ImportError:
    torch = None
try:
    import pydicom
except ImportError:
    pydicom = None

HAS_TORCH = "libtorch none" not in subprocess.run([CANDOR, "--version"], capture_output=True, text=True).stdout
STUDY = """
[study]
name = "embed"
{encoders}
[[dataset]]
id = "data"
table = "table.csv"
features = "{{encoder}}.h5"
[[task]]
id = "task"
datasets = ["data"]
findings = ["f"]
"""
RECIPE = """
study = "study.toml"
[[images]]
dataset = "data"
path = "images/{image_id}"
"""


class Folder:
    """A study whose images are given as files by name, and its encoders as the keys of their recipes."""

    def __init__(self, folder):
        self.folder = folder
        os.mkdir(self.path("images"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def image(self, name):
        return self.path("images/" + name)

    def embed(self, encoders, ranks=1, *options):
        """encoders: id: keys of its recipe. Gives the features of each, rows by the name of the image."""
        names = sorted(os.listdir(self.path("images")))
        with open(self.path("table.csv"), "w") as f:
            f.write("image_id,f\n" + "".join(f"{n},{i % 2}\n" for i, n in enumerate(names)))
        with open(self.path("study.toml"), "w") as f:
            f.write(STUDY.format(encoders="".join(f'[[encoder]]\nid = "{e}"\n' for e in encoders)))
        with open(self.path("recipe.toml"), "w") as f:
            f.write(RECIPE + "".join(f'[[encoder]]\nid = "{e}"\n{keys}\n' for e, keys in encoders.items()))
        done = subprocess.run(on_ranks(ranks, CANDOR, "embed", self.path("recipe.toml"), "--overwrite", *options),
                              capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise AssertionError(done.stderr)
        made = {}
        for e in encoders:
            with h5py.File(self.path(e + ".h5")) as f:
                made[e] = dict(zip(f["image_id"].asstr()[:], f["features"][:]))
        return made


def picture(draw, height, width, channels, largest):
    """Smooth shapes and noise, so that resizing has something to do."""
    y, x = np.mgrid[:height, :width, ][:, :, :, None] / max(height, width)
    waves = 0.5 + 0.3 * np.sin(9 * x + np.arange(channels)) * np.cos(7 * y) + 0.2 * draw.uniform(-1, 1, (height, width, channels))
    return np.round(waves * largest).squeeze()


def tensor_of(values, largest):
    """1 or 3 planes of 0 to 1 as candor has them: single precision, kept in double."""
    planes = (values if values.ndim == 3 else values[:, :, None]).transpose(2, 0, 1)
    return torch.from_numpy(planes.astype(np.float32) / np.float32(largest)).double()


def prepared(tensor, size, resize=None, interpolation="bilinear", mean=(0,), std=(1,), grey=False):
    """torchvision's own steps, in double up to the rounding to single precision."""
    functional = torchvision.transforms.functional
    if grey and len(tensor) == 3:
        tensor = (0.299 * tensor[0] + 0.587 * tensor[1] + 0.114 * tensor[2]).float().double()[None]
    how = getattr(torchvision.transforms.InterpolationMode, interpolation.upper())
    tensor = functional.resize(tensor, resize if resize else list(size), how, antialias=True)
    tensor = functional.center_crop(tensor, list(size)).float()
    if not grey:
        tensor = tensor.expand(3, *tensor.shape[1:])
    return functional.normalize(tensor, mean, std)


@unittest.skipUnless(torch and HAS_TORCH, "needs PyTorch, torchvision, Pillow and a candor built with them")
class AgainstPyTorch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Folder(scratch.name)
        self.draw = np.random.RandomState(11)

    def save_all_kinds(self):
        """Every kind of file; the tensor that each should become."""
        tensors = {}

        def add(name, values, largest, kind):
            PIL.Image.fromarray(values.astype(kind)).save(self.folder.image(name))
            tensors[name] = tensor_of(values, largest)

        for name in ("grey8.png", "grey8.tif"):
            add(name, picture(self.draw, 61, 83, 1, 255), 255, np.uint8)
        for name in ("grey16.png", "grey16.tif"):
            add(name, picture(self.draw, 75, 50, 1, 65535), 65535, np.uint16)
        for name in ("colour.png", "colour.tif"):
            add(name, picture(self.draw, 70, 64, 3, 255), 255, np.uint8)
        add("alpha.png", np.dstack([picture(self.draw, 64, 64, 3, 255), np.full((64, 64), 7)]), 255, np.uint8)
        tensors["alpha.png"] = tensors["alpha.png"][:3]
        for name, values in (("grey.jpg", picture(self.draw, 90, 66, 1, 255)), ("colour.jpg", picture(self.draw, 66, 91, 3, 255))):
            PIL.Image.fromarray(values.astype(np.uint8)).save(self.folder.image(name), quality=90)
            tensors[name] = tensor_of(np.asarray(PIL.Image.open(self.folder.image(name))), 255)
        for name, bits in (("white8.tif", 8), ("white16.tif", 16)):  # 0 is white
            values = picture(self.draw, 40, 50, 1, 2**bits - 1).astype(f"u{bits // 8}")
            PIL.Image.fromarray(values).save(self.folder.image(name))
            with open(self.folder.image(name), "r+b") as f:
                data = bytearray(f.read())
                at = data.index(b"\x06\x01\x03\x00\x01\x00\x00\x00")  # PhotometricInterpretation, a short
                data[at + 8] = 0
                f.seek(0)
                f.write(data)
            tensors[name] = 1 - tensor_of(values, 2**bits - 1)
        return tensors

    def test_the_preprocessing_path(self):
        tensors = self.save_all_kinds()
        mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
        scale = f"mean = {list(mean)}\nstd = {list(std)}\n"
        cases = {"squash": (dict(size=(24, 32)), 'size = [24, 32]\ncolour = "rgb"\n'),
                 "larger": (dict(size=(120, 130), interpolation="bicubic"),
                            'size = [120, 130]\ninterpolation = "bicubic"\ncolour = "rgb"\n'),
                 "crop": (dict(size=(33, 32), resize=47), 'size = [33, 32]\nresize = 47\ncolour = "rgb"\n'),
                 "cubic": (dict(size=(32, 32), resize=40, interpolation="bicubic", mean=mean, std=std),
                           'size = 32\nresize = 40\ninterpolation = "bicubic"\ncolour = "rgb"\n' + scale),
                 "grey": (dict(size=(32, 32), grey=True), "size = 32\n")}
        made = self.folder.embed({name: 'kind = "pixels"\n' + keys for name, (_, keys) in cases.items()})
        for case, (how, _) in cases.items():
            how = {"mean": (0,) * (1 if how.get("grey") else 3), "std": (1,) * (1 if how.get("grey") else 3)} | how
            for name, tensor in tensors.items():
                with self.subTest(case=case, image=name):
                    expected = prepared(tensor, **how).numpy().ravel()
                    # Both are in double until one rounding to single precision, in which the last bit may differ (values are
                    # below 2), then the same difference and quotient, each rounded once more.
                    bound = (2**-23 + 2 * 2**-23) / min(how["std"])
                    np.testing.assert_allclose(made[case][name], expected, rtol=0, atol=bound)

    def test_beside_pillow(self):
        """Pillow rounds to 8 bits twice, by half a level each at most; the second pass is a mean of the first."""
        values = picture(self.draw, 150, 110, 3, 255).astype(np.uint8)
        PIL.Image.fromarray(values).save(self.folder.image("a.png"))
        made = self.folder.embed({"small": 'kind = "pixels"\nsize = 32\ncolour = "rgb"\n'})["small"]["a.png"]
        pillow = np.asarray(PIL.Image.fromarray(values).resize((32, 32), PIL.Image.BILINEAR)).transpose(2, 0, 1) / 255
        self.assertLessEqual(np.abs(made - pillow.ravel()).max(), 1.001 / 255)

    @unittest.skipUnless(pydicom, "needs pydicom")
    def test_dicom(self):
        expected = {}

        def save(name, values, window=None, signed=False, bits=12, **more):
            data = pydicom.Dataset()
            data.file_meta = pydicom.dataset.FileMetaDataset()
            data.file_meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
            data.file_meta.MediaStorageSOPClassUID = data.SOPClassUID = "1.2.840.10008.5.1.4.1.1.7"
            data.file_meta.MediaStorageSOPInstanceUID = data.SOPInstanceUID = pydicom.uid.generate_uid()
            data.is_little_endian, data.is_implicit_VR = True, False
            data.Rows, data.Columns = values.shape[:2]
            data.SamplesPerPixel = 1 if values.ndim == 2 else 3
            data.BitsAllocated = 8 if bits == 8 else 16
            data.BitsStored, data.HighBit, data.PixelRepresentation = bits, bits - 1, int(signed)
            if window:
                data.WindowCenter, data.WindowWidth = window
            for key, value in more.items():
                setattr(data, key, value)
            data.PixelData = values.astype(("i" if signed else "u") + str(data.BitsAllocated // 8)).tobytes()
            pydicom.dcmwrite(self.folder.image(name), data, write_like_original=False)

        def linear(x, centre, width):
            return np.clip((x - (centre - 0.5)) / (width - 1) + 0.5, 0, 1)

        values = picture(self.draw, 40, 30, 1, 4095)
        save("plain.dcm", values, PhotometricInterpretation="MONOCHROME2")
        expected["plain.dcm"] = values / 4095
        save("window.dcm", values, (2000, 1500), PhotometricInterpretation="MONOCHROME2")
        expected["window.dcm"] = linear(values, 2000, 1500)
        save("inverted.dcm", values, (["2000", "1"], ["1500", "2"]), PhotometricInterpretation="MONOCHROME1")
        expected["inverted.dcm"] = 1 - linear(values, 2000, 1500)
        save("exact.dcm", values, (2000, 1500), PhotometricInterpretation="MONOCHROME2", VOILUTFunction="LINEAR_EXACT")
        expected["exact.dcm"] = np.clip((values - 2000) / 1500 + 0.5, 0, 1)
        save("sigmoid.dcm", values, (2000, 1500), PhotometricInterpretation="MONOCHROME2", VOILUTFunction="SIGMOID")
        expected["sigmoid.dcm"] = 1 / (1 + np.exp(-4 * (values - 2000) / 1500))
        hounsfield = values - 2048
        save("ct.dcm", hounsfield, (40, 400), signed=True, bits=16, PhotometricInterpretation="MONOCHROME2",
             RescaleSlope="0.5", RescaleIntercept="10")
        expected["ct.dcm"] = linear(0.5 * hounsfield + 10, 40, 400)
        colour = picture(self.draw, 40, 30, 3, 255)
        save("colour.dcm", colour, bits=8, PhotometricInterpretation="RGB", PlanarConfiguration=0)
        expected["colour.dcm"] = colour.transpose(2, 0, 1) / 255
        made = self.folder.embed({"p": 'kind = "pixels"\nsize = [40, 30]\ncolour = "rgb"\n'})["p"]
        for name, value in expected.items():
            with self.subTest(name):
                np.testing.assert_allclose(made[name].reshape(3, 40, 30), np.broadcast_to(value, (3, 40, 30)), rtol=0,
                                           atol=2**-24)

    def encoders(self):
        """A network, one that gives tokens, and one that gives maps, with what is to be taken of each in PyTorch."""
        torch.manual_seed(3)

        class Tokens(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.patch = torch.nn.Conv2d(3, 48, 8, stride=8)
                self.first = torch.nn.Parameter(torch.randn(1, 1, 48))
                self.layer = torch.nn.TransformerEncoderLayer(48, 4, 96, batch_first=True)

            def forward(self, images):
                tokens = self.patch(images).flatten(2).transpose(1, 2)
                return self.layer(torch.cat([self.first.expand(images.shape[0], -1, -1), tokens], 1))

        resnet = torchvision.models.resnet18(weights=None)
        resnet.fc = torch.nn.Identity()
        maps = torch.nn.Sequential(*list(torchvision.models.resnet18(weights=None).children())[:-3])
        made = {}
        for name, module, keys, take in (
                ("resnet", resnet, "", lambda r: r),
                ("class", Tokens(), 'output = "class"\n', lambda r: r[:, 0]),
                ("patches", Tokens(), 'output = "patches"\n', lambda r: r[:, 1:].mean(1)),
                ("maps", maps, 'output = "patches"\n', lambda r: r.mean((2, 3)))):
            module.eval()
            with torch.no_grad():
                script = torch.jit.trace(module, torch.zeros(2, 3, 64, 64), check_trace=False)
            script.save(self.folder.path(name + ".pt"))
            made[name] = (script, f'file = "{name}.pt"\nsize = 64\nmean = [0.5]\nstd = [0.25]\nbatch = 4\n' + keys, take)
        return made

    def test_torchscript_at_any_ranks(self):
        tensors = self.save_all_kinds()
        encoders = self.encoders()
        recipes = {name: keys for name, (_, keys, _) in encoders.items()}
        made = self.folder.embed(recipes)
        for name, (script, _, take) in encoders.items():
            for image, tensor in tensors.items():
                with self.subTest(encoder=name, image=image), torch.no_grad():
                    seen = prepared(tensor, (64, 64), mean=(0.5,) * 3, std=(0.25,) * 3)
                    expected = take(script(seen[None])).numpy()[0]
                    self.assertEqual(made[name][image].shape, expected.shape)
                    error = np.linalg.norm(made[name][image] - expected) / np.linalg.norm(expected)
                    self.assertLess(error, 1e-5)
        for ranks, options in ((2, ()), (3, ()), (1, ("--threads", "2"))):
            if options and len(os.sched_getaffinity(0)) < 2:
                continue
            again = self.folder.embed(recipes, ranks, *options)
            for name in recipes:
                for image in tensors:
                    np.testing.assert_array_equal(again[name][image], made[name][image], f"{name} {image} {ranks} {options}")

    def test_what_is_wrong_is_told(self):
        PIL.Image.fromarray(np.full((64, 64), 9, np.uint8)).save(self.folder.image("a.png"))
        with open(self.folder.image("bad.png"), "wb") as f:
            with open(self.folder.image("a.png"), "rb") as whole:
                f.write(whole.read()[:60])
        with self.assertRaisesRegex(AssertionError, r'images/bad.png, id "bad.png": (is damaged|cannot be decoded)'):
            self.folder.embed({"p": 'kind = "pixels"\nsize = 8\n'}, 2)
        os.remove(self.folder.image("bad.png"))
        whole = PIL.Image.fromarray(picture(self.draw, 64, 64, 1, 255).astype(np.uint8))
        whole.save(self.folder.image("bad.jpg"))
        os.truncate(self.folder.image("bad.jpg"), 900)
        with self.assertRaisesRegex(AssertionError, r'images/bad.jpg, id "bad.jpg": is cut short'):
            self.folder.embed({"p": 'kind = "pixels"\nsize = 8\n'})
        os.remove(self.folder.image("bad.jpg"))
        whole.save(self.folder.image("bad.tif"), save_all=True, append_images=[whole])
        with self.assertRaisesRegex(AssertionError, r'id "bad.tif": holds several pages; write one image a file'):
            self.folder.embed({"p": 'kind = "pixels"\nsize = 8\n'})
        whole.convert("F").save(self.folder.image("bad.tif"))
        with self.assertRaisesRegex(AssertionError, r'id "bad.tif": holds numbers that are neither 8 nor 16 bits'):
            self.folder.embed({"p": 'kind = "pixels"\nsize = 8\n'})
        os.remove(self.folder.image("bad.tif"))
        encoders = self.encoders()
        for name, keys, message in (
                ("resnet", 'output = "class"\n', "gives 32 x 512, of which its output cannot be taken"),
                ("class", "", "gives 32 x 65 x 48, of which"),
                ("class", 'output = "class"\ncolour = "grey"\n', "fails on a batch of 32 x 1 x 64 x 64: .*channel"),
                ("class", 'output = "class"\ndevice = "abacus"\n', 'device: "abacus" is not to be had here')):
            with self.subTest(name + keys), self.assertRaisesRegex(AssertionError, message):
                self.folder.embed({"e": f'file = "{name}.pt"\nsize = 64\n' + keys})
        with open(self.folder.path("text.pt"), "w") as f:
            f.write("no module\n")
        with self.assertRaisesRegex(AssertionError, r"text.pt: is no TorchScript module that libtorch .* can load"):
            self.folder.embed({"e": 'file = "text.pt"\nsize = 64\n'})


@unittest.skipUnless(torch and HAS_TORCH, "needs PyTorch, torchvision and a candor built with it")
class Fashion(unittest.TestCase):
    def test_from_images_to_results(self):
        with tempfile.TemporaryDirectory() as folder:
            data = make_fashion(folder)
            subprocess.run([sys.executable, "-B", os.path.join(INPUTS, "make_encoders.py"),
                            os.path.join(folder, "encoders"), data, "--epochs", "1"], check=True, stdout=subprocess.DEVNULL)
            subprocess.run(on_ranks(2, CANDOR, "embed", os.path.join(folder, "embed.toml"), "--quiet"), check=True, timeout=300)
            out = os.path.join(folder, "out.h5")
            subprocess.run(on_ranks(2, CANDOR, "run", os.path.join(folder, "study.toml"), "-o", out, "--quiet", "--set",
                                    "bootstrap.resamples=50", "--set", "heads.epochs=1"), check=True, timeout=300)
            with h5py.File(out) as f:
                self.assertEqual(len(f["tables/tasks"][:]), 16)  # encoders x levels
                self.assertEqual(set(f["tables/tasks"]["queries"]), {200})
                self.assertEqual(len(np.unique(f["tables/retention"]["encoder"])), 8)
            with open(os.path.join(folder, "study.toml"), encoding="utf-8") as f:
                study = f.read()
            for name in ("resnet18-random", "mobilenet-random", "convnet-random", "convnet"):
                module = torch.jit.load(os.path.join(folder, "encoders", name + ".pt"))
                count = sum(p.numel() for p in module.parameters())
                self.assertRegex(study, rf'id = "{name}"\n[^\[]*parameters = {count}\n')


if __name__ == "__main__":
    unittest.main()
