#!/usr/bin/env python3
"""Times candor embed beside a plain PyTorch loop on the same images, encoders and processors.

    usage: embed.py CANDOR FOLDER [--images N] [--ranks R] [--only A,B]

CANDOR is a build with -DCANDOR_WITH_EMBED=ON, FOLDER one of jobs/fashion.sh. Both sides decode, resize, normalise and
encode the first N test images (default 2000); the loop takes batches of 32 with as many threads as there are processors,
candor as many ranks of one thread. Prints images a second, the best of three in turns: candor's own, journal and writing
included, without starting (a second or so); the loop's without writing and without starting.
"""

import argparse
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib

import torch
import torchvision

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "inputs", "fashion"))
from make_tables import read_part  # noqa: E402


def loop(encoder, module, pixels):
    functional = torchvision.transforms.functional
    rows = []
    with torch.inference_mode():
        for start in range(0, len(pixels), 32):
            batch = torch.from_numpy(pixels[start:start + 32]).unsqueeze(1).float() / 255
            batch = functional.resize(batch, [encoder["size"]] * 2, antialias=True)
            if encoder.get("colour", "rgb") == "rgb":
                batch = batch.expand(-1, 3, -1, -1)
            rows.append(module(functional.normalize(batch, encoder["mean"], encoder["std"])))
    return torch.cat(rows).numpy()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("candor")
    parser.add_argument("folder")
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--ranks", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.ranks)
    with open(os.path.join(arguments.folder, "embed.toml"), "rb") as f:
        encoders = tomllib.load(f)["encoder"]
    pixels = read_part("/usr/share/datasets/fashion-mnist", "test")[0][:arguments.images].copy()
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("embed.toml", "study.toml"):
            shutil.copy(os.path.join(arguments.folder, name), scratch)
        shutil.copytree(os.path.join(arguments.folder, "encoders"), os.path.join(scratch, "encoders"))
        text = open(os.path.join(scratch, "study.toml")).read().replace('boxes = "boxes.csv"\n', "")
        open(os.path.join(scratch, "study.toml"), "w").write(text)
        with open(os.path.join(arguments.folder, "table.csv"), newline="") as f:
            rows = list(csv.reader(f))
        tests = [r for r in rows if r[1] == "test"][:arguments.images]
        with open(os.path.join(scratch, "table.csv"), "w", newline="") as f:
            csv.writer(f).writerows([rows[0], *tests])
        print("| encoder | candor embed, images a second | PyTorch loop | ratio |\n| --- | --- | --- | --- |")
        for encoder in encoders:
            if arguments.only and encoder["id"] not in arguments.only.split(","):
                continue
            seconds = {"candor": [], "loop": []}
            module = torch.jit.load(os.path.join(scratch, encoder["file"])) if "file" in encoder else None
            for _ in range(3):
                words = ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(arguments.ranks), arguments.candor,
                         "embed", os.path.join(scratch, "embed.toml"), "--only", encoder["id"], "--threads", "1", "--overwrite"]
                done = subprocess.run(words, check=True, capture_output=True, text=True)
                rate = float(re.search(r"([\d.]+) images a second, [^,]*$", done.stderr.strip())[1])
                seconds["candor"].append(len(pixels) / rate)
                if module is None:
                    continue
                start = time.monotonic()
                loop(encoder, module, pixels)
                seconds["loop"].append(time.monotonic() - start)
            candor = len(pixels) / min(seconds["candor"])
            beside = f"{len(pixels) / min(seconds['loop']):.0f} | {candor * min(seconds['loop']) / len(pixels):.2f}" if module else "| "
            print(f"| {encoder['id']} | {candor:.0f} | {beside} |", flush=True)


if __name__ == "__main__":
    main()
