"""Tables on agreement: by length, dynamic against fixed, how many tokens are chosen, runs."""

from __future__ import annotations

from reports.chapters.explanations.parts import in_order, methods, models
from reports.words.parts import Table
from reports.words.shown_numbers import Row, Rows
from reports.words.table_specs import (
    across,
    decimals,
    differences,
    interval_beside,
    numbers,
    optional_table,
    pivoted,
    shares,
    texts,
)
from reports.words.words import number

GROUP = ("model", "tokens_from", "tokens_to", "first", "second", "together")
"""What texts of one length and methods that are compared have in common."""


def lengths(rows: Rows, k: int) -> Table | None:
    """Agreement by the number of tokens of the text, at the peaks and at the fixed k."""
    peaks = [row for row in rows if row["rule"] == "dynamic"]
    fixed = [row for row in rows if row["k"] == k]
    lines = pivoted([*peaks, *fixed], GROUP, "k")
    return optional_table(
        "agreement-lengths",
        "Agreement by the length of the text",
        [line for line in lines if None in line["k"]],
        texts("Tokens", lambda row: f"{number(row['tokens_from'])} to {number(row['tokens_to'])}"),
        texts("Methods", lambda row: row["together"] or f"{row['first']} and {row['second']}"),
        models(peaks),
        interval_beside(decimals("At the peaks", "agreement")),
        decimals("Permuted scores", "chance_permuted"),
        interval_beside(differences("Above permuted", "above_chance"), "above_low", "above_high"),
        across("k", k, decimals(f"First {k}", "agreement")),
        across("k", k, decimals("By chance", "chance_permuted")),
        numbers("Instances", "n"),
    )


def gains(rows: Rows) -> Table | None:
    """Dynamic less fixed agreement, summed over a method’s pairs: a column for each k."""
    return optional_table(
        "agreement-gains",
        "Agreement at the peaks less that at a fixed k, summed over a method’s pairs",
        pivoted(in_order(rows), ["model", "method"], "k"),
        methods(rows),
        numbers("Pairs", "pairs"),
        *(
            across("k", k, interval_beside(differences(f"k = {k}", "gain")))
            for k in sorted({row["k"] for row in rows})
        ),
        numbers("Instances", "n"),
    )


def chosen(rows: Rows) -> Table | None:
    """How many tokens each method chooses, beside scores in random order."""
    return optional_table(
        "agreement-chosen",
        "How many tokens the peaks are, beside those of noise",
        [_with_people(row) for row in in_order(rows)],
        methods(rows),
        decimals("Tokens of a text", "tokens", 1),
        interval_beside(decimals("Peaks", "peaks")),
        decimals("Standard deviation", "sd"),
        decimals("Peaks of permuted scores", "permuted_peaks"),
        shares("Ties at the first k", "tied"),
        shares("All scores equal", "constant"),
        numbers("Instances", "n"),
    )


def _with_people(row: Row) -> Row:
    return {**row, "method": "people"} if row["method"] == "human" else row


def runs(rows: Rows) -> Table | None:
    """How much the scores of a model's runs differ; None without several runs of one model."""
    return optional_table(
        "agreement-runs",
        "How much attributions differ between runs of a model",
        rows,
        texts("Model", "model"),
        texts("Run", lambda row: number(row["seed"])),
        interval_beside(decimals("Average difference", "difference")),
        decimals("For each token", "per_token"),
        texts("Differs least", lambda row: "yes" if row["median"] else "no"),
        numbers("Instances", "instances"),
    )
