"""Agreement of votes by relation, and labels that too few of them carry."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.entailment.dataset import NOUN, VERB, EntailmentDataset
from audit.analyses.entailment.declared import ALL, TABLES
from audit.analyses.entailment.votes import agreement, weak_labels
from audit.engine.statistics.raters import (
    agreement_of_sums,
    agreement_terms,
    equal_votes,
)
from fixtures.abspyramid_paper import AGREEMENT as PRINTED
from fixtures.abspyramid_paper import TABLE_1
from fixtures.entailed_release import stated

Row = tuple[str, bool, int | None, int | None]
COUNTS = st.integers(1, 7).flatmap(lambda votes: st.tuples(st.integers(0, votes), st.just(votes)))
ROWS = st.lists(
    st.tuples(st.sampled_from([NOUN, VERB]), st.booleans(), COUNTS | st.just((None, None))).map(
        lambda row: (row[0], row[1], *row[2])
    ),
    min_size=1,
    max_size=12,
)


def dataset_of(rows: list[Row]) -> EntailmentDataset:
    made = stated((f"h{n}", row[0], "h", f"c{n}", row[1]) for n, row in enumerate(rows))
    valid, votes = (pl.Series([row[place] for row in rows], dtype=pl.Int64) for place in (2, 3))
    return replace(made, tuples=made.tuples.with_columns(votes_valid=valid, votes=votes))


def value(table: pl.DataFrame, measure: str, relation: str = ALL) -> float | None:
    return table.filter(relation=relation, measure=measure)["value"].item()  # type: ignore[no-any-return]


@given(ROWS)
def test_values_are_those_of_the_tuples_one_by_one(rows: list[Row]) -> None:
    table = agreement(dataset_of(rows))

    several = [(valid, votes) for _, _, valid, votes in rows if votes is not None and votes > 1]
    if not several:
        assert table.is_empty()
        return
    counts = np.array([(valid, votes - valid) for valid, votes in several])
    expected = agreement_of_sums(agreement_terms(counts).sum(axis=0), equal=equal_votes(counts))
    for measure in ("pairwise", "fleiss", "alpha"):
        number = float(getattr(expected, measure))
        found = value(table, measure)
        assert found == (None if np.isnan(number) else pytest.approx(number))
        row = table.filter(relation=ALL, measure=measure).row(0, named=True)
        assert (row["reason"] is None) == (found is not None)
    unanimous = sum(valid in (0, votes) for valid, votes in several) / len(several)
    assert value(table, "unanimous") == unanimous
    assert (table["tuples"] == len(several)).any()
    assert (table["low"] <= table["high"]).all()


def five_votes(valid: list[int]) -> EntailmentDataset:
    return dataset_of([(NOUN, 2 * one > 5, one, 5) for one in valid])


def test_ten_items_of_five_votes() -> None:
    table = agreement(five_votes([5, 5, 5, 5, 4, 4, 1, 1, 0, 0]))

    assert value(table, "pairwise") == pytest.approx(0.84)
    assert round(value(table, "fleiss") or 0, 5) == 0.66667
    assert round(value(table, "alpha") or 0, 5) == 0.67333
    kappa, alpha = value(table, "fleiss") or 0, value(table, "alpha") or 0
    assert alpha == pytest.approx(kappa + (1 - kappa) / 50, abs=1e-12)


def test_the_papers_agreement_implies_its_kappa_and_unanimous_tuples() -> None:
    """Of tuples with 5 or 4 votes one way, their shares follow from the pairwise agreement."""
    pairwise, positive = PRINTED["pairwise"] / 100, TABLE_1["All"].positive / 100
    by_chance = positive**2 + (1 - positive) ** 2
    assert round((pairwise - by_chance) / (1 - by_chance), 4) == 0.5380
    unanimous = (pairwise - 0.6) / 0.4
    assert round(unanimous, 4) == 0.4405
    n = 10_000
    split = [5] * round(n * unanimous) + [4] * (n - round(n * unanimous))
    table = agreement(five_votes(split))
    assert value(table, "pairwise") == pytest.approx(pairwise, abs=1e-4)
    assert value(table, "unanimous") == pytest.approx(unanimous, abs=1e-4)


@pytest.mark.slow
def test_intervals_cover_what_votes_were_drawn_with() -> None:
    """Tuples are valid or not with three votes for what they are, each right in 85 of 100."""
    draw = np.random.default_rng(7)
    expected, covered = 0.85**2 + 0.15**2, 0
    for _ in range(200):
        truth = draw.random(300) < 0.5
        right = draw.binomial(5, 0.85, 300)
        valid = np.where(truth, right, 5 - right)
        row = agreement(five_votes(valid.tolist())).filter(relation=ALL, measure="pairwise")
        covered += int(row["low"].item() <= expected <= row["high"].item())
    assert 180 <= covered <= 199


@given(ROWS, st.randoms())
def test_the_order_of_tuples_does_not_matter(rows: list[Row], draw: object) -> None:
    shuffled = list(rows)
    draw.shuffle(shuffled)  # type: ignore[attr-defined]
    assert agreement(dataset_of(rows)).equals(agreement(dataset_of(shuffled)))


def test_without_votes_there_is_no_agreement() -> None:
    empty = agreement(dataset_of([(NOUN, True, None, None)]))
    assert empty.is_empty()
    assert empty.columns == list(TABLES["quality_agreement"].columns)


def test_reasons_say_what_is_lacking() -> None:
    uneven = agreement(dataset_of([(NOUN, True, 3, 5), (NOUN, True, 1, 2)])).drop_nulls("reason")
    alike = agreement(five_votes([5, 5])).drop_nulls("reason")

    assert set(uneven.select("measure", "reason").rows()) == {
        ("fleiss", "tuples differ in their number of votes")
    }
    assert set(alike.select("measure", "reason").rows()) == {
        ("fleiss", "all votes are alike"), ("alpha", "all votes are alike"),
    }  # fmt: skip


def test_four_of_five_votes_carry_a_label_and_three_do_not() -> None:
    rows = [(NOUN, valid > 2, valid, 5) for valid in range(6)]
    _, weak = weak_labels(dataset_of(rows))
    assert weak.select("id", "for_label").rows() == [("t2", 3), ("t3", 3)]


@given(ROWS)
def test_weak_labels_have_less_than_four_fifths_of_the_votes(rows: list[Row]) -> None:
    table, weak = weak_labels(dataset_of(rows))

    expected = {}
    for n, (_, label, valid, votes) in enumerate(rows):
        if votes is None or valid is None:
            continue
        own = valid if label else votes - valid
        if 2 * own == votes:
            expected[f"t{n}"] = "tie"
        elif 2 * own < votes:
            expected[f"t{n}"] = "against"
        elif 5 * own < 4 * votes:
            expected[f"t{n}"] = "weak"
    assert dict(weak.select("id", "kind").iter_rows()) == expected
    everything = table.filter(relation=ALL).to_dicts()
    voted = sum(row[3] is not None for row in rows)
    if voted:
        (row,) = everything
        kinds = list(expected.values())
        assert (row["tuples"], row["weak"]) == (voted, len(kinds))
        assert (row["ties"], row["against"]) == (kinds.count("tie"), kinds.count("against"))
