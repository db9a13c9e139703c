"""How tests start the program, read its refusals and write its inputs."""

import os

import h5py

CANDOR = os.environ["CANDOR"]


def on_ranks(ranks, *words):
    """The words that start `words` on so many ranks; one needs no launcher."""
    launcher = ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(ranks)]
    return [*(launcher if ranks > 1 else []), *words]


def errors_in(done):
    """The lines that a program which has ended called errors: one where it refuses anything, on any number of ranks."""
    return [line for line in done.stderr.splitlines() if line.startswith("candor: error: ")]


def write_table(path, header, rows):
    """A dataset's table; `rows` of anything."""
    with open(path, "w", encoding="utf-8") as f:
        f.write(header + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))


def write_features(path, values, ids):
    """A feature file whose ids have a fixed length."""
    with h5py.File(path, "w") as f:
        f["features"] = values
        f["image_id"] = [name.encode() for name in ids]
