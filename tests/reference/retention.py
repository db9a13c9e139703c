"""Erasure retention a second time (METHODS 7): cosines one by one, correlations of expanded samples."""

import csv
import math

import h5py
import numpy as np
from scipy.stats import rankdata

from reference.cohort import file_of, read_texts
from reference.inference import benjamini_hochberg, bootstrap_p, divide, interval


def read_erased(path):
    """{(image, region): row in double}."""
    with h5py.File(path) as f:
        keys = zip(read_texts(f, "image_id"), read_texts(f, "finding"))
        return dict(zip(keys, f["features"][:].astype(np.float64)))


def read_areas(path):
    """{(image, region): share of the image inside the union of its rectangles}.

    By the cells of the grid that all edges of the rectangles make.
    """
    boxes = {}
    with open(path, newline="", encoding="utf-8-sig") as f:
        for record in csv.DictReader(f):
            record = {k.strip(): v.strip() for k, v in record.items()}
            if record["width"]:
                numbers = [float(record[c]) for c in ("x", "y", "width", "height", "image_width",
                                                      "image_height")]
                boxes.setdefault((record["image_id"], record["finding"]), []).append(numbers)
    areas = {}
    for key, some in boxes.items():
        width, height = some[0][4:]
        clipped = [(max(0, x), max(0, y), min(width, x + w), min(height, y + h)) for x, y, w, h, _, _ in some]
        xs = sorted({x for b in clipped for x in (b[0], b[2])})
        ys = sorted({y for b in clipped for y in (b[1], b[3])})
        inside = sum((x1 - x0) * (y1 - y0) for x0, x1 in zip(xs, xs[1:]) for y0, y1 in zip(ys, ys[1:])
                     if any(b[0] <= x0 and x1 <= b[2] and b[1] <= y0 and y1 <= b[3] for b in clipped))
        areas[key] = inside / (width * height)
    return areas


def annotated(study, task, pool):
    """The regions of a task: [(pool row, region)], their areas, their erased rows, and exclusions.

    Areas by (pool row, region), rows by (encoder, pool row, region). Only rows that ask; a region named as a
    finding takes its positives alone.
    """
    pairs, areas, erased, exclusions = [], {}, {}, {}
    for position, dataset in enumerate(study["datasets"]):
        if dataset["id"] not in task["datasets"] or "erased" not in dataset:
            continue
        name = dataset["id"]
        files = {e: read_erased(file_of(dataset["erased"], e, name)) for e in task["encoders"]}
        shares = read_areas(dataset["boxes"]) if "boxes" in dataset else {}
        rows = {pool.image[r]: r for r in range(len(pool.image)) if pool.dataset[r] == position}
        everything = {key for f in files.values() for key in f if key[0] in rows}
        for image, region in sorted(everything):
            r = rows[image]
            vectors = {e: f.get((image, region)) for e, f in files.items()}
            what = ""
            if region in task["findings"] and pool.labels[r][task["findings"].index(region)] != 1:
                what = "erased features of an image that is not positive"
            elif any(v is None for v in vectors.values()):
                assert study["pool"]["on_missing"] == "intersect"
                what = "missing erased features"
            elif any(not np.isfinite(v).all() or not v.any() for v in vectors.values()):
                assert study["pool"]["on_bad_row"] == "drop"
                what = "bad erased features"
            if what:
                exclusions[name, what, region] = exclusions.get((name, what, region), 0) + 1
                continue
            pairs.append((r, region))
            if (image, region) in shares:
                areas[r, region] = shares[image, region]
            for e, v in vectors.items():
                erased[e, r, region] = v
    return pairs, areas, erased, exclusions


def mean_areas(study, task, pool):
    """{finding: mean area over its positives that have a box}, erased or not."""
    areas = {}
    for position, dataset in enumerate(study["datasets"]):
        if dataset["id"] not in task["datasets"] or "boxes" not in dataset:
            continue
        shares = read_areas(dataset["boxes"])
        for r, image in enumerate(pool.image):
            for f, finding in enumerate(task["findings"]):
                if pool.dataset[r] == position and pool.labels[r][f] == 1 and (image, finding) in shares:
                    areas.setdefault(finding, []).append(shares[image, finding])
    return {finding: sum(some) / len(some) for finding, some in areas.items()}


def spearman(x, y):
    """Pearson correlation of the mid-ranks; NaN for fewer than 3 pairs or a constant side."""
    if len(x) < 3:
        return math.nan
    # Twice the ranks, less their mean: whole numbers.
    u, v = (2 * rankdata(side) - (len(side) + 1) for side in (x, y))
    uu, vv = (u * u).sum(), (v * v).sum()
    return float((u * v).sum() / math.sqrt(uu * vv)) if uu and vv else math.nan


def nearly_tied(values):
    """Whether some differ by roundings alone, so that their ranks are those of the program that rounded."""
    gaps = np.diff(np.sort(values))
    return bool(((gaps > 0) & (gaps < 1e-12)).any())


def mutual_neighbours(study, dm):
    """Whether two images may be each other's one neighbour: their margins tie, or differ by a rounding."""
    return study["operator"]["k"] == 1 and len(set(dm[dm != 0].tolist())) < np.count_nonzero(dm)


def correlation_fields(study, rho, dm, patients, weights):
    """Observed and resampled; a resample is the sample with each case as often as its patient was drawn."""
    observed = spearman(rho, dm)
    resampled = np.array([spearman(np.repeat(rho, w), np.repeat(dm, w)) for w in weights[:, patients]])
    low, high, valid = interval(resampled, study["bootstrap"]["confidence"])
    defined = not math.isnan(observed)
    fields = {"cases": len(rho), "undefined": int(not defined),
              "correlation_n_boot_valid": valid if defined else 0,
              "p": bootstrap_p(resampled, 0) if defined else math.nan}
    if not (nearly_tied(rho) or nearly_tied(dm) or mutual_neighbours(study, dm)):
        fields.update({"correlation": observed, "correlation_low": low if defined else math.nan,
                       "correlation_high": high if defined else math.nan})
    return fields


def mean_fields(study, observed, resampled, patients):
    low, high, valid = interval(resampled, study["bootstrap"]["confidence"])
    return {"retention": observed, "low": low, "high": high, "n_boot_valid": valid, "patients": patients,
            "few_patients": int(patients < 10)}


def retention_rows(study, task, pool, groups, weights):
    """Table retention; {encoder: micro task retention}; families; exclusions."""
    pairs, areas, erased, exclusions = annotated(study, task, pool)
    present = {region for _, region in pairs}
    regions = [f for f in task["findings"] if f in present]
    regions += sorted(present - set(task["findings"]), key=str.encode)
    rows, micro, tested = {}, {}, []
    patient = np.array(pool.patient)

    def area_fields(some):
        shares = [areas[pair] for pair in some if pair in areas]
        return {"images": len(some), "boxes": len(shares),
                "area": sum(shares) / len(shares) if shares else math.nan}

    for e in task["encoders"]:
        rho = {}
        for r, region in pairs:
            v = erased[e, r, region]
            cosine = (pool.units[e][r] * (v / math.sqrt((v * v).sum()))).sum()
            rho[r, region] = min(1.0, max(-1.0, float(cosine)))

        def mean_of(some):
            """Mean retention, observed and resampled, and how many patients."""
            values, who = np.array([rho[pair] for pair in some]), patient[[r for r, _ in some]]
            w = weights[:, who]
            return values.mean(), divide(w @ values, w.sum(axis=1)), len(set(who.tolist()))

        means = []
        for region in regions:
            some = [pair for pair in pairs if pair[1] == region]
            means.append(mean_of(some))
            row = {**area_fields(some), **mean_fields(study, *means[-1]), "q": math.nan, "reject": 0}
            margins = {}
            if region in task["findings"]:
                for s in groups[e, region]:
                    margins.update(zip(s.cell.queries[:s.cell.positives], s.values[2]))
            cases = [r for r, _ in some if r in margins]
            row.update(correlation_fields(study, np.array([rho[r, region] for r in cases]),
                                          np.array([margins[r] for r in cases]),
                                          patient[cases] if cases else np.zeros(0, int), weights))
            rows[task["id"], e, "region", region] = row
            if region in task["findings"]:
                tested.append(row)
        if regions:
            observed, resampled, patients = mean_of(pairs)
            micro[e] = observed
            whole = {**area_fields(pairs), "q": math.nan, "reject": 0}
            rows[task["id"], e, "micro", ""] = {**whole, **mean_fields(study, observed, resampled, patients)}
            shares = [rows[task["id"], e, "region", region]["area"] for region in regions]
            shares = [share for share in shares if not math.isnan(share)]
            whole["area"] = sum(shares) / len(shares) if shares else math.nan
            rows[task["id"], e, "macro", ""] = {
                **whole, **mean_fields(study, float(np.mean([m[0] for m in means])),
                                       np.mean([m[1] for m in means], axis=0), patients)}
    q = benjamini_hochberg([row["p"] for row in tested])
    for row, value in zip(tested, q):
        row["q"], row["reject"] = float(value), int(value <= study["test"]["alpha"])
    families = {}
    if tested:
        undefined = sum(math.isnan(row["p"]) for row in tested)
        families["retention-margin correlation", task["id"]] = {
            "m": len(tested) - undefined, "undefined": undefined,
            "rejected": sum(row["reject"] for row in tested)}
    return rows, micro, families, exclusions
