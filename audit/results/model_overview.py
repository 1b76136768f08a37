"""Data of the report's figures on a model, suppressed for sharing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from audit.disclosure import (
    Cell,
    Quantity,
    Shown,
    carried,
    in_proportion,
    is_small,
    shown,
    shown_count,
    shown_in_steps,
    together,
    withheld_last,
)
from audit.results.findings import EXCHANGES, finding_id
from audit.results.overview import Overview
from audit.results.pictured_pairs import Published
from audit.results.record import Record
from audit.results.shared_tables import columns, shared_rows

MOST_CONFUSED = 15
"""Number of most confused pairs that get an interval and are shown in reports."""
_ANSWERS = columns("node", "share", "falsely missed hits answers labelled")


def model_overview(
    run: Record,
    beside: Sequence[Mapping[str, Any]],
    counts: Published,
) -> Overview:
    """Metric scopes, behaviours, exchanges, and pairs of data and model side by side.

    Args:
        beside: The pairs that the model confuses most, from `confused`.
        counts: The data's counts as they may be shown, by cell.

    Returns:
        Lists of rows by figure. Examples are shown only if all counts are. Sums of exchanges are in
        steps: pairs that are told are parts of them, and accuracies tell those of single answers.
    """
    model, titles = run.model, run.titles
    depths = dict(run.nodes.select("node", "depth").iter_rows())
    behaviours, exchanges = ((), ()) if model is None else (model.behaviours, model.exchanges)
    scopes = () if model is None else sorted(model.scopes)
    listed = () if model is None else model.exchanged_pairs
    return {
        "scopes": [
            {"node": node, "title": titles.get(node), "depth": depths[node]} for node in scopes
        ],
        "behaviours": _behaviours(behaviours, run.min_cell),
        "exchanges": _exchange_kinds(run, exchanges),
        "branch_exchanges": _branch_exchanges(run, exchanges),
        "exchanged_pairs": _exchanged(run, listed),
        "answers": [] if model is None else _answers(run, model.answers),
        "data_beside_model": withheld_last(
            (_beside(row, run, counts) for row in beside), "confusion", "a", "b"
        ),
    }


def _behaviours(rows: Sequence[Mapping[str, Any]], min_cell: int) -> list[dict[str, Any]]:
    """Kinds of behaviour; most exclude each other, so that together they tell of how few is none.

    The smallest one is then a bound.
    """
    shown: list[Shown] = [shown_count(row["instances"], [row["of"]], min_cell) for row in rows]
    exact = [(n, place) for place, n in enumerate(shown) if isinstance(n, int) and n]
    if exact and is_small(rows[0]["of"] - sum(row["instances"] for row in rows), min_cell):
        shown[min(exact)[1]] = f">{min_cell - 1}"
    return [_behaviour(row, one, min_cell) for row, one in zip(rows, shown, strict=True)]


def _behaviour(behaviour: Mapping[str, Any], shown: Shown, min_cell: int) -> dict[str, Any]:
    hidden = isinstance(shown, str) or not behaviour["of"]
    return {
        "name": behaviour["name"],
        "title": behaviour["title"],
        "instances": shown,
        "of": behaviour["of"],
        "share": None if hidden else behaviour["instances"] / behaviour["of"],
        **{name: None if hidden else behaviour[name] for name in ("low", "high")},
        "examples": list(behaviour["examples"]) if min_cell == 1 else [],
    }


def _exchange_kinds(run: Record, exchanges: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"kind": row["kind"], "exchanges": _of_lines(run, row["observed"])}
        for row in exchanges
        if row["kind"] != "branches"
    ]


def _branch_exchanges(run: Record, exchanges: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Exchanges of two branches, the largest shown excess first, then those withheld."""
    return _by_excess(
        {
            "a": row["a"],
            "b": row["b"],
            **_titles(row, run),
            **_beside_chance(
                _of_lines(run, row["observed"]),
                in_proportion(row["expected"], row["margin"], run.min_cell),
            ),
        }
        for row in exchanges
        if row["kind"] == "branches"
    )


def _of_lines(run: Record, exchanges: int) -> Shown:
    """A sum of exchanges in steps; of several labels an instance, it is no part of a total."""
    model, min_cell = run.ledger["predictions"], run.min_cell
    single, instances = model["single_label"], model["instances_matched"]
    total = instances if single else exchanges + 2 * min_cell
    return shown_in_steps(exchanges, total, min_cell)


def _beside_chance(observed: Shown, expected: Shown) -> dict[str, Shown]:
    """Exchanges as they are told, and beside them what is expected, if both are."""
    if not isinstance(observed, int) or not isinstance(expected, float):
        return {"observed": observed, "expected": None, "excess": None}
    return {"observed": observed, "expected": expected, "excess": observed - expected}


def exchange_evidence(row: Mapping[str, Any], *, one_answer: bool) -> dict[str, Quantity]:
    """The counts of two confused labels, and numbers that may be shown only beside all of them.

    How many have one of the labels is not told: three such sums would tell each label. Nor is how
    often each is mistaken, with which the expectation grows. Where instances have one answer, what
    the two are mistaken for each other are wrong answers: counts are in steps.
    """
    observed, margin = row["observed"], (row["margin"],)
    told = {
        "instances": Quantity(observed, "count", untold=(row["labelled"],)),
        "first_as_second": Quantity(
            row["forth"], "count", (observed,), untold=(row["labelled_a"],)
        ),
        "second_as_first": Quantity(row["back"], "count", (observed,), untold=(row["labelled_b"],)),
    }
    if one_answer:
        told = {name: replace(n, kind="coarse", totals=()) for name, n in told.items()}
    counts = () if one_answer else tuple(told)
    return {
        **told,
        "expected_exchanges": Quantity(row["expected"], "proportional", margin, counts),
        "q_value": Quantity(row["q_value"], "digits", margin * 2, counts),
    }


def _exchanged(run: Record, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Pairs as their findings tell them, the largest excess that is shown first."""
    lines = []
    for row in rows:
        told = _told(run, row)
        lines.append(
            {
                **{name: row[name] for name in ("a", "b", "relation", "passes")},
                **_titles(row, run),
                **_beside_chance(told["instances"], told["expected_exchanges"]),
            }
        )
    return _by_excess(lines)


def _by_excess(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The largest excess that is shown first, then those withheld."""
    return sorted(
        lines,
        key=lambda line: (line["excess"] is None, -(line["excess"] or 0), line["a"], line["b"]),
    )


def _told(run: Record, row: Mapping[str, Any]) -> Mapping[str, Shown]:
    """The evidence of a pair as a finding on it shows it."""
    evidence = exchange_evidence(row, one_answer=run.ledger["predictions"]["single_label"])
    finding = finding_id(EXCHANGES, row["a"], row["b"])
    alone = shown(evidence, run.min_cell)
    counts = {
        name: run.known.no_finer((finding, (), name), one.value, alone[name])
        for name, one in evidence.items()
        if one.kind == "count"
    }
    return shown(evidence, run.min_cell, counts)


def _answers(run: Record, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Answers given falsely, their counts in steps: pairs that are told are parts of them."""
    totals = {"instances": int(run.ledger["predictions"]["instances_matched"])}
    told = shared_rows(pl.DataFrame(rows), _ANSWERS, totals, run.min_cell) if rows else []
    return [{**line, "title": run.titles[line["node"]]} for line in told]


def _titles(row: Mapping[str, Any], run: Record) -> dict[str, str | None]:
    return {f"title_{end}": run.titles[row[end]] for end in ("a", "b")}


def confused(run: Record) -> list[dict[str, Any]]:
    """The unrelated pairs of labels that the model confuses most, with their counts in the data.

    These are rows of the model's pair table with ``joint_data``; none without predictions.
    """
    if run.model is None:
        return []
    labelled = run.nodes.filter(pl.col("direct") > 0)["node"]
    top = most_confused(run.model.pairs, labelled)
    data = run.pairs.select("a", "b", pl.col("joint").alias("joint_data"))
    joined = top.join(data, on=["a", "b"], how="left", maintain_order="left")
    return joined.with_columns(pl.col("joint_data").fill_null(0)).collect().to_dicts()


def confused_counts(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Cell, int]]:
    """The data's counts in the rows of `confused`, by cell."""
    for row in rows:
        yield together(carried(row["a"]), carried(row["b"])), row["joint_data"]


def _beside(row: Mapping[str, Any], run: Record, counts: Published) -> dict[str, Any]:
    """A pair in the data and as predicted; a mean tells how many instances add to it."""
    joint, decided = row["joint_data"], row["co_predicted"]
    predicted = int(run.ledger["predictions"]["instances_matched"])
    shown_joint = counts[together(carried(row["a"]), carried(row["b"]))]
    shown_decided = shown_count(decided, [predicted], run.min_cell)
    scored = shown_count(row["joint"], [predicted], run.min_cell)
    withheld = any(isinstance(one, str) for one in (shown_joint, shown_decided, scored))
    confusions = ("confusion", "confusion_low", "confusion_high")
    return {
        **{name: row[name] for name in ("a", "b", "relation")},
        "joint": shown_joint,
        "rate": None if isinstance(shown_joint, str) else joint / run.size,
        "co_predicted": shown_decided,
        "co_predicted_rate": None if isinstance(shown_decided, str) else decided / predicted,
        **{name: None if withheld else row[name] for name in confusions},
        **_titles(row, run),
    }


def most_confused(pairs: pl.LazyFrame, labelled: pl.Series) -> pl.LazyFrame:
    """The `MOST_CONFUSED` unrelated pairs of labels with the highest confusion, highest first.

    Ties are resolved by node order.
    """
    return (
        pairs.filter(
            ~pl.col("relation").is_in(["ancestor", "overlap"])
            & pl.col("a").is_in(labelled.implode())
            & pl.col("b").is_in(labelled.implode())
        )
        .sort(["confusion", "a", "b"], descending=[True, False, False])
        .head(MOST_CONFUSED)
    )
