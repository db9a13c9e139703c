"""From a study's files to its cells: tables, pools, labels, contexts, queries and candidates."""

import csv
import os
import tomllib
from dataclasses import dataclass, field

import h5py
import numpy as np

from reference.streams import image_key


# ---- study, tables, features -----------------------------------------------------------------------------

def load_study(path):
    """The study file with the defaults that matter here filled in; paths made absolute."""
    with open(path, "rb") as f:
        raw = tomllib.load(f)
    folder = os.path.dirname(os.path.abspath(path))
    study = {
        "seed": 42,
        "operator": {"k": 5, "bank_cap": 4000, "candidates": "equal", "also": [], "negative_queries": "bank",
                     "draws": 1},
        "pool": {"rows": 20000, "splits": ["test"], "on_bad_row": "error", "on_missing": "error",
                 "on_leak": "error", "blank_context": "exclude"},
        "bootstrap": {"resamples": 1000, "confidence": 0.95},
        "test": {"alpha": 0.05},
    }
    study["seed"] = raw["study"].get("seed", 42)
    for section in ("operator", "pool", "bootstrap", "test"):
        study[section].update(raw.get(section, {}))
    study["also_is_set"] = "also" in raw.get("operator", {})
    study["encoders"] = raw["encoder"]
    study["datasets"] = raw["dataset"]
    for dataset in study["datasets"]:
        columns = {"image": "image_id", "patient": "patient_id", "split": "split"}
        columns.update(dataset.get("columns", {}))
        dataset["columns"] = columns
        dataset["table"] = os.path.join(folder, dataset["table"])
        for pattern in ("features", "erased", "boxes"):
            if pattern in dataset:
                dataset[pattern] = os.path.join(folder, dataset[pattern])
    study["contrasts"] = raw.get("contrast", [])
    study["tasks"] = raw["task"]
    for task in study["tasks"]:
        task.setdefault("splits", study["pool"]["splits"])
        task.setdefault("rows", study["pool"]["rows"])
        task.setdefault("labels", {})
        task["context"] = task.get("context") or ["dataset"]
        if task.get("encoders", ["*"]) == ["*"]:
            task["encoders"] = [e["id"] for e in study["encoders"]]
    return study


def read_table(dataset):
    """Rows of a table as dictionaries of trimmed text."""
    with open(dataset["table"], newline="", encoding="utf-8-sig") as f:
        records = list(csv.reader(f))
    header = [name.strip() for name in records[0]]
    return [dict(zip(header, (cell.strip() for cell in record))) for record in records[1:] if record]


def file_of(pattern, encoder, dataset):
    return pattern.replace("{encoder}", encoder).replace("{dataset}", dataset)


def read_texts(file, name):
    return [(t.decode() if isinstance(t, bytes) else t).strip() for t in file[name][:]]


def read_features(path, images):
    """Rows of `images` in double, NaN-filled where the file has none; and which it has."""
    with open(path, "rb") as f:
        magic = f.read(6)
    if magic == b"\x93NUMPY":
        values = np.load(path).astype(np.float64)
        assert len(values) == len(images)
        return values, np.ones(len(images), bool)
    with h5py.File(path, "r") as f:
        values = f["features"][:].astype(np.float64)
        ids = read_texts(f, "image_id")
    where = {name: i for i, name in enumerate(ids)}
    out = np.full((len(images), values.shape[1]), np.nan)
    has = np.array([image in where for image in images])
    for row, image in enumerate(images):
        if has[row]:
            out[row] = values[where[image]]
    return out, has


# ---- pool ------------------------------------------------------------------------------------------------

@dataclass
class Pool:
    """Rows of a task in key order; every list has one entry a row.

    Rows of a dataset with a reference only ask, rows of a reference outside the task's datasets only answer.
    Patients of rows that ask come first: they are the clusters of the bootstrap.
    """
    dataset: list = field(default_factory=list)   # position in the study
    image: list = field(default_factory=list)
    identity: list = field(default_factory=list)  # first row of the same image
    asks: list = field(default_factory=list)
    answers: list = field(default_factory=list)
    patient: list = field(default_factory=list)   # position among the patients
    context: list = field(default_factory=list)   # position among `contexts`
    labels: list = field(default_factory=list)    # per finding 1, 0 or None
    units: dict = field(default_factory=dict)     # encoder: N x d, rows of norm 1
    clusters: int = 0
    contexts: list = field(default_factory=list)
    repeats: bool = False
    exclusions: dict = field(default_factory=dict)  # (dataset, what, detail): rows


def label_of(text, policy, image, finding):
    value = {"1": 1, "1.0": 1, "0": 0, "0.0": 0, "-1": -1, "-1.0": -1, "": None}[text]
    as_value = {"exclude": None, "positive": 1, "negative": 0}
    if value == -1:
        return as_value[policy.get("uncertain", "exclude")]
    if value is None:
        return as_value[policy.get("blank", "exclude")]
    return value


def pool_datasets(study, task):
    """The task's datasets, then the references of these that are not among them."""
    names = list(task["datasets"])
    for dataset in study["datasets"]:
        if dataset["id"] in task["datasets"] and dataset.get("reference", dataset["id"]) not in names:
            names.append(dataset["reference"])
    return names


def draw_pool(study, task):
    seed, rules = study["seed"], study["pool"]
    ids = [d["id"] for d in study["datasets"]]
    spaces = [ids.index(d.get("reference", d["id"])) for d in study["datasets"]]
    pool = Pool()
    rows = []  # (key, id bytes, dataset position, record, table row)
    counts = pool.exclusions

    def count(dataset, what, detail, n=1):
        counts[(dataset, what, detail)] = counts.get((dataset, what, detail), 0) + n

    features = {}  # (dataset position, encoder): values, has
    for name in pool_datasets(study, task):
        position = ids.index(name)
        dataset = study["datasets"][position]
        table = read_table(dataset)
        columns = dataset["columns"]
        images = [r[columns["image"]] for r in table]
        for encoder in task["encoders"]:
            path = file_of(dataset["features"], encoder, name)
            features[position, encoder] = read_features(path, images)
        drawn = []
        for number, record in enumerate(table):
            if columns["split"] in record and record[columns["split"]] not in task["splits"]:
                count(name, "other split", "")
                continue
            image = images[number]
            drawn.append((image_key(image, seed), image.encode(), position, record, number))
        if columns["split"] not in table[0]:
            count(name, "no split column, all rows taken", "", len(drawn))
        drawn.sort(key=lambda r: r[:3])
        if task["rows"] and len(drawn) > task["rows"]:
            count(name, "row cap", "", len(drawn) - task["rows"])
            drawn = drawn[:task["rows"]]
        rows += drawn
    rows.sort(key=lambda r: r[:3])

    kept = []
    for row in rows:
        _, _, position, record, number = row
        name = ids[position]
        context = tuple(ids[spaces[position]] if c == "dataset" else record[c] for c in task["context"])
        if "" in context and rules["blank_context"] != "own":
            count(name, "blank context", "")
            continue
        missing = [e for e in task["encoders"] if not features[position, e][1][number]]
        if missing:
            assert rules["on_missing"] == "intersect"
            count(name, "missing features", "")
            continue
        bad = [e for e in task["encoders"]
               if not np.isfinite(v := features[position, e][0][number]).all() or not v.any()]
        if bad:
            assert rules["on_bad_row"] == "drop"
            count(name, "bad features", "")
            continue
        kept.append((row, " / ".join(value or "(blank)" for value in context)))

    pool.contexts = sorted({c for _, c in kept}, key=str.encode)
    clusters = []
    for (_, image, position, record, _), context in kept:
        dataset = study["datasets"][position]
        patient = record.get(dataset["columns"]["patient"], "")
        space = spaces[position]
        if not patient:
            count(ids[position], "no patient id, each image its own patient", "")
        # A named patient before an image that is its own patient, should they have the same id.
        clusters.append((patient.encode(), space, 0) if patient else (image, space, 1))
        labels = []
        for finding in task["findings"]:
            text = record[finding]
            label = label_of(text, task["labels"], image, finding)
            kind = {"-1": "uncertain", "-1.0": "uncertain", "": "blank"}.get(text)
            if kind:
                how = {None: "excluded", 1: "counted positive", 0: "counted negative"}[label]
                count(ids[position], f"{kind} label {how}", finding)
            labels.append(label)
        pool.labels.append(labels)
        pool.dataset.append(position)
        pool.image.append(image.decode())
        pool.asks.append(ids[position] in task["datasets"])
        pool.answers.append("reference" not in dataset)
        pool.context.append(pool.contexts.index(context))
    names = [(spaces[d], image) for d, image in zip(pool.dataset, pool.image)]
    pool.identity = [names.index(name) for name in names]
    asking = {c for c, asks in zip(clusters, pool.asks) if asks}
    order = {c: i for i, c in enumerate(sorted(asking) + sorted(set(clusters) - asking))}
    pool.patient = [order[c] for c in clusters]
    pool.clusters = len(asking)
    pool.repeats = len(order) < len(set(pool.identity))
    for encoder in task["encoders"]:
        x = np.array([features[position, encoder][0][number] for (_, _, position, _, number), _ in kept])
        pool.units[encoder] = x / np.sqrt((x * x).sum(axis=1))[:, None]
    return pool


# ---- candidates ------------------------------------------------------------------------------------------

def in_draw_order(pool, rows, seed, draw):
    return sorted(rows, key=lambda r: (image_key(pool.image[r], seed + draw), pool.image[r].encode(),
                                       pool.dataset[r]))


def first_of_patients(pool, rows):
    """Of rows in order, the first of each patient."""
    seen, out = set(), []
    for r in rows:
        if pool.patient[r] not in seen:
            seen.add(pool.patient[r])
            out.append(r)
    return out


def size_of(rule, cap, positives, negatives):
    """n from the entries a side (rows, or patients under `distinct`)."""
    cap = cap or max(positives, negatives) + 1
    if rule in ("equal", "distinct"):
        return min(cap, positives - 1, negatives - 1)
    return min(cap, positives, negatives)


def candidates_of(pool, rule, cap, side, n, x):
    """The rows of one side (in the draw's key order) that query x may have as neighbours."""
    def is_other(r):
        return pool.identity[r] != pool.identity[x]

    if rule == "equal":
        return [r for r in side if is_other(r)][:n]
    if rule == "distinct":
        return [r for r in first_of_patients(pool, side) if pool.patient[r] != pool.patient[x]][:n]
    if rule == "literal":
        return [r for r in side[:n] if is_other(r)]
    return [r for r in side[:(cap or len(side))] if is_other(r)]


@dataclass
class Cell:
    """One (finding, context) under one rule. `lists[draw][query]` is (negatives, positives).

    n_pos, n_neg and patients are of the labelled rows that answer.
    """
    finding: str
    context: str
    rule: str
    n_pos: int
    n_neg: int
    patients: int = 0
    n: int = 0
    reason: str = ""
    queries: list = field(default_factory=list)
    positives: int = 0  # how many of the queries are positives
    lists: list = field(default_factory=list)
    pooled_reference: bool = False


def make_cell(study, pool, f, finding, c, rule):
    rows = [r for r in range(len(pool.image)) if pool.context[r] == c]
    return cell_of_rows(study, pool, f, finding, pool.contexts[c], rule, rows, pool.asks)


def cell_of_rows(study, pool, f, finding, context, rule, rows, asks):
    """The cell in which those of `rows` that ask are queries and those that answer are candidates."""
    op, seed = study["operator"], study["seed"]
    cap, k = op["bank_cap"], op["k"]
    labelled = [[r for r in rows if pool.labels[r][f] == s] for s in (0, 1)]  # key order, as the pool
    sides = [[r for r in side if pool.answers[r]] for side in labelled]
    asking = [[r for r in side if asks[r]] for side in labelled]

    def entries(which, side):
        return len(first_of_patients(pool, side)) if which == "distinct" else len(side)

    def n_of(which):
        return size_of(which, cap, entries(which, sides[1]), entries(which, sides[0]))

    cell = Cell(finding, context, rule, len(sides[1]), len(sides[0]))
    cell.patients = len({pool.patient[r] for side in sides for r in side})
    cell.n = max(0, n_of(rule))
    if not sides[1] or not sides[0]:
        cell.reason = "no positives" if not sides[1] else "no negatives"
        return cell
    if not asking[1]:
        cell.reason = "no positives to ask for"
        return cell
    if op["negative_queries"] == "all":
        negatives = asking[0]
    elif op["negative_queries"] == "bank":
        negatives = asking[0][:max(0, n_of(op["candidates"])) + 1]
    else:
        negatives = []
    cell.queries = asking[1] + negatives
    cell.positives = len(asking[1])
    for draw in range(op["draws"]):
        ordered = [in_draw_order(pool, s, seed, draw) for s in sides]
        lists = [tuple(candidates_of(pool, rule, cap, ordered[s], cell.n, x) for s in (0, 1))
                 for x in cell.queries]
        if any(len(side) < k for pair in lists for side in pair):
            cell.reason = "fewer than k candidates a side"
            return cell
        if rule in ("equal", "distinct"):
            assert all(len(side) == cell.n for pair in lists for side in pair)
        cell.lists.append(lists)
    return cell


def pooled_cells(study, task, pool, f, finding, rule):
    """Cells of the queries whose own context their reference does not score, one a reference (METHODS 12.6).

    Whether a context is scored is the primary rule's to say.
    """
    ids = [d["id"] for d in study["datasets"]]
    askers = {}
    for d, dataset in enumerate(study["datasets"]):
        if dataset["id"] in task["datasets"] and "reference" in dataset:
            askers.setdefault(ids.index(dataset["reference"]), []).append(d)
    primary = study["operator"]["candidates"]
    reasons = [make_cell(study, pool, f, finding, c, primary).reason for c in range(len(pool.contexts))]
    cells = []
    for reference, datasets in sorted(askers.items()):
        falls = [asks and pool.labels[r][f] is not None and pool.dataset[r] in datasets
                 and reasons[pool.context[r]] not in ("", "no positives to ask for")
                 for r, asks in enumerate(pool.asks)]
        if not any(falls):
            continue
        rows = [r for r in range(len(pool.image)) if pool.dataset[r] in [reference, *datasets]]
        name = "(pooled)" if len(askers) == 1 else f"(pooled) / {ids[reference]}"
        cell = cell_of_rows(study, pool, f, finding, name, rule, rows, falls)
        cell.pooled_reference = True
        cells.append(cell)
        scored = cell_of_rows(study, pool, f, finding, name, primary, rows, falls).reason == ""
        for d in datasets:
            n = sum(fall for r, fall in enumerate(falls) if pool.dataset[r] == d)
            if n:
                what = "asked of the whole reference" if scored else "nor can the whole reference be asked"
                pool.exclusions[ids[d], f"own context not scored, {what}", finding] = n
    return cells


def asking_contexts(pool):
    """Positions of the contexts in which some row asks."""
    return sorted({c for c, asks in zip(pool.context, pool.asks) if asks})
