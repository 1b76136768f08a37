"""Fixed thresholds, with unit and reason, for the chapter on methods."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

from audit._reports.words.parts import Table
from audit._reports.words.table_specs import numbers, table, texts
from audit._reports.words.words import stated_rows


@dataclass(frozen=True, slots=True)
class Fixed:
    """A threshold that is part of a method and not set by a policy.

    Args:
        source: Module and name of the constant in the computation.
    """

    where: str
    value: float
    unit: str
    reason: str
    source: str


_ROWS = stated_rows("methods")


def _stated(of: str) -> tuple[Fixed, ...]:
    """The thresholds of one part of the report."""
    return tuple(
        Fixed(row["where"], _number(row["value"]), row["unit"], row["reason"], row["source"])
        for row in _ROWS
        if row["of"] == of
    )


def _number(text: str) -> float:
    return int(text) if text.isdigit() else float(text)


FIXED = _stated("release")

OF_MODELS = _stated("models")
"""Thresholds used only by the chapters on a model."""


OF_EXPLANATIONS = _stated("explanations")
"""Thresholds used only by the chapters on explanations."""


OF_CONCEPTS = _stated("concepts")
"""Thresholds used only by the chapters on concepts."""


OF_ENTAILMENT = _stated("entailment")
"""Thresholds used only by the chapters on an entailment graph."""


def fixed_table(*, model: bool, release: bool = True, further: Iterable[Fixed] = ()) -> Table:
    """Table of all fixed thresholds that the report relies on."""
    relied_on = (
        *(FIXED if release else FIXED[:1]),
        *(OF_MODELS if model else ()),
        *further,
    )
    return table(
        "fixed-table",
        "Thresholds that are part of a method",
        relied_on,
        texts("Of", attrgetter("where")),
        numbers("Value", attrgetter("value")),
        texts("Unit", attrgetter("unit")),
        texts("Reason", attrgetter("reason")),
    )
