"""Grouping of batches of rows into whole instances; an instance that recurs later is detected."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.dag import IntArray
from audit.base.errors import SchemaError
from audit.base.limits import LABELS
from audit.engine.pairs.record_counts import RecordRows

Hashes = NDArray[np.uint64]
ROWS = {"instance": pl.String, "label": pl.Int64, "row": pl.Int64}
"""Columns of a batch; ``label`` is the label's number, null if the row has none to count."""


class Seen:
    """The instances that are complete, as 64-bit hashes: eight bytes each.

    Among ten million instances two ids share a hash with a probability of three in a million; the
    file is then refused, never miscounted.
    """

    def __init__(self, parts: Sequence[Hashes] = ()) -> None:
        self.parts = list(parts)

    def first_again(self, hashes: Hashes) -> int | None:
        """Position of the first hash that was seen before; if None, all of them are remembered."""
        again = np.zeros(len(hashes), np.bool_)
        for part in self.parts:
            place = np.minimum(np.searchsorted(part, hashes), len(part) - 1)
            again |= part[place] == hashes
        unique, first = np.unique(hashes, return_index=True)
        repeated = np.ones(len(hashes), np.bool_)
        repeated[first] = False
        found = np.flatnonzero(again | repeated)
        if len(found):
            return int(found[0])
        self._remember(unique)
        return None

    def _remember(self, hashes: Hashes) -> None:
        if len(hashes):
            self.parts.append(hashes)
        while len(self.parts) > 1 and len(self.parts[-2]) <= 2 * len(self.parts[-1]):
            both = np.concatenate([self.parts.pop(-2), self.parts.pop()])
            both.sort(kind="stable")
            self.parts.append(both)


class Contiguous:
    """Takes batches of rows and returns the rows of whole instances.

    The rows of an instance must be consecutive. The last instance of a batch is held back, because
    the next batch may continue it.

    Args:
        where: The source, for messages.
        node_of: Node of each label by its number; negative: it was refused.
        waiting: Rows of the instance held back, when a count is resumed.
        seen: The complete instances, when a count is resumed.
    """

    def __init__(
        self,
        where: object,
        node_of: IntArray,
        waiting: pl.DataFrame | None = None,
        seen: Sequence[Hashes] = (),
    ) -> None:
        self.where, self.node_of = where, node_of
        self.waiting = pl.DataFrame(schema=ROWS) if waiting is None else waiting
        self.seen = Seen(seen)

    def add(self, rows: pl.DataFrame) -> RecordRows:
        """Add a batch of `ROWS`; returns the instances that it completes.

        Raises:
            SchemaError: If an instance recurs after it was complete.
            InputError: If an instance has very many different labels.
        """
        rows = pl.concat([self.waiting, rows.drop_nulls("instance")])
        instance = rows["instance"].rle_id()
        whole = int(instance.search_sorted(instance[-1])) if len(rows) else 0
        self.waiting = rows[whole:]
        return self._ended(rows[:whole], instance[:whole])

    def rest(self) -> RecordRows:
        """The instance held back, once there are no more rows."""
        rows, self.waiting = self.waiting, pl.DataFrame(schema=ROWS)
        return self._ended(rows, rows["instance"].rle_id())

    def _ended(self, rows: pl.DataFrame, instance: pl.Series) -> RecordRows:
        number = instance.to_numpy().astype(np.int64)
        if len(number) and np.bincount(number).max() > LABELS.in_force():
            self._refuse_many_labels(rows)
        starts = np.flatnonzero(np.diff(number, prepend=-1))
        self._refuse_return(rows[starts])
        return RecordRows(number, rows["label"].fill_null(-1).to_numpy(), len(starts))

    def _refuse_many_labels(self, rows: pl.DataFrame) -> None:
        known = rows.drop_nulls("label")
        kept = known.with_columns(node=self.node_of[known["label"].to_numpy()]).filter(
            pl.col("node") >= 0
        )
        labels = kept.group_by("instance", maintain_order=True).agg(pl.col("node").n_unique())
        for instance, most in labels.sort("node", descending=True).head(1).iter_rows():
            LABELS.refuse_beyond(most, f"{self.where}: instance {instance!r}")

    def _refuse_return(self, firsts: pl.DataFrame) -> None:
        place = self.seen.first_again(firsts["instance"].hash().to_numpy())
        if place is not None:
            instance, row = firsts["instance"][place], firsts["row"][place]
            raise SchemaError(
                "the rows of an instance must follow each other",
                found=f"the instance {instance!r} again after others, in row {row + 1:,}",
                where=self.where,
                hint="sort the rows by instance; audit.counting.file.count_pairs(sort=True) does",
            )
