"""Copies of files of tuples in their own format: values changed, records left out, or split."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from audit.base.disk import on_disk, working_beside
from audit.base.errors import InputError, OutputError, first_cases
from audit.data.class_names import Classes, names_by_number
from audit.data.records import is_json
from audit.data.sources import File
from audit.engine.statistics.resampling import unit_keys
from audit.entailment.dataset import SPLITS, EntailmentDataset
from audit.entailment.near_duplicates import SAME_KEY
from audit.entailment.tuple_files import (
    Kind,
    has_header,
    kind_named,
    records_in,
    roles_among,
    splits,
    truths,
    with_class_names,
)

Edit = tuple[int, str, Any]
"""A value to change: the place of its record in the file, from 0, its role, and what it shall be:
true or false for a label, the name of a split, or a text."""


@dataclass(frozen=True, eq=False)
class Copy:
    """The records of a file as they are stored.

    Args:
        lines: JSON lines as they are written; None in other formats.
        classes: Names of the classes that labels are numbers of, if they are.
    """

    source: File
    table: pl.DataFrame
    lines: tuple[str, ...] | None
    roles: Mapping[str, str]
    header: bool
    classes: Classes | None = None

    def edited(self, edits: Iterable[Edit]) -> Copy:
        """The copy with values changed; labels and splits are spelt as elsewhere in the file."""
        by_role: dict[str, dict[int, Any]] = {}
        for record, role, value in edits:
            by_role.setdefault(role, {})[record] = value
        missing = [role for role in by_role if role not in self.roles]
        if missing:
            raise InputError(
                "a column to change is required", found=first_cases(missing), where=self.source
            )
        table, lines = self.table, list(self.lines or ())
        for role, values in by_role.items():
            name = self.roles[role]
            spelt = _spelling(table[name], role, self.classes)
            changes = {record: spelt(value) for record, value in values.items()}
            table = table.with_columns(_changed(table[name], changes))
            if self.lines is not None:
                for record, text in changes.items():
                    lines[record] = _changed_line(lines[record], name, text)
        return replace(self, table=table, lines=None if self.lines is None else tuple(lines))

    def only(self, records: Sequence[int]) -> Copy:
        """The copy with some of its records, in the order given."""
        lines = None if self.lines is None else tuple(self.lines[record] for record in records)
        return replace(self, table=self.table[list(records)], lines=lines)

    def followed_by(self, others: Iterable[Copy]) -> Copy:
        """The copy with records of other files after its own."""
        made = self
        for other in others:
            same = made.table.schema == other.table.schema or made.table.is_empty()
            if not same or (made.lines is None) != (other.lines is None):
                raise InputError(
                    "files between which records move must have the same columns and format",
                    found=f"other columns, or another format, than in {self.source}",
                    where=other.source,
                )
            table = pl.concat([made.table, other.table]) if made.table.height else other.table
            lines = None if made.lines is None else (*made.lines, *(other.lines or ()))
            made = replace(made, table=table, lines=lines)
        return made

    def content(self) -> bytes:
        """The bytes of a file of the same format, packed as the file is."""
        stream = io.BytesIO()
        if self.lines is not None:
            stream.write("".join(f"{line}\n" for line in self.lines).encode())
        elif self.source.is_text:
            separator = self.source.separator
            self.table.write_csv(stream, include_header=self.header, separator=separator)
        else:
            self.table.write_parquet(stream)
        packed = self.source.path.suffix.lower() == ".gz"
        return gzip.compress(stream.getvalue(), mtime=0) if packed else stream.getvalue()


def copy_of(
    path: Path, kind: Kind, columns: Mapping[str, str], classes: Classes | None = None
) -> Copy:
    """The records of a file as they are stored; it is read as `read_entailment` reads it."""
    source = File(path)
    table = records_in(source, kind, columns)
    roles = roles_among(table.columns, kind, columns, source).named
    lines = tuple(line for _, line in source.lines()) if is_json(source) else None
    return Copy(source, table, lines, roles, has_header(source, kind, columns), classes)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes ``folder`` when the block ends without an error."""
    _refuse_existing(folder)
    with working_beside(folder.resolve()) as begun, on_disk(folder):
        yield begun
        _refuse_existing(folder)
        begun.rename(folder.resolve())


def _refuse_existing(folder: Path) -> None:
    if folder.exists():
        raise OutputError("a new folder is required", found="something that exists", where=folder)


def _spelling(column: pl.Series, role: str, classes: Classes | None) -> Callable[[Any], Any]:
    """How a column writes a value: as where it has it first, else plainly."""
    if role not in ("label", "split"):
        return lambda value: value
    text = column.cast(pl.String).str.strip_chars()
    number = str if column.dtype == pl.String else int
    plain = {True: number(1), False: number(0)}
    if role == "label" and classes:
        text = with_class_names(text, classes, column.name)
        names = names_by_number(classes)
        meant = zip(names, truths(pl.Series([*names.values()])), strict=True)
        plain = {truth: number(place) for place, truth in reversed([*meant])}
    met = pl.DataFrame(
        {"stored": column, "means": truths(text) if role == "label" else splits(text)}
    )
    first = met.drop_nulls().unique("means", keep="first", maintain_order=True)
    stored = dict(first.select("means", "stored").iter_rows())
    return lambda value: stored.get(value, plain.get(value, value))


def _changed(column: pl.Series, changes: Mapping[int, Any]) -> pl.Series:
    values = column.to_list()
    for record, value in changes.items():
        values[record] = value
    return pl.Series(column.name, values, column.dtype)


def _changed_line(line: str, key: str, text: str) -> str:
    """A line of JSON with another value of the type that the key has."""
    made = json.loads(line)
    plain = isinstance(made.get(key), str) or made.get(key) is None
    made[key] = text if plain else json.loads(text)
    return json.dumps(made, ensure_ascii=False)


SHARES: Mapping[str, tuple[float, float, float]] = MappingProxyType(
    {"80:10:10": (0.8, 0.1, 0.1), "90:5:5": (0.9, 0.05, 0.05)}
)
"""Shares of keys in `SPLITS`, by name: those of AbsPyramid for detection and for generation."""


def split_of(tuples: pl.DataFrame, shares: str = "80:10:10", seed: int = 0) -> pl.Series:
    """The split of each tuple, decided by a hash of its head and instance alone.

    Tuples with one (head, instance), but for case and blanks, fall into one set, and stay there
    when rows are added, taken away or put in another order. With K keys, the realised share of a
    set of expected share p is that of K independent draws: its standard deviation is
    sqrt(p (1 - p) / K) in keys.

    Args:
        tuples: A table with the columns ``head, instance``.
        shares: A name of `SHARES`.
        seed: Another number gives another split.

    Returns:
        Names of `SPLITS`, one for each row, named ``split``.

    Raises:
        InputError: If the name of the shares is unknown.
    """
    if shares not in SHARES:
        raise InputError(
            f"shares must be one of {', '.join(SHARES)}", found=repr(shares), where="--shares"
        )
    rows = tuples.select(SAME_KEY)
    keys = rows.unique(maintain_order=True)
    joined = keys.select(pl.concat_str("head", "instance", separator="\0")).to_series()
    place = unit_keys(joined.to_list(), seed) / 2.0**64
    bounds = np.cumsum(SHARES[shares])[:-1]
    chosen = pl.Series("split", np.array(SPLITS)[np.searchsorted(bounds, place, "right")])
    of_key = keys.with_columns(split=chosen)
    return rows.join(of_key, on=["head", "instance"], how="left", maintain_order="left")["split"]


def write_splits(
    dataset: EntailmentDataset,
    folder: Path | str,
    shares: str = "80:10:10",
    *,
    seed: int = 0,
    valid_only: bool = False,
    kind: str = "tuples",
    columns: Mapping[str, str] | None = None,
) -> dict[str, int]:
    """Write a file for each split, in the format of the dataset's files, into a new folder.

    Records that were refused are left out. A column of the split, if there is one, is set.

    Args:
        dataset: As read from its files, which must have the same columns and format.
        folder: A folder that does not exist.
        valid_only: Whether to leave out invalid tuples too, as a generation set does.

    Returns:
        Number of tuples in each split.

    Raises:
        InputError: If the shares are unknown, or files have other columns than the first one.
        OutputError: If the folder exists, or cannot be written.
    """
    kept = dataset.tuples.filter(pl.col("valid") | pl.lit(not valid_only))
    chosen = split_of(kept, shares, seed)
    copies = [copy_of(path, kind_named(kind), columns or {}) for path in dataset.sources]
    first, *further = copies
    whole = first.followed_by(further)
    records = (kept["row"] - 1).to_list()
    if "split" in whole.roles:
        whole = whole.edited(
            (record, "split", split) for record, split in zip(records, chosen, strict=True)
        )
    path = first.source.path
    suffix = first.source.suffix + (path.suffix if path.suffix.lower() == ".gz" else "")
    with new_folder(Path(folder)) as begun:
        for name in SPLITS:
            own = kept.filter(chosen == name)["row"] - 1
            (begun / f"{name}{suffix}").write_bytes(whole.only(own.to_list()).content())
    return {name: int((chosen == name).sum()) for name in SPLITS}
