"""Labels that changed on the same records, where both releases keep their instances."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from audit.results.compared import RECORDS
from audit.results.result import AuditResult
from audit.runs.instances import kept_labels
from audit.sharing.told import Rounding, told_frame


@dataclass(frozen=True, eq=False)
class RecordChanges:
    """What changed on the records that both releases have.

    Args:
        common: Number of ids with a label in both.
        changed: Those of them whose labels are not the same.
        labels: ``label_old, label_new, records``: of how many of these one label was exchanged for
            one other. Labels that were taken away or added otherwise stand beside null.
    """

    common: int
    changed: int
    labels: pl.DataFrame

    def told(self, rounding: Rounding) -> pl.DataFrame:
        """The rows of ``labels`` whose told counts may be listed, the most frequent first."""
        rows = told_frame(self.labels, RECORDS.columns, rounding)
        listed = pl.col("records") > rounding.width
        return rows.filter(listed).sort(-pl.col("records"), "label_old", "label_new")


def record_changes(old: AuditResult, new: AuditResult) -> RecordChanges | None:
    """Compare the labels of the records that both runs have; None where they keep none of one id.

    Labels that were refused count as they are written.
    """
    if old.instances is None or new.instances is None:
        return None
    before, after = (_labels(run) for run in (old, new))
    common = before.select("instance").unique().join(after, on="instance", how="semi")
    if common.is_empty():
        return None
    key = ["instance", "label"]
    lost, gained = (
        one.join(other, on=key, how="anti").join(common, on="instance", how="semi")
        for one, other in ((before, after), (after, before))
    )
    single = [one.filter(pl.len().over("instance") == 1) for one in (lost, gained)]
    exchanged = single[0].join(single[1], on="instance", suffix="_new")
    rest = (one.join(exchanged, on="instance", how="anti") for one in (lost, gained))
    named = [
        one.select("instance", pl.col("label").alias(side))
        for one, side in zip(rest, ("label_old", "label_new"), strict=True)
    ]
    rows = pl.concat([exchanged.rename({"label": "label_old"}), *named], how="diagonal")
    counted = rows.group_by("label_old", "label_new").len("records")
    titles = {**old.titles, **new.titles}
    titled = counted.with_columns(
        pl.col(f"label_{side}")
        .replace_strict(titles, default=None, return_dtype=pl.String)
        .alias(f"title_{side}")
        for side in ("old", "new")
    )
    order = titled.sort(-pl.col("records").cast(pl.Int64), "label_old", "label_new")
    return RecordChanges(len(common), rows["instance"].n_unique(), RECORDS.cast(order))


def _labels(run: AuditResult) -> pl.DataFrame:
    """Each record with each of its labels, ``instance, label``."""
    assert run.instances is not None, "of runs that keep them"
    ids = run.instances.select("instance").collect()["instance"]
    rows = kept_labels(run, ids).filter(pl.col("label") > 0)
    return rows.select("instance", label="node").unique()
