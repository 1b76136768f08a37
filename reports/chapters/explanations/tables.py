"""Tables on agreement: by length, dynamic against fixed, how many tokens are chosen, runs."""

from __future__ import annotations

from collections.abc import Mapping

from reports.chapters.explanations.parts import in_order, named, several_models
from reports.words.parts import Cell, Table, column
from reports.words.shown_numbers import Row, Rows, count, missing, plain, signed, with_interval
from reports.words.words import number, percent


def lengths(rows: Rows, k: int) -> Table | None:
    """Agreement by the number of tokens of the text, at the peaks and at the fixed k."""
    fixed = {_group(row): row for row in rows if row["k"] == k}
    peaks = [row for row in rows if row["rule"] == "dynamic"]
    if not peaks:
        return None
    several = "model" in peaks[0] and several_models(peaks)
    return Table(
        id="agreement-lengths",
        caption="Agreement by the length of the text",
        columns=column(
            "Tokens", "Methods", *(["Model"] if several else []), "At the peaks",
            "Permuted scores", "Above permuted", f"First {k}", "By chance", "Instances",
            numeric="  " + (" " if several else "") + "nnnnnn",
        ),
        rows=tuple(
            (
                f"{number(row['tokens_from'])} to {number(row['tokens_to'])}",
                row["together"] or f"{row['first']} and {row['second']}",
                *([row["model"]] if several else []),
                with_interval(plain(row, "agreement"), row),
                plain(row, "chance_permuted"),
                with_interval(signed(row, "above_chance"), row, "above_low", "above_high"),
                *_noise_cells(fixed.get(_group(row)), "agreement", "chance_permuted"),
                count(row),
            )
            for row in peaks
        ),
    )  # fmt: skip


def gains(rows: Rows) -> Table | None:
    """Dynamic less fixed agreement, summed over a method's pairs: a column for each k."""
    if not rows:
        return None
    ks, several = sorted({row["k"] for row in rows}), several_models(rows)
    lines: dict[tuple[str, str], dict[int, Row]] = {}
    for row in in_order(rows):
        lines.setdefault((row["model"], row["method"]), {})[row["k"]] = row
    return Table(
        id="agreement-gains",
        caption="Agreement at the peaks less that at a fixed k, summed over a method’s pairs",
        columns=column(
            "Model and method" if several else "Method", "Pairs",
            *(f"k = {k}" for k in ks), "Instances",
            numeric=" n" + "n" * (len(ks) + 1),
        ),
        rows=tuple(_gain_row(list(line.values()), several) for line in lines.values()),
    )  # fmt: skip


def _gain_row(line: Rows, several: bool) -> tuple[Cell, ...]:
    return (
        named(line[0], several),
        number(line[0]["pairs"]),
        *(with_interval(signed(row, "gain"), row) for row in line),
        count(line[0]),
    )


def chosen(rows: Rows) -> Table | None:
    """How many tokens each method chooses, beside scores in random order."""
    if not rows:
        return None
    several = several_models(rows)
    return Table(
        id="agreement-chosen",
        caption="How many tokens the peaks are, beside those of noise",
        columns=column(
            "Model and method" if several else "Method", "Tokens of a text", "Peaks",
            "Standard deviation", "Peaks of permuted scores", "Ties at the first k",
            "All scores equal", "Instances",
            numeric=" nnnnnnn",
        ),
        rows=tuple(
            (
                named(_with_people(row), several),
                plain(row, "tokens", 1),
                with_interval(plain(row, "peaks"), row),
                plain(row, "sd"),
                plain(row, "permuted_peaks"),
                _share(row, "tied"),
                _share(row, "constant"),
                count(row),
            )
            for row in in_order(rows)
        ),
    )  # fmt: skip


def _with_people(row: Row) -> Row:
    return {**row, "method": "people"} if row["method"] == "human" else row


def _share(row: Row, name: str) -> str:
    return missing(row) if row[name] is None else percent(row[name])


def _group(row: Row) -> tuple[object, ...]:
    names = ("model", "tokens_from", "tokens_to", "first", "second", "together")
    return tuple(row.get(name) for name in names)


def _noise_cells(row: Mapping[str, object] | None, *names: str) -> tuple[str, ...]:
    return tuple("–" if row is None else plain(row, name) for name in names)


def runs(rows: Rows) -> Table | None:
    """How much the scores of a model's runs differ; None without several runs of one model."""
    if not rows:
        return None
    return Table(
        id="agreement-runs",
        caption="How much attributions differ between runs of a model",
        columns=column(
            "Model", "Run", "Average difference", "For each token", "Differs least", "Instances",
            numeric="  nn n",
        ),
        rows=tuple(
            (
                row["model"],
                number(row["seed"]),
                with_interval(plain(row, "difference"), row),
                plain(row, "per_token"),
                "yes" if row["median"] else "no",
                count(row, "instances"),
            )
            for row in rows
        ),
    )  # fmt: skip
