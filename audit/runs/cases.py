"""Cases: a table of the instances behind each finding, by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

CaseNumbers: TypeAlias = NDArray[np.uint32]
"""Indices into the dataset of the instances behind a finding, ascending."""


def case_table(
    findings: Sequence[str], cases: Mapping[str, CaseNumbers], instances: pl.Series
) -> pl.LazyFrame:
    """Make the case table: columns ``finding`` and ``instance``, one row per case.

    Args:
        findings: Ids of findings, in the order of the table.
        cases: The instances behind each finding, by its id; findings not in it have no cases.
        instances: Ids of the dataset's instances, in its order.

    Returns:
        ``finding`` is an enumeration of the ids of the findings, ``instance`` text.

    Rows are held as numbers, 4 bytes each for up to 65,000 findings and instances, else up to 8
    bytes; they become ids when the table is collected or written in batches.
    """
    names, ids = (pl.Series(some, dtype=pl.Enum(some)) for some in (findings, instances))
    frames = (
        pl.DataFrame({"finding": _repeated(names, place, len(some)), "instance": ids.gather(some)})
        for place, some in enumerate(cases.get(finding, _NONE) for finding in findings)
    )
    nothing = pl.DataFrame(schema={"finding": names.dtype, "instance": ids.dtype})
    table = pl.concat([nothing, *frames], rechunk=True)
    return table.lazy().with_columns(pl.col("instance").cast(pl.String))


_NONE = np.empty(0, np.uint32)


def _repeated(names: pl.Series, place: int, times: int) -> pl.Series:
    return names.gather(np.full(times, place, np.uint32))
