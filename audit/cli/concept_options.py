"""Options of ``audit concepts``: name, type and help heading of each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

TESTS = "Tests"
"""Heading of ``audit concepts --help``."""

RepresentationsPath: TypeAlias = Annotated[
    Path, typer.Argument(help="Representations by layer: .npz, .safetensors or .parquet.")
]
FacetTable: TypeAlias = Annotated[
    Path | None, typer.Option(help="Table of node, dimension and concept.", rich_help_panel=TESTS)
]
FacetsFromTitles: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--facets-from-titles",
        help="Take words that recur in titles of labels below several parents as concepts.",
        rich_help_panel=TESTS,
    ),
]
Depths: TypeAlias = Annotated[
    list[int] | None,
    typer.Option(
        help="Take the nodes at this depth as concepts; may be repeated.", rich_help_panel=TESTS
    ),
]
TestedLayer: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Layer to test; by default the last.", rich_help_panel=TESTS),
]
UntrainedBaseline: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Representations of the same instances by an untrained network.",
        rich_help_panel=TESTS,
    ),
]
Splits: TypeAlias = Annotated[
    int, typer.Option(min=1, help="Resampled splits.", rich_help_panel=TESTS)
]
