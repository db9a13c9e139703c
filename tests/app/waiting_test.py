"""Threads that have nothing to do sleep instead of spinning, unless the user says otherwise."""

import os
import subprocess
import unittest

from testing.program import CANDOR

ASKED = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


def environment_of(process):
    with open(f"/proc/{process}/environ", "rb") as file:
        return dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry)


def has_begun_work(process):
    """It has printed to its log, so that it has begun for the last time."""
    return process.stderr.readline() != ""


class Waiting(unittest.TestCase):
    def policy_of(self, **said):
        """What the runtime of the threads is told while candor works."""
        environment = {name: value for name, value in os.environ.items() if name not in ASKED} | said
        with subprocess.Popen([CANDOR, "bench", "--only", "threads"], env=environment, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            try:
                self.assertTrue(has_begun_work(process))
                found = environment_of(process.pid)
            finally:
                process.kill()
        return {name: found[name.encode()].decode() for name in ASKED if name.encode() in found}

    def test_they_sleep(self):
        self.assertEqual(self.policy_of(), {"OMP_WAIT_POLICY": "passive"})

    def test_what_the_user_says_stays(self):
        self.assertEqual(self.policy_of(OMP_WAIT_POLICY="active"), {"OMP_WAIT_POLICY": "active"})
        self.assertEqual(self.policy_of(GOMP_SPINCOUNT="1000"), {"GOMP_SPINCOUNT": "1000"})


if __name__ == "__main__":
    unittest.main()
