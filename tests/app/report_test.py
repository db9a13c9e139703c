"""candor report: what it writes is whole, escaped, the same each time, and never in the place of anything else."""

import csv
import html
import math
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
import xml.dom.minidom
from html.parser import HTMLParser

import h5py
import numpy as np

from heads_test import make_study
from testing.locales import comma_locale
from testing.program import write_features, write_table
from testing.scratch import InFolder

CANDOR = os.environ["CANDOR"]
SOURCE = os.environ["CANDOR_SOURCE"]

# Names as users have them, and as they should not be but are.
ENCODERS = ['<script>alert(1)</script>', 'a&b "c", d', "it's `touch pwned` $(touch pwned)", 'back\\slash_{x}^2 %d %s', 'Umläut 😀 @x']
FINDINGS = ["Lung_Opacity", "R&D 50%", "a|b", "x<y", "#1 {A}", "don't \\", "--- ~^$ [a] *b*"]
VOID = {"meta", "input", "br"}


def candor(*words, **options):
    return subprocess.run([CANDOR, *words], capture_output=True, text=True, timeout=300, **options)


def run_and_report(folder, study, *words):
    """Results s.h5 and the report r in `folder`: the page, and what was said of it."""
    done = candor("run", study, "-o", "s.h5", "--quiet", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    done = candor("report", "s.h5", "-o", "r", cwd=folder)
    assert done.returncode == 0, done.stderr
    with open(os.path.join(folder, "r/index.html"), encoding="utf-8") as f:
        return f.read(), done.stderr


class Tags(HTMLParser):
    """Refuses what is not nested; collects elements, ids, and the text outside of scripts."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.ids, self.words = [], [], [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:], self.getpos())
        self.open.pop()

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.words.append(data)


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Hostile(InFolder):
    """A study whose every name tries to be markup."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = cls.folder
        random = np.random.RandomState(3)
        ids = [f"i{i}" for i in range(80)]
        with open(os.path.join(folder, "t.csv"), "w", newline="") as f:
            table = csv.writer(f)
            table.writerow(["image_id", *FINDINGS])
            for image in ids:
                table.writerow([image, *random.randint(0, 2, len(FINDINGS))])
        for number in range(len(ENCODERS)):
            np.save(os.path.join(folder, f"{number}.npy"), random.standard_normal((len(ids), 6)).astype("f4"))
        study = '[study]\nname = "<b>Study</b> & \\"co\\""\n[bootstrap]\nresamples = 50\n'
        for number, name in enumerate(ENCODERS):
            with h5py.File(os.path.join(folder, f"e{number}.h5"), "w") as f:
                f["features"] = np.load(os.path.join(folder, f"{number}.npy"))
                f["image_id"] = ids
            study += f'[[encoder]]\nid = "e{number}"\nlabel = {quoted(name)}\ndomain = "<i>"\n'
        study += '[[dataset]]\nid = "d"\nlabel = "<img src=x onerror=alert(1)>"\ntable = "t.csv"\nfeatures = "{encoder}.h5"\n'
        for task in ("t&<1>", "t& 1 ", "t__1_"):
            study += f'[[task]]\nid = {quoted(task.strip())}\nlabel = {quoted("Task <" + task)}\ndatasets = ["d"]\n'
            study += "findings = [" + ", ".join(map(quoted, FINDINGS)) + "]\n"
        with open(os.path.join(folder, "s.toml"), "w", encoding="utf-8") as f:
            f.write(study)
        cls.page, cls.said = run_and_report(folder, "s.toml")
        cls.files = sorted(os.path.join(root, name) for root, _, names in os.walk(os.path.join(folder, "r")) for name in names)

    def read(self, name):
        with open(os.path.join(self.folder, "r", name), encoding="utf-8", newline="") as f:
            return f.read()

    def test_no_warning(self):
        self.assertEqual(self.said, "candor: wrote r/index.html\n")

    def test_nothing_was_run(self):
        for root, _, names in os.walk(self.folder):
            self.assertNotIn("pwned", names, root)

    def test_the_page_is_nested_has_no_foreign_elements_and_each_id_once(self):
        tags = Tags(self.page)
        self.assertEqual(len(tags.ids), len(set(tags.ids)))
        names = [tag for tag, _ in tags.seen]
        self.assertEqual(names.count("script"), 1)
        self.assertFalse({"img", "i", "iframe", "object"} & set(names))
        for tag, attributes in tags.seen:
            self.assertFalse([a for a in attributes if a.startswith("on")], tag)
            for name in ("href", "src", "xlink:href"):
                self.assertNotRegex(attributes.get(name) or "", r"^(https?:|//|javascript:)")
        words = "".join(tags.words)
        for name in (*ENCODERS, *FINDINGS, '<b>Study</b> & "co"', "<img src=x onerror=alert(1)>"):
            self.assertIn(name, words)

    def test_links_lead_to_files(self):
        for _, attributes in Tags(self.page).seen:
            target = attributes.get("href", "")
            if target and not target.startswith("#"):
                self.assertTrue(os.path.exists(os.path.join(self.folder, "r", target)), target)
        anchors = set(Tags(self.page).ids)
        for _, attributes in Tags(self.page).seen:
            if attributes.get("href", "").startswith("#"):
                self.assertIn(attributes["href"][1:], anchors)

    def test_tables_of_the_page_are_told_to_those_who_do_not_see_them(self):
        self.assertEqual(self.page.count("<table"), self.page.count("<caption>"))
        for tag, attributes in Tags(self.page).seen:
            if tag == "th":
                self.assertIn(attributes.get("scope"), ("row", "col"))
        self.assertEqual(self.page.count("<svg"), self.page.count('role="img" aria-label="'))

    def test_the_page_has_landmarks_and_headings_in_order(self):
        seen = Tags(self.page).seen
        names = [tag for tag, _ in seen]
        for landmark in ("header", "nav", "main", "footer", "h1"):
            self.assertEqual(names.count(landmark), 1, landmark)
        self.assertEqual(dict(seen)["nav"], {"aria-label": "Contents"})
        self.assertEqual(dict(seen)["html"], {"lang": "en"})
        self.assertEqual(seen[names.index("a")][1], {"class": "skip", "href": "#main"})  # the first to be reached
        levels = [int(name[1]) for name in names if re.fullmatch(r"h\d", name)]
        self.assertTrue(all(b <= a + 1 for a, b in zip([0, *levels], levels)), levels)
        ids = {attributes.get("id") for _, attributes in seen}
        for tag, attributes in seen:
            if tag == "section":
                self.assertIn(attributes["aria-labelledby"], ids)
            if attributes.get("class") == "scroll":  # can be reached and scrolled by keyboard
                self.assertEqual((attributes["tabindex"], attributes["role"]), ("0", "region"))
                self.assertTrue(attributes["aria-label"])

    def test_svg_is_well_formed_and_has_the_names(self):
        drawn = [name for name in self.files if name.endswith(".svg")]
        self.assertGreater(len(drawn), 10)
        for name in drawn:
            xml.dom.minidom.parse(name)
        document = xml.dom.minidom.parse(os.path.join(self.folder, "r/figures/heat-map-t__1_.svg"))
        self.assertFalse(document.getElementsByTagName("script"))
        words = {"".join(node.data for node in text.childNodes if node.nodeType == node.TEXT_NODE)
                 for text in document.getElementsByTagName("text")}
        for name in FINDINGS:
            self.assertIn(name, words)
        for name in ENCODERS:
            self.assertTrue({name, name[:25] + "…"} & words, (name, words))

    def test_latex_is_escaped(self):
        text = self.read("tables/rates-t__1_.tex")
        for piece in (r"Lung\_Opacity", r"R\&D 50\%", r"\#1 \{A\}", r"a\textbar{}b", r"x\textless{}y"):
            self.assertIn(piece, text)
        for name in self.files:
            if not name.endswith(".tex"):
                continue
            with open(name, encoding="utf-8") as f:
                text = f.read()
            body = text.split("\n", 1)[1]
            # Braces and environments close, no special character stands alone, every row has all its cells.
            bare = re.sub(r"\\[\\{}%&#$_]", "", body)
            self.assertEqual(bare.count("{"), bare.count("}"), name)
            self.assertNotRegex(bare, r"[#%]", name)
            opened = []
            for what, environment in re.findall(r"\\(begin|end){(\w+\*?)}", body):
                if what == "begin":
                    opened.append(environment)
                else:
                    self.assertEqual(opened.pop(), environment, name)
            self.assertEqual(opened, [], name)
            columns = len(re.search(r"\\begin{(?:tabular|longtable)}{([lrp]+)}", body.replace("p{3.2cm}", "p"))[1])
            for line in body.splitlines():
                if line.endswith(r" \\") and not line.startswith(r"\caption"):
                    self.assertEqual(len(re.sub(r"\\&", "", line).split("&")), columns, line)

    def test_markdown_rows_have_all_their_cells(self):
        for name in self.files:
            if name.endswith(".md"):
                with open(name, encoding="utf-8") as f:
                    rows = [re.sub(r"\\.", "", line) for line in f if line.startswith("|")]
                self.assertGreater(len(rows), 2)
                self.assertEqual(len({row.count("|") for row in rows}), 1, name)

    def test_csv_keeps_the_names_and_every_digit(self):
        rows = list(csv.DictReader(self.read("tables/rates-t__1_.csv").splitlines()))
        self.assertEqual({row["encoder"] for row in rows}, set(ENCODERS))
        self.assertEqual({row["finding"] for row in rows}, set(FINDINGS))
        with h5py.File(os.path.join(self.folder, "s.h5")) as f:
            table = f["tables/findings"][:]
        stored = {(row["encoder"].decode(), row["finding"].decode()): row["d"] for row in table if row["task"] == b"t__1_"}
        for row in rows:
            encoder = "e" + str(ENCODERS.index(row["encoder"]))
            self.assertEqual(float(row["d"]), stored[encoder, row["finding"]])

    def test_no_minus_nought(self):
        for name in self.files:
            if name.endswith((".md", ".tex", ".html")):
                with open(name, encoding="utf-8") as f:
                    self.assertNotRegex(re.sub(r"<svg.*?</svg>", "", f.read(), flags=re.S), r"-0\.0(?!\d)", name)

    def test_the_same_bytes_again_whatever_the_locale(self):
        environment = comma_locale(os.path.join(self.folder, "locales"))
        if environment is None:
            self.skipTest("no sources of a comma-decimal locale here")
        time.sleep(1.1)  # times in files have seconds
        done = candor("report", "s.h5", "-o", "again", cwd=self.folder, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in self.files:
            with open(name, "rb") as a, open(name.replace("/r/", "/again/"), "rb") as b:
                self.assertEqual(a.read(), b.read(), name)

    def test_a_script_draws_its_figure_again(self):
        folder = os.path.join(self.folder, "r/figures")
        with tempfile.TemporaryDirectory() as scratch:
            for ending in ("csv", "gp"):
                with open(f"{folder}/forest-t__1_.{ending}", "rb") as f, open(f"{scratch}/forest-t__1_.{ending}", "wb") as g:
                    g.write(f.read())
            subprocess.run(["gnuplot", "forest-t__1_.gp"], cwd=scratch, check=True, timeout=60)
            with open(f"{folder}/forest-t__1_.svg", "rb") as f, open(f"{scratch}/forest-t__1_.svg", "rb") as g:
                self.assertEqual(f.read(), g.read())

    def test_without_gnuplot_all_but_the_figures_is_there(self):
        done = candor("report", "s.h5", "-o", "bare", cwd=self.folder, env=dict(os.environ, PATH="/nowhere"))
        self.assertEqual(done.returncode, 0, done.stderr)
        warnings = [line for line in done.stderr.splitlines() if "warning" in line]
        self.assertEqual(len(warnings), 1)
        self.assertIn("gnuplot-nox", warnings[0])
        with open(os.path.join(self.folder, "bare/index.html"), encoding="utf-8") as f:
            text = f.read()
        Tags(text)
        self.assertNotIn("<svg", text)
        self.assertIn("This figure was not drawn", text)
        self.assertFalse([n for n in os.listdir(os.path.join(self.folder, "bare/figures")) if n.endswith((".svg", ".log"))])


    @unittest.skipUnless(shutil.which("pdflatex"), "no pdflatex here")
    def test_latex_compiles_as_it_is(self):
        compile_tables(self, os.path.join(self.folder, "r/tables"))

    @unittest.skipUnless(shutil.which("chromium"), "no chromium here")
    def test_a_browser_shows_the_names_and_runs_none_of_them(self):
        # Its own script, and the one that asks.
        self.assertEqual(in_browser(self.page, 1280, """
            return [document.scripts.length, document.images.length, document.querySelectorAll('main b b, main i').length,
                    document.body.textContent.includes('<scr' + 'ipt>alert(1)</scr' + 'ipt>')].join(' ')"""), "2 0 0 true")


def compile_tables(test, folder):
    """All tables in one document, with the packages that they ask for and no other: points that they stand out."""
    asked, body = set(), ""
    for name in sorted(os.listdir(folder)):
        if name.endswith(".tex"):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                text = f.read()
            asked |= set(re.findall(r"\\usepackage{(\w+)}", text.splitlines()[0]))
            body += text + "\\clearpage\n"
    # The made names have one character beyond Latin, which a user of pdflatex declares like this.
    document = ("\\documentclass[10pt]{article}\n\\usepackage[a4paper,margin=1.9cm]{geometry}\n"
                + "".join(f"\\usepackage{{{name}}}\n" for name in sorted(asked))
                + "\\DeclareUnicodeCharacter{1F600}{:)}\n\\begin{document}\n" + body + "\\end{document}\n")
    with tempfile.TemporaryDirectory() as scratch:
        with open(os.path.join(scratch, "all.tex"), "w", encoding="utf-8") as f:
            f.write(document)
        done = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"], cwd=scratch,
                              capture_output=True, text=True, errors="replace", timeout=120)
        test.assertEqual(done.returncode, 0, done.stdout[-2000:])
        test.assertGreater(os.path.getsize(os.path.join(scratch, "all.pdf")), 1000)
    return [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide\)", done.stdout)]


def in_browser(page, width, script):
    """What `script`, the body of a function, returns at the end of the page in headless Chromium, `width` pixels wide.
    In a frame, since windows have a least width."""
    inner = page.replace("</body>", f"<script>parent.document.title = (() => {{{script}}})()</script></body>")
    outer = f'<!DOCTYPE html><title></title><iframe style="width:{width}px;height:900px;border:0" srcdoc="{html.escape(inner)}">'
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "outer.html")
        with open(path, "w", encoding="utf-8") as f:
            f.write(outer)
        words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={scratch}/user",
                 "--window-size=1400,900", "--dump-dom", "file://" + path]
        shown = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout
    return html.unescape(re.search(r"<title>(.*?)</title>", shown, re.S)[1])


class Separated(InFolder):
    """An encoder that sees a finding without fault: no resample moves its D, of which its bound is then told."""

    def test_the_bound_stands_in_the_place_of_the_interval(self):
        folder, random = self.folder, np.random.RandomState(8)
        seen, unseen = random.randint(0, 2, (2, 60))
        ids = [f"i{i}" for i in range(60)]
        write_table(os.path.join(folder, "t.csv"), "image_id,seen,unseen",
                    ((name, *labels) for name, *labels in zip(ids, seen, unseen)))
        values = np.stack([seen, 1 - seen, np.zeros(60)], 1) + 0.05 * random.standard_normal((60, 3))
        write_features(os.path.join(folder, "e.h5"), values.astype("f4"), ids)
        with open(os.path.join(folder, "study.toml"), "w", encoding="utf-8") as f:
            f.write('[study]\nname = "Separated"\n[bootstrap]\nresamples = 100\n[[encoder]]\nid = "e"\n'
                    '[[dataset]]\nid = "d"\ntable = "t.csv"\nfeatures = "{encoder}.h5"\n'
                    '[[task]]\nid = "t"\ndatasets = ["d"]\nfindings = ["seen", "unseen"]\n')
        page, _ = run_and_report(folder, "study.toml")
        with h5py.File(os.path.join(folder, "s.h5")) as f:
            stored = {row["finding"].decode(): row for row in f["tables/findings"][:]}
        with open(os.path.join(folder, "r", "tables", "rates-t.csv"), encoding="utf-8", newline="") as f:
            rows = list(csv.DictReader(f))
        for row in rows:  # programs get both
            one = stored[row["finding"]]
            for key, column in (("d", "d"), ("d_low", "d_low"), ("d_high", "d_high"), ("d_bound_low", "bound_low"),
                                ("d_bound_high", "bound_high")):
                np.testing.assert_equal(float(row[key] or "nan"), one[column], f"{row['finding']} {key}")
        high = stored["seen"]["bound_high"]
        self.assertGreater(high, 0)
        self.assertTrue(math.isnan(stored["unseen"]["bound_high"]))
        shown = f"0.0 [0.0, {100 * high:.1f}]"  # people get one
        with open(os.path.join(folder, "r", "tables", "rates-t.md"), encoding="utf-8") as f:
            text = f.read()
        self.assertIn(shown, text)
        self.assertIn("Clopper and Pearson", text)
        self.assertIn(shown, page)
        self.assertIn(shown.replace(" ", "* ", 1), candor("show", "s.h5", cwd=folder).stdout)  # the lowest


class WithHeads(InFolder):
    """The exhibits of heads hold what the tables of the results file hold."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = cls.folder
        make_study(folder)
        cls.page, _ = run_and_report(folder, "study.toml", "--set", "heads.epochs=8")
        with h5py.File(os.path.join(folder, "s.h5")) as f:
            cls.tables = {name: [{c: row[c].decode() if row.dtype[c].kind == "S" else row[c].item()
                                  for c in row.dtype.names} for row in table[:]]
                          for name, table in f["tables"].items()}

    def rows(self, name, **values):
        return [row for row in self.tables[name] if all(row[c] == v for c, v in values.items())]

    def one(self, name, **values):
        rows = self.rows(name, **values)
        self.assertEqual(len(rows), 1, (name, values))
        return rows[0]

    def csv(self, name):
        with open(os.path.join(self.folder, "r", name), encoding="utf-8", newline="") as f:
            return list(csv.DictReader(f))

    def same(self, row, key, stored, column):
        for end in ("", "_low", "_high"):
            if math.isnan(stored[column + end]):
                self.assertEqual(row[key + end], "")
            else:
                self.assertEqual(float(row[key + end]), stored[column + end], (key, column))

    def test_the_panel_has_the_task_auroc_with_its_interval(self):
        rows = self.csv("tables/table-2-panel-chest.csv")
        self.assertEqual(len(rows), 3)
        for row in rows:
            self.same(row, "task_auroc", self.one("heads", level="task", kind="linear", encoder=row["encoder"].split()[0]),
                      "auroc")

    def test_table_3_has_impurity_beside_confidence(self):
        row, = self.csv("tables/table-3-overlap.csv")
        impurity, confidence = (self.one("detection", level="task", score=s) for s in ("impurity", "msp"))
        self.same(row, "impurity_auroc", impurity, "auroc")
        self.same(row, "confidence_auroc", confidence, "auroc")
        self.same(row, "gap", confidence, "gap")
        self.assertEqual(int(row["errors"]), impurity["errors"])
        relabel = self.one("overlap_summary", null="relabel")
        self.assertAlmostEqual(float(row["relabel_rejected_of_tests"]), relabel["rejected"] / relabel["tests"])

    def test_table_4_has_consensus_and_selection(self):
        rows = self.csv("tables/table-4-consensus-chest.csv")
        self.assertEqual([row["finding"] for row in rows], ["edema", "mass", "all findings", "mean of findings"])
        for row, (level, finding) in zip(rows, (("finding", "edema"), ("finding", "mass"), ("micro", ""), ("macro", ""))):
            for policy in ("single", "majority", "oracle", "independent"):
                stored = self.one("selection", level=level, finding=finding, policy=policy)
                self.same(row, policy + "_miss", stored, "miss")
                self.assertEqual(row[policy + "_miss_bound_high"] == "", math.isnan(stored["bound_high"]))
                self.assertEqual(int(row["scored_positives"]), stored["positives"])
            if level == "macro":
                self.assertEqual(row["blind"], "")
                continue
            stored = self.one("consensus", level="task" if level == "micro" else level, finding=finding)
            self.assertEqual(int(row["blind"]), stored["blind"])
            self.assertEqual(float(row["share"]), stored["share"])

    def test_scores_by_encoder(self):
        rows = self.csv("tables/detection-chest.csv")
        self.assertEqual({row["encoder"].split()[0] for row in rows}, {"wide", "small", "noise", "all"})
        for row in rows:
            encoder = row["encoder"].split()[0]
            for key, score in (("confidence", "msp"), *((s, s) for s in ("impurity", "ensemble", "mahalanobis",
                                                                         "neighbor_distance", "threshold_distance"))):
                stored = self.one("detection", score=score, **({"level": "task"} if encoder == "all" else
                                                               {"level": "encoder", "encoder": encoder}))
                self.same(row, key + "_auroc", stored, "auroc")
                self.assertEqual(float(row["error_share"]), stored["errors"] / stored["rows"])

    def test_gaps_are_counted_over_the_cells(self):
        rows = self.csv("tables/gaps-chest.csv")
        self.assertEqual(len(rows), 3 * 5)
        names = {"Confidence": "msp"}
        for row in rows:
            score = names.get(row["score"], row["score"].lower().replace(" ", "_"))
            where = {} if row["dataset"] == "all" else {"dataset": row["dataset"]}
            cells = [c for c in self.rows("detection", level="cell", score=score, **where) if not math.isnan(c["gap"])]
            self.assertEqual([int(row[c]) for c in ("cells", "above", "significantly_above", "below", "significantly_below")],
                             [len(cells), sum(c["gap"] > 0 for c in cells), sum(c["gap"] > 0 and c["reject"] for c in cells),
                              sum(c["gap"] < 0 for c in cells), sum(c["gap"] < 0 and c["reject"] for c in cells)])
            self.same(row, "gap", self.one("detection", level="dataset" if where else "task", score=score, **where), "gap")

    def test_policies(self):
        rows = self.csv("tables/selection-chest.csv")
        self.assertEqual(len(rows), 2 * 8)
        for row in rows:
            stored = self.one("selection", level=row["level"], policy=row["policy"].replace(" ", "_"))
            for column in ("miss", "false_alarm", "balanced_error", "gap_closed"):
                self.same(row, column, stored, column)

    def test_figures_hold_what_the_tables_hold(self):
        rows = self.csv("figures/risk-coverage-chest.csv")
        self.assertEqual([float(row["coverage"]) for row in rows], [5 * i for i in range(1, 21)])
        for row in rows:
            for column, score in (("confidence", "msp"), ("impurity", "impurity"), ("oracle", "oracle")):
                stored = [r for r in self.rows("risk_coverage", level="task", score=score)
                          if round(100 * r["coverage"]) == float(row["coverage"])]
                self.assertAlmostEqual(float(row[column]), 100 * stored[0]["risk"], 12)
        drawn = {(row["encoder"], row["finding"]): float(row["x"]) for row in self.csv("figures/auroc-chest.csv")}
        stored = {(row["encoder"], row["finding"]): 100 * row["auroc"] for row in self.rows("heads", level="finding",
                                                                                            kind="linear")}
        self.assertEqual(drawn, stored)
        margins = [row for row in self.rows("heads", level="dataset") if not math.isnan(row["margin_median"])]
        rows = self.csv("figures/caps-chest.csv")
        self.assertEqual(sorted(float(row["margin_median"]) for row in rows), sorted(r["margin_median"] for r in margins))
        for row in rows:
            self.assertLessEqual(float(row["margin_median"]), float(row["cap1_median"]))
        self.assertEqual(len(self.csv("figures/policies-chest.csv")), 8)

    def test_people_get_percentages_with_one_decimal(self):
        for name in ("table-2-panel", "table-4-consensus", "detection", "selection"):
            with open(os.path.join(self.folder, f"r/tables/{name}-chest.md"), encoding="utf-8") as f:
                cells = [cell.strip("* ") for line in f if line.startswith("|") for cell in line.split("|")]
            for cell in cells:
                if re.match(r"-?\d+\.", cell):
                    self.assertRegex(cell, r"^-?\d+\.\d(\*{0,2} \[-?\d+\.\d, -?\d+\.\d\])?$")
                self.assertNotRegex(cell, r"-0\.0(?!\d)")

    def test_the_page_answers_in_numbers(self):
        tags = Tags(self.page)
        self.assertEqual(len(tags.ids), len(set(tags.ids)))
        words = "".join(tags.words)
        for question in ("What do trained heads read", "Which encoders' errors can be detected?",
                         "How far would selecting an encoder by image go?"):
            self.assertIn(question, words)
        task = self.one("detection", level="task", score="impurity")
        self.assertIn(f"err in {task['errors']} of {task['rows']} answers", words)
        tested = [c for c in self.rows("detection", level="cell", score="msp") if not math.isnan(c["q"])]
        below = sum(c["reject"] and c["gap"] < 0 for c in tested)
        self.assertIn(f"significantly below confidence in {below} of {len(tested)} tested cells", words)
        single = self.one("selection", level="macro", policy="single")
        self.assertIn(f"Over {single['positives']} positives that the heads of all 3 encoders scored, one head misses "
                      f"{100 * single['miss']:.1f} [{100 * single['miss_low']:.1f}, {100 * single['miss_high']:.1f}]", words)

    @unittest.skipUnless(shutil.which("pdflatex"), "no pdflatex here")
    def test_latex_compiles_as_it_is(self):
        self.assertEqual(compile_tables(self, os.path.join(self.folder, "r/tables")), [])  # all fit a page

    @unittest.skipUnless(shutil.which("chromium"), "no chromium here")
    def test_the_page_fits_a_phone_and_a_desk(self):
        for width in (390, 1280):
            found = in_browser(self.page, width, """
                const wide = [...document.querySelectorAll('caption > span, p, li, figcaption')].filter(
                    e => e.getBoundingClientRect().width > innerWidth).length;
                return [innerWidth, document.documentElement.scrollWidth <= innerWidth, wide].join(' ')""")
            self.assertEqual(found, f"{width} true 0")

    @unittest.skipUnless(shutil.which("chromium"), "no chromium here")
    def test_tables_are_sorted_and_filtered_by_keyboard(self):
        self.assertEqual(in_browser(self.page, 1280, """
            const t = document.getElementById('gaps-chest'), head = t.tHead.rows[0].cells[2], button = head.querySelector('button');
            button.focus();
            const focused = document.activeElement === button;
            button.click();
            const gaps = [...t.tBodies[0].rows].map(r => +r.cells[2].dataset.v);
            const order = gaps.every((v, i) => i === 0 || gaps[i - 1] <= v);
            const input = t.closest('.scroll').previousElementSibling.querySelector('input');
            input.value = 'ensemble';
            input.dispatchEvent(new Event('input'));
            const shown = [...t.tBodies[0].rows].filter(r => !r.hidden).length;
            return [focused, head.getAttribute('aria-sort'), order, shown, input.getAttribute('aria-label')].join(' ')"""),
                         "true ascending true 3 Only rows with, in chest: neighborhood impurity against other scores.")


class Folder(InFolder):
    """Nothing of the user's is ever replaced."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        done = candor("run", f"{SOURCE}/inputs/wdbc/study.toml", "-o", "w.h5", "--quiet", "--set", "bootstrap.resamples=20",
                      cwd=cls.folder)
        assert done.returncode == 0, done.stderr

    def refused(self, text, *words):
        done = candor("report", "w.h5", *words, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn(text, done.stderr)

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_a_folder_of_something_else_is_left_alone(self):
        os.mkdir(self.path("mine"))
        open(self.path("mine/index.html"), "w").close()
        for words in ([], ["--overwrite"]):
            self.refused("no report of candor", "-o", "mine", *words)
        self.assertEqual(os.listdir(self.path("mine")), ["index.html"])

    def test_a_file_a_link_and_the_folder_itself_are_refused(self):
        open(self.path("file"), "w").close()
        os.symlink("elsewhere", self.path("link"))
        self.refused("is not a folder", "-o", "file")
        self.refused("is not a folder", "-o", "link", "--overwrite")
        self.refused("cannot be replaced", "-o", ".")
        self.refused("name the folder")

    def test_a_report_is_replaced_when_asked_but_not_what_was_added(self):
        self.assertEqual(candor("report", "w.h5", "-o", "r", cwd=self.folder).returncode, 0)
        self.refused("--overwrite", "-o", "r")
        os.remove(self.path("r/index.html"))
        self.assertEqual(candor("report", "w.h5", "-o", "r/", "--overwrite", cwd=self.folder).returncode, 0)
        self.assertTrue(os.path.exists(self.path("r/index.html")))
        open(self.path("r/figures/notes.txt"), "w").close()
        self.refused('"figures/notes.txt"', "-o", "r", "--overwrite")
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith("r.")])

    def test_what_a_killed_report_left_stands_in_nobodys_way(self):
        self.assertEqual(candor("report", "w.h5", "-o", "k", cwd=self.folder).returncode, 0)
        os.rename(self.path("k"), self.path("k.part"))
        self.assertEqual(candor("report", "w.h5", "-o", "k", cwd=self.folder).returncode, 0)
        self.assertFalse(os.path.exists(self.path("k.part")))

    def test_a_missing_parent_is_the_machines_fault_and_leaves_nothing(self):
        done = candor("report", "w.h5", "-o", "no/where", cwd=self.folder)
        self.assertEqual(done.returncode, 4)
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_a_file_that_is_no_results_file_makes_no_folder(self):
        open(self.path("x.h5"), "w").close()
        done = candor("report", "x.h5", "-o", "none", cwd=self.folder)
        self.assertEqual(done.returncode, 3)
        self.assertFalse(os.path.exists(self.path("none")))
        self.assertFalse(os.path.exists(self.path("none.part")))


if __name__ == "__main__":
    unittest.main()
