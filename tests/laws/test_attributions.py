"""Attributions in any order, each row kept or counted; checks of releases that are made up here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import AuditError
from fixtures.attribution_files import ROW, adds_up, written
from fixtures.doors import made, read_attributions
from fixtures.examples import examples
from fixtures.explained_releases import TOKENS, explained_release, thirty_nodes, write_release

WORDS = ["Heart", "fail", "##ure", ".", "Ġno", "▁x", "end</w>", "[CLS]", "the", "é", "##", " "]
SCORES = st.floats(allow_nan=False, allow_infinity=False)
KINDS = ("none", "marks", "spans", "explanation")


def evidence(kind: str, offsets: list[list[int]]) -> st.SearchStrategy[dict[str, Any]]:
    """Evidence of one kind for tokens at some places."""
    n = len(offsets)
    mask = st.lists(st.integers(0, 1), min_size=n, max_size=n)
    spans = st.lists(st.sampled_from(offsets), max_size=3)
    own: dict[str, dict[str, st.SearchStrategy[Any]]] = {
        "none": {},
        "marks": {"marks": st.lists(mask, min_size=1, max_size=3)},
        "spans": {"spans": st.lists(spans, min_size=1, max_size=3), "offsets": st.just(offsets)},
        "explanation": {"explanation": st.sampled_from(["No heart FAILURE.", "the end", "x"])},
    }
    return st.fixed_dictionaries(own[kind])


@st.composite
def releases(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of a few texts by a few methods and seeds, and one row that is always sound."""
    kind, rows = draw(st.sampled_from(KINDS)), [ROW | {"id": "anchor"}]
    for number in range(draw(st.integers(1, 4))):
        tokens = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
        places = [[3 * place, 3 * place + 2] for place in range(len(tokens))]
        own = draw(evidence(kind, places))
        for method in draw(st.lists(st.sampled_from("ab"), min_size=1, unique=True)):
            row = st.fixed_dictionaries(
                {
                    "target": st.sampled_from(["428.0", "486"]),
                    "seed": st.integers(0, 2),
                    "gold": st.none() | st.booleans(),
                    "group": st.none() | st.just("g"),
                    "scores": st.lists(SCORES, min_size=len(tokens), max_size=len(tokens)),
                }
            )
            rows.append(
                {"id": f"n{number}", "method": method, "tokens": tokens, **draw(row), **own}
            )
    return rows


@examples(40)
@given(rows=releases(), draw=st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter_and_each_is_counted(
    rows: list[dict[str, Any]], draw: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    read = read_attributions(written(folder, *rows))
    draw.shuffle(rows)
    again = read_attributions(written(folder, *rows))
    in_memory = read_attributions(pl.DataFrame(rows, infer_schema_length=None))
    assert read.rows.equals(again.rows)
    assert read.rows.equals(in_memory.rows)
    assert read.ledger == again.ledger == in_memory.ledger
    assert adds_up(read.ledger)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"tokens": [], "scores": []}, "no_tokens"),
        ({"id": None}, "missing_value"),
        ({"scores": [1, 2]}, "length_differs"),
        ({"seed": 1.5}, "missing_value"),
    ],
)
def test_one_bad_row_is_counted(tmp_path: Path, fault: dict[str, Any], reason: str) -> None:
    bad = ROW | {"id": "bad"} | fault
    read = read_attributions(written(tmp_path, ROW, bad))
    assert read.rows["id"].to_list() == ["n1"]
    assert read.ledger[reason] == 1
    assert adds_up(read.ledger)
    with pytest.raises(AuditError, match=f"1 {reason}|are required"):
        read_attributions(written(tmp_path, bad))


def test_rows_under_one_key_are_counted(tmp_path: Path) -> None:
    again = ROW | {"scores": [0, 0, 0, 0, 0, 1]}
    assert read_attributions(written(tmp_path, ROW, ROW, ROW)).ledger["repeated"] == 2
    read = read_attributions(written(tmp_path, ROW, again, ROW | {"id": "n2"}))
    assert read.rows["id"].to_list() == ["n2"]
    assert read.ledger["conflicting"] == 2
    assert adds_up(read.ledger)


BODY = thirty_nodes()


def found(folder: Path, seed: int, ignored: str = "", instances: int = 240) -> Any:
    """The check's entry in a result, and the cases of its first finding."""
    rows = explained_release(seed, hierarchy=BODY, ignored=ignored, instances=instances)
    path, tree, _ = write_release(folder, rows, BODY)
    run = folder / f"{ignored}{seed}"
    made("explanations", path, "--hierarchy", tree, "--no-pdf", "--out", run)
    check = json.loads((run / "result.json").read_bytes())["checks"][0]
    first = check["findings"][:1]
    cases = made("cases", run, first[0]["id"]).split() if first else []
    return check, cases, rows


@pytest.mark.parametrize("ignored", ["b", "upper"])
def test_the_planted_branch_is_found_and_nothing_else(ignored: str, tmp_path: Path) -> None:
    check, cases, rows = found(tmp_path, 1, ignored)
    (finding,) = check["findings"]
    assert finding["id"] == f"evidence_ignored:m:{ignored}"
    evidence = finding["evidence"]
    assert evidence["concordance"] < 0.6
    assert {part["nodes"][0]["id"] for part in finding["parts"]} == {"first", "second"}
    below = BODY.descendants(ignored, with_self=True)
    labelled = {id for id, target in rows.select("id", "target").iter_rows() if target in below}
    assert {*cases} == labelled


@pytest.mark.slow
def test_a_node_that_its_labels_explain_folds_them(tmp_path: Path) -> None:
    check, _, _ = found(tmp_path, 1, "b", 480)
    assert len(check["findings"]) == 1
    assert check["folded"] > 0


@pytest.mark.slow
def test_a_model_that_looks_at_all_evidence_has_no_finding(tmp_path: Path) -> None:
    told = [bool(found(tmp_path, seed)[0]["findings"]) for seed in range(8)]
    assert sum(told) <= 1


ROWS = explained_release(1, hierarchy=BODY, instances=60)


def disagreeing(folder: Path, rows: pl.DataFrame) -> Any:
    """The check's entry in a result."""
    path, tree, _ = write_release(folder, rows, BODY)
    run = folder / "run"
    made("explanations", path, "--hierarchy", tree, "--no-pdf", "--out", run)
    checks = json.loads((run / "result.json").read_bytes())["checks"]
    return next(one for one in checks if one["name"] == "methods_disagree")


def test_two_methods_of_which_one_is_noise_are_told(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).normal(size=(len(ROWS), TOKENS)).tolist()
    own = pl.when(pl.col("method") == "second").then("noise").otherwise("scores")
    rows = ROWS.with_columns(noise=pl.Series(noise)).with_columns(scores=own).drop("noise")
    check = disagreeing(tmp_path, rows)
    (finding,) = check["findings"]
    assert finding["id"] == "methods_disagree:m:first:second"
    assert finding["evidence"]["above_high"] <= 0.05


def test_two_methods_that_share_their_signal_are_not(tmp_path: Path) -> None:
    assert disagreeing(tmp_path, ROWS)["status"] == "pass"


def test_one_method_has_nothing_to_agree_with(tmp_path: Path) -> None:
    check = disagreeing(tmp_path, ROWS.filter(pl.col("method") == "first"))
    assert check["status"] == "not_applicable"
