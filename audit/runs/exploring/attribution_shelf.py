"""Attributions of single instances, from the file that a run was made from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from audit.base.files import sha256_of
from audit.base.plurals import counted
from audit.data.attribution_columns import DEFAULTS, REQUIRED
from audit.results.parts.analysis_part import AnalysisPart
from audit.results.result import AuditResult
from audit.runs.exploring.row_stream import plain_text, streamed_rows
from audit.runs.exploring.shelf import Shelf

_PLAIN = ("target", "model", "method", "seed")
"""What a row is of, in the order of `Attribution`."""
EXAMPLES = "examples"
"""The table of an analysis that keeps attributions of some instances."""


def attribution_shelf(
    result: AuditResult, numbers: Mapping[str, int]
) -> tuple[Shelf, Sequence[str]]:
    """Attributions by instance, and what is to be said of them.

    They are those of the file that the run names, if it is still the one that was read; else
    those of the few examples that the run keeps itself. A run without explanations has none.

    Args:
        result: The run.
        numbers: As `Shelf` takes them.

    Raises:
        InputError: If the file cannot be read.
    """
    part = next((one for one in result.analyses if EXAMPLES in one.frames), None)
    if part is None:
        return Shelf((), numbers), ()
    file = next(one for one in result.inputs if one["role"] == "attributions")
    path = Path(file["path"])
    if path.is_file() and sha256_of(path) == file["sha256"]:
        read = Shelf(_entries(path), numbers)
        return read, (f"Attributions of {read.instances:,} of them, from {path}.",)
    kept = Shelf(_kept_examples(part), numbers)
    fault = "is not the one that the run was made from" if path.exists() else "is not there"
    shown = counted(kept.instances, "instances")
    return kept, (f"{path} {fault}: attributions of {shown}, the examples that the run keeps.",)


def _entries(path: Path) -> Iterator[tuple[str | None, list[Any]]]:
    """The rows that have as many finite scores as tokens, and read no other explanation."""
    for where, row in streamed_rows(path, (*REQUIRED, *DEFAULTS, "borrowed")):
        tokens, scores = _list(row.get("tokens")), _numbers(row.get("scores"))
        sound = all(isinstance(token, str) for token in tokens) and all(map(math.isfinite, scores))
        borrowed = str(row.get("borrowed")).lower() in ("true", "1")
        if tokens and len(tokens) == len(scores) and sound and not borrowed:
            plain = [plain_text(row.get(name), name, where) for name in _PLAIN]
            defaults = [str(DEFAULTS.get(name, "")) for name in _PLAIN]
            said = [value or default for value, default in zip(plain, defaults, strict=True)]
            yield plain_text(row.get("id"), "id", where), [*said, tokens, scores]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _numbers(value: Any) -> list[float]:
    """The numbers of a list; one that is not a number is NaN in it."""
    return [_number(one) for one in _list(value)]


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _kept_examples(part: AnalysisPart) -> Iterator[tuple[str, list[Any]]]:
    """The examples of a run; one that is kept for two reasons stands once."""
    rows = part.frames[EXAMPLES].unique(["model", "id", "target"], maintain_order=True)
    for row in rows.iter_rows(named=True):
        for method, scores in zip(row["methods"], row["scores"], strict=True):
            yield row["id"], [row["target"], row["model"], method, "", row["tokens"], scores]
