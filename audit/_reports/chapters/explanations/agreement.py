"""The chapter on methods: whether they choose the same tokens, and beside what chance gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit._reports.chapters.explanations.parts import PEOPLE, in_order, methods, models
from audit._reports.charts.charts import matrix_spec
from audit._reports.charts.curves import PEAKS, SERIES, agreement_spec
from audit._reports.charts.palette import SCALE
from audit._reports.charts.svg import draw
from audit._reports.words.parts import Chapter, Figure, Key, Table, chapter
from audit._reports.words.shown_numbers import Row, Rows, grouped, line_label, plain, signed
from audit._reports.words.table_specs import (
    across,
    decimals,
    differences,
    interval_beside,
    numbers,
    optional_table,
    pivoted,
    shares,
    table,
    texts,
)
from audit._reports.words.words import capitalised, counted, number

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
        decimals("By chance", "chance_sizes"),
        interval_beside(differences("Above chance", "above_chance"), "above_low", "above_high"),
        across("k", k, decimals(f"First {k}", "agreement")),
        across("k", k, decimals("By chance", "chance_sizes")),
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
    """How many tokens each method chooses."""
    return optional_table(
        "agreement-chosen",
        "How many tokens are peaks of the scores",
        [_with_people(row) for row in in_order(rows)],
        methods(rows),
        decimals("Tokens of a text", "tokens", 1),
        interval_beside(decimals("Peaks", "peaks")),
        decimals("Standard deviation", "sd"),
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


MODELS_DRAWN = 6
"""Largest number of models with pictures of their own; the others are in tables."""
METHODS_DRAWN = 12
"""Largest number of methods in a matrix, people among them."""
ABOVE = (0.05, 0.15, 0.3)
"""Boundaries between the shades of the matrix: agreement above chance."""
_SHADES = (
    "hardly above chance: by less than 0.05",
    "by 0.05 to 0.15",
    "by 0.15 to 0.3",
    "by more than 0.3",
)

Pairs = Mapping[tuple[str, str], Row]


def agreement(explanations: Mapping[str, Any]) -> Chapter | None:
    """Matrix and curves of each model, and the tables; None if there is nothing to compare."""
    rows, k = explanations["agreement"], explanations["facts"]["k"]
    models = grouped(sorted(rows, key=lambda row: row["model"]), ["model"])
    figures: list[Figure | None] = []
    tables: list[Table | None] = []
    for place, own in enumerate(models):
        model = own[0]["model"]
        gaps = _pairs([row for row in explanations["differences"] if row["model"] == model])
        peaks = _pairs([row for row in own if row["rule"] == "dynamic"])
        of_model = f", for {model}" if len(models) > 1 else ""
        made = _pairs_table(peaks, gaps, k, f"agreement-{place}-numbers", of_model)
        matrix = _matrix(peaks, gaps, k, made, f"agreement-{place}", of_model)
        if place < MODELS_DRAWN and matrix is not None:
            figures += [matrix, _curves(own, f"curves-{place}", of_model)]
        elif made.rows:
            tables.append(made)
    tables += [
        lengths(explanations["lengths"], k),
        gains(explanations["gains"]),
        chosen(explanations["chosen"]),
        runs(explanations["runs"]),
    ]
    return chapter(figures, tables)


def _pairs(rows: Rows) -> Pairs:
    return {(row["first"], row["second"]): row for row in rows if row["first"] and row["second"]}


def _matrix(
    peaks: Pairs, gaps: Pairs, k: int, behind: Table, id_: str, of_model: str
) -> Figure | None:
    names = _methods(peaks)
    known = {
        pair: row
        for pair, row in peaks.items()
        if row["agreement"] is not None and {*pair} <= {*names}
    }
    if not known:
        return None
    cells = [_cell(names, i, j, known, gaps) for i in range(len(names)) for j in range(len(names))]
    labels = [
        f"{line_label(_method_name(name), 34)} · {place}" for place, name in enumerate(names, 1)
    ]
    most, least = (
        pick(known.items(), key=lambda item: item[1]["above_chance"] or 0.0) for pick in (max, min)
    )
    return Figure(
        id=id_,
        title=f"Which methods choose the same tokens{of_model}",
        drawing=draw(matrix_spec([cell for cell in cells if cell], labels, 56)),
        alt=f"Matrix of {counted(len(names), 'row')}. Furthest above chance: "
        f"{_pair_sentence(*most)}. Least: {_pair_sentence(*least)}.",
        caption="Below the diagonal, the mean agreement of two methods where each chooses the "
        "peaks of its scores; the shade says how far that lies above the agreement of "
        "random sets of as many tokens. Above the diagonal, how the peaks compare with the "
        f"first {k} tokens of each: above zero, the peaks agree more. The agreement of "
        "two methods is at least one half, whatever they choose. Columns are numbered as "
        "the rows are." + _left_out(peaks, names),
        key_title="Agreement above chance",
        key=(
            *(Key(role, text) for role, text in zip(SCALE, _SHADES, strict=True)),
            Key("scale-none", f"peaks less the first {k}"),
        ),
        table=behind,
    )


def _methods(pairs: Pairs) -> list[str]:
    """Methods in order, people last."""
    every = {name for pair in pairs for name in pair}
    people = [PEOPLE] if PEOPLE in every else []
    return [*sorted(every - {PEOPLE})[: METHODS_DRAWN - len(people)], *people]


def _left_out(pairs: Pairs, names: Sequence[str]) -> str:
    rest = len({name for pair in pairs for name in pair}) - len(names)
    return f" {counted(rest, 'further method')} only in the table." if rest else ""


def _method_name(name: str) -> str:
    return "people" if name == PEOPLE else name


def _pair_sentence(pair: tuple[str, str], row: Row) -> str:
    first, second = map(_method_name, pair)
    agreed, by = plain(row, "agreement", 2), signed(row, "above_chance", 2)
    return f"{first} and {second}, {agreed}, {by} against chance"


def _cell(names: Sequence[str], i: int, j: int, peaks: Pairs, gaps: Pairs) -> dict[str, str] | None:
    place = {"row": str(i + 1), "column": str(j + 1)}
    pair = (names[min(i, j)], names[max(i, j)])
    if i == j or pair not in peaks:
        return None
    if i < j:
        gap = gaps.get(pair)
        known = gap is not None and gap["difference"] is not None
        text = signed(gap, "difference", 2) if gap is not None and known else ""
        return {**place, "role": "scale-none", "text": text}
    above = peaks[pair]["above_chance"]
    shade = "scale-none" if above is None else SCALE[sum(above >= step for step in ABOVE)]
    return {**place, "role": shade, "text": plain(peaks[pair], "agreement", 2)}


def _pairs_table(peaks: Pairs, gaps: Pairs, k: int, id_: str, of_model: str) -> Table:
    return table(
        id_,
        f"Agreement of pairs{of_model}",
        [{**row, "gap": {k: gaps.get(pair)}} for pair, row in peaks.items()],
        texts("Pair", lambda row: f"{_method_name(row['first'])} × {_method_name(row['second'])}"),
        interval_beside(decimals("At the peaks", "agreement")),
        decimals("By chance", "chance_sizes"),
        interval_beside(differences("Above chance", "above_chance"), "above_low", "above_high"),
        across("gap", k, decimals(f"First {k}", "fixed")),
        across("gap", k, interval_beside(differences(f"Peaks less first {k}", "difference"))),
        numbers("Instances", "n"),
    )


def _curves(rows: Rows, id_: str, of_model: str) -> Figure | None:
    """Agreement over k of all methods, of the pair that agrees most and of that least."""
    chosen_ = {name: own for name, own in _selected(rows).items() if _drawable(own)}
    if not chosen_:
        return None
    ks = sorted({row["k"] for own in chosen_.values() for row in own if row["k"] is not None})
    curves = [[_point(row) for row in own if _is_known(row)] for own in chosen_.values()]
    first = next(iter(chosen_))
    own = sorted((row for row in chosen_[first] if _is_known(row)), key=_order)
    return Figure(
        id=id_,
        title=f"Agreement by the number of tokens chosen{of_model}",
        drawing=draw(agreement_spec(curves, [*map(str, ks), PEAKS])),
        alt=f"Curves of {counted(len(curves), 'set')} of methods. {capitalised(first)}: "
        + ", ".join(f"{plain(row, 'agreement', 2)} at {_choice(row)}" for row in own)
        + ".",
        caption="Full lines and full marks: the mean agreement where every method chooses its "
        "first k tokens, and, at the right, its peaks, with a 95% interval. Dashed lines and empty "
        "marks: random sets of as many tokens. The agreement of m methods is at least 1/m, so "
        "compare curves of different numbers of methods with their dashed lines and not with each "
        "other.",
        key_title="Agreement of",
        key=tuple(
            Key(role, name, shape or "square")
            for name, (role, _, shape) in zip(chosen_, SERIES, strict=False)
        ),
        table=table(
            f"{id_}-numbers",
            f"Agreement by the number of tokens chosen{of_model}",
            [
                {**row, "methods": name}
                for name, own in chosen_.items()
                for row in sorted(own, key=_order)
            ],
            texts("Methods", "methods"),
            texts("Chosen", _choice),
            interval_beside(decimals("Agreement", "agreement")),
            decimals("By chance", "chance_sizes"),
            interval_beside(differences("Above chance", "above_chance"), "above_low", "above_high"),
            numbers("Instances", "n"),
        ),
    )


def _selected(rows: Rows) -> dict[str, Rows]:
    """Rows of all methods together, and of two pairs without people, by name."""
    together = {
        f"{row['together']} together": [r for r in rows if r["together"] == row["together"]]
        for row in rows
        if row["together"]
    }
    peaks = _pairs([row for row in rows if row["rule"] == "dynamic"])
    pairs = [
        pair
        for pair, row in peaks.items()
        if PEOPLE not in pair and row["above_chance"] is not None
    ]
    pairs.sort(key=lambda pair: (-float(peaks[pair]["above_chance"]), pair))
    ends = list(dict.fromkeys([*pairs[:1], *pairs[-1:]]))
    of_pairs = {
        " and ".join(pair): [row for row in rows if (row["first"], row["second"]) == pair]
        for pair in ends
    }
    first = dict(list(together.items())[:1])
    return {**first, **of_pairs}


def _drawable(rows: Rows) -> bool:
    return sum(_is_known(row) for row in rows) > 1


def _is_known(row: Row) -> bool:
    return row["agreement"] is not None and row["chance_sizes"] is not None


def _point(row: Row) -> dict[str, Any]:
    return {
        "k": PEAKS if row["k"] is None else str(row["k"]),
        "value": row["agreement"],
        "chance": row["chance_sizes"],
        "low": row["low"],
        "high": row["high"],
    }


def _choice(row: Row) -> str:
    return "the peaks" if row["k"] is None else f"k = {row['k']}"


def _order(row: Row) -> tuple[bool, int]:
    return row["k"] is None, row["k"] or 0
