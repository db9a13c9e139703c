"""Inputs that change while a study is at work: it ends with one line and keeps nothing of it."""

import glob
import os
import subprocess
import tempfile
import time
import unittest

from testing.program import CANDOR, errors_in, on_ranks


class Changed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.study = os.path.join(folder.name, "made")
        subprocess.run([CANDOR, "synth", "--shape", "small", "--scale", "4", "-o", self.study, "--quiet"], check=True,
                       timeout=120)
        self.features = sorted(glob.glob(os.path.join(self.study, "features", "*", "*.h5")))[0]
        self.out = os.path.join(self.study, "out.h5")

    def run_and(self, change, ranks):
        """Carries the study out and calls `change` when every input has been looked at."""
        command = on_ranks(ranks, CANDOR, "run", os.path.join(self.study, "study.toml"), "-o", self.out, "--quiet",
                           "--set", "heads.kinds=[]")
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            agenda = os.path.join(self.out + ".journal", "matched.agenda")
            until = time.monotonic() + 60
            while not os.path.exists(agenda) and process.poll() is None and time.monotonic() < until:
                time.sleep(0.005)
            change()
            said = process.stderr.read()
            process.wait(timeout=120)
        return subprocess.CompletedProcess(command, process.returncode, "", said)

    def flip_a_bit(self):
        with open(self.features, "r+b") as file:
            at = os.path.getsize(self.features) // 2
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1]))

    def test_changed_features_give_no_results(self):
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                done = self.run_and(self.flip_a_bit, ranks)
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(errors_in(done), [
                    f"candor: error: {self.features}: was changed while the study was at work; nothing of this run is kept: "
                    "leave the files alone and run the same command again"])
                self.assertEqual([name for name in os.listdir(self.study) if name.startswith("out.h5")], [])

    def test_the_same_bytes_written_anew_do_no_harm(self):
        done = self.run_and(lambda: os.utime(self.features), 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(self.out))


if __name__ == "__main__":
    unittest.main()
