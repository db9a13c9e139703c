"""candor import: every origin of features gives the same feature file, every wrong one its own refusal."""

import os
import subprocess
import tempfile
import unittest
import zipfile

import h5py
import numpy as np

CANDOR = os.environ["CANDOR"]
IDS = ["007", "b\u00e9", "1234567890123456789", "NA", "x,y"]
VALUES = np.arange(20, dtype="<f4").reshape(5, 4) / 8


class Import(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.out = self.path("out.h5")
        with open(self.path("ids.txt"), "w", encoding="utf-8") as file:
            file.write("\n".join(IDS) + "\n")

    def path(self, name):
        return os.path.join(self._folder.name, name)

    def text(self, name, text):
        with open(self.path(name), "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return self.path(name)

    def candor(self, *arguments):
        return subprocess.run([CANDOR, "import", *arguments], capture_output=True, encoding="utf-8",
                              timeout=60)

    def imported(self, *arguments):
        done = self.candor("-o", self.out, "--overwrite", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(os.path.exists(self.out + ".part"))
        with h5py.File(self.out) as file:
            self.assertEqual([text.decode() for text in file["image_id"][:]], IDS)
            self.assertIn(f"{file['features'].shape[0]} rows, {file['features'].shape[1]} columns, "
                          f"{file['features'].dtype}", done.stdout)
            return file["features"][:]

    def refused(self, code, reason, *arguments):
        done = self.candor("-o", self.out, *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("candor: error: "), done.stderr)
        self.assertIn(reason, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertFalse(os.path.exists(self.out))
        self.assertFalse(os.path.exists(self.out + ".part"))

    # ---- npy

    def test_npy_of_every_type_order_and_version(self):
        for dtype in ("<f2", "<f4", "<f8"):
            for order in "CF":
                for version in ((1, 0), (2, 0), (3, 0)):
                    with self.subTest(dtype=dtype, order=order, version=version):
                        with open(self.path("x.npy"), "wb") as file:
                            array = np.asarray(VALUES.astype(dtype), order=order)
                            np.lib.format.write_array(file, array, version)
                        features = self.imported(self.path("x.npy"), "--ids", self.path("ids.txt"))
                        self.assertEqual(features.dtype, np.dtype(dtype))
                        np.testing.assert_array_equal(features, VALUES)

    def test_every_half_pattern_agrees_with_numpy(self):
        patterns = np.arange(65536, dtype="<u2").view("<f2")
        finite = patterns[np.isfinite(patterns)].reshape(-1, 1)
        np.save(self.path("x.npy"), finite)
        self.text("many.txt", "".join(f"i{i}\n" for i in range(len(finite))))
        for dtype in ("float16", "float32", "float64"):
            done = self.candor("-o", self.out, "--overwrite", "--type", dtype, self.path("x.npy"), "--ids",
                               self.path("many.txt"))
            self.assertEqual(done.returncode, 0, done.stderr)
            with h5py.File(self.out) as file:
                self.assertEqual(file["features"][:].tobytes(), finite.astype(dtype).tobytes())

    def test_rounding_to_half_agrees_with_numpy(self):
        random = np.random.default_rng(5)
        values = random.standard_normal((5, 4000)) * 10.0 ** random.uniform(-9, 4, (5, 4000))
        values = values.clip(-65000, 65000)
        np.save(self.path("x.npy"), values)
        features = self.imported(self.path("x.npy"), "--ids", self.path("ids.txt"), "--type", "float16")
        self.assertEqual(features.tobytes(), values.astype("<f2").tobytes())

    def test_npy_that_is_refused(self):
        ids = ("--ids", self.path("ids.txt"))
        cases = {
            "big-endian": VALUES.astype(">f4"), "Python objects": VALUES.astype(object),
            "whole numbers": VALUES.astype("<i4"), "complex": VALUES.astype("<c8"),
            "shape (20,)": VALUES.ravel(),
            "no rows": VALUES[:0], "true/false": VALUES > 1, "text": VALUES.astype(str),
            "has 5 ids": VALUES[:4],
        }
        for reason, array in cases.items():
            with self.subTest(reason=reason):
                np.save(self.path("x.npy"), array, allow_pickle=True)
                self.refused(3, reason, self.path("x.npy"), *ids)
        np.save(self.path("x.npy"), VALUES)
        self.refused(2, "an .npy file carries no ids", self.path("x.npy"))
        with open(self.path("x.npy"), "r+b") as file:
            file.truncate(150)
        self.refused(3, "cut short", self.path("x.npy"), *ids)
        with open(self.path("x.npy"), "r+b") as file:
            file.write(b"\0" * 6)
        self.refused(3, self.path("x.npy"), self.path("x.npy"), *ids)

    # ---- npz

    def test_npz_stored_and_deflated(self):
        for save in (np.savez, np.savez_compressed):
            for order in "CF":
                save(self.path("x.npz"), embeddings=np.asarray(VALUES, order=order), image_id=np.array(IDS))
                features = self.imported(self.path("x.npz"), "--key", "embeddings")
                np.testing.assert_array_equal(features, VALUES)
        np.savez(self.path("x.npz"), features=VALUES, other=VALUES, names=np.array([i.encode() for i in IDS]))
        np.testing.assert_array_equal(self.imported(self.path("x.npz"), "--ids-key", "names"), VALUES)
        np.savez(self.path("x.npz"), VALUES)
        features = self.imported(self.path("x.npz"), "--ids", self.path("ids.txt"))
        np.testing.assert_array_equal(features, VALUES)
        np.savez(self.path("y.npz"), ids=np.array(IDS))
        np.testing.assert_array_equal(
            self.imported(self.path("x.npz"), "--ids", self.path("y.npz"), "--ids-key", "ids"), VALUES)
        np.save(self.path("ids.npy"), np.array(IDS))
        features = self.imported(self.path("x.npz"), "--ids", self.path("ids.npy"))
        np.testing.assert_array_equal(features, VALUES)

    def test_npz_that_is_refused(self):
        np.savez(self.path("x.npz"), a=VALUES, b=VALUES)
        self.refused(2, 'several arrays: "a", "b"; name one with --key', self.path("x.npz"))
        self.refused(3, 'no array "c"', self.path("x.npz"), "--key", "c")
        self.refused(3, 'no array "image_id"', self.path("x.npz"), "--key", "a")
        np.savez(self.path("x.npz"), features=VALUES, image_id=np.arange(5))
        self.refused(3, "ids are text", self.path("x.npz"))
        with zipfile.ZipFile(self.path("z.zip"), "w") as archive:
            archive.writestr("readme.txt", "hello")
        self.refused(3, "without .npy arrays", self.path("z.zip"))
        np.savez(self.path("x.npz"), features=VALUES, image_id=np.array(IDS))
        with open(self.path("x.npz"), "rb") as file:
            whole = file.read()
        at = whole.index(VALUES.tobytes())
        with open(self.path("x.npz"), "wb") as file:
            file.write(whole[:at] + b"\x01" + whole[at + 1:])
        self.refused(3, "CRC", self.path("x.npz"))
        with open(self.path("x.npz"), "wb") as file:
            file.write(whole[:-30])
        self.refused(3, "cut short or is no zip", self.path("x.npz"))

    # ---- HDF5

    def test_hdf5_of_every_layout(self):
        layouts = ({}, {"chunks": (2, 3)}, {"compression": "gzip", "shuffle": True}, {"fletcher32": True})
        strings = (h5py.string_dtype(), h5py.string_dtype("ascii"), h5py.string_dtype("utf-8", 30), "S30")
        for layout in layouts:
            for dtype in ("<f2", ">f2", "<f4", ">f4", "<f8", ">f8"):
                with h5py.File(self.path("x.h5"), "w") as file:
                    file.create_dataset("deep/embeddings", data=VALUES, dtype=dtype, **layout)
                    file["features"] = VALUES
                    file["image_id"] = np.array([i.encode() for i in IDS])
                features = self.imported(self.path("x.h5"), "--dataset", "deep/embeddings")
                self.assertEqual(features.dtype, np.dtype(dtype).newbyteorder("<"))
                np.testing.assert_array_equal(features, VALUES)
        for string in strings:
            with h5py.File(self.path("x.h5"), "w") as file:
                file["features"] = VALUES
                file.create_dataset("names", data=[i.encode() for i in IDS], dtype=string)
            np.testing.assert_array_equal(self.imported(self.path("x.h5"), "--ids-key", "names"), VALUES)

    def test_hdf5_that_is_refused(self):
        with h5py.File(self.path("x.h5"), "w") as file:
            file["numbers"] = VALUES.astype("<i4")
            file["group/vector"] = VALUES.ravel()
            file["complex"] = VALUES.astype("<c8")
            file["features"] = VALUES
            file["image_id"] = np.arange(5)
        self.refused(3, 'has no dataset "absent"', self.path("x.h5"), "--dataset", "absent")
        self.refused(3, "whole numbers", self.path("x.h5"), "--dataset", "numbers")
        self.refused(3, "1 dimensions", self.path("x.h5"), "--dataset", "group/vector")
        self.refused(3, "has no dataset", self.path("x.h5"), "--dataset", "group")
        self.refused(3, "complex", self.path("x.h5"), "--dataset", "complex")
        self.refused(3, "ids are text", self.path("x.h5"))
        with open(self.path("x.h5"), "r+b") as file:
            file.truncate(os.path.getsize(self.path("x.h5")) - 1)
        self.refused(3, "cut short", self.path("x.h5"))

    def test_erased_files_keep_their_findings(self):
        with h5py.File(self.path("x.h5"), "w") as file:
            file["features"] = VALUES
            file["image_id"] = [b"a", b"a", b"b", b"c", b"c"]
            file["finding"] = [b"Edema", b"Mass", b"Mass", b"Edema", b"Mass"]
        done = self.candor("-o", self.out, self.path("x.h5"), "--type", "float16")
        self.assertEqual(done.returncode, 0, done.stderr)
        with h5py.File(self.out) as file:
            self.assertEqual(file["finding"][:].tolist(), [b"Edema", b"Mass", b"Mass", b"Edema", b"Mass"])
        table = self.text("x.csv", "image_id,region\na,Edema\na,Mass\nb,Mass\nc,Edema\nc,Mass\n")
        np.save(self.path("x.npy"), VALUES)
        done = self.candor("-o", self.out, "--overwrite", self.path("x.npy"), "--ids", table,
                           "--id-column", "image_id", "--finding-column", "region")
        self.assertEqual(done.returncode, 0, done.stderr)
        with h5py.File(self.out) as file:
            self.assertEqual(file["finding"][4], b"Mass")
            self.assertEqual(file["image_id"][1], b"a")

    def test_regions_of_npz_and_hdf5(self):
        images, regions = ["a", "a", "b", "c", "c"], ["Edema", "Mass", "Mass", "Edema", "Mass"]
        np.savez(self.path("x.npz"), features=VALUES, image_id=np.array(images), region=np.array(regions))
        with h5py.File(self.path("x.h5"), "w") as file:
            file["features"] = VALUES
            file["image_id"] = [i.encode() for i in images]
            file["deep/region"] = [r.encode() for r in regions]
        with h5py.File(self.path("erased.h5"), "w") as file:
            file["image_id"] = [i.encode() for i in images]
            file["finding"] = [r.encode() for r in regions]
        np.save(self.path("x.npy"), VALUES)
        for origin in ((self.path("x.npz"), "--finding-key", "region"),
                       (self.path("x.h5"), "--finding-key", "deep/region"),
                       (self.path("x.npy"), "--ids", self.path("x.npz"), "--finding-key", "region"),
                       (self.path("x.npy"), "--ids", self.path("erased.h5"))):
            done = self.candor("-o", self.out, "--overwrite", *origin)
            self.assertEqual(done.returncode, 0, done.stderr)
            with h5py.File(self.out) as file:
                self.assertEqual([r.decode() for r in file["finding"][:]], regions)
                self.assertEqual([i.decode() for i in file["image_id"][:]], images)
        os.remove(self.out)
        # Without its regions the file is one of features, where an image comes once.
        self.refused(3, 'id "a"', self.path("x.npz"))
        self.refused(3, 'no array "regoin"', self.path("x.npz"), "--finding-key", "regoin")
        np.savez(self.path("y.npz"), features=VALUES, image_id=np.array(images), region=np.array(regions[1:]))
        self.refused(3, "has 4 findings, but 5 ids", self.path("y.npz"), "--finding-key", "region")
        np.savez(self.path("y.npz"), features=VALUES, image_id=np.array(images), region=np.array([""] * 5))
        self.refused(3, 'id "a"', self.path("y.npz"), "--finding-key", "region")
        self.refused(2, "--finding-key", self.path("x.npy"), "--ids", self.text("t.csv", "image_id\na\n"),
                     "--finding-key", "region")
        self.refused(2, "t.txt", self.path("x.npy"), "--ids", self.text("t.txt", "a\n"),
                     "--finding-key", "region")

    # ---- CSV

    def test_csv_columns(self):
        rows = "".join(f'"{i}",{v[0]},{v[1]},note,{v[2]},{v[3]}\r\n' for i, v in zip(IDS, VALUES))
        table = self.text("x.csv", "\ufeffname,a, b ,comment,c,d\r\n" + rows)
        features = self.imported(table, "--id-column", "name", "--columns", "d,a,b")
        self.assertEqual(features.dtype, np.dtype("<f4"))
        np.testing.assert_array_equal(features, VALUES[:, [3, 0, 1]])
        os.remove(self.out)
        self.refused(3, 'row 2, column "comment": "note" is not a number', table, "--id-column", "name")
        self.refused(3, 'column "nam": there is no such column; did you mean "name"?', table,
                     "--id-column", "nam")
        self.refused(3, 'column "image_id": there is no such column', table)

    def test_csv_numbers_have_points_whatever_the_locale(self):
        table = self.text("x.csv", 'image_id,a\nx,"0,5"\n')
        self.refused(3, '"0,5" is not a number', table)

    def test_csv_ids_for_other_files(self):
        np.save(self.path("x.npy"), VALUES)
        table = self.text("x.csv", "patient,image\n" + "".join(f'p,"{i}"\n' for i in IDS))
        features = self.imported(self.path("x.npy"), "--ids", table, "--id-column", "image")
        np.testing.assert_array_equal(features, VALUES)
        os.remove(self.out)
        # By default the column is image_id.
        self.refused(3, "no such column", self.path("x.npy"), "--ids", table)
        table = self.text("x.csv", "patient,image_id\n" + "".join(f'p,"{i}"\n' for i in IDS))
        np.testing.assert_array_equal(self.imported(self.path("x.npy"), "--ids", table), VALUES)

    # ---- numbers

    def test_standard_scale(self):
        random = np.random.default_rng(7)
        values = random.standard_normal((5, 6)) * [1, 1e-6, 1e6, 1, 1, 1] + [0, 1, 1e6, -3, 0, 0]
        values[:, 5] = 0.1  # its mean is not 0.1 in floating point, so its variance is not 0 by the formula
        np.save(self.path("x.npy"), values)
        features = self.imported(self.path("x.npy"), "--ids", self.path("ids.txt"), "--scale", "standard")
        wanted = (values - values.mean(0)) / np.where(values.std(0) > 1e-12, values.std(0), np.inf)
        # The columns' centres are at most 1e6 times their spread: 1e6 eps = 2e-10 of cancellation.
        np.testing.assert_allclose(features, wanted, rtol=0, atol=1e-9)
        self.assertTrue((features[:, 5] == 0).all())
        np.testing.assert_allclose(features[:, :5].var(0), 1, rtol=1e-12)

    def test_nonfinite_rows(self):
        for bad in (np.nan, np.inf):
            values = VALUES.copy()
            values[1, 2] = values[3, 0] = bad
            np.save(self.path("x.npy"), values)
            ids = ("--ids", self.path("ids.txt"))
            self.refused(3, '2 row(s) hold NaN or infinity: "b\u00e9", "NA"', self.path("x.npy"), *ids)
            features = self.imported(self.path("x.npy"), *ids, "--allow-nonfinite")
            np.testing.assert_array_equal(features, values)
            os.remove(self.out)
        self.refused(2, "--scale standard", self.path("x.npy"), *ids, "--allow-nonfinite",
                     "--scale", "standard")

    def test_overflow_of_the_type(self):
        np.save(self.path("x.npy"), VALUES * 1e6)
        self.refused(3, "overflows float16", self.path("x.npy"), "--ids", self.path("ids.txt"),
                     "--type", "float16")

    # ---- ids

    def test_text_ids(self):
        np.save(self.path("x.npy"), VALUES)
        for text in ("\ufeff" + "\r\n".join(IDS), "\n".join(IDS) + "\n\n\n",
                     "\n".join(f"  {i}\t" for i in IDS)):
            self.imported(self.path("x.npy"), "--ids", self.text("other.txt", text))
        os.remove(self.out)
        for text, reason in (("a\nb\nc\nd\n", "has 4 ids"), ("a\nb\n\nc\nd\ne\n", "row 3: is a blank line"),
                             ("a\nb\nc\nb\ne\n", 'row 3, id "b": the image id came before in row 1')):
            self.refused(3, reason, self.path("x.npy"), "--ids", self.text("other.txt", text))

    # ---- the command line

    def test_command_line(self):
        np.save(self.path("x.npy"), VALUES)
        ids = ("--ids", self.path("ids.txt"))
        self.refused(2, "did you mean --columns?", self.path("x.npy"), *ids, "--colums", "a")
        self.refused(2, "--scal", self.path("x.npy"), *ids, "--scal", "standard")
        self.refused(2, "--scale: must be none or standard", self.path("x.npy"), *ids, "--scale", "minmax")
        self.refused(2, "--type", self.path("x.npy"), *ids, "--type", "bfloat16")
        self.refused(2, "--key", self.path("x.npy"), *ids, "--key", "a")
        self.refused(2, "--dataset", self.path("x.npy"), *ids, "--dataset", "a")
        self.refused(2, "--columns", self.path("x.npy"), *ids, "--columns", "a")
        self.refused(2, "--finding-column", self.path("x.npy"), *ids, "--finding-column", "a")
        self.refused(2, "a word too many", self.path("x.npy"), self.path("x.npy"), *ids)
        self.refused(2, "name a file of features")
        self.refused(3, "there is no such file", self.path("absent.npy"), *ids)
        done = self.candor(self.path("x.npy"), *ids)
        self.assertEqual(done.returncode, 2)
        self.assertIn("-o OUT.h5", done.stderr)
        done = self.candor("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("Examples:", done.stdout)

    def test_existing_files_are_kept(self):
        np.save(self.path("x.npy"), VALUES)
        self.text("out.h5", "mine")
        done = self.candor("-o", self.out, self.path("x.npy"), "--ids", self.path("ids.txt"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("--overwrite", done.stderr)
        with open(self.out, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")
        done = self.candor("-o", self.path("absent/out.h5"), self.path("x.npy"),
                           "--ids", self.path("ids.txt"))
        self.assertEqual(done.returncode, 4)
        self.assertIn("No such file or directory", done.stderr)


if __name__ == "__main__":
    unittest.main()
