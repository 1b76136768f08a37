"""Ids: which column, or columns, of a table most likely name its instances; only ever offered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from audit.data.asking.seen import Seen
from audit.data.columns import ROW, Columns

_FINEST = 0.1
"""Least number of ids for each row, where the rows of an id do not follow each other."""
_OFTEN = 12
"""Number of values up to which a column of a large table is none of ids."""
_GROUPS, _AGE = 0.3, 120
"""Least number of groups for each id, as most have a few; and largest whole number of an age."""
_EXPECTED = 5
"""Number of rows that must be expected to say the same again, if none is to mean something."""
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
    labels, out = columns.label, {*columns.label, *columns.taken, *out, seen.index}
    several = columns.flags or bool(columns.sep or columns.take) or len(labels) > 1
    several = several or any(map(seen.is_listed, labels))
    free = [one for one in seen.frame.columns if one not in out and seen.may_be_ids(one)]
    ranks = {one: _rank(seen, one, labels, several) for one in free}
    likely = [one for one in free if ranks[one]]
    best = max(likely, key=lambda one: (ranks[one], seen.n_values(one)), default="")
    for one in free:
        if visit := _visit(seen, one, free if best in ("", one) else [best], several):
            kept = (_kept_together(one),) if one == best else ()
            return (one, visit), (f"{visit!r} counts within {one!r}.", *kept)
    if not best:
        return (ROW,), () if several else (_EACH_ROW,)
    return (best,), tuple(_grouped(seen, best, free))


def _rank(seen: Seen, name: str, labels: Sequence[str], several: bool) -> int:
    """How likely a column is that of ids; 0 if it is not."""
    n = seen.n_values(name)
    if n == seen.frame.height:
        return (4 if several else 2) - _counts_rows(seen, name)
    again, expected, pairs = _again(seen, name, labels)
    if 2 * again > max(pairs, _EXPECTED):
        return 0
    fine = n > _FINEST * seen.frame.height
    if (fine or n > _OFTEN) and _follow(seen, [name]):
        return 3
    if expected >= _EXPECTED and n > _OFTEN and 2 * again <= expected:
        return 3
    return int(fine and (expected < _EXPECTED or not (n <= _OFTEN or _may_be_ages(seen, name))))


def _may_be_ages(seen: Seen, name: str) -> bool:
    numbers = seen.numbers(name)
    return bool(numbers.is_between(0, _AGE).all()) and not numbers.null_count()


def _counts_rows(seen: Seen, name: str) -> bool:
    numbers = seen.numbers(name)
    return bool((numbers.diff().drop_nulls() == 1).all()) and not numbers.null_count()


def _follow(seen: Seen, names: Sequence[str]) -> bool:
    """Whether the rows of one id follow each other."""
    frame = seen.frame.select(names)
    return frame.to_struct().rle_id().n_unique() == frame.n_unique()


def _again(seen: Seen, name: str, labels: Sequence[str]) -> tuple[float, float, float]:
    """Number of pairs of rows of one value that have the same label, that expected by chance, and
    all; labels of an instance hardly ever repeat."""
    if len(labels) != 1 or seen.is_listed(labels[0]):
        return 0.0, 0.0, 0.0
    frame = seen.frame.select(pl.col(name).alias("id"), pl.col(labels[0]).alias("label"))

    def pairs(*columns: str) -> float:
        n = frame.group_by(columns).len()["len"].cast(pl.Float64)
        return float((n * (n - 1)).sum()) / 2

    same = pairs("label") / max(1.0, frame.height * (frame.height - 1) / 2)
    return pairs("id", "label"), pairs("id") * same, pairs("id")


def _visit(seen: Seen, id_: str, free: Sequence[str], several: bool) -> str | None:
    """The column that counts visits from 0 or 1 within an id; where a row holds one label, with
    several rows each."""
    for name in free:
        if name == id_ or seen.numbers(name).null_count() or not _follow(seen, [id_, name]):
            continue
        rows = seen.frame.select(id=id_, n=pl.col(name).cast(pl.Float64, strict=False))
        each = rows.group_by("id").agg(pl.min("n"), high=pl.max("n"), values=pl.n_unique("n"))
        first, span = pl.col("n").is_in([0.0, 1.0]), pl.col("high") - pl.col("n") + 1
        counts = each.filter(first, span == pl.col("values")).height == each.height
        if counts and each.height < rows.n_unique() < rows.height + several:
            return name
    return None


def _grouped(seen: Seen, id_: str, free: Sequence[str]) -> Iterator[str]:
    """A sentence on the column in which ids are repeated, if there is one."""
    n = seen.n_values(id_)
    coarser = [one for one in free if _GROUPS * n < seen.n_values(one) < n]
    for name in sorted(coarser, key=lambda one: -seen.n_values(one)):
        if not _may_be_ages(seen, name) and seen.frame.select(id_, name).n_unique() == n:
            yield _kept_together(name)
            return


def _kept_together(name: str) -> str:
    return f"With --group {name} the instances of one {name} are kept together."
