"""Random studies that hold every awkward thing an honest study may hold, from a seed.

Missing and uncertain labels, blank patients and contexts, repeated patients, several datasets that share
image and patient names, duplicate feature rows within and across labels, splits, row caps, bad and missing
rows, all element types, `.npy` in both orders, HDF5 in another row order with rows of no image. `order_seed`
permutes the rows of every file and changes nothing else.
"""

import csv
import os

import h5py
import numpy as np

TYPES = ("float16", "float32", "float64")


def toml(value):
    """A number, a text or a list of texts as TOML."""
    if isinstance(value, list):
        return "[" + ", ".join(toml(v) for v in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def write_features(path, values, ids, rng, chunked):
    """HDF5 with ids, rows in the order given; variable or fixed strings, contiguous or compressed."""
    with h5py.File(path, "w") as f:
        extra = {"chunks": (min(17, len(ids)), min(3, values.shape[1])), "compression": "gzip",
                 "shuffle": True} if chunked else {}
        f.create_dataset("features", data=values, **extra)
        if rng.random() < 0.5:
            f.create_dataset("image_id", data=list(ids), dtype=h5py.string_dtype())
        else:
            f.create_dataset("image_id", data=np.array([i.encode() for i in ids]))


def make_dataset(folder, rng, name, rows, findings, encoders, traits, order):
    """Table and feature files of one dataset: the rows are drawn, then permuted by `order` when written."""
    images = np.array([f"{i:04d}" if i % 7 else f"bild-ä{i}" for i in range(rows)])
    number = rng.integers(rows // 3 + 2, size=rows) if traits["repeat"] else np.arange(rows)
    patients = np.array([f"p{i}" for i in number])
    split_of = {p: rng.choice(["train", "val", "test", "test", "test"]) for p in np.unique(patients)}
    splits = np.array([split_of[p] for p in patients])
    patients = np.where(rng.random(rows) < 0.1, "", patients)
    views = rng.choice(["AP", "PA", "LL", ""], rows, p=[0.45, 0.4, 0.1, 0.05])
    sites = rng.choice(["nord", "süd"], rows)

    hidden = rng.standard_normal((rows, 4))
    labels = {}
    for finding in findings:
        score = hidden @ rng.standard_normal(4) + rng.standard_normal(rows)
        text = np.where(score > rng.uniform(-0.3, 1.0), "1", "0").astype(object)
        text[rng.random(rows) < 0.05] = "-1"
        text[rng.random(rows) < 0.08] = ""
        text[rng.random(rows) < 0.05] = "1.0"
        labels[finding] = text

    header = ["image_id", "patient_id"] + (["split"] if traits["split"] else []) + ["view", "site"] + findings
    table_order = order.permutation(rows) if order is not None else np.arange(rows)
    with open(os.path.join(folder, f"{name}.csv"), "w", newline="", encoding="utf-8") as f:
        out = csv.writer(f, lineterminator="\r\n" if traits["crlf"] else "\n")
        out.writerow(header)
        for r in table_order:
            out.writerow([images[r], patients[r]] + ([splits[r]] if traits["split"] else [])
                         + [views[r], sites[r]] + [labels[x][r] for x in findings])

    bad = rng.random(rows) < 0.03 if traits["drop"] else np.zeros(rows, bool)
    missing = (rng.random(rows) < 0.04) & ~bad if traits["intersect"] else np.zeros(rows, bool)
    twins = rng.integers(rows, size=(rows // 10, 3))
    for e, (encoder, d) in enumerate(encoders.items()):
        strength, cone = rng.uniform(0, 2), rng.choice([0.0, 0.0, 20.0])
        values = strength * hidden @ rng.standard_normal((4, d)) + rng.standard_normal((rows, d))
        values += cone * rng.standard_normal(d)
        values = values.astype(TYPES[rng.integers(3)])
        for a, b, c in twins:
            values[a] = values[b] = values[c]
        for r in np.flatnonzero(bad)[e % 2::2]:
            values[r] = rng.choice([np.nan, np.inf, 0.0])
        path = os.path.join(folder, f"{name}-{encoder}.h5")
        as_npy, fortran, chunked = rng.random(3) < 0.4
        extra = rng.standard_normal((3, d)).astype(values.dtype)
        if as_npy and not traits["intersect"]:
            np.save(path + ".npy", np.asarray(values[table_order], order="F" if fortran else "C"))
            os.replace(path + ".npy", path)  # told by its first bytes, not by its name
            continue
        keep = np.flatnonzero(~missing) if e == 0 else np.arange(rows)
        here = np.concatenate([values[keep], extra])
        ids = list(images[keep]) + [f"nobody{i}" for i in range(3)]
        shuffled = rng.permutation(len(ids))
        if order is not None:
            shuffled = order.permutation(len(ids))
        write_features(path, here[shuffled], [ids[i] for i in shuffled], rng, chunked)


def make_study(folder, seed, rows=(60, 170), operator=None, order_seed=None, draws=None):
    """Writes study.toml and its inputs into `folder`. Returns the path of the study file.

    rows      smallest and largest number of rows a dataset
    operator  keys of [operator] that override the drawn ones
    order_seed  permutes table and feature rows; the study is otherwise the same
    """
    rng = np.random.default_rng(seed)
    order = None if order_seed is None else np.random.default_rng(order_seed)
    os.makedirs(folder, exist_ok=True)
    traits = {name: bool(rng.random() < p) for name, p in
              (("repeat", 0.6), ("split", 0.5), ("crlf", 0.3), ("drop", 0.5), ("intersect", 0.4))}
    encoders = {f"enc{i}": int(rng.integers(2, 40)) for i in range(int(rng.integers(1, 4)))}  # dimensions
    datasets = [f"set{i}" for i in range(int(rng.integers(1, 4)))]
    findings = [f"finding_{i}" for i in range(int(rng.integers(1, 4)))]
    sizes = [int(rng.integers(*rows)) for _ in datasets]
    for i, (name, size) in enumerate(zip(datasets, sizes)):
        make_dataset(folder, np.random.default_rng([seed, i]), name, size, findings, encoders, traits, order)

    k = int(rng.choice([1, 2, 3, 5]))
    rules = list(rng.permutation(["distinct", "literal", "unequal"]))
    rules.insert(0 if rng.random() < 0.5 else 1, "equal")
    op = {"k": k, "bank_cap": int(rng.choice([0, k + 3, 12, 4000])), "candidates": str(rules[0]),
          "negative_queries": str(rng.choice(["bank", "all", "none"], p=[0.6, 0.3, 0.1])),
          "draws": draws or int(rng.choice([1, 1, 3]))}
    if rng.random() < 0.6:
        op["also"] = [str(r) for r in rules[1:1 + int(rng.integers(0, 4))]]
    op.update(operator or {})

    lines = ["[study]", f'name = "random {seed}"', f"seed = {int(rng.integers(1, 2**40))}", "", "[operator]"]
    for key, value in op.items():
        lines.append(f"{key} = {toml(value)}")
    lines += ["", "[pool]", f"rows = {int(rng.choice([0, 50, 20000]))}",
              f"blank_context = \"{rng.choice(['exclude', 'own'])}\""]
    if traits["drop"]:
        lines.append('on_bad_row = "drop"')
    if traits["intersect"]:
        lines.append('on_missing = "intersect"')
    lines += ["", "[bootstrap]", f"resamples = {int(rng.choice([40, 97, 150]))}",
              f"confidence = {rng.choice([0.9, 0.95])}"]
    anchor = rng.integers(len(encoders) + 1)  # one more: none
    for i, encoder in enumerate(encoders):
        lines += ["", "[[encoder]]", f'id = "{encoder}"', f'label = "Encoder {i}"']
        lines += ["anchor = true"] if i == anchor else []
    for name in datasets:
        lines += ["", "[[dataset]]", f'id = "{name}"', f'table = "{name}.csv"',
                  'features = "{dataset}-{encoder}.h5"']
    for t in range(int(rng.integers(1, 3))):
        context = [c for c in ("dataset", "view", "site") if rng.random() < 0.4]
        splits = ["test"] if t == 0 else ["test", "val"]
        lines += ["", "[[task]]", f'id = "task{t}"', f"datasets = {toml(datasets[t:] or datasets)}",
                  f"findings = {toml(findings)}",
                  f"encoders = {toml(['*'] if t == 0 else list(encoders)[:2])}",
                  f"splits = {toml(splits)}",
                  f"labels = {{ uncertain = \"{rng.choice(['exclude', 'positive', 'negative'])}\", "
                  f"blank = \"{rng.choice(['exclude', 'negative'])}\" }}"]
        lines += [f"context = {toml(context)}"] if context else []
    path = os.path.join(folder, "study.toml")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return path
