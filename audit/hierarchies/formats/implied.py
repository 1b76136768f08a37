"""Parents that no column of a table names: codes begin with theirs, or there are levels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import polars as pl

from audit.hierarchies.formats import names, tables

Cells = Mapping[str, Sequence[str]]
"""The cells of each column of a table, without blanks around them."""
_LEVEL = re.compile(r".*(level|lvl|depth|tier|indent|stufe|ebene|niveau|nivel|livello).*")
_CODE = re.compile(r"\S{1,40}")
_STEM = re.compile(r"-(\.?-)*$|-?(xx|XX)$")
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
        first_ids = next(iter(possible_ids(table)), None)
        if first_ids and headings_of(table[first_ids]):
            return "prefixes", named
        if ids and named != any(one.startswith(first) for one in table[ids][1:]):
            return "prefixes", named
    return "", True


def outline_of(cells: Cells, *, named: bool = True) -> tuple[str, str] | None:
    """The columns of ids and of levels, in numbers, of an outline; None where there is none.

    The first row is at the top, none is more than a level below the one before, and some go up
    again. Rows without a level are headings above all levels. Columns that have no names need three
    levels.
    """
    id_ = next((one for one in possible_ids(cells) if len({*cells[one]}) == len(cells[one])), None)
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
    id_ = next(iter(possible_ids(cells)), None)
    codes = [*dict.fromkeys(cells[id_])] if id_ else []
    numbers = sorted(map(int, codes)) if all(map(str.isdecimal, codes)) else []
    running = numbers and numbers[-1] - numbers[0] < 2 * len(numbers)
    digits = sum(any(map(str.isdigit, one)) for one in codes)
    below = sum(map(bool, above_by_prefix(codes)))
    many = below >= _LEAST * len(codes) and digits >= _LEAST * len(codes)
    return id_ if codes and many and not running else None


def above_by_prefix(codes: Sequence[str]) -> list[str]:
    """The longest other code that each code begins with; empty where it begins with none, or is a
    word, as a Roman number is. Dashes, or ``xx``, at the end stand for what follows, where most
    codes without begin with one of those, which alone are above others then.

    >>> above_by_prefix(["A", "A10", "A10A", "C07"])
    ['', 'A', 'A10', '']
    >>> above_by_prefix(["1.-.-", "1.1.-", "1.1.1", "1.1.10"])
    ['', '1.-.-', '1.1.-', '1.1.-']
    >>> above_by_prefix(["11-XX", "11Axx", "11A05", "11A07", "11Bxx"])
    ['', '11-XX', '11Axx', '11Axx', '11-XX']
    >>> above_by_prefix(["31-33", "321", "3211", "44-45", "451"])
    ['', '31-33', '321', '', '44-45']
    """
    stems = [_STEM.sub("", one) for one in codes]
    dashed = {stem: one for stem, one in zip(stems, codes, strict=True) if stem != one}
    above = [_longest(one, dashed) for one in stems]
    whole = [up for up, one, stem in zip(above, codes, stems, strict=True) if stem == one]
    if not dashed or 2 * sum(map(bool, whole)) < len(whole):
        every = _in_ranges(codes) | {one: one for one in codes}
        above = [_longest(one, every) for one in codes]
    return ["" if one.isalpha() else up for one, up in zip(codes, above, strict=True)]


def headings_of(codes: Sequence[str]) -> list[str]:
    """What stands before the dot of each code; nothing unless all have one, none stands there
    itself, and most share it with another one.

    >>> headings_of(["C18.0", "C18.7", "C34.9"]), headings_of(["C18", "C18.0"])
    (['C18', 'C18', 'C34'], [])
    """
    found = [_DOTTED.fullmatch(code) for code in codes]
    above = [one[1] for one in found if one]
    shared = sum(n for n in Counter(above).values() if n > 1)
    return above if len(above) == len(codes) and 2 * shared > len(codes) else []


_DOTTED = re.compile(r"([A-Z]\d{1,3}|\d{2,4})\.\w{1,4}")
"""A code of a list whose headings are left out."""


def _in_ranges(codes: Iterable[str]) -> dict[str, str]:
    """The range of each number that lies in one of equally long numbers, as 32 in ``31-33``."""
    ranges = [(found[1], found[2], found[0]) for one in codes if (found := _RANGE.fullmatch(one))]
    return {
        str(n).zfill(len(first)): one
        for first, last, one in ranges
        if len(first) == len(last)
        for n in range(int(first), int(last) + 1)
    }


_RANGE = re.compile(r"(\d{1,3})[-–](\d{1,3})")
"""Two numbers, of which codes that begin with one between them are below the range."""


def _longest(code: str, known: Mapping[str, str]) -> str:
    """What is known of the longest beginning of a code; empty where nothing is."""
    ways = (code[:end] for end in range(len(code) - 1, 0, -1))
    return next((known[way] for way in ways if known.get(way, code) != code), "")


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


def possible_ids(cells: Cells) -> list[str]:
    """Columns of codes: those that are called ids first, then those that differ in each row, then
    those whose rows of one code stand together, one for each of its titles."""
    called = names.ids_among(cells)
    others = [one for one in cells if len({*cells[one]}) == len(cells[one])]
    runs = {one: 1 + sum(a != b for a, b in pairwise(cells[one])) for one in cells if others}
    together = [one for one in runs if runs[one] == len({*cells[one]})]
    own = dict.fromkeys([*called, *others, *together])
    return [one for one in own if len(cells[one]) > 2 and all(map(_CODE.fullmatch, cells[one]))]


def possible_levels(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns that can be levels, from the top down, by rows below their names.

    Each value of one has one of the column before; the last differs in each row; of columns that go
    together it is the one of the shortest codes, and those with titles of their own.
    """
    header, *others = [row for row in rows if any(row)] or [()]
    if any(len(row) != len(header) for row in others) or len({*header}) < len(header):
        return []
    cells = dict(zip(header, zip(*others, strict=True), strict=False))
    values = {name: {*own} for name, own in cells.items() if all(own)}
    known = titles_beside(values)
    titled, titles = {one for one, _ in known}, {title for _, title in known}
    numbers = {
        one
        for one, own in cells.items()
        if all(map(str.isdecimal, own)) and len({*map(len, own)}) > 1
    }
    order = sorted(values, key=lambda n: (len(values[n]), n in numbers, sum(map(len, cells[n]))))
    chains = list[list[str]]()
    for first in range(len(order)):
        chain = list[str]()
        for name in order[first:]:
            above = chain[-1] if chain else ""
            pairs = {*zip(cells[name], cells[above], strict=True)} if chain else values[name]
            more = above in titled or len(values[name]) > (len(values[above]) if chain else 1)
            more &= name not in titles and len(pairs) == len(values[name])
            chain += [name] * more
        chains += [chain] * (len(chain) > 2 and len(values[chain[-1]]) == len(others))
    return max(chains, key=len, default=[])


def ends_told(rows: Sequence[Sequence[str]]) -> tuple[str, str] | None:
    """The columns that may be child and parent of a table, by rows below their names: one has
    another value in each row, and the only other one that repeats, but for titles of its values,
    has at most half as many."""
    header, *others = [row for row in rows if any(row)] or [()]
    if len({*header}) < len(header) or any(len(row) != len(header) for row in others):
        return None
    cells = dict(zip(header, zip(*others, strict=True), strict=False))
    once = [one for one in cells if len({*cells[one]}) == len(others) and all(cells[one])]
    above = [one for one in cells if all(cells[one]) and 2 < 2 * len({*cells[one]}) <= len(others)]
    above.sort(key=lambda one: sum(map(len, cells[one])))
    pairs = {*zip(*(cells[one] for one in above), strict=True)}
    alike = {len({*cells[one]}) for one in above} == {len(pairs)}
    titles = names.among(once[:1], names.IDS) and names.among(above, names.TITLES)
    known = once and alike and not titles
    return (once[0], above[0]) if known else None


def titles_beside(columns: Iterable[str]) -> list[tuple[str, str]]:
    """Columns with those of their titles, as ``minor_code`` with ``minor_label``."""
    plain = {names.plain(name): name for name in columns}
    stems = [(re.sub(r"(?<=.)(code|id)$", "", own), name) for own, name in plain.items()]
    return [(name, plain[s + end]) for s, name in stems for end in _OF_TITLES if s + end in plain]


_OF_TITLES = ("label", "title", "name", "description", "desc")
_NUMBER = re.compile(r"\d+")
_NEARLY = 0.8
"""Share of the values of a level that must have one value of the level above, unless numbered."""


def levels_of(frame: pl.DataFrame) -> list[str]:
    """The columns of levels, from the top down; nothing where that is not clear."""
    frame = frame.drop(prose_in(frame))
    cells = {name: tables.text_of(frame, name).fill_null("").to_list() for name in frame.columns}
    written = [*zip(*cells.values(), strict=True)]
    if are_merged(written) and not (staggered(frame) or prefixed_ids(cells)):
        frame = pl.DataFrame([*below_the_last(written)], frame.columns, orient="row")
    for name in frame.columns:
        own = tables.text_of(frame, name).drop_nulls()
        for sign in _SPACED:
            held = own.filter(own.str.contains(sign, literal=True))
            once = held.str.split(sign).list.first().is_unique().all()
            if 2 * len(held) >= len(frame) > 0 and not (once and sign in _OR):
                return [name]
    if outline := staggered(frame):
        return outline
    families: dict[str, list[str]] = {}
    for name in frame.columns:
        if len(_NUMBER.findall(name)) == 1:
            families.setdefault(names.plain(_NUMBER.sub("#", name)), []).append(name)
    numbered = [
        sorted(family, key=lambda name: int(_NUMBER.findall(name)[0]))
        for stem, family in families.items()
        if len(family) > 1 and not stem.endswith(_OF_TITLES)
    ]
    if len(numbered) == 1 and all(_below(frame, *pair)[0] >= 0.5 for pair in pairwise(numbered[0])):
        return numbered[0]
    plain = [name for name in frame.columns if not names.plain(name).endswith(_OF_TITLES[2:])]
    plain = plain or frame.columns
    several = {name: tables.text_of(frame, name).drop_nulls().n_unique() for name in plain}
    plain = [name for name in plain if several[name] > 1 or name == frame.columns[0]]
    runs, titled = list[list[str]]([[]]), {one for one, _ in titles_beside(frame.columns)}
    for name in plain:
        one, fewer = _below(frame, runs[-1][-1], name) if runs[-1] else (0.0, False)
        below = one >= _NEARLY and (fewer or {*runs[-1][-1:], name} <= titled)
        runs = [*runs[:-1], [*runs[-1], name]] if below else [*runs, [name]]
    longest = max(runs, key=len)
    whole = len(longest) > 2 or longest == list(frame.columns)[:2] == plain
    if whole or (len(longest) == 2 and _has_codes(frame, longest)):
        return longest
    ways = [n for n in frame.columns if names.way_sign(tables.text_of(frame, n))]
    return ways if len(ways) == 1 else []


def prose_in(frame: pl.DataFrame) -> list[str]:
    """Columns of sentences: half of their cells have a dozen words, and no sign parts most."""
    texts = {name: tables.text_of(frame, name).drop_nulls() for name in frame.columns}
    long = {n: (text.str.count_matches(" ") >= _WORDS).sum() for n, text in texts.items()}
    some = [n for n, text in texts.items() if 2 * long[n] >= len(text) > 0]
    return [n for n in some if not names.way_sign(texts[n])]


_WORDS = 12
"""Number of blanks in a cell from which it is of sentences."""
_SPACED, _OR = [sign for sign in names.SIGNS if sign.startswith(" ")], (" / ", " | ")
"""Signs with blanks around them, and those that also stand between two words for one thing."""


def staggered(frame: pl.DataFrame) -> list[str]:
    """The first columns of which each row fills one, at most one further than the row before."""
    filled = [(tables.text_of(frame, n).fill_null("") != "").to_list() for n in frame.columns]
    rows = [*zip(*filled, strict=True)]
    widths = [n for n in range(2, len(filled) + 1) if all(sum(row[:n]) == 1 for row in rows)]
    widths = [n for n in widths if rows and rows[0][0] and all(map(any, filled[:n]))]
    places = [row.index(True) for row in rows] if widths else []
    return (
        frame.columns[: max(widths)]
        if all(b - a <= 1 for a, b in pairwise(places)) and widths
        else []
    )


def _has_codes(frame: pl.DataFrame, levels: Sequence[str]) -> bool:
    """Whether a column beside levels, which is called a code, has another word in each row."""
    own = own_column(frame, levels)
    words = tables.text_of(frame, own) if own in names.ids_among(frame.columns) else None
    below = own is not None and _below(frame, levels[-1], own) == (1.0, True)
    return below and words is not None and not words.str.contains(r"^\d*$").any()


def _below(frame: pl.DataFrame, above: str, name: str) -> tuple[float, bool]:
    """Share of values that have one in the column above, and whether this has fewer values."""
    pair = pl.DataFrame(
        {"above": tables.text_of(frame, above), "name": tables.text_of(frame, name)}
    ).drop_nulls()
    pair = pair.filter(pl.col("above") != "", pl.col("name") != "")
    each = pair.group_by("name").agg(pl.col("above").n_unique())["above"]
    one = int((each == 1).sum()) / len(each) if len(each) else 1.0
    return one, len(each) > pair["above"].n_unique()


def own_column(frame: pl.DataFrame, levels: Sequence[str]) -> str | None:
    """The column beside the levels that has another value in each row, an id first, then one of
    single words; else None.

    Where the last level has so too, only a column that is called an id is one.
    """
    others = [n for n in frame.columns if n not in (*levels, *prose_in(frame))]
    ids = names.ids_among(others)
    whole = tables.text_of(frame, levels[-1]).is_unique().all()
    possible = {n: tables.text_of(frame, n) for n in (ids if whole else [*ids, *others])}
    own = [name for name, text in possible.items() if text.is_unique().all()]
    words = [name for name in own if not possible[name].str.contains(" ").any()]
    return next(iter([*(name for name in own if name in ids), *words, *own]), None)


def title_of(frame: pl.DataFrame, name: str, stated: str | None) -> str | None:
    """The column of the titles of a level."""
    wanted = {names.plain(name) + end for end in _OF_TITLES} | {names.plain(stated or name + "?")}
    own = [n for n in frame.columns if n != name and names.plain(n) in wanted]
    if own or not (stated is None and tables.text_of(frame, name).is_unique().all()):
        return next(iter(own), None)
    called = (n for n in frame.columns if n != name and names.plain(n).endswith(_OF_TITLES[1:3]))
    return next((n for n in called if tables.text_of(frame, n).is_unique().all()), None)


def below_the_last(rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Each row, behind the names of the levels above it in the rows before."""
    above: tuple[str, ...] = ()
    for row in rows:
        level = next((number for number, name in enumerate(row) if name), 0)
        above = (*above[:level], *row[level:]) if any(row) else above
        yield above if any(row) else row


def are_merged(rows: Sequence[tuple[str, ...]]) -> bool:
    """Whether the first level is blank in some rows, and each of its names stands once."""
    tops = [row[0] for row in rows if row[0]]
    begins = bool(rows) and bool(rows[0][0])
    return begins and len({*tops}) == len(tops) < sum(map(any, rows))
