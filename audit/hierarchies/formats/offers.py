"""What a file may mean where nothing says what makes the hierarchy: readings that were tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from audit.base.errors import AuditError
from audit.base.readings import AskedError, Reading, as_typed, asked
from audit.base.table import Table
from audit.hierarchies.formats import edges, paths
from audit.hierarchies.formats.format import Shape

_COLUMNS = 12
"""Number of columns that are tried, the first ones."""
_PROSE = 60
"""Mean number of characters of cells from which on they are no names."""
_OFFERED = 4
"""Number of readings that are offered."""
_NEARLY = 1.1
"""How many values there may be for each one, where nearly each has one."""


_Offer: TypeAlias = tuple[str, dict[str, Any]]
"""A decision as a clause, and the fields of the shape that states it."""


def offers(path: Path, table: Table) -> AskedError | None:
    """The question which of some readings makes the hierarchy: first one by which fewest nodes have
    further parents, since the wrong end of each edge as child gives most; then one of most nodes.
    """
    every = edges.texts_of(table.frame()).items()
    names = [(name, own) for name, own in every if sum(map(len, own)) < _PROSE * len(own)]
    texts = dict(names[:_COLUMNS])
    if any(name in own for name, own in texts.items()):  # its first line is no header
        return None
    found = list[tuple[int, Reading, dict[str, str]]]()
    for decision, stated in _of_columns(texts):
        levels = tuple(stated["levels"].split(",")) if "levels" in stated else ()
        shape = Shape(**{**stated, "levels": levels})
        try:
            made = (paths.of_levels if levels else edges.of_table)(path, table, shape)
        except AuditError:
            continue
        options = {f"hierarchy_{name}": one for name, one in stated.items()}
        depth = f"depth {int(made.depth.max())}"
        typed = as_typed(options)
        reading = Reading(f"{decision}, {depth}", depth, len(made), typed, "nodes")
        found.append((made.edges.nnz - len(made), reading, options))
    best = sorted(found, key=lambda one: (one[0], -one[1].rows))[:_OFFERED]
    required = "it must be stated what makes the hierarchy"
    return asked(required, [one for _, one, _ in best], options=best[0][2]) if best else None


def _of_columns(texts: Mapping[str, list[str]]) -> Iterator[_Offer]:
    """What a table may be a hierarchy by: parents that are ids, else paths, else levels."""
    values = {name: {*own} - {""} for name, own in texts.items()}
    n = max(map(len, texts.values()), default=0)
    ids = [name for name, own in texts.items() if "" not in own and 2 * len(values[name]) > n]
    found = list[_Offer]()
    for child, parent in product(ids, texts):
        above = values[parent] - {"0", "-1"}
        same = sum(a == b for a, b in zip(texts[child], texts[parent], strict=True))
        known = len(above & values[child])
        if 2 * same < n and len(above) > 1 and 2 * known + (len(texts) == 2) > len(above):
            stated = {"child": child, "parent": parent}
            rest = [one for one in texts if one not in (child, parent)]
            stated |= {"title": rest[0]} if len(rest) == 1 and len(values[rest[0]]) == n else {}
            found.append((f"{parent!r} holds parents of {child!r}", stated))
    for name, cells in values.items():
        halves = (
            one for one in (paths.SIGN, ">") if 2 * sum(one in c for c in cells) >= len(cells)
        )
        sign = next(halves, "")
        if cells and sign and 2 * len({one.split(sign)[0] for one in cells}) <= len(cells):
            stated = {"levels": name} | ({} if sign == paths.SIGN else {"sep": sign})
            found += [
                (f"{name!r} holds paths to what {one!r} names", {"child": one, **stated})
                for one in ids
                if len(values[one]) == n and one != name
            ]
            found.append((f"{name!r} holds paths", stated))
    named = [name for name, cells in values.items() if not all(map(str.isdecimal, cells))]
    levels = max((_nested(texts, order) for order in (named, named[::-1])), key=len)
    if len(levels) > 1 and not found:
        stated = {"levels": ",".join(one.strip(" '") for one in levels)}
        found.append((f"{', '.join(levels)} are levels, from the top down", stated))
    yield from found


def _nested(texts: Mapping[str, list[str]], order: Sequence[str]) -> list[str]:
    """The longest row of columns of which each has more values than the one before, and nearly
    each value one value before it; ids and titles between are passed over."""
    rows = dict[str, list[str]]()
    for fine in order:
        above = [[*row, fine] for name, row in rows.items() if _lies(texts[fine], texts[name])]
        rows[fine] = max(above, key=len, default=[fine])
    return max(rows.values(), key=len, default=[])


def _lies(fine: Sequence[str], coarse: Sequence[str]) -> bool:
    """Whether nearly each value of a column stands with one of another column, which has fewer."""
    pairs = {(above, own) for above, own in zip(coarse, fine, strict=True) if own}
    above, own = ({pair[end] for pair in pairs} for end in (0, 1))
    return len(pairs) <= _NEARLY * len(own) and len(own) > _NEARLY * len(above)
