"""Tests that share a folder of files."""

import tempfile
import unittest


class InFolder(unittest.TestCase):
    """`folder` is there before the class's own setUpClass goes on, and gone after its last test."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = scratch.name
