"""A folder that the tests of a class share."""

import tempfile
import unittest


class InScratch(unittest.TestCase):
    """`folder` is there before the first test and gone after the last."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = scratch.name
