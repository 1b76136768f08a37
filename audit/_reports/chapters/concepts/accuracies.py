"""The accuracies that verdicts rest on: pictures by test, and tables with other ablations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit._reports.chapters.concepts.tests import KEYS, of_the_paper
from audit._reports.charts.curves import accuracies_spec
from audit._reports.charts.svg import draw
from audit._reports.words.concept_words import (
    ABLATIONS,
    CAUSAL,
    GROUNDED,
    MODULAR,
    PROBES,
    REQUIREMENTS,
    SEEN,
    SLICES_SEEN,
    TESTS,
    TOKEN,
    VERDICTS,
)
from audit._reports.words.parts import Chapter, Figure, Key, Table, chapter
from audit._reports.words.shown_numbers import Row, Rows, bounds, line_label, plain
from audit._reports.words.table_specs import (
    across,
    chances,
    decimals,
    interval_beside,
    numbers,
    optional_table,
    pivoted,
    table,
    texts,
    written,
)
from audit._reports.words.words import UNDEFINED, counted, first_of, more_in_table, number

DRAWN = 32
"""Largest number of lines of a picture; its table has all."""
_REMOVED = "removed"


def accuracies(concepts: Mapping[str, Any]) -> Chapter | None:
    """A picture of each test, and the same tests otherwise; None if nothing could be tested."""
    parts, limit = concepts["parts"], concepts["facts"]["parameters"]["limit"]
    margin = concepts["facts"]["parameters"]["margin"]
    own = [row for row in parts if of_the_paper(row)]
    of_tests = {test: [row for row in own if row["test"] == test] for test in TESTS}
    given = [(test, rows, _numbers(test, rows)) for test, rows in of_tests.items() if rows]
    return chapter(
        [_figure(*one, limit, margin) for one in given],
        (
            *(made for *_, made in given),
            _variants(concepts["tests"], parts),
            _other_accuracies([row for row in parts if not of_the_paper(row)]),
        ),
    )


def _figure(test: str, rows: Rows, behind: Table, limit: float, margin: float) -> Figure | None:
    every = _lines(rows)
    lines = every[:DRAWN]
    panels = [seen for seen in (*SEEN, None) if any(row["seen"] == seen for row in rows)]
    drawn = [
        row
        for row in rows
        if row["accuracy"] is not None and (row["dimension"], row["read"]) in lines
    ]
    if not drawn:
        return None
    words = TESTS[test]
    spec = accuracies_spec(
        [
            _line(row, lines.index((row["dimension"], row["read"])), panels, limit, margin)
            for row in drawn
        ],
        ["minimal pairs" if seen is None else f"{SEEN[seen]} seen" for seen in panels],
        limit,
        left=150 if test in (TOKEN, GROUNDED) else 232,
    )
    passed = sum(row["verdict"] == "pass" for row in drawn)
    return Figure(
        id=f"concept-{test}",
        title=f"{words.title}: accuracies",
        drawing=draw(spec),
        alt=f"Dot plot of {counted(len(drawn), 'accuracy', 'accuracies')}, of which {passed} "
        f"{'passes' if passed == 1 else 'pass'}: {first_of([_sentence(row) for row in drawn])}.",
        caption=_caption(test, margin) + more_in_table(len(every) - len(lines), "line"),
        key=(
            Key("observed", f"accuracy, with its {_level(test)} interval", "dot"),
            Key("expected", "chance", "tick"),
            Key("limit", f"limit, {number(limit)}", "across"),
            Key("pass-tint", "where it passes"),
        ),
        table=behind,
    )


def _lines(rows: Rows) -> list[tuple[str | None, str | None]]:
    """What is removed and what is read, the dimension removed first."""
    pairs = list(dict.fromkeys((row["dimension"], row["read"]) for row in rows))
    removed = list(dict.fromkeys(dimension for dimension, _ in pairs))
    return sorted(pairs, key=lambda pair: (removed.index(pair[0]), pair[0] != pair[1]))


def _level(test: str) -> str:
    return "95%" if test in (GROUNDED, TOKEN) else "95% or, where chance is required, 90%"


def _caption(test: str, margin: float) -> str:
    if test == GROUNDED:
        return (
            "The share of instances in minimal pairs that are answered rightly. A model that "
            "always gives one answer is right for one class only."
        )
    judged = "Judged are instances of classes that neither the probe nor the ablation has seen. "
    if test == TOKEN:
        return (
            f"{judged}A dot to the right of the limit passes; where the interval includes the "
            "limit, the question is open."
        )
    what = (
        "What the probes fitted before still read after a dimension is removed"
        if test == MODULAR
        else "How often the model’s answer has the right concept after a dimension is removed"
    )
    return (
        f"{what}. {judged}Along the dimension removed it passes "
        f"{'up to' if test == MODULAR else 'within'} {number(margin)} "
        f"{'above' if test == MODULAR else 'of'} chance, along every other above the limit. Chance "
        "is the share of the most frequent concept among the instances judged."
    )


def _line(
    row: Row, line: int, panels: Sequence[str | None], limit: float, margin: float
) -> dict[str, Any]:
    ends = ("low", "high") if row["requirement"] == "above_limit" else ("low_90", "high_90")
    return {
        "line": line,
        "label": line_label(_name(row)),
        "panel": panels.index(row["seen"]),
        "value": row["accuracy"],
        **bounds({"low": row[ends[0]], "high": row[ends[1]]}),
        "chance": row["chance"],
        **_zone(row, limit, margin),
        "counts": "",
    }


def _zone(row: Row, limit: float, margin: float) -> dict[str, float | None]:
    """Where the accuracy passes."""
    if row["requirement"] == "above_limit":
        return {"zone_from": limit, "zone_to": 1.0}
    if row["chance"] is None:
        return {"zone_from": None, "zone_to": None}
    least = row["chance"] - margin if row["requirement"] == "at_chance" else 0.0
    return {"zone_from": max(least, 0.0), "zone_to": min(row["chance"] + margin, 1.0)}


def _name(row: Row) -> str:
    """What is read, and what was removed."""
    if row["test"] == GROUNDED:
        return "all classes"
    if row["test"] == TOKEN:
        return str(row["read"])
    return f"{row['read']}, {row['dimension']} {_REMOVED}"


def _sentence(row: Row) -> str:
    accuracy, by_chance = plain(row, "accuracy", 2), plain(row, "chance", 2)
    return f"{_name(row)}{_with(row)} {accuracy} against a chance of {by_chance}"


def _with(row: Row) -> str:
    return "" if row["seen"] is None else f" with {SEEN[row['seen']]} seen"


def _numbers(test: str, rows: Rows) -> Table:
    classes = max(row["classes"] for row in rows)
    judged = "on minimal pairs" if test == GROUNDED else "on unseen classes"
    alike = max(sum(row["seen"] == one["seen"] for row in rows) for one in rows)
    family = counted(alike, "accuracy", "accuracies")
    splits = max(row["seeds"] for row in rows)
    return table(
        f"concept-{test}-numbers",
        f"{TESTS[test].title}: accuracies {judged}, {number(classes)} in all, pooled over "
        f"{counted(splits, 'split')}; in brackets, the 95% interval, and the verdict by interval "
        f"where it differs; q-values over {family}",
        rows,
        texts("Read", lambda row: row["read"] or "all classes"),
        texts("Removed", "dimension") if test in (MODULAR, CAUSAL) else None,
        texts("Slices seen", "seen", SLICES_SEEN),
        interval_beside(decimals("Accuracy", "accuracy")),
        written("90% interval", _ninety),
        decimals("Chance", "chance"),
        chances("q above chance", "q_above_chance"),
        texts("Required", "requirement", REQUIREMENTS),
        texts("Verdict", _verdicts),
        numbers("Answers", "instances"),
    )


def _ninety(row: Row) -> str:
    """The interval that equivalence to chance is judged by, where it is required."""
    if row["requirement"] == "above_limit" or row["low_90"] is None or row["high_90"] is None:
        return UNDEFINED
    return f"{plain(row, 'low_90')} to {plain(row, 'high_90')}"


def _verdicts(row: Row) -> str:
    """The verdict by threshold, and in brackets by interval; one if they agree."""
    first, second = (VERDICTS[row[name]][0] for name in ("verdict", "interval_verdict"))
    return first if first == second else f"{first} ({second.lower()})"


def _variants(tests: Rows, parts: Rows) -> Table | None:
    """The tests that remove something, by other ablations and probes beside the paper's."""
    along = {
        tuple(row[key] for key in KEYS): row for row in parts if row["read"] == row["dimension"]
    }
    removing = [
        {**row, "kind": _kind(row), "part": along.get(tuple(row[key] for key in KEYS))}
        for row in tests
        if row["test"] in (MODULAR, CAUSAL) and row["parts"]
    ]
    kinds = list(dict.fromkeys(row["kind"] for row in removing))
    if len(kinds) < 2:
        return None
    return table(
        "concept-variants",
        "The same by LEACE: the verdict, and the accuracy along the dimension removed",
        pivoted(removing, ["test", "dimension", "seen"], "kind"),
        texts("Test", lambda line: TESTS[line["test"]].title),
        texts("Removed", "dimension"),
        texts("Slices seen", "seen", SLICES_SEEN),
        written("Chance", _chance_of_variants),
        *(across("kind", kind, texts(kind, _variant)) for kind in kinds),
    )


def _kind(row: Row) -> str:
    return f"{ABLATIONS[row['ablation']]}, {PROBES[row['probe']]}"


def _chance_of_variants(line: Row) -> str:
    """The chance of the first variant that has one."""
    known = (row["part"] for row in line["kind"].values() if row["part"] is not None)
    return next((plain(part, "chance") for part in known), UNDEFINED)


def _variant(row: Row) -> str:
    word = VERDICTS[row["verdict"]][0]
    return word if row["part"] is None else f"{word}, {plain(row['part'], 'accuracy')}"


def _other_accuracies(rows: Rows) -> Table | None:
    """Every accuracy with another ablation."""
    return optional_table(
        "concept-others",
        "Every accuracy by LEACE",
        rows,
        texts("By", _kind),
        texts("Removed", "dimension"),
        texts("Read", "read"),
        texts("Slices seen", "seen", SLICES_SEEN),
        interval_beside(decimals("Accuracy", "accuracy")),
        decimals("Chance", "chance"),
        texts("Verdict", _verdicts),
        numbers("Answers", "instances"),
    )
