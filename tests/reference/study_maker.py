"""Random studies that hold every awkward thing an honest study may hold, from a seed.

Missing and uncertain labels, blank patients and contexts, repeated patients, several datasets that share
image and patient names, duplicate feature rows within and across labels, splits, row caps, bad and missing
rows, all element types, `.npy` in both orders, HDF5 in another row order with rows of no image. In some also
erased files and boxes, contrasts, encoders with parameters and years, and a dataset that asks another one
(its reference), with or without common images. `order_seed` permutes the rows of every file and changes
nothing else.
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


def shuffled(count, rng, order):
    """A permutation of `order`, or of `rng`, which moves on in either case: all else stays the same."""
    own = rng.permutation(count)
    return own if order is None else order.permutation(count)


def write_features(path, values, ids, rng, chunked, regions=None):
    """HDF5 with ids, rows in the order given; variable or fixed strings, contiguous or compressed."""
    with h5py.File(path, "w") as f:
        extra = {"chunks": (min(17, len(ids)), min(3, values.shape[1])), "compression": "gzip",
                 "shuffle": True} if chunked else {}
        f.create_dataset("features", data=values, **extra)
        if rng.random() < 0.5:
            f.create_dataset("image_id", data=list(ids), dtype=h5py.string_dtype())
        else:
            f.create_dataset("image_id", data=np.array([i.encode() for i in ids]))
        if regions is not None:
            f.create_dataset("finding", data=list(regions), dtype=h5py.string_dtype())


def write_table(path, header, records, order, crlf=False):
    with open(path, "w", newline="", encoding="utf-8") as f:
        out = csv.writer(f, lineterminator="\r\n" if crlf else "\n")
        out.writerow(header)
        out.writerows(records[r] for r in (order.permutation(len(records)) if order is not None
                                           else range(len(records))))


def erased_regions(rng, images, labels):
    """[(row, region)] of a dataset: most positives, some others, and a region that is no finding."""
    pairs = [(r, finding) for finding, column in labels.items() for r in range(len(images))
             if rng.random() < (0.8 if column[r] in ("1", "1.0") else 0.05)]
    return pairs + [(r, "lesion") for r in range(len(images)) if rng.random() < 0.2]


def write_boxes(path, rng, images, pairs, order):
    """One to three rectangles a region, some partly outside the image; some regions without any."""
    records = []
    for r, region in pairs:
        if rng.random() < 0.05:
            records.append([images[r], region, "", "", "", "", 64, 48])
        elif rng.random() < 0.9:
            for _ in range(int(rng.integers(1, 4))):
                x, y = rng.integers(-20, 240) / 4, rng.integers(-12, 180) / 4
                records.append([images[r], region, x, y, rng.integers(24, 160) / 4, rng.integers(16, 120) / 4,
                                64, 48])
    write_table(path, ["image_id", "finding", "x", "y", "width", "height", "image_width", "image_height"],
                records, order)


def write_erased(path, rng, values, images, pairs, change, first, traits, order):
    """The erased features of one encoder: the originals moved by `change` (pairs x d).

    The first encoder's file lacks some rows or spoils them, where the study's policies allow it. A row of
    another image stands in every file.
    """
    erased = values[[r for r, _ in pairs]].astype(np.float64) + change
    erased[~np.isfinite(erased).all(axis=1)] = 1.0  # the original is spoilt, and leaves the pool
    keep = np.ones(len(pairs), bool)
    if first and traits["drop"]:
        erased[rng.random(len(pairs)) < 0.05] = np.nan
    if first and traits["intersect"]:
        keep = rng.random(len(pairs)) >= 0.05
    ids = [images[r] for (r, _), kept in zip(pairs, keep) if kept] + ["nobody"]
    regions = [region for (_, region), kept in zip(pairs, keep) if kept] + ["lesion"]
    erased = np.concatenate([erased[keep], np.ones((1, values.shape[1]))]).astype(values.dtype)
    where = shuffled(len(ids), rng, order)
    write_features(path, erased[where], [ids[i] for i in where], rng, False, [regions[i] for i in where])


def make_dataset(folder, rng, name, rows, findings, encoders, traits, order, erasing=None):
    """Table and feature files of one dataset: the rows are drawn, then permuted by `order` when written.

    erasing  the random numbers of its erased files and boxes; none without
    Returns the table's header and records, and each encoder's features in their order.
    """
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
    records = [[images[r], patients[r]] + ([splits[r]] if traits["split"] else []) + [views[r], sites[r]]
               + [labels[x][r] for x in findings] for r in range(rows)]
    table_order = order.permutation(rows) if order is not None else np.arange(rows)
    write_table(os.path.join(folder, f"{name}.csv"), header, [records[r] for r in table_order], None,
                traits["crlf"])
    pairs, everything = [], {}
    if erasing is not None:
        pairs = erased_regions(erasing, images, labels)
        write_boxes(os.path.join(folder, f"{name}-boxes.csv"), erasing, images, pairs, order)

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
        everything[encoder] = values
        if erasing is not None:
            change = erasing.uniform(0.1, 2) * erasing.standard_normal((len(pairs), d))
            at = {pair: i for i, pair in enumerate(pairs)}
            same = {int(r): int(c) for a, b, c in twins for r in (a, b)}
            for (r, region), i in at.items():  # equal images erased alike give equal retentions
                change[i] = change[at.get((same.get(r, r), region), i)]
            write_erased(os.path.join(folder, f"{name}-{encoder}-erased.h5"), erasing, values, images, pairs,
                         change, e == 0, traits, order)
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
        where = shuffled(len(ids), rng, order)
        write_features(path, here[where], [ids[i] for i in where], rng, chunked)
    return header, records, everything


def make_asking_dataset(folder, rng, name, made, encoders, shared, order):
    """A dataset whose reference is the one `made`: images near those of the reference, in its contexts and in
    one that it lacks. With `shared`, some are images of the reference itself."""
    header, records, values = made
    usable = [r for r in range(len(records)) if all(np.isfinite(values[e][r]).all() and values[e][r].any()
                                                    for e in encoders)]
    chosen = rng.choice(usable, int(rng.integers(25, 60)))
    own = np.ones(len(chosen), bool)
    if shared:
        own[:12] = False
        own[:12] |= [r in chosen[:i] for i, r in enumerate(chosen[:12])]  # an image once
    rows = []
    for i, r in enumerate(chosen):
        row = list(records[r])
        if own[i]:
            row[0] = f"outside{i}"
            if rng.random() < 0.7:  # the others are further images of the reference's patients
                row[1] = f"q{i // 2}" if "split" not in header else f"q{i}"
            row[header.index("view")] = rng.choice(["AP", "PA", "LL", "lateral"])
        rows.append(row)
    write_table(os.path.join(folder, f"{name}.csv"), header, rows, order)
    for encoder, d in encoders.items():
        here = values[encoder][chosen].copy()
        here[own] += rng.standard_normal((own.sum(), d)).astype(here.dtype) / 2
        where = shuffled(len(chosen), rng, order)
        write_features(os.path.join(folder, f"{name}-{encoder}.h5"), here[where],
                       [rows[i][0] for i in where], rng, False)


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
    encoders = {f"enc{i}": int(rng.integers(2, 40)) for i in range(int(rng.integers(1, 6)))}  # dimensions
    datasets = [f"set{i}" for i in range(int(rng.integers(1, 4)))]
    findings = [f"finding_{i}" for i in range(int(rng.integers(1, 4)))]
    sizes = [int(rng.integers(*rows)) for _ in datasets]
    more = np.random.default_rng([seed, 1000])
    erased = [bool(more.random() < 0.5) for _ in datasets]
    asking, shared = bool(more.random() < 0.4), bool(more.random() < 0.5)
    made = [make_dataset(folder, np.random.default_rng([seed, i]), name, size, findings, encoders, traits,
                         order, np.random.default_rng([seed, 2000, i]) if erased[i] else None)
            for i, (name, size) in enumerate(zip(datasets, sizes))]
    if asking:
        make_asking_dataset(folder, np.random.default_rng([seed, 3000]), "outside", made[0], encoders, shared,
                            order)

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
        lines += [f"parameters = {int(more.integers(1, 5)) * 10**6}"] if more.random() < 0.8 else []
        lines += ['domain = "general"'] if seed % 2 else []
        lines += [f"year = {int(more.integers(2020, 2026))}"] if more.random() < 0.8 else []
    for name, has_erased in zip(datasets, erased):
        lines += ["", "[[dataset]]", f'id = "{name}"', f'table = "{name}.csv"',
                  'features = "{dataset}-{encoder}.h5"']
        if has_erased:
            lines += ['erased = "{dataset}-{encoder}-erased.h5"', f'boxes = "{name}-boxes.csv"']
    if asking:
        lines += ["", "[[dataset]]", 'id = "outside"', 'table = "outside.csv"',
                  'features = "{dataset}-{encoder}.h5"', f'reference = "{datasets[0]}"']
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
    if asking:
        lines += ["", "[[task]]", 'id = "asked"',
                  f"datasets = {toml(['outside'] if shared else [datasets[0], 'outside'])}",
                  f"findings = {toml(findings)}", 'context = ["dataset", "view"]',
                  'splits = ["test", "val"]', 'labels = { blank = "negative" }']
    if len(encoders) > 1:
        lines += ["", "[[contrast]]", 'id = "first"', 'task = "task0"',
                  f"arms = {{ first = {toml(list(encoders)[:1])}, others = {toml(list(encoders)[1:])} }}"]
    path = os.path.join(folder, "study.toml")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return path
