"""Lines of the chapters on explanations: by method and model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from audit._reports.words.shown_numbers import Row, bounds, count, line_label, plain
from audit._reports.words.table_specs import Spec, texts

PEOPLE = "human"
"""Name that the shared view has for people's marks in place of a method."""


def named(row: Row, several: bool) -> str:
    """Method and model of a row, the model first; without it, if there is only one."""
    return f"{row['model']} · {row['method']}" if several else str(row["method"])


def methods(rows: Iterable[Row]) -> Spec:
    """The column of methods, with their models where rows are of more than one."""
    several = several_models(rows)
    heading = "Model and method" if several else "Method"
    return texts(heading, lambda row: named(row, several))


def models(rows: Iterable[Row]) -> Spec | None:
    """The column of models; None where there is only one."""
    return texts("Model", "model") if several_models(rows) else None


def dots(
    rows: Iterable[Row],
    several: bool,
    value: str,
    *,
    beside: str | None = None,
    size: str = "n",
) -> list[dict[str, Any]]:
    """Lines of a dot plot, one for each method and model.

    Args:
        beside: Column of what is drawn with it as a ring; None for none.
    """
    return [
        {
            "label": line_label(named(row, several)),
            "value": row[value],
            **bounds(row),
            "beside": None if beside is None else row[beside],
            "counts": f"{plain(row, value, 2)} on {count(row, size)}",
        }
        for row in rows
    ]


def several_models(rows: Iterable[Row]) -> bool:
    """Whether rows are of more than one model."""
    return len({row["model"] for row in rows}) > 1


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows by model, then by method."""
    return sorted(rows, key=lambda row: (row["model"], row["method"] or ""))
