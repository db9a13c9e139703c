#!/usr/bin/env python3
"""Times the scores of failure detection beside bare matrix products, and their intervals, on one core.

    usage: detection.py DETECTION_BENCH [--training N] [--test N] [--dimension D] [--rounds N] [--rows N]
                        [--patients N] [--resamples N]

Neighbours (impurity, distance to the k-th) and Mahalanobis distances of the test rows stand beside the sgemm of
test by training rows, on features without leading directions and on some along few: of one finding, of 12 that
are labelled in every row, and of 12 that are not in 2 percent. Processor seconds, medians of the rounds, in which
they take turns.
"""

import argparse
import statistics
import subprocess

FINDINGS = 12


def lines(program, *arguments):
    run = subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True)
    return [[float(field) for field in line.split()] for line in run.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--training", type=int, default=25000)
    parser.add_argument("--test", type=int, default=20000)
    parser.add_argument("--dimension", type=int, default=768)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--patients", type=int, default=8000)
    parser.add_argument("--resamples", type=int, default=1000)
    args = parser.parse_args()

    shape = args.training, args.test, args.dimension
    print(f"{args.test:,} x {args.training:,} rows, d = {args.dimension}, in units of sgemm:")
    for kind in ("isotropic", "directed"):
        for findings, unlabelled in ((1, 2), (FINDINGS, 0), (FINDINGS, 2)):
            rounds = lines(args.program, "scores", *shape, findings, kind, unlabelled, args.rounds)
            searched, measured, product = map(statistics.median, zip(*rounds))
            ratios = sorted((s + m) / p for s, m, p in rounds)
            print(f"  {kind:9s} {findings:2d} finding(s), {unlabelled} % not labelled: neighbours {searched / product:5.2f}, "
                  f"Mahalanobis {measured / product:5.2f}, together {(searched + measured) / product:5.2f} "
                  f"({ratios[0]:.2f} to {ratios[-1]:.2f}); sgemm {product:.2f} s")
    auroc, aurc = lines(args.program, "intervals", args.rows, args.patients, args.resamples, FINDINGS)[0]
    print(f"intervals of {FINDINGS} findings, {args.rows:,} rows, {args.resamples:,} resamples: AUROC and gaps "
          f"{auroc:.2f} s, AURC {aurc:.2f} s")


if __name__ == "__main__":
    main()
