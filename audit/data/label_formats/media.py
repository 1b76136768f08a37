"""Labels of pictures and sounds in the CSV of their publishers: Open Images, FSD50K."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from audit.base.readings import Reading
from audit.data.label_format import Chosen, Columns
from audit.data.label_formats import long, tables
from audit.data.records import column_for
from audit.data.sources import Source


def _is_open_images(source: Source) -> bool:
    return {"imageid", "labelname", "confidence"} <= source.columns.keys()


def _choose_open_images(source: Source, columns: Columns, rows: Source) -> Chosen:
    """Images and their labels, without those that were verified not to hold: confidence 0."""
    names = [*source.schema]
    label = column_for("label", columns.label or "LabelName", names, source)
    sure = column_for("", "Confidence", names, source)
    wanted = replace(columns, id=columns.id or "ImageID")
    chosen = tables.chosen_rows(source, wanted, rows, [label])
    if any(one.partition("=")[0].strip(" !").lower() == "confidence" for one in wanted.rules.where):
        return chosen
    never = unsure = 0
    for frame in rows.frames([sure], tables.AT_ONCE):
        numbers = frame[sure].cast(pl.Float64, strict=False)
        never += int((numbers == 0).sum())
        unsure += int(((numbers > 0) & (numbers < 1)).sum())
    leave = [f"{sure}!={zero}" for zero in ("0", "0.0")]
    negative = Reading(
        "labels that were verified not to hold are left out", f"their {sure!r} is 0",
        never, f"--where '{sure}=*'", "labels",
    )  # fmt: skip
    some = Reading(
        f"labels with a {sure!r} between 0 and 1 count", "only 0 says that a label does not hold",
        unsure, f"--where '{sure}=1'", "labels",
    )  # fmt: skip
    told = [one for one in (negative, some) if one.rows]
    rules = replace(wanted.rules, where=(*wanted.rules.where, *leave))
    return replace(chosen, rules=rules, readings=(*chosen.readings, *told))


def _choose_fsd(source: Source, columns: Columns, rows: Source) -> Chosen:
    """Clips and their labels: the ids of AudioSet, unless the names are nodes more often."""
    names = [*source.schema]
    mids, labels = (column_for("label", one, names, source) for one in ("mids", "labels"))
    share = {one: source.share_of_nodes(one) or 0.0 for one in (mids, labels)}
    best = max((mids, labels), key=share.__getitem__)
    label = column_for("label", columns.label or best, names, source)
    wanted = replace(columns, id=columns.id or "fname")
    return tables.chosen_rows(source, wanted, rows, [label], joined=True, sign=",")


OPEN_IMAGES = tables.table_format(
    "openimages", "Open Images: ImageID, LabelName and Confidence, of which 0 is a verified no",
    _is_open_images, _choose_open_images,
)  # fmt: skip
FSD50K = tables.table_format(
    "fsd50k", "FSD50K: fname with labels and mids joined by commas", long.is_fsd50k, _choose_fsd
)
