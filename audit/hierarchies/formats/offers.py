"""What a file may mean where nothing says what makes the hierarchy: readings that were tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from audit.base.errors import AuditError
from audit.base.files import read_lines
from audit.base.readings import AskedError, Reading, as_typed, asked
from audit.base.streams import bare_suffix
from audit.base.table import Table
from audit.hierarchies.formats import edges, paths
from audit.hierarchies.formats.format import Shape
from audit.hierarchies.hierarchy import Hierarchy

_SIGNS = (paths.SIGN, ">", " / ", "/", "::", "--", "|", ";", ".")
"""What may join the names of a path, the plainest first."""
_COLUMNS = 12
"""Number of columns that are tried, the first ones."""
_PROSE = 60
"""Mean number of characters of cells from which on they are no names."""
_OFFERED = 4
"""Number of readings that are offered."""


def offers(path: Path, table: Table) -> AskedError | None:
    """The question which of some readings makes the hierarchy, those of most nodes first."""
    every = edges.texts_of(table.frame()).items()
    texts = dict(
        [(n, own) for n, own in every if sum(map(len, own)) < _PROSE * len(own)][:_COLUMNS]
    )
    found = list[tuple[Reading, dict[str, str]]]()
    alone = len(texts) == 1 and bare_suffix(path) in ("", ".txt", ".paths")
    headless = alone or any(name in own for name, own in texts.items())
    lines = table.files and headless and paths.may_be(path, b"")
    for shape, decision in _of_lines(path) if lines else _of_columns(texts):
        try:
            made = _made(path, table, shape)
        except AuditError:
            continue
        said = {
            name: value
            if name == "sep"
            else ",".join(one.strip(" '") for one in ([value] if isinstance(value, str) else value))
            for name, value in vars(shape).items()
            if value
        }
        options = {f"hierarchy_{name}": value for name, value in said.items()}
        depth = f"depth {int(made.depth.max())}"
        reading = Reading(f"{decision}, {depth}", depth, len(made), as_typed(options), "nodes")
        found.append((reading, options))
    best = sorted(found, key=lambda one: -one[0].rows)[:_OFFERED]
    required = "it must be stated what makes the hierarchy"
    return asked(required, [one for one, _ in best], options=best[0][1]) if best else None


def _made(path: Path, table: Table, shape: Shape) -> Hierarchy:
    if shape.levels:
        return paths.of_levels(path, table, shape)
    return edges.of_table(path, table, shape) if shape.child else paths.read(path, shape)


def _of_lines(path: Path) -> Iterator[tuple[Shape, str]]:
    """The sign that may join the names in the lines of a text."""
    if sign := _sign([line for _, line in read_lines(path) if not line.startswith("#")], _SIGNS):
        yield Shape(sep=sign), f"{sign!r} joins the names of paths"


def _sign(cells: Sequence[str], signs: Sequence[str]) -> str | None:
    """The plainest sign that joins names in half of the cells."""
    for sign in signs:
        joined = sum(sign in one.removeprefix(sign).removesuffix(sign) for one in cells)
        if 2 * joined >= len(cells) > 0:
            return sign
    return None


def _of_columns(texts: Mapping[str, list[str]]) -> Iterator[tuple[Shape, str]]:
    """Shapes in which a table may be a hierarchy: parents that are ids, else paths, else levels."""
    values = {name: {*own} - {""} for name, own in texts.items()}
    n = max(map(len, texts.values()), default=0)
    ids = [name for name, own in texts.items() if "" not in own and 2 * len(values[name]) > n]
    found = list[tuple[Shape, str]]()
    for child, parent in product(ids, texts):
        above = values[parent] - {"0", "-1"}
        same = sum(a == b for a, b in zip(texts[child], texts[parent], strict=True))
        if 2 * same < n and 2 * len(above & values[child]) > len(above) > 1:
            rest = [one for one in texts if one not in (child, parent)]
            title = rest[0] if len(rest) == 1 and len(values[rest[0]]) == n else None
            shape = Shape(child=child, parent=parent, title=title)
            found.append((shape, f"{parent!r} holds parents of {child!r}"))
    own = [name for name in ids if len(values[name]) == n]
    numbers = {name for name, cells in values.items() if all(map(str.isdecimal, cells))}
    for name, cells in values.items():
        sign = _sign([*cells], _SIGNS[:-1])
        if sign and 2 * len({one.split(sign)[0] for one in cells}) <= len(cells):
            shape = Shape(levels=(name,), sep=None if sign == paths.SIGN else sign)
            found += [(replace(shape, child=one), f"{name!r} holds paths to what {one!r} names")
                      for one in own if one != name]  # fmt: skip
            found.append((shape, f"{name!r} holds paths"))
    if len(texts) == 2 and not found:
        found = [(Shape(child=child, parent=parent), f"{parent!r} holds parents of {child!r}")
                 for child, parent in product(own, texts)
                 if len(values[parent]) < n and not numbers & {child, parent}]  # fmt: skip
    both = (_nested(texts, order) for order in ([*texts], [*texts][::-1]))
    levels = max(both, key=lambda one: (len(one), n > len(values[one[-1]]) if one else False))
    if len(levels) > 1 and not found:
        said, shape = f"{', '.join(levels)} are levels, from the top down", Shape(levels=(*levels,))
        found.append((shape, said))
        if any("" in texts[name] for name in levels):
            found += [(replace(shape, child=one), f"{said}, to what {one!r} names")
                      for one in own if one not in levels]  # fmt: skip
    yield from found


def _nested(texts: Mapping[str, list[str]], order: Sequence[str]) -> list[str]:
    """The longest row of columns of which each has more values than the one before, and nearly
    each value one value before it; ids and titles between are passed over."""
    best, chain = list[str](), list[str]()
    for fine in order:
        pairs = {
            (above, own)
            for above, own in zip(texts[chain[-1] if chain else fine], texts[fine], strict=True)
            if own
        }
        above, own = ({pair[end] for pair in pairs} for end in (0, 1))
        below = len(pairs) <= 1.1 * len(own)
        if chain and below and len(own) > 1.1 * len(above):
            best = max(best, [*chain, fine], key=len)
            chain += [] if all(map(str.isdecimal, own)) else [fine]
        elif len(own) > 1 and not all(map(str.isdecimal, own)):
            same = chain and below and len(pairs) <= 1.1 * len(above)
            chain = chain if same else [fine]
    return best
