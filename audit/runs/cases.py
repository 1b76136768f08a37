"""Cases: the instances behind each finding, as a table that says them by their ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

CaseNumbers: TypeAlias = NDArray[np.uint32]
"""Numbers of the instances behind a finding, in the dataset, ascending."""


def case_table(
    findings: Sequence[str], cases: Mapping[str, CaseNumbers], instances: pl.Series
) -> pl.LazyFrame:
    """``finding`` and ``instance``: a row for each instance behind each finding.

    Args:
        findings: Ids of findings, in the order of the table.
        cases: The instances behind each, by its id; a finding that is not named has none.
        instances: Ids of the dataset's instances, in its order.

    Returns:
        ``finding`` is an enumeration of the ids of the findings, ``instance`` text.

    Both are held as numbers, in 4 bytes a row while neither the findings nor the instances are more
    than 65,000, else in up to 8; ids become text where rows are collected, or written in batches.
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
