"""Settings of a test of concepts in representations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from audit.base.settings import Argument, Option, Stored

TESTS = "Tests"
"""Heading of ``audit concepts --help``."""


@dataclass(frozen=True, kw_only=True)
class Testing(Stored):
    """The settings for testing concepts in representations."""

    representations: Annotated[Path, Argument("Representations by layer: .npz or .safetensors.")]
    facets: Annotated[Path | None, Option("Table of node, dimension and concept.", TESTS)] = None
    depths: Annotated[
        tuple[int, ...],
        Option("Take the nodes at this depth as concepts; may be repeated.", TESTS, flag="--depth"),
    ] = ()
    layer: Annotated[str | None, Option("Layer to test; by default the last.", TESTS)] = None
    seeds: Annotated[int, Option("Number of resampled splits.", TESTS, least=1)] = 5
