"""Split an entailment dataset so that every (head, instance) is in one set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import polars as pl

from audit.base.errors import InputError
from audit.engine.statistics.resampling import unit_keys
from audit.entailment.content.near_duplicates import SAME_KEY
from audit.entailment.copies import copy_of, new_folder
from audit.entailment.dataset import SPLITS, EntailmentDataset
from audit.entailment.reading.columns import kind_named

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
        shares: A name of `SHARES`.
        seed: As of `split_of`.
        valid_only: Whether to leave out invalid tuples too, as a generation set does.
        kind: As the files were read.
        columns: As the files were read.

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
