"""Ids: which column, or columns, of a table most likely name its instances; only ever offered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from audit.data.asking.seen import HALF, NEARLY_ALL, Seen
from audit.data.columns import ROW, Columns

_FINEST = 0.1
"""Least number of ids for each row, where the rows of an id do not follow each other."""
_OFTEN = 12
"""Number of values up to which a column of a large table is none of ids."""
_GROUPS, _AGE = 0.3, 120
"""Least number of groups for each id, as most have a few; and largest whole number of an age."""
_EACH_ROW = "No column is likely that of ids: each row is then an instance, with one label."


def ids_of(
    seen: Seen, columns: Columns, out: Iterable[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of the id of an instance, and sentences on what instances are repeated in.

    The finest column is meant; where a row holds one label, one that never repeats comes last.

    Args:
        seen: What is seen of the table.
        columns: Its columns of labels, and what else is stated.
        out: Columns that are something else.
    """
    labels = columns.label
    others: set[str | None] = {*labels, *columns.taken, *out, seen.index}
    several = columns.flags or bool(columns.sep or columns.take) or len(labels) > 1
    several = several or any(map(seen.is_listed, labels))
    free = [one for one in seen.frame.columns if one not in others and seen.may_be_ids(one)]
    ranks = {one: _rank(seen, one, () if several else labels) for one in free}
    likely = [one for one in free if ranks[one]]
    best = max(likely, key=lambda one: (ranks[one], seen.n_values(one)), default="")
    for one in free:
        for visit in free if best in ("", one) else [best]:
            if visit != one and _counts_within(seen, one, visit, several):
                kept = (_kept_together(one),) if one == best else ()
                return (one, visit), (f"{visit!r} counts within {one!r}.", *kept)
    if not best:
        return (ROW,), () if several else (_EACH_ROW,)
    n = seen.n_values(best)
    coarser = [one for one in free if _GROUPS * n < seen.n_values(one) < n]
    groups = [
        one
        for one in sorted(coarser, key=lambda one: -seen.n_values(one))
        if not _may_be_ages(seen, one) and seen.frame.select(best, one).n_unique() == n
    ]
    return (best,), tuple(map(_kept_together, groups[:1]))


def _rank(seen: Seen, name: str, label: Sequence[str]) -> int:
    """How likely a column is that of ids, beside a column of one label a row; 0 if it is not:
    labels of an instance hardly ever repeat."""
    n, rows = seen.n_values(name), seen.frame.height
    if n == rows:
        numbers = seen.numbers(name)
        counts = not numbers.null_count() and bool((numbers.diff().drop_nulls() == 1).all())
        return (2 if label else 4) - counts
    held = seen.frame.select(name, *label).n_unique() if label else rows
    fine = n > _FINEST * rows
    if held < HALF * rows or not (fine or n > _OFTEN):
        return 0
    if _follow(seen, [name]):
        return 4 if label else 3
    if label and (_may_be_ages(seen, name) or held < NEARLY_ALL * rows):
        return 0
    return 3 if label and n > _OFTEN else int(fine)


def _may_be_ages(seen: Seen, name: str) -> bool:
    numbers = seen.numbers(name)
    return bool(numbers.is_between(0, _AGE).all()) and not numbers.null_count()


def _follow(seen: Seen, names: Sequence[str]) -> bool:
    """Whether the rows of one id follow each other."""
    frame = seen.frame.select(names)
    return frame.to_struct().rle_id().n_unique() == frame.n_unique()


def _counts_within(seen: Seen, id_: str, name: str, several: bool) -> bool:
    """Whether a column counts visits from 0 or 1 within an id; where a row holds one label, with
    several rows each."""
    if seen.numbers(name).null_count() or not _follow(seen, [id_, name]):
        return False
    rows = seen.frame.select(id=id_, n=pl.col(name).cast(pl.Float64, strict=False))
    each = rows.group_by("id").agg(pl.min("n"), high=pl.max("n"), values=pl.n_unique("n"))
    first, span = pl.col("n").is_in([0.0, 1.0]), pl.col("high") - pl.col("n") + 1
    counts = each.filter(first, span == pl.col("values")).height == each.height
    return counts and each.height < rows.n_unique() < rows.height + several


def _kept_together(name: str) -> str:
    return f"With --group {name} the instances of one {name} are kept together."
