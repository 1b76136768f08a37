"""Rows of attributions side by side: one unit per instance, target, model, seed and text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.explanations.attributions import Attributions

NAMES = ["id", "target", "model", "seed", "text"]
"""What distinguishes units; other tokens are another text, and so another unit."""


@dataclass(frozen=True, eq=False)
class Units:
    """What several methods say of one prediction.

    Args:
        frame: One row per unit, in the order of `NAMES`: ``unit`` (from 0), ``id, target, model,
            seed, text``, ``item`` (place of the evidence, null if there is none), ``tokens``.
        methods: Methods, ascending.
        rows: Row of the attributions of each unit and method, -1 where there is none, shape
            (n_units, n_methods).
        ledger: ``rows``; those left out, by reason: ``borrowed`` and ``repeated``; ``units``;
            ``one_method``, the units of a single method.
    """

    frame: pl.DataFrame
    methods: tuple[str, ...]
    rows: IntArray
    ledger: Mapping[str, int]


def units_of(attributions: Attributions) -> Units:
    """Put the rows that share a text side by side.

    Rows whose model also read the explanation of another instance are left out. Of two rows of one
    unit and method the first is kept.
    """
    every = attributions.rows.select(*NAMES, "method", "item", "borrowed").with_row_index("row")
    own = every.filter(~pl.col("borrowed").fill_null(False))
    kept = own.unique([*NAMES, "method"], keep="first", maintain_order=True)
    frame = kept.group_by(NAMES).agg(pl.col("item").max()).sort(NAMES).with_row_index("unit")
    methods = kept["method"].unique().sort()
    numbers = pl.DataFrame({"method": methods}).with_row_index("column")
    placed = kept.join(frame, on=NAMES, how="left", nulls_equal=True).join(numbers, on="method")
    rows = np.full((len(frame), len(methods)), -1, np.int64)
    rows[placed["unit"].to_numpy(), placed["column"].to_numpy()] = placed["row"].to_numpy()
    lengths = attributions.words.lengths[frame["text"].to_numpy()]
    ledger = {
        "rows": len(every),
        "borrowed": len(every) - len(own),
        "repeated": len(own) - len(kept),
        "units": len(frame),
        "one_method": int(((rows >= 0).sum(axis=1) == 1).sum()),
    }
    return Units(frame.with_columns(tokens=lengths), tuple(methods.to_list()), rows, ledger)
