"""Proposed corrections of a dataset, and corrected copies of its files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.disk import on_disk
from audit.base.errors import InputError
from audit.base.schemas import schema
from audit.data.class_names import Classes
from audit.entailment.copies import Copy, Edit, copy_of, new_folder
from audit.entailment.dataset import SPLITS, EntailmentDataset
from audit.entailment.measure import EntailmentMeasurements
from audit.entailment.reading.columns import kind_named
from audit.entailment.reading.values import split_named
from audit.entailment.reviews import reviews
from audit.entailment.votes import CARRYING

CORRECTIONS = schema(
    ("id", pl.String),
    ("row", pl.Int64),
    ("check column value proposed action", pl.String),
)
"""One row per correction, by row. ``action`` is ``set`` (``column`` gets the ``proposed`` value in
place of ``value``), ``move`` (to the split ``proposed``), ``drop`` (the record is left out;
``column`` and ``proposed`` are null), or ``review``: people should judge the record again, and
``proposed`` is what the others speak for, null where they speak for nothing. A record that is
dropped has no other correction."""


_REVIEWED = tuple(name for name in CORRECTIONS if name != "action")
_UNDER_ONE_HEAD = ("relation", "head", "instance", "concept")


def corrections(entailed: EntailmentMeasurements, rate: float) -> pl.DataFrame:
    """What would correct a dataset, columns `CORRECTIONS`: at least one for each finding.

    A tail that does not fit is set to the head with its instance replaced. A (head, instance) in
    several splits moves to the one with most of its tuples, else to the first split
    that nearly has its head, with the same instance. Tuples that repeat others are dropped,
    as are labels that too few votes carry; where four of five votes carry the other label, it is
    set. Of tuples under one head that contradict each other, those against the majority of all
    their votes are dropped, or all without a majority. Whatever else a check finds is to be
    reviewed, by `audit.entailment.reviews.reviews`.

    Args:
        entailed: What is measured.
        rate: False discovery rate of annotators who differ from all others.
    """
    dataset, quality = entailed.dataset, entailed.quality
    found = pl.concat(
        [
            _contradicting(dataset),
            quality.repeats.select(**_drop("near_duplicate")),
            *_by_votes(quality.weak_labels),
            quality.mismatches.drop_nulls("proposed").select(
                "id", "row", "column", "value", "proposed", check=pl.lit("tail_mismatch"),
                action=pl.lit("set"),
            ),
            quality.misplaced.filter(pl.col("split") != pl.col("home")).select(
                "id", "row", check=pl.lit("head_in_two_splits"), column=pl.lit("split"),
                value="split", proposed="home", action=pl.lit("move"),
            ),
            _nearly_in_another_split(dataset, quality.near_heads),
        ],
        how="diagonal",
    ).select(*CORRECTIONS)  # fmt: skip
    once = found.unique(["id", "action", "column"], keep="first", maintain_order=True)
    doubtful = (
        pl.concat(table.select(*_REVIEWED) for table in reviews(entailed, rate))
        .join(found, on=["id", "check"], how="anti", maintain_order="left")
        .with_columns(action=pl.lit("review"))
    )
    every = pl.concat([once, doubtful]).cast(pl.Schema(CORRECTIONS))
    dropped = every.filter(action="drop")
    kept = every.filter(pl.col("action") != "drop")
    others = kept.join(dropped, on="id", how="anti", maintain_order="left")
    return pl.concat([dropped, others]).sort("row", maintain_order=True)


def _drop(check: str) -> dict[str, pl.Expr]:
    nothing = pl.lit(None, pl.String)
    return {
        "id": pl.col("id"),
        "row": pl.col("row"),
        "check": pl.lit(check),
        "column": nothing,
        "value": nothing,
        "proposed": nothing,
        "action": pl.lit("drop"),
    }


def _by_votes(weak: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Labels that votes carry the other way, to be set, and those that they carry neither way."""
    against = pl.col("votes") - pl.col("for_label") >= CARRYING * pl.col("votes") - 1e-9
    label = pl.col("valid").cast(pl.String)
    other = pl.col("valid").not_().cast(pl.String)
    turned = weak.filter(against).select(
        "id", "row", check=pl.lit("weak_label"), column=pl.lit("label"), value=label,
        proposed=other, action=pl.lit("set"),
    )  # fmt: skip
    return turned, weak.filter(~against).select(**_drop("weak_label"))


def _nearly_in_another_split(dataset: EntailmentDataset, near: pl.DataFrame) -> pl.DataFrame:
    """Moves of a head's tuples to the first split that nearly has it, with the same instance."""
    order = pl.col("home").replace_strict(dict(zip(SPLITS, range(3), strict=True)), default=3)
    homes = near.select("head", "other_head", split="other", home="split").sort(order, "home")
    placed = dataset.tuples.select("instance", other_head="head", home="split").unique()
    moved = (
        dataset.tuples.join(homes, on=["head", "split"], maintain_order="left_right")
        .join(placed, on=["other_head", "home", "instance"], how="semi")
        .unique("id", keep="first", maintain_order=True)
    )
    return moved.select(
        "id", "row", check=pl.lit("near_duplicate"), column=pl.lit("split"), value="split",
        proposed="home", action=pl.lit("move"),
    )  # fmt: skip


def _contradicting(dataset: EntailmentDataset) -> pl.DataFrame:
    """Tuples to drop among those that call one edge valid and invalid under one head."""
    torn = dataset.tuples.filter(pl.col("valid").n_unique().over(_UNDER_ONE_HEAD) > 1)
    for_it = 2 * pl.col("votes_valid").sum() - pl.col("votes").sum()
    balance = for_it.over(_UNDER_ONE_HEAD)
    against = pl.when("valid").then(balance <= 0).otherwise(balance >= 0)
    return torn.filter(against).select(**_drop("contradiction"))


def write_corrected(
    dataset: EntailmentDataset,
    proposed: pl.DataFrame,
    folder: Path | str,
    kind: str = "tuples",
    columns: Mapping[str, str] | None = None,
    classes: Classes | None = None,
) -> None:
    """Write corrected copies of the files of a dataset, under their names, into a new folder.

    Format, other columns and the order of records stay; records that were refused are copied as
    they are. Where each split is a file, a record that moves is put at the end of the other file.

    Args:
        dataset: As read from its files.
        proposed: Columns `CORRECTIONS`; those to review are left to people.
        folder: A folder that does not exist.
        kind: As the files were read.
        columns: As the files were read.
        classes: As the files were read.

    Raises:
        InputError: If two files have the same name, a file has no column to change, has changed
            since it was read, or a record should move to a split that no file has.
        OutputError: If the folder exists, or cannot be written.
    """
    names = [path.name for path in dataset.sources]
    if len({*names}) < len(names) or not names:
        raise InputError(
            "files of different names are required to write corrected copies",
            found=", ".join(map(str, dataset.sources)) or "no file",
        )
    as_read = (kind_named(kind), columns or {}, classes)
    copies = [copy_of(path, *as_read) for path in dataset.sources]
    if sum(copy.table.height for copy in copies) != dataset.rows_read:
        raise InputError("files must not change while they are audited", found="other records")
    made = _corrected(copies, proposed.filter(pl.col("action") != "review"))
    with new_folder(Path(folder)) as begun, on_disk(Path(folder)):
        for name, copy in zip(names, made, strict=True):
            (begun / name).write_bytes(copy.content())


def _corrected(copies: list[Copy], proposed: pl.DataFrame) -> list[Copy]:
    by_file = {
        file: list(rows) for file, rows in groupby(_corrections_by_file(copies, proposed), _file)
    }
    kept, arriving = [], dict[str, list[Copy]]()
    for file, copy in enumerate(copies):
        rows = by_file.get(file, [])
        in_place = ("set", "move") if "split" in copy.roles else ("set",)
        edited = copy.edited(edit for _, action, edit in rows if action in in_place)
        moves = {} if "move" in in_place else _of(rows, "move")
        for record, split in moves.items():
            arriving.setdefault(split, []).append(edited.only([record]))
        gone = {*moves, *_of(rows, "drop")}
        kept.append(edited.only([one for one in range(copy.table.height) if one not in gone]))
    homes = {
        split_named(copy.source.path.stem.split(".")[0]): file for file, copy in enumerate(copies)
    }
    for split, moved in arriving.items():
        if split not in homes:
            raise InputError("a file of each split is required", found=f"none of {split!r}")
        kept[homes[split]] = kept[homes[split]].followed_by(moved)
    return kept


_Placed = tuple[int, str, Edit]
"""The file of a correction, its action, and the edit."""


def _corrections_by_file(copies: list[Copy], proposed: pl.DataFrame) -> Iterator[_Placed]:
    """Corrections by file, with the place of each record in it."""
    ends = [0]
    for copy in copies:
        ends.append(ends[-1] + copy.table.height)
    file = 0
    for row in proposed.sort("row").iter_rows(named=True):
        while row["row"] > ends[file + 1]:
            file += 1
        value = row["proposed"]
        value = value == "true" if row["column"] == "label" else value
        yield file, row["action"], (row["row"] - 1 - ends[file], row["column"], value)


def _file(placed: _Placed) -> int:
    return placed[0]


def _of(rows: list[_Placed], action: str) -> dict[int, Any]:
    return {edit[0]: edit[2] for _, one, edit in rows if one == action}
