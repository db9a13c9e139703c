"""The reference against known answers: it has to be right before the program is compared with it."""

import math
import os
import tempfile
import unittest

import numpy as np

from reference import candor_reference as reference
from reference import associations, blind_sets, cohort, retention, streams
from reference.study_maker import make_study


def small_pool(positives, negatives, units=None, patients=None):
    """A pool of one context: the positives, then the negatives; the caller puts them in key order."""
    n = positives + negatives
    pool = cohort.Pool()
    pool.image = [f"image{i}" for i in range(n)]
    pool.dataset, pool.context, pool.contexts = [0] * n, [0] * n, ["all"]
    pool.labels = [[1]] * positives + [[0]] * negatives
    pool.patient = list(range(n)) if patients is None else list(patients)
    pool.identity, pool.asks, pool.answers = list(range(n)), [True] * n, [True] * n
    pool.units = {"e": units}
    return pool


def discordance(pool, rule, k, seed, cap=0):
    """Discordant and tied positives, and how many there are."""
    study = {"seed": seed, "operator": {"bank_cap": cap, "k": k, "candidates": rule, "draws": 1,
                                        "negative_queries": "none"}}
    cell = cohort.make_cell(study, pool, 0, "f", 0, rule)
    assert not cell.reason, cell.reason
    dm = reference.operator(pool.units["e"], cell.lists[0], cell.queries, k)[2]
    return (dm > 0).sum(), (dm == 0).sum(), len(dm)


class Primitives(unittest.TestCase):
    def test_xxh64_has_the_published_values(self):
        for data, value in ((b"", 0xEF46DB3751D8E999), (b"a", 0xD24EC4F1A98C6E5B),
                            (b"abc", 0x44BC2CF5AD770999),
                            (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1)):
            self.assertEqual(streams.xxh64(data), value)

    def test_philox_has_the_published_values(self):
        ones = 0xFFFFFFFF
        for counter, key, out in (
                ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
                ([ones] * 4, [ones] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
                ([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0],
                 [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1])):
            got = streams.philox4x32(np.array([counter], np.uint64), key)[0]
            self.assertEqual([int(x) for x in got], out)

    def test_below_is_the_multiply_shift(self):
        key = streams.xxh64(b"purpose", 7)
        got = streams.stream_below(7, "purpose", 3, 5, 1000)
        words = streams.philox4x32(np.array([[b, 0, 3, 0] for b in range(3)], np.uint64),
                                     (key & 0xFFFFFFFF, key >> 32)).reshape(-1, 2)
        for i in range(5):
            whole = int(words[i, 0]) | int(words[i, 1]) << 32
            self.assertEqual(int(got[i]), whole * 1000 >> 64)

    def test_benjamini_hochberg_leaves_undefined_values_out(self):
        q = reference.benjamini_hochberg([0.01, np.nan, 0.02, 0.03])
        np.testing.assert_allclose(q, [0.03, np.nan, 0.03, 0.03], rtol=1e-15)


class KnownAnswers(unittest.TestCase):
    def test_the_query_is_known_by_identity(self):
        """positives (1,0), (1,0), (0,1); negatives (0.8,0.6), (0.6,0.8), (-1,0): DM = -0.2, -0.2, +0.8."""
        units = np.array([[1, 0], [1, 0], [0, 1], [0.8, 0.6], [0.6, 0.8], [-1, 0]])
        pool = small_pool(3, 3, units)
        self.assertEqual(discordance(pool, "literal", 1, 42), (1, 0, 3))

    def test_distinct_sees_each_patient_once_and_never_its_own(self):
        patients = [0, 0, 1, 1, 2, 2, 0, 3, 3, 4, 5, 5]
        pool = small_pool(6, 6, patients=patients)
        study = {"operator": {"bank_cap": 0, "k": 1, "candidates": "distinct", "negative_queries": "all",
                              "draws": 1}, "seed": 1}
        cell = cohort.make_cell(study, pool, 0, "f", 0, "distinct")
        self.assertEqual(cell.n, 2)
        for x, sides in zip(cell.queries, cell.lists[0]):
            for side in sides:
                names = [patients[r] for r in side]
                self.assertEqual(len(names), len(set(names)))
                self.assertNotIn(patients[x], names)


class Instruments(unittest.TestCase):
    def test_overlap_of_ten(self):
        row = blind_sets.overlap_fields([(10, 4, 5)], 3)
        self.assertAlmostEqual(row["p"], 11 / 42, delta=1e-15)
        self.assertAlmostEqual(row["log10_p"], math.log10(11 / 42), delta=1e-15)
        self.assertAlmostEqual(row["expected_jaccard"], 1787 / 5880, delta=1e-15)
        self.assertAlmostEqual(row["delta_jaccard"], 0.5 - 1787 / 5880, delta=1e-15)

    def test_tails_beyond_the_range_of_doubles_and_close_to_one(self):
        ways, total = blind_sets.overlap_distribution([(22142, 9000, 9000)])
        self.assertAlmostEqual(blind_sets.log10_share(sum(ways[7000:]), total), -1993.3211, delta=5e-5)
        nearly = blind_sets.log10_share(10**40 - 1, 10**40)
        self.assertAlmostEqual(nearly * 1e40, -1 / math.log(10), delta=1e-15)

    def test_strata_add_up(self):
        """Two draws of one of two: the overlap is 0, 1 or 2 in 1, 2 and 1 of 4 cases."""
        self.assertEqual(blind_sets.overlap_distribution([(2, 1, 1), (2, 1, 1)]), ([1, 2, 1], 4))

    def test_half_is_no_majority(self):
        self.assertAlmostEqual(blind_sets.majority_share([0.5] * 3), 0.5, delta=1e-15)
        self.assertAlmostEqual(blind_sets.majority_share([0.5] * 4), 5 / 16, delta=1e-15)
        self.assertEqual(blind_sets.majority_share([1, 1, 0, 0]), 0)

    def test_spearman(self):
        x = list(range(11))
        y = [4, 1, 2, 3, 0, *range(5, 11)]  # squared rank differences 16 and 16
        rho, p, exact = associations.spearman_p(x, y)
        self.assertAlmostEqual(rho, 1 - 6 * 32 / 1320, delta=1e-15)
        self.assertAlmostEqual(p, 0.00081, delta=5e-6)
        self.assertTrue(math.isnan(exact))
        self.assertEqual(associations.spearman_p([1, 2, 3], [6, 5, 4]), (-1, 0, 1 / 3))
        # Mid-ranks 1.5 1.5 3 against 1 2 3: 1.5 / sqrt(1.5 * 2)
        self.assertAlmostEqual(retention.spearman([0, 0, 1], [1, 2, 3]), math.sqrt(3) / 2, delta=1e-15)
        self.assertTrue(math.isnan(retention.spearman([1, 1, 1], [1, 2, 3])))

    def test_areas_are_of_the_union_inside_the_image(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "boxes.csv")
            with open(path, "w", encoding="utf-8") as f:
                f.write("image_id,finding,x,y,width,height,image_width,image_height\n"
                        "a,f,0,0,4,4,10,10\na,f,2,2,4,4,10,10\na,g,-5,0,10,10,100,100\nb,f,,,,,10,10\n")
            areas = retention.read_areas(path)
        self.assertEqual(areas.keys(), {("a", "f"), ("a", "g")})
        self.assertAlmostEqual(areas["a", "f"], 0.28, delta=1e-15)
        self.assertAlmostEqual(areas["a", "g"], 0.005, delta=1e-15)


class ChanceLevel(unittest.TestCase):
    """Labels exchanged between rows, keys redrawn each time: what an encoder blind to the finding scores."""

    def rate(self, rule, k, positives, negatives, shuffles, cap=0):
        rng = np.random.default_rng([k, positives, negatives, len(rule)])
        x = rng.standard_normal((positives + negatives, 6))
        x /= np.linalg.norm(x, axis=1)[:, None]
        rates = []
        for shuffle in range(shuffles):
            pool = small_pool(positives, negatives, x[rng.permutation(len(x))])
            order = sorted(range(len(x)), key=lambda r: streams.image_key(pool.image[r], shuffle))
            for column in ("image", "labels", "patient"):
                setattr(pool, column, [getattr(pool, column)[r] for r in order])
            pool.units["e"] = pool.units["e"][order]
            discordant, ties, queries = discordance(pool, rule, k, shuffle, cap)
            rates.append((discordant + ties / 2) / queries)
        return np.mean(rates), np.std(rates, ddof=1) / np.sqrt(shuffles)

    def check(self, expected, *setting):
        mean, error = self.rate(*setting)
        # Four standard errors: a right reference fails one setting in 16,000, and the seed is fixed.
        self.assertLess(abs(mean - expected), 4 * error, f"{setting}: {mean} +- {error}, not {expected}")

    def test_equal_is_one_half_at_every_n(self):
        for positives, negatives, shuffles in ((7, 7, 500), (7, 40, 500), (11, 60, 200), (51, 51, 40)):
            self.check(0.5, "equal", 5, positives, negatives, shuffles)
        self.check(0.5, "equal", 1, 2, 9, 1500)
        self.check(0.5, "equal", 3, 30, 30, 100, 10)

    def test_distinct_without_repeats_is_one_half(self):
        self.check(0.5, "distinct", 5, 7, 20, 500)

    def test_literal_and_unequal_drift_as_their_closed_forms_say(self):
        for n in (3, 6, 10):
            self.check(n / (2 * n - 1), "literal", 1, n, n + 4, 800)
        for others, negatives in ((6, 20), (3, 12)):
            self.check(negatives / (negatives + others), "unequal", 1, others + 1, negatives, 800)


class WholeStudies(unittest.TestCase):
    def test_random_studies_are_scored_and_do_not_depend_on_the_order_of_rows(self):
        scored = 0
        for seed in range(3):
            with tempfile.TemporaryDirectory() as folder:
                plain = reference.run(make_study(os.path.join(folder, "a"), seed))
                shuffled = reference.run(make_study(os.path.join(folder, "b"), seed, order_seed=5))
            for task, (tables, cases, pool) in plain.items():
                scored += len(tables["cells"])
                other_tables, other_cases, other_pool = shuffled[task]
                self.assertEqual(pool.exclusions, other_pool.exclusions)
                self.assertEqual(cases["image_id"], other_cases["image_id"])
                np.testing.assert_array_equal(cases["dm"], other_cases["dm"])
                for name, rows in tables.items():
                    self.assertEqual(rows.keys(), other_tables[name].keys())
        self.assertGreater(scored, 0)


if __name__ == "__main__":
    unittest.main()
