"""Annotators against the majority of the others."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.engine.statistics.intervals import newcombe
from audit.entailment.dataset import NOUN, VOTES, EntailmentDataset
from audit.entailment.votes import LEAST_COMPARED, annotators
from fixtures.entailed_release import stated
from fixtures.entailment_world.faults import annotator_outlier
from fixtures.entailment_world.world import clean_world, dataset_of

BALLOTS = st.lists(
    st.dictionaries(st.sampled_from("abcde"), st.booleans()), min_size=1, max_size=12
)


def voted(ballots: list[dict[str, bool]], labels: list[bool] | None = None) -> EntailmentDataset:
    known = labels or [True] * len(ballots)
    made = stated((f"h{n}", NOUN, "h", f"c{n}", known[n]) for n in range(len(ballots)))
    votes = [(f"t{n}", who, said) for n, own in enumerate(ballots) for who, said in own.items()]
    return dataset_of(made.tuples, pl.DataFrame(votes, schema=VOTES, orient="row"))


@given(BALLOTS)
def test_rates_are_counted_vote_by_vote(ballots: list[dict[str, bool]]) -> None:
    table, dissents, _ = annotators(voted(ballots))

    expected: dict[str, list[int]] = {}
    against = set()
    for n, own in enumerate(ballots):
        for who, said in own.items():
            others = [vote for one, vote in own.items() if one != who]
            balance = sum(1 if vote else -1 for vote in others)
            agrees = balance * (1 if said else -1) > 0
            counts = expected.setdefault(who, [0, 0, 0])
            counts[0] += 1
            counts[1] += balance != 0
            counts[2] += agrees
            if balance and not agrees:
                against.add((who, f"t{n}", said))
    found = {
        row[0]: list(row[1:])
        for row in table.select("annotator", "votes", "compared", "agreeing").rows()
    }
    assert found == expected
    assert table["annotator"].to_list() == sorted(expected)
    assert set(dissents.rows()) == against
    assert table["p_value"].null_count() == table.height  # too few votes to test anyone


def test_an_outlier_has_a_low_rate_and_the_others_have_not() -> None:
    planted = annotator_outlier(clean_world(11))
    table, dissents, _ = annotators(planted.dataset)

    low = table.filter(pl.col("q_value") <= 0.05)
    assert low["annotator"].to_list() == list(planted.words)
    assert low["difference_high"].item() < 0
    assert set(dissents.filter(annotator=planted.words[0])["id"]) >= planted.ids
    row = low.row(0, named=True)
    votes = int(table["compared"].sum()) - row["compared"]
    bounds = newcombe(row["rate"], row["compared"], row["others"], votes)
    assert (row["difference_low"], row["difference_high"]) == pytest.approx(bounds)
    assert row["difference"] == pytest.approx(row["rate"] - row["others"])
    assert row["sensitivity"] < 0.75
    assert row["others"] == pytest.approx(0.92, abs=0.02)


def test_in_a_clean_world_nobody_is_told() -> None:
    table, _, doubted = annotators(clean_world(11))

    assert table["q_value"].null_count() == 0
    assert table["q_value"].min() > 0.05  # type: ignore[operator]
    assert doubted.is_empty()


def test_labels_that_votes_speak_against_are_doubted() -> None:
    draw = np.random.default_rng(0)
    truth = draw.random(200) < 0.5
    ballots = [
        {who: bool(one if draw.random() < 0.9 else not one) for who in "abcde"} for one in truth
    ]
    labels = [bool(one) for one in truth]
    labels[7] = not labels[7]
    ballots[7] = dict.fromkeys("abcde", not labels[7])

    _, _, doubted = annotators(voted(ballots, labels))

    assert "t7" in doubted["id"].to_list()
    assert doubted.height < 10


def test_annotators_with_few_votes_are_not_tested() -> None:
    ballots = [dict.fromkeys("abcd", True)] * LEAST_COMPARED
    ballots[0] = ballots[0] | {"e": False}
    table, _, _ = annotators(voted(ballots))

    assert table.filter(pl.col("p_value").is_null())["annotator"].to_list() == ["e"]
    assert table.filter(annotator="e")["rate"].item() == 0.0


def test_without_known_annotators_all_tables_are_empty() -> None:
    assert all(table.is_empty() for table in annotators(voted([{}])))
