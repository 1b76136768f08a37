"""What may be offered, never applied unasked: ids, code sets, ways to read cells of few nodes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from audit.base.errors import InputError, first_cases
from audit.base.plurals import percentage
from audit.base.readings import AskedError
from audit.data.asking.seen import HALF, NEARLY_ALL, Seen, as_read, labels_of
from audit.data.columns import AS_WRITTEN, ROW, Columns, family
from audit.data.labels import Nodes, Share
from audit.hierarchies.hierarchy import Hierarchy

TRIED = 1_000
"""Number of different cells on which a way is tried."""
_SIGNS = (",", ";", "|", " ", "~", "*", ":", "/", "+", "&")
"""What may join labels, in the order in which they are tried."""
_ENDS = (1, 2, 3, 7, 8)
"""Lengths of common ends: a letter or two, ``.00``, ``-ICD9CM``, ``(ICD10)``."""
_LONGEST = 40
"""Number of characters of a common beginning."""
_SEVERAL = 12
"""Largest number of different words that may all stand for no code."""


@dataclass(frozen=True)
class Way:
    """One way to read cells.

    Args:
        options: What states it, by arguments of `audit.load_labels`; empty: as they are written.
        share: How many labels are nodes so; a cell without a label is none.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    share: Share = field(default_factory=Share)


def best_way(cells: pl.DataFrame, nodes: Nodes, stated: Columns = AS_WRITTEN) -> Way:
    """The way of most complete codes among those by which half of the labels are such.

    A way must give a twentieth more than one that states less, or leave fewer others; what finds
    labels in a text comes before a sign and words or titles. Cells of which nine in ten are nodes
    are read as they are written.

    Args:
        cells: ``cell, rows``, cells as text.
        nodes: The nodes that labels may be.
        stated: What is stated of cells and labels.
    """
    some = cells.gather_every(max(1, -(-cells.height // TRIED)))
    best = _tried({}, some, nodes, stated)
    if best.share.of_complete >= NEARLY_ALL or some.is_empty():
        return best
    way = best
    for options in _ways(some, nodes, stated):
        way = _tried(options, some, nodes, stated)
        own, held = way.share, best.share
        more = own.complete > 1.05 * held.complete + 0.5
        rest = own.complete >= held.complete and own.of_complete > held.of_complete + 0.05
        if own.of_complete >= HALF and (more or (rest and "take" not in options)):
            best = way
    found = _without_words(best, some, nodes, stated)
    finds = "take" in way.options and way.share.of_complete >= NEARLY_ALL
    besides = found.options.keys() & {"missing", "by_title"}
    return way if finds and besides and "sep" in found.options else found


def _tried(options: Mapping[str, Any], cells: pl.DataFrame, nodes: Nodes, stated: Columns) -> Way:
    columns = replace(stated, **options)
    share = nodes.share(as_read(labels_of(cells, columns, TRIED), nodes, columns))
    least = cells.filter(~pl.col("cell").is_in(columns.missing))["rows"].sum()
    return Way(options, replace(share, n=max(share.n, int(least))))


def _ways(cells: pl.DataFrame, nodes: Nodes, stated: Columns) -> Iterator[Mapping[str, Any]]:
    """Options to try, those that state least first."""
    texts = cells["cell"]
    if not stated.by_title:
        yield {"by_title": True}
    for off in _around(cells, nodes):
        yield {"strip": (*stated.strip, off)}
    if stated.sep or stated.take:
        return
    for sign in _SIGNS:
        if texts.str.contains(sign, literal=True).any():
            yield {"sep": sign}
            if not stated.by_title and not nodes.coded:
                yield {"sep": sign, "by_title": True}
    if not texts.str.contains(r"^-?[0-9]+(\.[0-9]+)?$").all() and (take := _take_of(nodes)):
        yield {"take": take}


def _take_of(nodes: Nodes) -> str:
    """The ``take`` that finds nodes: ``icd9``, ``icd10``, or like ``GO:[0-9]+``; empty if none."""
    if nodes.coded:
        return nodes.hierarchy.name.removesuffix("cm")
    shapes = Counter(re.sub("[0-9]+", "#", one) for one in nodes.hierarchy.nodes)
    ((shape, n),) = shapes.most_common(1)
    if n < HALF * len(nodes.hierarchy) or not re.search(r"\w*[^\W\d]\W?#", shape):
        return ""
    ids = re.escape(shape).replace(r"\#", "[0-9]+")
    return (r"\b" if shape[0].isalnum() else "") + ids + r"\b"


def _around(cells: pl.DataFrame, nodes: Nodes) -> list[str]:
    """The four most frequent ends, then beginnings, of cells that are no nodes."""
    ends, begins = Counter[str](), Counter[str]()
    for text, rows in cells.iter_rows():
        if not nodes.is_node(text):
            ends.update({text[-n:]: rows for n in _ENDS if len(text) > n})
            bounds = [at.end() for at in re.finditer(r"[^A-Za-z0-9.]+", text[:_LONGEST])]
            begins.update({text[:at]: rows for at in (1, *bounds) if at < len(text)})
    return [one for one, _ in (*ends.most_common(4), *begins.most_common(4))]


def _without_words(best: Way, cells: pl.DataFrame, nodes: Nodes, stated: Columns) -> Way:
    """The way that takes words without a digit for no code, where nodes have digits, labels are no
    titles, and others are nearly all nodes."""
    columns = replace(stated, **best.options)
    if best.share.of_complete >= NEARLY_ALL or not nodes.have_digits or columns.by_title:
        return best
    labels = labels_of(cells, columns, TRIED)
    refused = [t for t in labels if not any(map(nodes.is_node, as_read({t: 1}, nodes, columns)))]
    nothing = [one for one in refused if not re.search(r"\d", one) and one not in columns.missing]
    if not 0 < len(nothing) <= _SEVERAL:
        return best
    options = {**best.options, "missing": (*columns.missing, *nothing)}
    way = _tried(options, cells, nodes, stated)
    return way if way.share.of_complete > max(HALF, best.share.of_complete) else best


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
                kept = (_group_advice(one),) if one == best else ()
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
    return (best,), tuple(map(_group_advice, groups[:1]))


def _rank(seen: Seen, name: str, label: Sequence[str]) -> int:
    """How likely a column is that of ids, 0 to 4; ``label`` is that of rows with one label each."""
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
    """Whether the values of a column are all whole numbers from 0 to 120, as ages are."""
    numbers = seen.numbers(name)
    return bool(numbers.is_between(0, _AGE).all()) and not numbers.null_count()


def _follow(seen: Seen, names: Sequence[str]) -> bool:
    """Whether the rows of one id follow each other."""
    frame = seen.frame.select(names)
    return frame.to_struct().rle_id().n_unique() == frame.n_unique()


def _counts_within(seen: Seen, id_: str, name: str, several: bool) -> bool:
    """Whether a column numbers an id's visits from 0 or 1; unless ``several``, one has two rows."""
    if seen.numbers(name).null_count() or not _follow(seen, [id_, name]):
        return False
    rows = seen.frame.select(id=id_, n=pl.col(name).cast(pl.Float64, strict=False))
    each = rows.group_by("id").agg(pl.min("n"), high=pl.max("n"), values=pl.n_unique("n"))
    first, span = pl.col("n").is_in([0.0, 1.0]), pl.col("high") - pl.col("n") + 1
    counts = each.filter(first, span == pl.col("values")).height == each.height
    return counts and each.height < rows.n_unique() < rows.height + several


def _group_advice(name: str) -> str:
    """A sentence that advises to state a column as the group, with ``--group``."""
    return f"With --group {name} the instances of one {name} are kept together."


_EACH = "as-written"
"""What states that each label is of the code set that it can be of, diagnoses first."""
_CLEARLY, _NEAR = 0.1, 0.02
"""Share that a code set must have more than another, and at most fewer than both together."""


def stated_set(columns: Columns, hierarchy: Hierarchy) -> str:
    """The code set, or ``as-written``, that ``columns.codes`` state for all labels; else empty."""
    integrity = hierarchy.integrity
    tables = {one.partition("-")[0]: one for one in (integrity.tables if integrity else ())}
    words = [one for one in columns.codes if not one.endswith("*")]
    if wrong := [one for one in words if one not in (_EACH, *tables)]:
        raise InputError(
            f"--codes names a code set of the hierarchy {hierarchy.name}, or {_EACH}",
            found=first_cases(wrong),
            hint=f"it has {first_cases(tables)}" if tables else "it has none: leave it out",
        )
    return tables.get(words[-1], _EACH) if words else ""


def sets_of(seen: Seen, columns: Columns) -> tuple[str | None, ...]:
    """The code set of each column of labels, as stated or published, else by its values.

    Columns of one family are of one. None where each label can be of one only.

    Raises:
        AskedError: If two code sets fit alike.
    """
    sets = columns.sets or (None,) * len(columns.label)
    if word := stated_set(columns, seen.nodes.hierarchy):
        return (None if word == _EACH else word,) * len(sets)
    if len(seen.nodes.tables) < 2:
        return sets
    families = dict[str, Counter[str]]()
    for name, of in zip(columns.label, sets, strict=True):
        if of is None:
            families.setdefault(family(name), Counter()).update(seen.labels(name, columns))
    found = {one: _set_of(seen, values, one) for one, values in families.items()}
    return tuple(of or found[family(one)] for one, of in zip(columns.label, sets, strict=True))


def _set_of(seen: Seen, values: Mapping[str, int], name: str) -> str | None:
    """The code set of which clearly most labels are; None if each tells its own; else asked."""
    tables = seen.nodes.tables
    may_be = {text: [t for t in tables if seen.nodes.is_complete(text, t)] for text in values}
    if not any(len(of) == len(tables) for of in may_be.values()):
        return None
    dotted = {text: n for text, n in values.items() if "." in text.rstrip(".")}
    is_dotted = 2 * sum(dotted.values()) > sum(values.values())
    values = dotted if is_dotted else values
    shares = {one: seen.share_of(values, one).of_complete for one in tables}
    total = sum(n for text, n in values.items() if may_be[text]) / sum(values.values())
    second, first = sorted(tables, key=lambda one: shares[one])[-2:]
    near = shares[first] >= total - _NEAR
    if shares[first] >= shares[second] + _CLEARLY and near:
        return first
    if is_dotted:
        return None
    said = ", ".join(f"{percentage(share)} {one}" for one, share in shares.items())
    raise AskedError(
        f"whether the labels in {name!r} are {' or '.join(tables)} is not certain",
        found=f"complete codes: {said}, {percentage(total)} of either",
        options={"codes": (_EACH,)} if total >= NEARLY_ALL and not near else {},
        hint=f"--codes {' or '.join((*tables, _EACH))} states it; as written, a number that "
        f"is a code of both is one of {tables[0]}",
    )


def refuse_headings(seen: Seen, values: Mapping[str, int]) -> None:
    """Raise AskedError where most labels are headings, as numbers of other kinds are."""
    shares = [seen.share_of(values, one) for one in seen.nodes.tables]
    headings = max(((one.nodes - one.complete) / max(one.n, 1) for one in shares), default=0.0)
    if headings > HALF and max(share.of_complete for share in shares) < NEARLY_ALL:
        words = " or ".join(one.partition("-")[0] for one in seen.nodes.tables)
        raise AskedError(
            f"labels must be codes of {seen.nodes.hierarchy.name}",
            found=f"{percentage(headings)} of them are headings that it divides, as numbers of "
            "another kind, such as DRG or CCS, may be by chance",
            hint=f"--codes {words} reads them as such headings",
        )
