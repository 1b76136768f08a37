"""Rows of labels as numbers, some bytes a row: which instance each is of, and what it says."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.arrays import Growing
from audit.base.dag import IntArray
from audit.data.rows import ROWS

NOBODY = 2**32 - 1
"""Number of no instance, and of no split."""
NO_POSITION = np.iinfo(np.int64).min
SAID = ("label", "table", "refused", "counted")
"""What a row says of its instance, as in `audit.data.rows.ROWS`."""


class Numbers:
    """Different texts, numbered from 0 as they are met first."""

    def __init__(self) -> None:
        self._categories = pl.Categories.random()
        self._kind = pl.Categorical(self._categories)
        self._kept = pl.Series(dtype=self._kind)  # names are let go with the last series
        self._codes = [np.empty(0, np.uint32)]
        self._number: NDArray[np.uint32] = np.empty(0, np.uint32)
        self._n = 0

    def of(self, texts: pl.Series) -> NDArray[np.uint32]:
        """The number of each text; `NOBODY` of null."""
        codes = texts.cast(self._kind).to_physical()  # which need be in no order
        met = codes.drop_nulls().unique(maintain_order=True).to_numpy()
        if (most := int(met.max(initial=0)) + 1) > len(self._number):
            more = np.full(max(most, 2 * len(self._number)), NOBODY, np.uint32)
            more[: len(self._number)] = self._number
            self._number = more
        new = met[self._number[met] == NOBODY]
        self._number[new] = np.arange(self._n, self._n + len(new))
        self._codes.append(new)
        self._n += len(new)
        numbers: NDArray[np.uint32] = self._number[codes.fill_null(0).to_numpy()]
        numbers[codes.is_null().to_numpy()] = NOBODY
        return numbers

    @property
    def texts(self) -> pl.Series:
        """The texts by their numbers."""
        return self._categories.to_series().gather(np.concatenate(self._codes))


class NumberedRows:
    """Rows as `audit.data.rows.ROWS`, and ``group``, ``split`` and strata where there are such.

    What is said of instances and labels is kept once; of a row there are numbers alone.
    """

    def __init__(self) -> None:
        self._ids, self._splits = Numbers(), Numbers()
        self._columns = {name: Growing(np.uint32) for name in ("instance", "said", "row", "split")}
        self._columns["position"] = Growing(np.int64)
        self._said = pl.DataFrame(schema={name: ROWS[name] for name in SAID})
        self._about = [pl.DataFrame(schema={"instance": pl.UInt32})]
        self._whole = dict[str, IntArray]()
        self.rows = 0

    @classmethod
    def of(cls, rows: pl.DataFrame) -> NumberedRows:
        """The rows of a frame."""
        numbered = cls()
        numbered.add(rows)
        return numbered

    def __len__(self) -> int:
        return len(self._columns["instance"])

    def add(self, rows: pl.DataFrame) -> NDArray[np.uint32]:
        """Add further rows, those of one row of the table together; the number of the instance of
        each, `NOBODY` where there is none."""
        row = rows["row"].rle_id().to_numpy()
        found = {
            "instance": self._ids.of(rows["instance"]),
            "said": self._numbers_of(rows.select(SAID)),
            "row": row + self.rows,
        }
        if "split" in rows.columns:
            found["split"] = self._splits.of(rows["split"])
        if rows["position"].count():
            found["position"] = rows["position"].fill_null(NO_POSITION).to_numpy()
        about = [rows[name] for name in rows.columns if name not in ROWS]
        known = pl.DataFrame([pl.Series("instance", found["instance"]), *about])
        self._about.append(known.filter(pl.col("instance") != NOBODY).unique(maintain_order=True))
        before = len(self)
        for name, values in found.items():
            self._fill(name, before)
            self._columns[name].add(values)
        self.rows += int(row[-1]) + 1 if len(row) else 0
        return found["instance"]

    def _numbers_of(self, said: pl.DataFrame) -> NDArray[np.uint32]:
        """The number in `_said` of what each row says; what is new is added there."""
        new = said.unique(maintain_order=True).join(
            self._said, on=SAID, how="anti", nulls_equal=True
        )
        self._said = pl.concat([self._said, new])
        known = self._said.with_row_index("number")
        found = said.join(known, on=SAID, how="left", nulls_equal=True, maintain_order="left")
        return found["number"].to_numpy()

    def _fill(self, name: str, upto: int) -> None:
        """Say nothing in a column of the rows before, if it was not there."""
        column = self._columns[name]
        if lacking := upto - len(column):
            column.add(np.full(lacking, NO_POSITION if name == "position" else NOBODY))

    def column(self, name: Literal["instance", "said", "row", "split", "position"]) -> IntArray:
        """The numbers of all rows, to which none is added from now on, shape (n_rows,)."""
        if name not in self._whole:
            self._fill(name, len(self))
            self._whole[name] = self._columns[name].whole()
        return self._whole[name]

    @property
    def ids(self) -> pl.Series:
        """The id of each instance, by its number."""
        return self._ids.texts

    @property
    def said(self) -> pl.DataFrame:
        """What rows say, by its number: the columns `SAID`."""
        return self._said

    @cached_property
    def about(self) -> pl.DataFrame:
        """``instance`` (its number), ``group``, ``split`` and strata: each combination once."""
        return pl.concat(self._about, how="diagonal").unique(maintain_order=True)

    @property
    def has_positions(self) -> bool:
        """Whether a row has a position."""
        return len(self._columns["position"]) > 0

    def written(self, places: IntArray) -> pl.DataFrame:
        """``instance, row, split, label`` of the rows at some places, as written."""
        numbers = {name: self.column(name)[places] for name in ("instance", "row", "split")}
        splits = pl.Series(numbers["split"]).replace(NOBODY, None)
        return pl.DataFrame(
            {
                "instance": self.ids.gather(numbers["instance"]),
                "row": numbers["row"],
                "split": self._splits.texts.gather(splits),
                "label": self._said["label"].gather(self.column("said")[places]),
            }
        )
