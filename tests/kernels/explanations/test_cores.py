"""Formulas of explanations at their edges, beside scipy, loops over tokens and regressions."""

from __future__ import annotations

from itertools import groupby, product
from math import atanh, nan
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from audit.analyses.explanations.agreement import agreement, expected_agreement, peaks
from audit.analyses.explanations.alignment import aligned_rows, with_examples
from audit.analyses.explanations.evidence import APART, WITHIN, compared, concordance
from audit.analyses.explanations.plausibility import METRICS, judged_rows, plausibility, span_scores
from audit.analyses.explanations.rows import fisher, pearson, ranking, row_keys
from fixtures.brute_force_agreement import agreement_of, average_precision_of, released_peaks, top_k
from fixtures.examples import examples

THIRDS = (0, 0, 1 / 3, 2 / 3, 1)
whole = st.lists(st.integers(-3, 3), min_size=1, max_size=12)
sets = st.integers(1, 90).flatmap(
    lambda n: st.tuples(
        st.just(n), st.lists(st.sets(st.integers(0, n - 1)), min_size=1, max_size=6)
    )
)


def test_peaks_are_at_least_the_mean_and_of_equal_neighbours_the_middle_one() -> None:
    rows = [[1, 3, 3, 2, 0, 4], [4, 4, 0, 0, 1, 0], [0, 3, 3, 3, 0, 3], [2, 2, 2, 2, 2, 2]]
    assert [np.flatnonzero(row).tolist() for row in peaks(np.array(rows, float))] == [
        [1, 5], [0], [2, 5], [2],
    ]  # fmt: skip
    assert peaks(np.array([[-1.0], [0.0]])).all()


@given(whole)
def test_released_peaks_on_anything(scores: list[int]) -> None:
    found = peaks(np.array([scores], float), "kamp")
    assert set(np.flatnonzero(found).tolist()) == released_peaks(scores)


def test_a_score_equal_to_the_mean_reaches_it_in_spite_of_rounding() -> None:
    thirds = np.array([3, 0, 1, 3, 1, 0, 1, 0, 0, 2, 0]) / 3
    assert peaks((thirds * 3)[None]).tolist() == peaks(thirds[None]).tolist()


@given(sets)
def test_agreement_is_that_of_the_equations(case: tuple[int, list[set[int]]]) -> None:
    n, chosen = case
    marks = np.array([[token in one for token in range(n)] for one in chosen])
    assert agreement(marks) == pytest.approx(agreement_of(chosen, n), nan_ok=True)
    assert not agreement(marks[[0] * 4]) < 1


@given(st.integers(1, 200), st.lists(st.integers(0, 200), min_size=1, max_size=6))
def test_chance_lies_between_the_floor_and_one(n: int, k: list[int]) -> None:
    k = [min(one, n) for one in k]
    chance = expected_agreement(np.array([k]), n)[0]
    assert np.isnan(chance) == (max(k) == 0)
    assert np.isnan(chance) or 1 / len(k) - 1e-9 <= chance <= 1 + 1e-9
    if min(k) == n:
        assert chance == pytest.approx(1)


@given(whole)
def test_ranks_are_scipys_and_the_highest_come_first(scores: list[int]) -> None:
    row = np.array([scores], float)
    found = ranking(row, np.array([7], np.uint64))
    assert found.ranks[0].tolist() == stats.rankdata([-one for one in scores]).tolist()
    ordered = row[0, found.order[0]]
    assert (np.diff(ordered) <= 0).all()
    for k in range(1, len(scores)):
        assert found.tied_at(k)[0] == (ordered[k - 1] == ordered[k])


def test_keys_choose_evenly_among_equal_scores_by_names_and_seed_alone() -> None:
    frame = pl.DataFrame({"id": [f"{n}" for n in range(20_000)]}).with_columns(
        target=pl.lit("t"), method=pl.lit("a"), model=pl.lit("m"), seed=pl.lit(0)
    )
    keys = row_keys(frame, 1)
    first = ranking(np.zeros((len(keys), 5)), keys.to_numpy()).order[:, 0]
    assert np.bincount(first, minlength=5) / len(keys) == pytest.approx(0.2, abs=0.015)
    assert row_keys(frame[::-1], 1).to_list() == keys.to_list()[::-1]
    assert not (row_keys(frame, 2) == keys).any()


values = st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 2)), min_size=1, max_size=8)


@given(values)
def test_correlations_are_scipys_and_fishers_transform_finite_or_nothing(
    drawn: list[tuple[int, int]],
) -> None:
    left, right = np.array(drawn, float).T
    varies = len(set(left)) > 1 and len(set(right)) > 1
    wanted = stats.pearsonr(left, right).statistic if varies else nan
    found = pearson(left[None], right[None])
    assert found == pytest.approx([wanted], nan_ok=True)
    z = fisher(found)[0]
    assert np.isnan(z) if not abs(wanted) < 1 - 1e-12 else np.tanh(z) == pytest.approx(wanted)


Row = dict[str, Any]


def attributed(rows: list[Row]) -> pl.DataFrame:
    """Rows of attributions from ``id, tokens, scores, marks`` and what differs from the usual."""
    usual = {"target": "t", "method": "ig", "model": "m", "seed": 0, "gold": True, "group": None,
             "predicted": True, "borrowed": False, "marks": None}  # fmt: skip
    frame = pl.DataFrame([usual | row for row in rows], infer_schema_length=None)
    frame = frame.cast({"marks": pl.List(pl.Float64), "scores": pl.List(pl.Float64)})
    said = [
        sorted({t for t, m in zip(row["tokens"], row["marks"], strict=True) if m})
        if row.get("marks")
        else None
        for row in rows
    ]
    return frame.with_columns(words="tokens", said=pl.Series(said, dtype=pl.List(pl.String))).sort(
        "id", "target", maintain_order=True
    )


def aligned(rows: list[Row], **informed: list[str]) -> pl.DataFrame:
    frame = with_examples(attributed(rows))
    return aligned_rows(frame, "" if informed else "marks", informed, draws=4, seed=7)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=8), st.integers(0, 2**32))
def test_others_lend_what_they_say_and_nobody_of_ones_own_group(
    groups: list[int], seed: int
) -> None:
    """Each text says its own word, which all texts hold: whose it was is told by the scores."""
    tokens = [f"w{n}" for n in range(len(groups))] + ["x", "y", "z"]
    scores = np.random.default_rng(seed).gamma(2, size=(len(groups), len(tokens)))
    rows = [
        {"id": f"{n}", "tokens": tokens, "scores": scores[n].tolist(), "group": f"g{group}",
         "marks": [float(token == f"w{n}") for token in tokens]}
        for n, group in enumerate(groups)
    ]  # fmt: skip
    frame = with_examples(attributed(rows))
    found = aligned_rows(frame, "marks", {}, draws=1, seed=seed)
    lends = set()
    for one in found.iter_rows(named=True):
        own = scores[int(one["id"])]
        z = {
            m: atanh(stats.pearsonr(own, np.eye(len(tokens))[m]).statistic)
            for m in range(len(groups))
        }
        assert one["c"] == pytest.approx(z[int(one["id"])])
        assert one["draws"] == (one["difference"] is not None)
        if one["draws"]:
            (lender,) = [m for m in z if one["c"] - z[m] == pytest.approx(one["difference"])]
            assert groups[lender] != groups[int(one["id"])]
            lends.add(lender)
    assert len(lends) == found["draws"].sum()
    if 2 * max(map(groups.count, groups)) <= len(groups):
        assert len(lends) == len(groups)


def test_what_has_no_correlation_or_no_baseline_has_no_difference() -> None:
    text, other, marked = [*"abcde"], [*"vwxyz"], [1, 1, 0, 0, 0]
    cases: dict[str, tuple[list[str], list[float], list[int] | None]] = {
        "used": (text, [5, 4, 3, 2, 2], marked), "none": (text, [5, 4, 3, 2, 1], None),
        "short": (text[:3], [5, 4, 3], [1, 0, 0]), "flat": (text, [1, -1, 1, -1, 1], marked),
        "empty": (text, [5, 4, 3, 2, 1], [0] * 5), "whole": (text, [5, 4, 3, 2, 1], [1] * 5),
        "perfect": (text, [2, 2, 1, 1, 1], marked), "alone": (other, [5, 4, 3, 2, 1], marked),
    }  # fmt: skip
    rows = [
        {"id": name, "tokens": tokens, "scores": scores, "marks": marks}
        for name, (tokens, scores, marks) in cases.items()
    ]
    assert aligned(rows).drop_nulls("difference")["id"].to_list() == ["used"]


def test_an_example_is_common_if_every_model_and_seed_has_it_wrong() -> None:
    answers = {"w": False, "r": True, "?": None}
    told = {"x0": "ww", "x1": "wr", "x2": "rr", "x3": "w?"}
    rows = [
        {"id": name, "tokens": [*"abcd"], "scores": [3, 1, 2, 0], "marks": [1, 0, 0, 0],
         "seed": seed, "model": f"m{seed}", "predicted": answers[outcome]}
        for name, outcomes in told.items()
        for seed, outcome in enumerate(outcomes)
    ]  # fmt: skip
    found = aligned(rows)
    named = {name: found.filter(name).select("id", "seed").rows() for name in ("wrong", "right")}
    assert named["wrong"] == [("x0", 0), ("x0", 1), ("x1", 0), ("x3", 0)]
    assert named["right"] == [("x1", 1), ("x2", 0), ("x2", 1)]
    assert found.filter("common")["id"].to_list() == ["x0", "x0"]


def test_informed_rows_count_where_their_text_begins_alike() -> None:
    text, scores = [*"abcde"], [5.0, -4.0, 3.0, 1.0, 2.0]
    read = [1.0, -2.0, 3.0, 4.0, 5.0, 6.0]
    rows = [
        {"id": name, "tokens": tokens, "scores": own, "model": model}
        for name, tokens, own, model in [
            ("x", text, scores, "m"), ("x", [*text, "f"], read, "informed"),
            ("y", text, scores, "m"), ("y", [*text[:4], "ee", "f"], read, "informed"),
            ("z", text, scores, "m"), ("z", text[:4], read[:4], "informed"),
        ]
    ]  # fmt: skip
    wanted = atanh(stats.pearsonr(np.abs(scores), np.abs(read[:5])).statistic)
    assert aligned(rows, m=["informed"])["c"].to_list() == [pytest.approx(wanted), None, None]


def drawn_rows(ties: bool, texts: int = 60) -> list[Row]:
    draw = np.random.default_rng(7 + ties)
    lengths = draw.integers(1, 25, texts)
    make = (lambda n: draw.integers(-2, 3, n)) if ties else (lambda n: draw.normal(size=n))
    return [
        {"id": f"{place:03}", "tokens": [f"w{k}" for k in range(n)], "target": f"t{place % 4}",
         "scores": np.asarray(make(n), float).tolist(), "marks": draw.choice(THIRDS, n).tolist()}
        for place, n in enumerate(lengths)
    ]  # fmt: skip


@pytest.mark.parametrize("ties", [False, True])
def test_scores_are_judged_as_the_definitions_say(ties: bool) -> None:
    rows = drawn_rows(ties)
    for row, found in zip(rows, judged_rows(attributed(rows)).to_dicts(), strict=True):
        scores, evidence = row["scores"], {k for k, m in enumerate(row["marks"]) if m >= 0.5}
        flags = [k in evidence for k in range(len(scores))]
        wanted = {"average_precision": average_precision_of(scores, flags)}
        sizes = {"absolute": np.abs(scores), "positive": np.maximum(scores, 0)}
        for name, size in sizes.items():
            inside = size[flags].sum() / size.sum() if size.sum() and evidence else nan
            wanted[f"mass_{name}"] = inside
        of = {"dynamic": {*np.flatnonzero(peaks(np.array(scores))).tolist()}}
        if not ties:
            of |= {"fixed": top_k(scores, 4), "evidence": top_k(scores, len(evidence))}
        for rule, chosen in of.items():
            both, size = len(chosen & evidence), len(chosen) + len(evidence)
            wanted[f"jaccard_{rule}"] = both / (size - both) if evidence else nan
            wanted[f"token_f1_{rule}"] = 2 * both / size if evidence else nan
        for name, value in wanted.items():
            assert (nan if found[name] is None else found[name]) == pytest.approx(
                value, nan_ok=True
            )


def test_chance_is_the_mean_over_random_scores() -> None:
    draw, n = np.random.default_rng(0), 9
    rows = [
        {"id": f"{place}", "tokens": [*"abcdefghi"], "scores": draw.normal(size=n).tolist(),
         "marks": [float(k in (0, 1, 4)) for k in range(n)]}
        for place in range(6_000)
    ]  # fmt: skip
    found = plausibility(judged_rows(attributed(rows)))
    assert found["metric"].to_list() == [*METRICS]
    for metric, value, chance in found.select("metric", "value", "chance").iter_rows():
        assert value == pytest.approx(chance, abs=0.02), metric


Spans = set[tuple[int, int]]


def spans(marked: list[bool]) -> Spans:
    runs = [(on, list(run)) for on, run in groupby(range(len(marked)), marked.__getitem__)]
    return {(own[0], own[-1] + 1) for on, own in runs if on}


def test_micro_and_macro_f1_are_those_of_spans_one_by_one() -> None:
    rows = drawn_rows(ties=True)
    positive = [spans([score > 0 for score in row["scores"]]) for row in rows]
    evidence = [spans([mark >= 0.5 for mark in row["marks"]]) for row in rows]
    pairs = [*zip([row["target"] for row in rows], positive, evidence, strict=True)]

    def f1(chosen: list[tuple[str, Spans, Spans]], exact: bool) -> float:
        def right(own: Spans, others: Spans) -> int:
            if exact:
                return len(own & others)
            return sum(any(a < d and c < b for c, d in others) for a, b in own)

        hits = [sum(right(c, t) for _, c, t in chosen), sum(right(t, c) for _, c, t in chosen)]
        precision = hits[0] / max(sum(len(c) for _, c, _ in chosen), 1)
        recall = hits[1] / sum(len(t) for _, _, t in chosen)
        return 2 * precision * recall / (precision + recall)

    table = span_scores(judged_rows(attributed(rows))).filter(rule="positive")
    for row in table.iter_rows(named=True):
        exact = row["match"] == "exact"
        by_label = [f1([pair for pair in pairs if pair[0] == f"t{k}"], exact) for k in range(4)]
        assert [row["micro"], row["macro"]] == pytest.approx([f1(pairs, exact), np.mean(by_label)])
        assert row["micro_low"] < row["micro"] < row["micro_high"]
        assert (row["labels"], row["n"]) == (4, len(rows))


SCORES, GRADES = st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.sampled_from([0.0, 0.02, 0.4, 1.0])


@examples(60)
@given(st.lists(st.tuples(SCORES, GRADES), min_size=1, max_size=9))
def test_concordance_is_the_share_of_pairs_in_order_by_how_far_their_marks_differ(
    tokens: list[tuple[float, float]],
) -> None:
    won = weight = 0.0
    for (s, m), (t, n) in product(tokens, repeat=2):
        weight += max(m - n, 0)
        won += max(m - n, 0) * ((s > t) + (s == t) / 2)
    scores, marks = np.array(tokens).T
    found = concordance(scores[None], marks[None])[0]
    assert found == pytest.approx(won / weight if weight else nan, nan_ok=True, abs=1e-12)


def examples_of(**columns: Any) -> pl.DataFrame:
    n = len(columns["concordance"])
    ids = columns.pop("id", [f"i{k:03}" for k in range(n)])
    frame = pl.DataFrame({"id": ids, **columns})
    usual = {"tokens": 20.0, "marked": 3.0, "graded": 0.0}
    return frame.with_columns(pl.lit(v).alias(k) for k, v in usual.items() if k not in columns)


def test_within_bins_it_is_a_regression_on_bins_and_node_with_errors_by_instance() -> None:
    rng, n = np.random.default_rng(0), 120
    tokens, marked = rng.choice([10.0, 17.0, 30.0], n), rng.choice([1.0, 2.0, 4.0], n)
    value, inside = rng.random(n) + marked / 9, rng.random(n) < 0.4
    people = np.arange(n) // 2
    frame = examples_of(
        concordance=value, tokens=tokens, marked=marked, id=[f"i{p:03}" for p in people]
    )
    found = compared(frame, inside)
    assert found is not None
    assert found["compared"] == WITHIN
    bins = [*zip(tokens, marked, strict=True)]
    own = sorted(
        {
            b
            for b in bins
            if {i for i, c in zip(inside, bins, strict=True) if c == b} == {True, False}
        }
    )
    rows = [row for row in range(n) if bins[row] in own]
    design = np.array([[bins[row] == b for b in own] + [inside[row]] for row in rows], float)
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ value[rows]
    left, at = value[rows] - design @ beta, people[rows]
    sums = [left[at == one] @ design[at == one] for one in set(at)]
    scale = len(sums) / (len(sums) - 1)
    error = ((inverse @ sum(np.outer(s, s) for s in sums) @ inverse)[-1, -1] * scale) ** 0.5
    t = stats.t(min(len(set(at[inside[rows] == side])) for side in (True, False)) - 1)
    names = ("concordance_difference", "concordance_high", "p_value", "concordance")
    wanted = [beta[-1], beta[-1] + t.ppf(0.975) * error, t.cdf(beta[-1] / error)]
    wanted.append(value[rows][inside[rows]].mean())
    assert [found[name] for name in names] == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("n", "tokens", "graded", "how"),
    [
        *((60, 20, 0, WITHIN), (60, 29, 0, APART), (60, 20, 1, APART)),
        *((22, 20, 0, WITHIN), (20, 20, 0, "")),
    ],
)
def test_other_lengths_and_few_instances_are_not_compared(
    n: int, tokens: float, graded: float, how: str
) -> None:
    inside = np.arange(n) < n / 2
    value = np.random.default_rng(0).random(n) - 0.9 * inside
    sizes = {"tokens": np.where(inside, tokens, 20.0), "graded": np.where(inside, graded, 0.0)}
    found = compared(examples_of(concordance=value, **sizes), inside)
    assert (found is None) == (not how)
    if found:
        assert (found["compared"], found["low"]) == (how, how == WITHIN)
        assert (found["p_value"] is None) == (how == APART)
