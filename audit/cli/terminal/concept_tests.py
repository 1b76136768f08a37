"""What a terminal shows of tests of concepts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from audit.cli.terminal.tables import one_line, status_word, table

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
