"""Corrected tables: what decisions on labels make of the rows of a table, whatever its file is."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from audit.base.errors import InputError, first_cases
from audit.data.columns import Columns
from audit.data.records import tidy
from audit.data.rows import rows_in
from audit.runs.fixes.changes import Change

_ROW = "\0row"
"""Name of the column of the numbers of rows, which no file has."""
_Row: TypeAlias = tuple[int, list[Any]]
"""The number of a row, and its cells of labels: text, lists of text, or flags."""
_NewRow: TypeAlias = tuple[int, list[Any], bool]
"""The number of the row it comes from, its cells of labels, and whether it is a further one."""


class Ledger:
    """The changes that are to be made, and which of them were.

    Raises:
        InputError: If two of them change one label of an instance.
    """

    def __init__(self, changes: Iterable[Change]) -> None:
        self._of = defaultdict[str, list[Change]](list)
        for one in changes:
            self._of[one.instance].append(one)
        self._seen, self._made = Counter[Change](), set[Change]()
        twice = [
            f"{label} of {instance}"
            for instance, own in self._of.items()
            for label, n in Counter(one.label or f"+{one.new}" for one in own).items()
            if n > 1
        ]
        if twice:
            raise InputError(
                "at most one decision on each label of an instance is required",
                found=f"several on {first_cases(twice)}",
            )

    @property
    def instances(self) -> list[str]:
        """Those whose labels change."""
        return [*self._of]

    @property
    def unmade(self) -> list[Change]:
        """Changes that no place was found for."""
        return [one for own in self._of.values() for one in own if one not in self._made]

    def becomes(self, instance: str, label: str, codes: str = "") -> str | None:
        """What a label as written becomes: itself, another, or None where it goes."""
        for one in self._asked(instance, codes):
            if one.kind == "add" or one.label != label:
                continue
            self._seen[one] += 1
            if self._seen[one] > one.keep:
                self._made.add(one)
                return one.new if one.kind == "replace" else None
        return label

    def added(self, instance: str, codes: str = "") -> Iterator[str]:
        """The labels to add, each given once."""
        for one in self._asked(instance, codes):
            if one.kind == "add" and one not in self._made:
                self._made.add(one)
                yield one.new

    def _asked(self, instance: str, codes: str) -> Iterator[Change]:
        for one in self._of[instance]:
            if not (codes and one.table) or codes == one.table:
                yield one


@dataclass(frozen=True, eq=False)
class CorrectedTable:
    """A table after the changes of a ledger: the cells of labels differ, and whole rows.

    The row of a label that goes is taken out, unless it is the last of its record; a further one
    stands behind them, with what all rows of a record have alike.

    Args:
        where: Its file, for messages.
        columns: Where its ids and labels stand.
        start: Number of its first row, where rows are the ids.
    """

    frame: pl.DataFrame
    where: Path
    columns: Columns
    ledger: Ledger
    start: int = 0

    @cached_property
    def after(self) -> pl.DataFrame:
        """The rows then; the frame itself where nothing changes."""
        concerned = self._ids.is_in(self.ledger.instances) & self._counts
        rows = [*self._changed(concerned)]
        if not rows:
            return self.frame
        changed = self.frame[[at for at, _, _ in rows]].with_columns(
            pl.Series(_ROW, [at for at, _, _ in rows], pl.UInt32),
            *map(self._typed, self._names, zip(*(cells for _, cells, _ in rows), strict=True)),
        )
        further = pl.Series([one for _, _, one in rows], dtype=pl.Boolean)
        if further.any():
            blank = [pl.when(~further).then(pl.col(name)).alias(name) for name in self._varying]
            changed = changed.with_columns(blank)
        others = self.frame.with_columns(self._numbers).filter(~concerned)
        every = pl.concat([others, changed.select(others.columns)])
        return every.sort(_ROW, maintain_order=True).drop(_ROW)

    @property
    def _names(self) -> tuple[str, ...]:
        return self.columns.label

    @cached_property
    def _codes(self) -> str:
        """The code set of all labels, where one is known."""
        sets = {*self.columns.sets}
        return (sets.pop() or "") if len(sets) == 1 else ""

    @property
    def _numbers(self) -> pl.Series:
        return pl.Series(_ROW, range(len(self.frame)), pl.UInt32)

    @cached_property
    def _rows(self) -> pl.DataFrame:
        """``instance, refused`` of each row of the table."""
        rows = rows_in(self.frame, self.columns, first=self.start, where=self.where)
        return rows.unique("row", keep="first", maintain_order=True)

    @property
    def _ids(self) -> pl.Series:
        return self._rows["instance"]

    @property
    def _counts(self) -> pl.Series:
        return self._rows["refused"].is_null()

    def _changed(self, concerned: pl.Series) -> Iterator[_NewRow]:
        """The rows of the instances that change, afterwards."""
        own = self.frame.select(map(self._as_read, self._names)).with_columns(self._numbers)
        rows_of = defaultdict[str, list[_Row]](list)
        ids = self._ids.filter(concerned)
        for instance, (*cells, at) in zip(ids, own.filter(concerned).iter_rows(), strict=True):
            rows_of[instance].append((at, cells))
        listed = self.frame.schema[self._names[0]].is_nested()
        several = listed or len(self._names) > 1 or self.columns.sep
        change = self._of_rows if several else self._of_assertions
        change = self._of_flags if self.columns.flags else change
        for instance, rows in rows_of.items():
            yield from change(instance, rows)

    def _as_read(self, name: str) -> pl.Series:
        """A column of labels as text, or lists of it, or flags as they are."""
        values = self.frame[name]
        if self.columns.flags or values.dtype in (pl.String, pl.List(pl.String)):
            return values
        lists = [name] if values.dtype.is_nested() else []
        return tidy(values.to_frame(), self.where, lists).to_series()

    def _typed(self, name: str, values: Sequence[Any]) -> pl.Series:
        kind = self.frame.schema[name]
        if self.columns.flags:
            return pl.Series(name, values, kind)
        text = pl.List(pl.String) if kind.is_nested() else pl.String()
        try:
            return pl.Series(name, values, text).cast(kind)
        except pl.exceptions.PolarsError:
            raise InputError(
                f"labels that the column {name!r} can hold, {kind}, are required",
                found=first_cases(dict.fromkeys(map(str, values))),
                where=self.where,
            ) from None

    @cached_property
    def _varying(self) -> list[str]:
        """Columns whose values differ between rows of one instance."""
        plain = [
            name
            for name, kind in self.frame.schema.items()
            if name not in self._names and not kind.is_nested()
        ]
        every = self.frame.select(plain).group_by(self._ids.alias(_ROW)).agg(pl.all().n_unique())
        return [name for name in plain if (every[name] > 1).any()]

    def _becomes(self, instance: str, label: str) -> str | None:
        return self.ledger.becomes(instance, label, self._codes) if label else label

    def _of_assertions(self, instance: str, rows: Sequence[_Row]) -> Iterator[_NewRow]:
        """A row is an instance and a label."""
        (last, _), left = rows[-1], 0
        for at, (cell,) in rows:
            label = (cell or "").strip()
            new = self._becomes(instance, label)
            if new is not None:
                left += 1
                yield at, [cell if new == label else new], False
        for label in self.ledger.added(instance, self._codes):
            left += 1
            yield last, [label], True
        if not left:
            yield last, [None], False

    def _of_rows(self, instance: str, rows: Sequence[_Row]) -> Iterator[_NewRow]:
        """A row is an instance; labels are added to its last row."""
        for at, cells in rows:
            became = [self._cell(instance, one) for one in cells]
            if at == rows[-1][0]:
                self._add(self.ledger.added(instance, self._codes), became)
            yield at, became, False

    def _cell(self, instance: str, cell: Any) -> Any:
        if cell is None:
            return None
        listed, sign = isinstance(cell, list), self._sign
        held = cell if listed else cell.split(sign) if sign else [cell]
        labels = [(one or "").strip() for one in held]
        became = [self._becomes(instance, one) for one in labels]
        if became == labels:
            return cell
        kept = [one for one in became if one]
        return kept if listed else self._between.join(kept) or None

    def _add(self, added: Iterator[str], cells: list[Any]) -> None:
        """Put added labels behind those that the last cell holds, or into the first blank cells."""
        if self.frame.schema[self._names[-1]].is_nested():
            cells[-1] = [*(cells[-1] or []), *added]
        elif self._sign:
            cells[-1] = self._between.join(filter(None, [(cells[-1] or "").rstrip(), *added]))
        else:
            for n in (n for n, one in enumerate(cells) if not (one or "").strip()):
                cells[n] = next(added, cells[n])

    @property
    def _sign(self) -> str:
        sep = self.columns.sep
        return sep if sep.isspace() else sep.strip()

    @cached_property
    def _between(self) -> str:
        """What stands between the labels of the first cell that holds several."""
        held = (one for name in self._names for one in self.frame[name].drop_nulls())
        found = (re.search(f"{re.escape(self._sign)}[ ]*", one.strip()) for one in held)
        return next((one[0] for one in found if one), self.columns.sep)

    def _of_flags(self, instance: str, rows: Sequence[_Row]) -> Iterator[_NewRow]:
        """Each label has a column of flags."""
        for at, cells in rows:
            states = dict(zip(self._names, map(_state_of, cells), strict=True))
            carried = {self._becomes(instance, one) for one, yes in states.items() if yes} - {None}
            if at == rows[-1][0]:
                carried |= {*self.ledger.added(instance, self._codes)}
            if lacking := carried - {*states}:
                raise InputError(
                    "a column for each label that is written is required",
                    found=f"none for {first_cases(sorted(map(str, lacking)))}",
                    hint="rename or add the column, and audit the table anew, or decide otherwise",
                )
            yield (
                at,
                [
                    cell if yes == (label in carried) else self._written(n, state=not yes)
                    for n, (cell, (label, yes)) in enumerate(
                        zip(cells, states.items(), strict=True)
                    )
                ],
                False,
            )

    def _written(self, place: int, *, state: bool) -> Any:
        """What stands for a state in a column of flags, else in the others."""
        for name in (self._names[place], *self._names):
            for value in self.frame[name].drop_nulls().unique(maintain_order=True):
                if _state_of(value) == state:
                    return value
        kind = self.frame.schema[self._names[place]]
        return state if kind != pl.String else "1" if state else None


def _state_of(cell: Any) -> bool:
    """Whether a cell of flags says that its label is carried."""
    return str(cell).strip().lower() in ("1", "1.0", "true")
