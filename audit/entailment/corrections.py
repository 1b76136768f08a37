"""Proposed corrections of a dataset, tuples that people should judge, and corrected copies."""

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
from audit.entailment.dataset_counts import wrongly_generated, wrongly_left_out
from audit.entailment.measure import EntailmentMeasurements
from audit.entailment.tuple_files import kind_named, split_named
from audit.entailment.votes import CARRYING

_ENDS = ("instance", "concept")
_LABEL = pl.col("valid").cast(pl.String)
_OTHER = pl.col("valid").not_().cast(pl.String)
_NOTHING = pl.lit(None, pl.String)
_VALID_EDGE = pl.col("valid") & (pl.col("instance") != pl.col("concept"))


def reviews(entailed: EntailmentMeasurements, rate: float) -> Iterator[pl.DataFrame]:
    """Tuples to judge again: ``id, row, check, column, value, proposed``, a table a question.

    * Of a cycle, and of two valid edges with a denied one along them: the answers with the least
      majority of votes, a tuple without known votes being one vote. The opposite answer is
      proposed where one edge alone has the least. Of synonyms: both edges of a pair.
    * Of an edge with opposite answers: those of the minority, or all without one, and those that
      deny an edge within a cycle.
    * Valid edges that follow from others, and those to concepts that fit nearly anything.
    * Votes of annotators who differ from all others against a majority, which is proposed.
    * Valid tuples that the generation set lacks, and denied ones that it has.
    * Tuples whose head lacks the instance, and those of heads that another split nearly has.
    """
    dataset, graph, quality = entailed.dataset, entailed.graph, entailed.quality
    catching = graph.concepts.filter("catch_all").select("relation", "concept")
    outliers = quality.annotators.filter(pl.col("q_value") <= rate)
    near = quality.near_heads.select("head", split="other").unique()
    yield _questions("cycle", _weakest(dataset, _cycles(graph.components)))
    yield _questions("transitivity", _weakest(dataset, _triples(graph.violations)))
    yield _questions("contradiction", _minorities(dataset, graph.contradictions))
    yield _questions("redundant_edge", _among(dataset, graph.redundant, "relation", *_ENDS))
    yield _questions("catch_all", _among(dataset, catching, "relation", "concept"), "concept")
    yield _votes(dataset, quality.dissents.join(outliers, on="annotator", how="semi"))
    yield _generated(entailed)
    unclear = quality.mismatches.filter(pl.col("proposed").is_null())
    yield unclear.select("id", "row", "column", "value", "proposed", check=pl.lit("tail_mismatch"))
    nearly = dataset.tuples.join(near, on=["head", "split"], how="semi", maintain_order="left")
    yield _questions("near_duplicate", nearly, "split")


def _questions(check: str, tuples: pl.DataFrame, column: str = "label") -> pl.DataFrame:
    proposed = pl.col("proposed") if "proposed" in tuples.columns else _NOTHING
    value = _LABEL if column == "label" else pl.col(column)
    return tuples.select(
        "id", "row", check=pl.lit(check), column=pl.lit(column), value=value,
        proposed=proposed.alias("proposed"),
    )  # fmt: skip


def _cycles(components: pl.DataFrame) -> pl.DataFrame:
    """The edges of the cycle named for each component, as ``case, relation, head, ...``."""
    cycles = components.with_row_index("case")
    closed = cycles.with_columns(
        instance=pl.col("cycle").list.head(pl.col("cycle").list.len() - 1),
        concept=pl.col("cycle").list.tail(pl.col("cycle").list.len() - 1),
        answer=True,
        decides=~pl.col("synonyms"),
    )
    columns = ("case", "relation", "head", "instance", "concept", "answer", "decides")
    return closed.select(columns).explode(*_ENDS)


def _triples(violations: pl.DataFrame) -> pl.DataFrame:
    """The denied edge and the two valid ones along it, as ``case, relation, head, ...``."""
    cases = violations.with_row_index("case").with_columns(decides=True)
    ends = {
        ("instance", "concept"): False,
        ("instance", "through"): True,
        ("through", "concept"): True,
    }
    return pl.concat(
        cases.select(
            "case", "relation", "head", pl.col(child).alias("instance"),
            pl.col(parent).alias("concept"), answer=pl.lit(answer), decides="decides",
        )
        for (child, parent), answer in ends.items()
    )  # fmt: skip


def _weakest(dataset: EntailmentDataset, edges: pl.DataFrame) -> pl.DataFrame:
    """Of each case the tuples of the answers with the least majority of votes.

    A case that does not decide keeps all.
    """
    under_head = pl.col("head").is_null() | (pl.col("head") == pl.col("judged_under"))
    tuples = dataset.tuples.rename({"head": "judged_under"})
    of_cases = edges.join(tuples, on=["relation", *_ENDS]).filter(under_head)
    against = pl.when("answer").then(_majority()).otherwise(-_majority())
    weighed = of_cases.with_columns(least=against.sum().over("case", *_ENDS))
    weakest = weighed.filter(
        (pl.col("least") == pl.col("least").min().over("case")) | ~pl.col("decides"),
        pl.col("valid") == pl.col("answer"),
    )
    alone = pl.struct(_ENDS).n_unique().over("case") == 1
    proposed = weakest.with_columns(proposed=pl.when("decides", alone).then(_OTHER))
    return proposed.sort("row", "proposed", nulls_last=True).unique(
        "id", keep="first", maintain_order=True
    )


def _majority() -> pl.Expr:
    """Votes for valid less those against; of a tuple without known votes, one for its label."""
    stated = pl.when("valid").then(1).otherwise(-1)
    return (2 * pl.col("votes_valid") - pl.col("votes")).fill_null(stated)


def _minorities(dataset: EntailmentDataset, contradictions: pl.DataFrame) -> pl.DataFrame:
    """Answers against the majority of an edge's; all where there is none; denials in a cycle."""
    edges = contradictions.select("relation", *_ENDS, "kind").unique()
    tuples = dataset.tuples.join(edges, on=["relation", *_ENDS])
    balance = _majority().sum().over("relation", *_ENDS, "kind")
    against = pl.when("valid").then(balance <= 0).otherwise(balance >= 0)
    minority = tuples.filter(against | (pl.col("kind") == "cycle"))
    decided = (pl.col("kind") == "edge") & (balance != 0)
    return minority.with_columns(proposed=pl.when(decided).then(_OTHER))


def _among(dataset: EntailmentDataset, edges: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """The tuples that state some edges as valid."""
    valid = dataset.tuples.filter(_VALID_EDGE)
    return valid.join(edges, on=keys, how="semi", maintain_order="left")


def _votes(dataset: EntailmentDataset, dissents: pl.DataFrame) -> pl.DataFrame:
    votes = dissents.select("id", "annotator", vote="valid")
    tuples = dataset.tuples.join(votes, on="id", maintain_order="left")
    return tuples.select(
        "id", "row", check=pl.lit("annotator_outlier"), column=pl.lit("votes"),
        value=pl.format("{}: {}", "annotator", pl.col("vote").cast(pl.String)),
        proposed=pl.format("{}: {}", "annotator", pl.col("vote").not_().cast(pl.String)),
    )  # fmt: skip


def _generated(entailed: EntailmentMeasurements) -> pl.DataFrame:
    """Tuples that the generation set should have and lacks, or has and should not."""
    left_out = wrongly_left_out(entailed.dataset, entailed.positives)
    more = wrongly_generated(entailed.dataset, entailed.positives)
    there = (more, "in it", "left out"), (left_out, "left out", "in it")
    return pl.concat(
        tuples.select(
            "id", "row", check=pl.lit("generation_mismatch"), column=pl.lit("generation set"),
            value=pl.lit(value), proposed=pl.lit(proposed),
        )
        for tuples, value, proposed in there
    )  # fmt: skip


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
    reviewed, by `audit.entailment.corrections.reviews`.

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
        proposed: Columns `CORRECTIONS`; those to review are left to people.
        folder: A folder that does not exist.

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
