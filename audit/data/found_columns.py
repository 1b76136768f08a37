"""Columns of ids and labels that nobody named: taken and told where clear, else tried as hints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from shlex import quote

import polars as pl

from audit.base.errors import AuditError, first_cases
from audit.base.readings import AskedError, Reading
from audit.data.column_roles import (
    ADMITTING,
    ATTRIBUTE,
    CODED,
    FINER,
    LABEL,
    NAMED,
    OF_PERSON,
    OF_STAY,
    OTHER,
    PREDICTED,
    UNIT,
    USUAL,
    TableColumns,
    kind_of,
    says,
)
from audit.data.known_nodes import LEAST_SHARE, sign_between
from audit.data.label_format import Columns, RawLabels
from audit.data.label_formats.jsonl import as_table
from audit.data.label_formats.several import stating
from audit.data.label_formats.tables import values_of
from audit.data.records import NUMBERED, is_coarse, lie_within, repeats
from audit.data.sources import Frame, Source
from audit.data.sources.file import is_large
from audit.data.unnamed_columns import DAY

_TRIED = 12
"""Number of commands that are tried."""
_NEARLY = 0.9
"""Share of nodes that is nearly all."""

_DECIMAL = re.compile(r"-?\d*[.,]\d*[1-9]\d*")
_BLANK, _ROWS = 0.1, 50
"""Largest share of blank ids, and number of rows of each on average if its name says little."""
_DISTINCT = 0.8
"""Largest share of different labels by which titles are found."""
Tried = Callable[[Source, Columns], RawLabels]


class InstanceColumns(TableColumns):
    """Which columns beside those of labels can hold the ids of instances and of their persons."""

    def differs(self, name: str) -> bool:
        """Whether each of the first rows has another value."""
        return len({*self.values[name]}) == len(self.values[name])

    def is_rare(self, label: str) -> bool:
        """Whether most rows hold nothing in a column, or in any of several."""
        rows = [*zip(*(self.values[name] for name in self.members(label)), strict=True)]
        return 2 * sum(any(map(str.strip, row)) for row in rows) < len(rows)

    def _candidates(self, label: str) -> list[str]:
        """Columns that can hold ids: filled, of several values, no days, decimals or titles.

        One of texts of several words is none where there is another.
        """
        found = [name for name in self.rest(label) if self._can_be_id(name, label)]
        return [name for name in found if not self._is_prose(name)] or found

    def _is_prose(self, name: str) -> bool:
        return 2 * sum(" " in one.strip() for one in self.values[name]) > len(self.values[name])

    def _can_be_id(self, name: str, label: str) -> bool:
        values, nodes = [value.strip() for value in self.values[name]], self.source.nodes
        filled = [value for value in values if value]
        few = is_coarse(len({*values}), len(values)) or len({*filled}) < min(2, len(values))
        days = all(re.match(DAY, one) for one in filled)
        decimals = any(map(_DECIMAL.fullmatch, filled))
        named = decimals and kind_of(name) < OTHER and self.differs(name)
        return (
            len(filled) >= (1 - _BLANK) * max(1, len(values))
            and not (few or days or (decimals and not named))
            and not (says(name, PREDICTED) or (nodes and nodes.means(name)))
            and not self._says_label(name, label)
        )

    def _says_label(self, name: str, label: str) -> bool:
        """Whether a column has one value for each label, as titles and numbers of codes have."""
        labels = self.values.get(label, [])
        repeated = 0 < len({*labels}) <= _DISTINCT * len(labels)
        return repeated and kind_of(name) > OF_STAY and lie_within(labels, self.values[name])

    def id_of(self, label: str) -> str | None:
        """As `id_beside`; `NUMBERED` where rows have several labels, and no column may be one."""
        found, several = self.id_beside(label), self.each(label) or self._joins(label)
        may = any(kind_of(n) < OTHER or self.differs(n) for n in self._candidates(label))
        return NUMBERED if found is None and several and not may else found

    def id_beside(self, label: str) -> str | None:
        """The only column that can be the id beside that of the labels.

        Columns that part the rows alike are one: each gives the same instances. Where a row has
        several labels it is an instance, so that the id differs in each, but for stays of persons,
        or stays in runs, beside which nothing is named as an id of rows; else several rows share
        its values, unless no other column can be one, or it is called so of samples of persons. A
        column of stays is none that persons share.
        """
        found = self._candidates(label)
        unique = [name for name in found if self.differs(name)]
        if index := [name for name in unique if self.is_index(name)]:
            return index[0]
        fine = (name for name in found if kind_of(name) < OTHER or self._is_fine(name))
        shared = [name for name in fine if name not in unique]
        stays = self._apart([name for name in shared if kind_of(name) <= OF_STAY])
        persons = self._of(OF_PERSON, shared)
        own = [one for one in stays if all(self._lies_in(one, other) for other in persons)]
        if self.each(label) and stays:
            sure = [one for one in own if persons or self._is_in_runs(one)]
            named = min(map(kind_of, unique), default=OTHER) < OTHER
            return (
                self._only([] if named else sure) if sure or not named else self._likeliest(unique)
            )
        if stays and not self.each(label):
            return self._only(stays, own)
        if self.each(label) or self._joins(label) or not shared:
            return self._likeliest(unique)
        units = [one for one in unique if says(one, UNIT)]
        if units and len(persons) == len([one for one in shared if kind_of(one) < OTHER]) > 0:
            return self._likeliest(units)
        if len(found) == 1 and self._is_in_runs(found[0]) and not says(found[0], ATTRIBUTE):
            return found[0]
        if not any(kind_of(one) < OTHER or self._is_in_runs(one) for one in shared):
            return self._only(unique, [one for one in unique if not self._counts_rows(one)])
        if min(map(kind_of, unique), default=OTHER) > OF_STAY and not units:
            return self._finest(shared)
        return None if min(map(kind_of, shared)) < OTHER else self._only(unique, unique)

    def _joins(self, label: str) -> bool:
        """Whether the cells of a column hold several labels."""
        return sign_between(self.source.first_cells(label), self.source.nodes)[0] is not None

    def _of(self, kind: int, names: Sequence[str]) -> list[str]:
        return [name for name in names if kind_of(name) == kind]

    def _apart(self, names: Sequence[str]) -> list[str]:
        """The first of the columns that part the rows in one way, of each way."""
        ways = dict[tuple[int, ...], str]()
        for name in names:
            places = dict[str, int]()
            way = tuple(places.setdefault(one, len(places)) for one in self.values[name])
            ways.setdefault(way, name)
        return [*ways.values()]

    def _likeliest(self, unique: Sequence[str]) -> str | None:
        """The first of the likeliest kind, if need be no number of the row, nor another number."""
        best = self._of(min(map(kind_of, unique), default=OTHER), unique)
        texts = [one for one in best if not self.are_numbers(one)]
        if len(best) > 1 and kind_of(best[0]) == OTHER:
            best = texts
        return next((one for one in best if not self._counts_rows(one)), next(iter(best), None))

    def _only(self, every: Sequence[str], own: Sequence[str] | None = None) -> str | None:
        """The only one of the likeliest kind of all, if it is one of its own.

        One whose name says nothing is the only one of all, and no other row has its value.
        """
        best = self._of(min(map(kind_of, every), default=OTHER), every)
        sure = (
            len(best) == 1 and best[0] in (every if own is None else own) and self._is_fine(best[0])
        )
        told = sure and (kind_of(best[0]) < OTHER or self.differs(best[0]))
        return best[0] if told else None

    def is_index(self, name: str) -> bool:
        """Whether a column has no name and each row another text, as an index that was written."""
        return not name.strip() and self.differs(name) and not self.are_numbers(name)

    def _is_in_runs(self, name: str) -> bool:
        """Whether the rows of each value stand together, as those of an instance mostly do."""
        runs = 1 + sum(one != other for one, other in pairwise(self.values[name]))
        return runs == len({*self.values[name]})

    def _counts_rows(self, name: str) -> bool:
        values = self.values[name]
        numbers = [int(value) for value in values] if all(map(str.isdecimal, values)) else []
        return bool(numbers) and all(b - a == 1 for a, b in pairwise(numbers))

    def _is_fine(self, name: str) -> bool:
        return len(self.values[name]) <= _ROWS * len({*self.values[name]})

    def _lies_in(self, name: str, other: str) -> bool:
        return lie_within(self.values[name], self.values[other])

    def _finest(self, shared: Sequence[str]) -> str | None:
        """The column named so whose values are most, if need be within those of persons."""
        persons, named = self._of(OF_PERSON, shared), self._of(NAMED, shared)
        if persons:
            named = [one for one in named if self._lies_in(one, persons[0])] or persons
        if len(named) != 1 or len(persons) > 1 or not self._is_fine(named[0]):
            return None
        apart = [one for one in shared if kind_of(one) < OTHER or self._is_in_runs(one)]
        most = max(len({*self.values[name]}) for name in apart)
        return named[0] if len({*self.values[named[0]]}) == most else None

    def persons_of(self, label: str, id_: str) -> list[str]:
        """Columns of persons in whose values the ids lie, several in some."""
        persons, ids = self._of(OF_PERSON, self.rest(label)), self.source.first_values(id_)
        persons = [one for one in persons if one != id_ and not self._is_prose(one)]
        within = [one for one in persons if lie_within(ids, self.values[one])]
        return [name for name in within if len({*self.values[name]}) < len({*ids})]

    def commands(self, groups: bool) -> Iterator[Columns]:
        """What may be named, the likeliest first."""
        named = self.named
        own = [named.label] if named.label is not None else list(self._labels())
        for label in own:
            for id_ in [named.id] if named.id is not None else self._ids(label):
                group = next(iter(self.persons_of(label, id_)), None) if groups else None
                for one in dict.fromkeys((named.group or group, named.group)):
                    yield replace(named, id=id_, label=label, group=one)

    def differ(self, first: Columns, other: Columns) -> bool:
        """Whether two ways to read a table are rivals: another id, or another column of labels."""
        if first.id != other.id:
            return other.id != NUMBERED and first.label == other.label
        return first.label != other.label and other.label in self.rivals

    def _labels(self) -> Iterator[str]:
        """Patterns and columns most of whose cells are nodes, all of them first."""
        yield from self.rivals
        if not self.rivals and (best := self.label() or self.best) is not None:
            near = [n for n in self.beside(best) if self.values[n] and self.share(n) >= LEAST_SHARE]
            first = {one: self.names.index(self.members(one)[0]) for one in [*near, best]}
            yield ",".join(sorted(first, key=lambda one: first[one]))
        yield from self.families
        shares = self._alone
        held = [name for name in shares if shares[name] >= LEAST_SHARE]
        named = {name: says(name, LABEL) for name in held}
        yield from sorted(held, key=lambda name: (-round(shares[name], 1), not named[name]))

    def _ids(self, label: str) -> list[str]:
        """Columns that may hold the id, the likeliest first: finer than the patient, no row's
        number.

        Where labels stand one a row, a column with another value in each row numbers the rows;
        where several stand in one row, one that repeats is no id unless its name says so. Of others
        the finest is likeliest.
        """
        values, found = self.values, self._candidates(label)
        several = self.each(label) or self._joins(label)
        person = next(iter(self._of(OF_PERSON, found)), "")

        def rank(name: str) -> tuple[int, int]:
            kind = USUAL if self.is_index(name) else kind_of(name)
            if kind > OF_STAY and person not in ("", name):
                kind = FINER if self._lies_in(name, person) else kind
            unsound = kind > OF_STAY and self.differs(name) != several and not says(name, UNIT)
            unsound |= kind == OTHER and not (self.differs(name) or self._is_in_runs(name))
            unsound &= not self.is_index(name)
            unsound |= not name.strip() and self._counts_rows(name)
            return kind + 10 * unsound, -len({*values[name]}) if kind == OTHER else 0

        likely = sorted(found, key=rank)
        sound = [name for name in likely if rank(name)[0] <= OTHER or self.differs(name)]
        named = [name for name in likely if name not in sound and kind_of(name) < OTHER]
        return [*sound, NUMBERED, *named]


def clear_columns(
    source: Source, named: Columns, tried: Tried, *, groups: bool = True
) -> tuple[Columns, tuple[Reading, ...]] | None:
    """The columns with those of ids and labels, and what is told of them; None if they are unclear.

    They are clear where the cells of one column, or of the columns of families, are nodes, most
    rows hold some, few of any other column's are, and one column alone can be the id. What is clear
    has been read by ``tried``. With ``groups`` the column of the group may be found too.
    """
    source = source if is_large(source) else as_table(source)
    if source.nodes is None or len(source.schema) < 2:
        return None
    found = InstanceColumns(_some_of(source), named)
    label = found.label() if named.label is None else named.label
    id_ = None if label is None else named.id if named.id is not None else found.id_of(label)
    if label is None or id_ is None or (named.label is None and found.is_rare(label)):
        return None
    codes = {} if named.codes else found.codes_of(label)
    if None in codes.values() or (codes and not groups):
        return None
    persons = found.persons_of(label, id_) if groups and not named.group else []
    for group in dict.fromkeys([*(persons if len(persons) == 1 else ()), named.group]):
        columns = replace(named, id=id_, label=label, group=group, codes=codes or named.codes)
        torn = found.each(label) and named.id is None and id_ != NUMBERED and found.differs(id_)
        if _reads(found, columns, tried, named.label is not None) and not (
            torn and repeats(values_of(source)(id_))
        ):
            return columns, tuple(_told(source, named, columns, found))
    return None


def nearest_command(source: Source, named: Columns, tried: Tried, *, groups: bool = True) -> str:
    """A hint: options that name columns of ids and labels by which the source was read when tried.

    It is empty where no nodes are known, or the source is not a table with two columns.
    """
    source = source if is_large(source) else as_table(source)
    if source.nodes is None or len(source.schema) < 2:
        return ""
    some = InstanceColumns(_some_of(source), named)
    reading = (one for one in islice(some.commands(groups), _TRIED) if _reads(some, one, tried))
    if (first := next(reading, None)) is not None:
        other = next((one for one in reading if some.differ(first, one)), None)
        said = " or: ".join(_options(source, one) for one in (first, other) if one is not None)
        return (
            f"name the columns of ids and labels, perhaps: {said}"
            "; audit list formats lists what is read without that"
        )
    some.source.table()  # what cannot be read, as rows that were cut, is told as that
    return (
        "no columns that were tried hold ids and labels that are nodes of this hierarchy"
        "; --id and --label name them"
    )


def _some_of(source: Source) -> Source:
    """The source, or its first rows where it is large or reached in a session alone."""
    if not is_large(source) and (source.files or isinstance(source, Frame)):
        return source
    names, *rows = source.head_rows
    first = Frame(pl.DataFrame(rows, schema=names, orient="row"))
    first.know(source.nodes)
    return first


def _reads(table: InstanceColumns, columns: Columns, tried: Tried, said: bool = False) -> bool:
    """Whether columns give instances with labels, most of them nodes unless the user said which."""
    try:
        rows = tried(table.source, columns).rows
        labels = rows.filter(rows["refused"].is_null())["label"].drop_nulls()
    except AskedError:
        return True
    except AuditError:
        return False
    known, some = table.source.nodes, labels.head(10_000)
    shares = [known.share(some) or 0.0, known.share_of_titles(some)] if known else [0.0]
    shares += [table.headed(some)] * says(columns.label or "", CODED)
    return said or max(shares) >= LEAST_SHARE


def _options(source: Source, columns: Columns) -> str:
    roles = {"--id": columns.id, "--group": columns.group, "--label": columns.label}
    options = {one: f"{one} {quote(name)}" for one, name in roles.items() if name is not None}
    if columns.label and "," in columns.label and not columns.codes:
        options["--label"] = stating(source, [columns.label])
    return " ".join(options.values())


def _told(
    source: Source, named: Columns, columns: Columns, found: InstanceColumns
) -> Iterator[Reading]:
    """What is told of each column that the user did not name."""
    id_, label, group = columns.id or "", columns.label or "", columns.group
    numbered = id_ == NUMBERED and id_ not in source.schema
    rows = sum(map(len, values_of(source)(next(iter(source.schema)) if numbered else id_)))
    if named.label is None:
        why = "nearly all" if found.share(label) >= _NEARLY else "most"
        nodes = source.nodes.name if source.nodes else ""
        why += f" of its cells are nodes of {nodes}, few of any other column's"
        yield Reading(f"{label!r} holds the labels", why, rows, "--label COLUMN")
        for one in (name for name in found.within(label) if name not in (id_, group)):
            said, why = f"{one!r} is left out", "each of its cells is one of its row's labels too"
            why = "its name says that it was a first guess" if says(one, ADMITTING) else why
            other = f"{label},{one}" if found.each(label) and label not in source.schema else one
            yield Reading(said, why, rows, f"--label {quote(other)}")
        if above := found.above(label, found.names):
            why, every = "each of their cells is a node above its row's label", [*above, label]
            option = f"--label {quote(','.join(every))}"
            yield Reading(f"{first_cases(above)} are left out", why, rows, option)
    for pattern, own in {} if columns.codes is named.codes else columns.codes.items():
        said, why = str(own).split("-")[0], "any other way to read them is less likely"
        option = f"--codes '{pattern}=as-written'"
        yield Reading(f"{pattern!r} holds {said}", why, rows, option)
    if named.id is None and numbered:
        why = "no column is named as ids are, or has another value in each row"
        yield Reading("rows are instances, numbered from 0", why, rows, "--id COLUMN")
    elif named.id is None:
        why = "its name says so" if kind_of(id_) < OTHER else "no other column can be one"
        why = "it is the index of a frame, which somebody wrote" if found.is_index(id_) else why
        why += ", and each row has another value" if found.differs(id_) else ""
        if found.each(label) and not found.differs(id_):
            why += ", and rows that share a value are one instance"
        yield Reading(f"{id_!r} is the id of an instance", why, rows, "--id COLUMN")
    if group is not None and named.group is None:
        why = "each id lies within one of its values, and it is named as persons are"
        yield Reading(f"{group!r} is the group of instances", why, rows, "--group COLUMN")
