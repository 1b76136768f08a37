"""Parents that a table does not name: a code begins with its parent's, or an outline has levels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from audit.hierarchies.formats import names

Cells = Mapping[str, Sequence[str]]
"""The cells of each column of a table, without blanks around them."""
_LEVEL = re.compile(r".*(level|lvl|depth|tier|indent|stufe|ebene|niveau|nivel|livello).*")
_CODE = re.compile(r"\S{1,40}")
_LEAST = 0.5
"""Share of codes that must begin with another one, and of those that must have a digit."""


def kind_of(rows: Sequence[Sequence[str]]) -> tuple[str, bool]:
    """What says the parents of rows, ``outline`` or ``prefixes``, and whether the first is a
    header; nothing of others."""
    header, *others = rows or [()]
    if any(len(row) != len(header) for row in others):
        return "", True
    for named in (True, False):
        called = [one.strip() if named else str(n) for n, one in enumerate(header, 1)]
        cells = zip(*(others if named else rows), strict=True)
        table = {name: [*map(str.strip, own)] for name, own in zip(called, cells, strict=False)}
        if outline_of(table, named=named):
            return "outline", named
        ids = prefixed_ids(table)
        first = header[called.index(ids)].strip() if ids else ""
        if ids and named != any(one.startswith(first) for one in table[ids][1:]):
            return "prefixes", named
    return "", True


def outline_of(cells: Cells, *, named: bool = True) -> tuple[str, str] | None:
    """The columns of ids and of levels, in numbers, of an outline; None where there is none.

    The first row is at the top, none is more than a level below the one before, and some go up
    again. Rows without a level are headings above all levels. Columns that have no names need three
    levels.
    """
    id_ = next((one for one in _ids(cells) if len({*cells[one]}) == len(cells[one])), None)
    said = [one for one in cells if not named or _LEVEL.fullmatch(names.plain(one))]
    for name in said if id_ else []:
        levels = [cell for cell in cells[name] if cell]
        if name == id_ or not (levels and all(map(str.isdecimal, levels))):
            continue
        ranks = {one: rank for rank, one in enumerate(sorted({*map(int, levels)}))}
        steps = [ranks[int(b)] - ranks[int(a)] for a, b in pairwise(levels)]
        if ranks[int(levels[0])] == 0 and len(ranks) > 1 + (not named) and max(steps) == 1:
            return (str(id_), name) if min(steps) < 0 else None
    return None


def prefixed_ids(cells: Cells) -> str | None:
    """The column of ids of which half begin with another one, or more; None where there is none.

    Numbers in a row, as those of classes, are no such ids.
    """
    id_ = next(iter(_ids(cells)), None)
    codes = [*dict.fromkeys(cells[id_])] if id_ else []
    numbers = sorted(map(int, codes)) if all(map(str.isdecimal, codes)) else []
    running = numbers and numbers[-1] - numbers[0] < 2 * len(numbers)
    digits = sum(any(map(str.isdigit, one)) for one in codes)
    below = sum(map(bool, above_by_prefix(codes)))
    many = below >= _LEAST * len(codes) and digits >= _LEAST * len(codes)
    return id_ if codes and many and not running else None


def above_by_prefix(codes: Sequence[str]) -> list[str]:
    """The longest other code that each code begins with; empty where it begins with none, or is a
    word, as a Roman number is.

    >>> above_by_prefix(["A", "A10", "A10A", "C07"])
    ['', 'A', 'A10', '']
    """
    every = {*codes}
    ways = ([one[:end] for end in range(len(one) - 1, 0, -1)] for one in codes)
    words = [one.isalpha() for one in codes]
    above = [next((part for part in way if part in every), "") for way in ways]
    return ["" if word else up for word, up in zip(words, above, strict=True)]


def above_by_level(codes: Sequence[str], levels: Sequence[str]) -> list[str]:
    """The last code before each one that is at a lower level, or is a heading without a level.

    >>> above_by_level(["A", "A1", "A1/00", "A1/02", "A1/04"], ["", "", "0", "1", "1"])
    ['', 'A', 'A1', 'A1/00', 'A1/00']
    """
    headings = [code for code, level in zip(codes, levels, strict=True) if not level]
    above = dict(zip(headings, above_by_prefix(headings), strict=True))
    way, found = list[tuple[int, str]](), list[str]()
    for code, level in zip(codes, levels, strict=True):
        depth = int(level) if level else -1
        way = [one for one in way if one[0] < depth]
        found.append(way[-1][1] if way else above.get(code, ""))
        way.append((depth, code))
    return found


def _ids(cells: Cells) -> list[str]:
    """Columns of codes: those that are called ids first, then those that differ in each row."""
    called = names.ids_among(cells)
    others = [one for one in cells if len({*cells[one]}) == len(cells[one])]
    own = dict.fromkeys([*called, *others])
    return [one for one in own if len(cells[one]) > 2 and all(map(_CODE.fullmatch, cells[one]))]


def possible_levels(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns that can be levels, from the top down, by rows below their names.

    Each value of one has one of the column before; the last differs in each row; of columns that go
    together it is the first.
    """
    header, *others = [row for row in rows if any(row)] or [()]
    if any(len(row) != len(header) for row in others) or len({*header}) < len(header):
        return []
    cells = dict(zip(header, zip(*others, strict=True), strict=False))
    values = {name: {*own} for name, own in cells.items() if all(own)}
    chain = list[str]()
    for name in sorted(values, key=lambda one: len(values[one])):
        pairs = {*zip(cells[name], cells[chain[-1]], strict=True)} if chain else values[name]
        more = len(values[name]) > (len(values[chain[-1]]) if chain else 1)
        chain += [name] * (more and len(pairs) == len(values[name]))
    return chain if len(chain) > 2 and len(values[chain[-1]]) == len(others) else []
