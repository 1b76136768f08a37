"""Facets of labels: the concept that a label has in each dimension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import polars as pl

FACETS: dict[str, pl.DataType] = {
    "node": pl.String(),
    "dimension": pl.String(),
    "concept": pl.String(),
}
"""Columns of a facet table; a node has at most one concept in a dimension."""

Kind: TypeAlias = Literal["crossed", "nested"]
"""Crossed dimensions vary freely; nested ones are ancestors at a depth of a hierarchy."""


@dataclass(frozen=True, eq=False)
class Facets:
    """The concepts of labels, dimension by dimension.

    Args:
        table: Columns `FACETS`, in the order of dimensions.
        kinds: Per dimension, in order, whether it is crossed with the others or nested in them.
    """

    table: pl.DataFrame
    kinds: dict[str, Kind]
