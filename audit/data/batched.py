"""Joining of small consecutive frames into batches that are worth processing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl


def batched(frames: Iterable[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
    """The same rows in order, in frames of at least ``rows`` rows, except the last.

    No frames give no batches.

    >>> [len(batch) for batch in batched([pl.DataFrame({"a": [1, 2]})] * 3, 3)]
    [4, 2]
    """
    held: list[pl.DataFrame] = []
    for frame in frames:
        held.append(frame)
        if sum(map(len, held)) >= rows:
            yield pl.concat(held)
            held = []
    if held:
        yield pl.concat(held)
