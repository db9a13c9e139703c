"""Man pages and completion say what --help says."""

import os
import re
import subprocess
import tempfile
import unittest

CANDOR = os.environ["CANDOR"]


def candor(*words):
    return subprocess.run([CANDOR, *words], capture_output=True, text=True, timeout=60, check=True).stdout


COMMANDS = re.findall(r"^  candor (\w+) +(?:\S|$)", candor("--help").split("\n\n  candor COMMAND")[0], re.M)


class Manual(unittest.TestCase):
    def test_each_page_names_every_option(self):
        self.assertGreater(len(COMMANDS), 8)
        for command in COMMANDS:
            page = candor("man", command)
            for option in re.findall(r"--([\w-]+)", candor(command, "--help").split("\nOptions:")[1]):
                self.assertIn(option, page.replace("\\-", "-"), command)
            self.assertNotRegex(page, r"(?m)^\.(?!TH|SH|TP|B |nf|fi)")

    def test_they_are_installed(self):
        with tempfile.TemporaryDirectory() as prefix:
            subprocess.run(["cmake", "--install", os.environ["CANDOR_BUILD"], "--prefix", prefix], check=True,
                           stdout=subprocess.DEVNULL, timeout=60)
            pages = os.path.join(prefix, "share", "man", "man1")
            self.assertEqual(sorted(os.listdir(pages)), sorted(f"candor-{command}.1" for command in COMMANDS))
            for command in COMMANDS:
                with open(os.path.join(pages, f"candor-{command}.1")) as f:
                    self.assertEqual(f.read(), candor("man", command))
            with open(os.path.join(prefix, "share", "bash-completion", "completions", "candor")) as f:
                self.assertEqual(f.read(), candor("completion"))

    def test_bash_completes_commands_and_options(self):
        def complete(*words):
            line = " ".join(f"'{word}'" for word in words)
            script = f'source <("$0" completion); COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _candor; echo "${{COMPREPLY[@]}}"'
            return subprocess.run(["bash", "-c", script, CANDOR], capture_output=True, text=True, check=True).stdout.split()

        self.assertEqual(sorted(set(complete("candor", "")) - {"--help", "--version"}), sorted(COMMANDS))
        self.assertEqual(complete("candor", "report", "--over"), ["--overwrite"])
        self.assertEqual(complete("candor", "report", "x"), [])


if __name__ == "__main__":
    unittest.main()
