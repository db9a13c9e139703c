"""A results file is the same bytes at any rank count and through either MPI-IO layer, and h5py reads it."""

import os
import subprocess
import tempfile
import unittest

import h5py
import numpy as np

from testing.program import on_ranks

PROGRAM = os.path.join(os.environ["CANDOR_BUILD"], "tests", "test_store_mpi")


def write_sample(path, ranks, layer):
    environment = dict(os.environ, CANDOR_TEST_RESULTS=path, OMPI_MCA_io=layer)
    subprocess.run(
        on_ranks(ranks, PROGRAM, "--run_test=store_results_file_mpi/sample_for_comparison"),
        env=environment, check=True, timeout=100, stdout=subprocess.DEVNULL)


class ResultsFile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.folder.name, "one.h5")
        write_sample(cls.path, 1, "ompio")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_bytes_do_not_depend_on_ranks_or_io_layer(self):
        with open(self.path, "rb") as file:
            wanted = file.read()
        for layer in ("ompio", "romio321"):
            for ranks in (1, 2, 3, 5):
                with self.subTest(layer=layer, ranks=ranks):
                    path = os.path.join(self.folder.name, f"{layer}-{ranks}.h5")
                    write_sample(path, ranks, layer)
                    with open(path, "rb") as file:
                        self.assertTrue(file.read() == wanted)  # assertEqual would print both files

    def test_tables_are_records_of_plain_types(self):
        with h5py.File(self.path) as file:
            cells = file["tables/cells"][:]
            self.assertEqual(cells.dtype.names, ("finding", "n", "d"))
            self.assertEqual([cells.dtype[i].str for i in range(3)], ["|S12", "<i8", "<f8"])
            self.assertEqual(cells["finding"][0], b"Lung Opacity")
            self.assertEqual(cells["finding"][2].decode(), "\u00d6dem")
            self.assertEqual(cells["n"].tolist(), [2**40, 0, -1])
            np.testing.assert_equal(cells["d"], [0.25, np.nan, -np.inf])
            self.assertEqual(file["tables/skipped"].shape, (0,))
            self.assertEqual(file["tables/skipped"].dtype.names, ("reason", "n", "d"))
            self.assertEqual(h5py.check_string_dtype(file["cases/chest/encoder"].dtype).encoding, "utf-8")
            self.assertEqual(file["cases/chest/encoder"][:].tolist(), [b"rad", b"dino"])

    def test_matrices_are_contiguous_and_nan_where_unwritten(self):
        with h5py.File(self.path) as file:
            dm = file["cases/chest/dm"]
            self.assertIsNone(dm.chunks)
            self.assertIsNone(dm.compression)
            row, column = np.indices(dm.shape)
            wanted = row * 1e6 + column / 8
            wanted[:, 3 * 64:4 * 64] = np.nan
            np.testing.assert_array_equal(dm[:], wanted)
            self.assertEqual(file["cases/none/dm"].shape, (3, 0))
            self.assertTrue(np.isnan(file["cases/chest/unwritten"][:]).all())

    def test_attributes_are_of_rank_0(self):
        with h5py.File(self.path) as file:
            run = file["run"].attrs
            self.assertEqual(run["format"], b"candor-results")
            self.assertEqual(run["format_version"], 1)
            self.assertEqual(run["ranks"], 7)
            self.assertEqual(run["seconds"], 1.5)
            self.assertEqual(len(run["study"]), 200000)
            self.assertEqual(run["name"], b"replaced")
            self.assertEqual(file.attrs["complete"], 1)

    def test_nothing_but_the_final_file_is_left(self):
        names = os.listdir(self.folder.name)
        self.assertFalse([name for name in names if not name.endswith(".h5")], names)


if __name__ == "__main__":
    unittest.main()
