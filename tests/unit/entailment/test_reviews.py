"""Every finding has a correction or a review, and reviews name what the votes speak for."""

from __future__ import annotations

import polars as pl
import pytest

from audit.entailment.analysis import Entailment
from audit.entailment.corrections import corrections
from audit.entailment.dataset import EVENT, EntailmentDataset
from audit.entailment.measure import EntailmentMeasurements
from fixtures.entailed_release import measured_tuples, planted, stated
from fixtures.entailment_world.faults import FAULTS

RATE = 0.05


def reviewed(dataset: EntailmentDataset, positives: EntailmentDataset | None = None) -> set[tuple]:
    """``id, check, column, value, proposed`` of what people should judge again."""
    found = corrections(measured_tuples(dataset, positives).of(EntailmentMeasurements), RATE)
    kept = found.filter(action="review")
    return set(kept.select("id", "check", "column", "value", "proposed").iter_rows())


def events(*edges: tuple[str, str, bool], votes: tuple[int, ...] = ()) -> EntailmentDataset:
    """Events ``t0, t1, ...`` that entail another or not, with votes for valid of five."""
    dataset = stated((one, EVENT, one, other, valid) for one, other, valid in edges)
    if not votes:
        return dataset
    voted = dataset.tuples.with_columns(votes_valid=pl.Series(votes), votes=pl.lit(5, pl.Int64))
    return EntailmentDataset(voted, dataset.votes, voted.height, {}, ())


@pytest.mark.parametrize("name", FAULTS)
def test_every_finding_has_a_proposal_among_its_cases(name: str) -> None:
    measured = planted(name)[1]
    proposals = corrections(measured.of(EntailmentMeasurements), RATE)
    ids = measured.loaded.dataset.instances["instance"]
    findings = 0
    for check in Entailment.checks:
        assert check.cases is not None
        for finding in check.run(measured).findings:
            cases = ids.gather(check.cases(measured, finding))
            own = proposals.filter(
                pl.col("check") == check.name, pl.col("id").is_in(cases.implode())
            )
            assert len(own) > 0
            findings += 1
    assert findings > 0


def test_the_edge_of_a_cycle_with_the_fewest_votes_is_proposed_to_be_invalid() -> None:
    dataset = events(("a", "b", True), ("b", "c", True), ("c", "a", True), votes=(5, 5, 4))
    assert reviewed(dataset) == {("t2", "cycle", "label", "true", "false")}


def test_without_votes_each_edge_of_a_cycle_is_judged_again_and_nothing_proposed() -> None:
    dataset = events(("a", "b", True), ("b", "c", True), ("c", "a", True), ("a", "d", True))
    cycle = {(f"t{number}", "cycle", "label", "true", None) for number in range(3)}
    assert reviewed(dataset) == cycle


def test_an_edge_of_several_tuples_weighs_more_than_one_of_a_single_tuple() -> None:
    edges = [("a", "b", True), ("b", "c", True), ("c", "a", True)]
    dataset = events(*edges, *edges[:2])
    assert ("t2", "cycle", "label", "true", "false") in reviewed(dataset)


def test_synonyms_are_judged_again_without_a_proposal() -> None:
    dataset = events(("a", "b", True), ("b", "a", True), votes=(5, 4))
    both = {(one, "cycle", "label", "true", None) for one in ("t0", "t1")}
    assert reviewed(dataset) == both


@pytest.mark.parametrize(
    ("votes", "weakest", "label"),
    [((4, 5, 0), "t0", "true"), ((5, 4, 0), "t1", "true"), ((5, 5, 1), "t2", "false")],
)
def test_the_weakest_of_three_answers_of_a_chain_is_judged_again(
    votes: tuple[int, ...], weakest: str, label: str
) -> None:
    dataset = events(("a", "b", True), ("b", "c", True), ("a", "c", False), votes=votes)
    other = "false" if label == "true" else "true"
    assert reviewed(dataset) == {(weakest, "transitivity", "label", label, other)}


def test_an_edge_that_follows_from_others_is_left_to_people() -> None:
    dataset = events(("a", "b", True), ("b", "c", True), ("a", "c", True))
    assert reviewed(dataset) == {("t2", "redundant_edge", "label", "true", None)}


def test_of_opposite_answers_under_two_heads_the_minority_is_judged_again() -> None:
    nouns = [("a x", True), ("b x", True), ("c x", False)]
    dataset = stated((head, "Noun-Entail", "x", "y", valid) for head, valid in nouns)
    assert reviewed(dataset) == {("t2", "contradiction", "label", "false", "true")}


def test_a_generation_set_gets_what_it_lacks_and_loses_what_is_denied() -> None:
    dataset = events(("a", "b", True), ("c", "d", True), ("e", "f", False))
    generated = events(("a", "b", True), ("e", "f", True), ("g", "h", True))
    assert reviewed(dataset, generated) == {
        ("t1", "generation_mismatch", "generation set", "left out", "in it"),
        ("t2", "generation_mismatch", "generation set", "in it", "left out"),
    }


def test_votes_of_an_annotator_who_differs_are_proposed_the_other_way() -> None:
    dataset = planted("annotator_outlier")[0].dataset
    votes = dataset.votes
    found = {one for one in reviewed(dataset) if one[1] == "annotator_outlier"}
    assert found
    for number, _, column, value, proposed in found:
        annotator, vote = value.split(": ")
        own = votes.filter(id=number, annotator=annotator)["valid"].item()
        others = votes.filter(pl.col("annotator") != annotator, id=number)["valid"]
        assert (column, vote, proposed) == (
            "votes", str(own).lower(), f"{annotator}: {str(not own).lower()}"
        )  # fmt: skip
        assert (2 * others.sum() > len(others)) is not own
