#!/usr/bin/env python3
"""Holds what `candor plan` says beside what `candor run` takes, stage by stage, in processor seconds.

    usage: plan.py CANDOR [--profile FILE] [--ranks N] [--rounds N] [--all] [STUDY.toml ...]

Each study is run as it stands and as a census (all candidates, every labelled image asks, pools whole), on one
thread a rank, `rounds` times; what was measured are medians of the processor seconds of /run/stages, of which
each rank has its share. Without studies: those of inputs/ and made ones (`candor synth`: small, and the paper's
at scales 0.02 and 0.05), which take 1.2 GB of the folder for temporary files until the end. Without --profile
the machine is measured first. Stages below a hundredth of a study are not printed without --all.

On several ranks the column `waiting` says how long ranks that are done sooner wait for the slowest one, as
planned: where MPI polls, such seconds are measured as busy ones.
"""

import argparse
import csv
import io
import os
import statistics
import subprocess
import tempfile

import h5py

CENSUS = ["--set", "operator.bank_cap=0", "--set", "pool.rows=0", "--set", 'operator.negative_queries="all"']
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def called(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def planned(program, study, options, profile, ranks):
    """Planned processor seconds by stage, and the seconds of the slowest rank by stage."""
    text = called(program, "plan", study, "stages", "--ranks", str(ranks), "--profile", profile, "--format", "csv",
                  "--quiet", *options)
    rows = list(csv.DictReader(io.StringIO(text)))
    return {r["name"]: float(r["cpu_seconds"]) for r in rows}, {r["name"]: float(r["seconds"]) for r in rows}


def measured(program, study, options, ranks, folder):
    """Processor seconds of one run by stage."""
    output = os.path.join(folder, "run.h5")
    start = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)] if ranks > 1 else []
    called(*start, program, "run", study, "-o", output, "--overwrite", "--threads", "1", "--quiet", *options)
    with h5py.File(output) as file:
        return {row["name"].decode(): float(row["cpu_seconds"]) for row in file["run/stages"][:]}


def made(program, folder):
    """Study files of made studies, written to `folder`."""
    files = []
    for name, options in (("small", ["--shape", "small"]), ("paper-0.02", ["--shape", "paper", "--scale", "0.02"]),
                          ("paper-0.05", ["--shape", "paper", "--scale", "0.05"])):
        called(program, "synth", *options, "-o", os.path.join(folder, name), "--quiet")
        files.append(os.path.join(folder, name, "study.toml"))
    return files


def compare(program, study, options, arguments, profile, folder):
    plan, slowest = planned(program, study, options, profile, arguments.ranks)
    runs = [measured(program, study, options, arguments.ranks, folder) for _ in range(arguments.rounds)]
    run = {stage: statistics.median(one[stage] for one in runs) for stage in runs[0]}
    name = os.path.basename(os.path.dirname(os.path.abspath(study))) + (" census" if options else "")
    total = statistics.median(sum(one.values()) for one in runs)
    # What ranks that are done sooner wait for the slowest one.
    slack = {stage: arguments.ranks * slowest[stage] - plan[stage] for stage in plan}
    lines = [(stage, plan.get(stage, 0), run.get(stage, 0), slack.get(stage, 0))
             for stage in list(plan) + [s for s in run if s not in plan]]
    for stage, a, b, waiting in lines + [("all", sum(plan.values()), total, sum(slack.values()))]:
        if stage != "all" and max(a, b) < 0.01 * total and not arguments.all:
            continue
        row = f"{name:<20} {stage:<10} {a:9.3f} {b:9.3f} {a / b if b else float('nan'):7.2f}"
        print(row + (f" {waiting:9.3f}" if arguments.ranks > 1 else ""), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("candor", metavar="CANDOR")
    parser.add_argument("studies", metavar="STUDY.toml", nargs="*")
    parser.add_argument("--profile", metavar="FILE", help="of candor bench --profile")
    parser.add_argument("--ranks", type=int, default=1, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="runs of each study (default: 3)")
    parser.add_argument("--all", action="store_true", help="print every stage")
    arguments = parser.parse_intermixed_args()
    program = os.path.abspath(arguments.candor)
    with tempfile.TemporaryDirectory() as folder:
        profile = arguments.profile
        if profile is None:
            profile = os.path.join(folder, "machine.toml")
            called(program, "bench", "--profile", profile, "--quiet")
        studies = arguments.studies or [os.path.join(SOURCE, "inputs", name, "study.toml")
                                        for name in ("wdbc", "digits")] + made(program, folder)
        print(f"{'study':<20} {'stage':<10} {'planned':>9} {'measured':>9} {'ratio':>7}" +
              (f" {'waiting':>9}" if arguments.ranks > 1 else ""))
        for study in studies:
            for options in ([], CENSUS):
                compare(program, study, options, arguments, profile, folder)


if __name__ == "__main__":
    main()
