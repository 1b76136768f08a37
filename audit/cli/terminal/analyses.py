"""What a terminal shows of analyses: tests of concepts, and predictions on tuples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from audit.base.plurals import counted
from audit.cli.terminal.tables import filled, one_line, status_word, table

_TESTS = ("is_token_of_type", "is_modular", "is_causal")


def concept_tests(concepts: Mapping[str, Any] | None) -> Iterator[RenderableType]:
    """The paper's tests of each dimension, all slices but one seen; on minimal pairs, if any."""
    if concepts is None:
        return
    rows = [
        row
        for row in concepts["tests"]
        if row["ablation"] in (None, "inlp") and row["probe"] != "retrained"
    ]
    verdicts = {
        (row["dimension"], row["test"]): row["verdict"]
        for row in rows
        if row["seen"] in (None, "N-1 slices")
    }
    lines = table("dimension", *_TESTS)
    for dimension in dict.fromkeys(row["dimension"] for row in rows if row["dimension"]):
        words = (verdicts.get((dimension, test), "not_applicable") for test in _TESTS)
        lines.add_row(
            Text(one_line(dimension)), *(status_word(word.replace("_", " ")) for word in words)
        )
    yield ""
    yield Text(f"Tests on unseen classes, layer {one_line(concepts['facts']['layer'])}")
    yield lines
    for reason in dict.fromkeys(row["reason"] for row in rows if row["reason"]):
        yield Text(f"Why a test is undecided or not applicable: {one_line(reason)}")
    if verdicts.get((None, "is_grounded"), "not_applicable") != "not_applicable":
        yield Text.assemble("is_grounded: ", status_word(verdicts[None, "is_grounded"]))


MEASURES = ("accuracy", "roc_auc")
HEADINGS = ("model", "split", "answered", "accuracy", "95% interval", "area")
_ALL, _BESIDE = "All", "concept_alone"


def detected(entailment: Mapping[str, Any] | None) -> Iterator[RenderableType]:
    """How well models separate valid tuples from invalid ones, and which rows were not used."""
    if entailment is None:
        return
    if rows := detected_rows(entailment):
        yield ""
        yield filled(table(*HEADINGS, right=4), rows)
    if unused := list(unused_rows(entailment)):
        yield ""
        yield from map(Text, map(one_line, unused))


def detected_rows(entailment: Mapping[str, Any]) -> list[Sequence[str]]:
    """Cells of each model over all relations, under `HEADINGS`; the last is the baseline that a
    model has to beat, the concept alone. None without a model.

    Args:
        entailment: The entry of a shared view.
    """
    relations = {row["relation"] for row in entailment["detection_measured"]}
    whole = relations if len(relations) == 1 else {_ALL}
    measured: dict[tuple[str, ...], dict[str, Mapping[str, Any]]] = {}
    for row in entailment["detection_measured"]:
        if row["relation"] in whole and row["measure"] in MEASURES:
            of = (row["kind"], row["model"], row["trained_on"] or "", row["split"])
            measured.setdefault(of, {})[row["measure"]] = row
    answered: dict[tuple[str, ...], Mapping[str, Any]] = {
        (row["model"], row["trained_on"] or "", row["split"]): row
        for row in entailment["detection_coverage"]
        if row["relation"] in whole
    }
    models = [_cells(of, rows, answered) for of, rows in measured.items() if of[0] == "model"]
    beside = [_cells(of, rows, answered) for of, rows in measured.items() if of[1] == _BESIDE]
    return [*models, *beside] if models else []


def unused_rows(entailment: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on rows of predictions and of generated concepts that nothing was measured of."""
    facts = entailment["facts"]
    for name in ("predictions", "generations", "ratings"):
        counts = facts.get(name) or {}
        others = {key: n for key, n in counts.items() if key not in ("rows_read", "used") and n}
        if others:
            reasons = ", ".join(f"{reason} {_number(n)}" for reason, n in others.items())
            read = counted(counts["rows_read"], "rows")
            yield f"{name}: {_number(counts['used'])} of {read} used; {reasons}."


def _cells(
    of: tuple[str, ...],
    rows: Mapping[str, Mapping[str, Any]],
    answered: Mapping[tuple[str, ...], Mapping[str, Any]],
) -> Sequence[str]:
    kind, model, trained_on, split = of
    name = model.replace("_", " ") if kind == "baseline" else model
    accuracy, area = (rows.get(measure, {}) for measure in MEASURES)
    low, high = (_number(accuracy.get(end)) for end in ("low", "high"))
    coverage = answered.get((model, trained_on, split))
    return (
        f"{name}, trained on {trained_on}" if trained_on else name,
        split,
        f"{_number(coverage['answered'])} of {_number(coverage['tuples'])}" if coverage else "",
        _number(accuracy.get("value")),
        f"{low} to {high}",
        _number(area.get("value")),
    )


def _number(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str("-" if value is None else value)
