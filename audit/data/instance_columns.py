"""Which columns beside those of labels can hold the ids of instances, and of their persons."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from audit.data.column_names import (
    ATTRIBUTE,
    FINER,
    LABEL,
    MAIN,
    MEASURED,
    MOMENT,
    NAMED,
    OF_PERSON,
    OF_STAY,
    OTHER,
    PLACE,
    PREDICTED,
    SHARED,
    UNIT,
    USUAL,
    kind_of,
    says,
)
from audit.data.column_roles import TableColumns
from audit.data.known_nodes import LEAST_SHARE, sign_between
from audit.data.label_format import Columns
from audit.data.records import NUMBERED, TEXTS, is_coarse, lie_within

_TRUE = re.compile(r"(y_?)?(true|truth|actual|gold|target|label)s?(_?(y|label|class|id))?$|^y$")
"""Names of columns of true labels, which may be numbers of classes."""
_DECIMAL = re.compile(r"-?\d*[.,]\d*[1-9]\d*")
_MONEY = re.compile(r"[-(]*[$€£¥]\s*\d[\d.,']*\)?|-?\d[\d.,']*\s*[$€£¥]")
_BLANK, _ROWS = 0.1, 50
"""Largest share of blank ids, and number of rows of each on average if its name says little."""
_MERGED = 0.2
"""Least share of blank cells in columns of cells that were merged."""
_DISTINCT = 0.8
"""Largest share of different labels by which titles are found."""


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
        found = [name for name in found if not self._is_prose(name)] or found
        return [name for name in found if name.strip().lower() not in TEXTS]

    def _is_prose(self, name: str) -> bool:
        return 2 * sum(" " in one.strip() for one in self.values[name]) > len(self.values[name])

    def _can_be_id(self, name: str, label: str) -> bool:
        values, nodes = [value.strip() for value in self.values[name]], self.source.nodes
        filled = [value for value in values if value]
        few = is_coarse(len({*values}), len(values)) or len({*filled}) < min(2, len(values))
        days = all(map(MOMENT.fullmatch, filled))
        decimals = any(map(_DECIMAL.fullmatch, filled))
        named = decimals and kind_of(name) < OTHER and self.differs(name)
        few |= says(name, MEASURED) and kind_of(name) == OTHER
        return (
            len(filled) >= (1 - _BLANK) * max(1, len(values))
            and not (few or days or (decimals and not named))
            and not (says(name, PREDICTED) or (nodes and nodes.means(name)))
            and not (self._says_label(name, label) or self._is_quantity(name))
        )

    def _is_quantity(self, name: str) -> bool:
        """Whether a column that is not named as ids are has sums of money, or numbers of several
        lengths, unsorted."""
        numbers = [one for one in self.values[name] if one]
        if numbers and all(map(_MONEY.fullmatch, numbers)):
            return True
        few = len({*numbers}) < _DISTINCT * len(numbers)
        if few or kind_of(name) < OTHER or not self.are_numbers(name):
            return False
        sizes = [*map(int, numbers)]
        return len({*map(len, numbers)}) > 1 and sorted(sizes) not in (sizes, sizes[::-1])

    def merged(self) -> list[str]:
        """Columns that are filled in the first row of each instance alone, as cells are that were
        merged: blank in the same rows, and in one of them no value twice."""
        blanks = {n: tuple(not one.strip() for one in self.values[n]) for n in self.names}
        for own in dict.fromkeys(blanks.values()):
            names = [name for name in self.names if blanks[name] == own]
            some = [name for name in names if kind_of(name) < OTHER or self._are_codes(name)]
            filled = [[one for one in self.values[name] if one.strip()] for name in some]
            once = any(len({*one}) == len(one) > 1 for one in filled)
            if once and not own[0] and _MERGED * len(own) <= sum(own):
                return [] if self.label() in names else names
        return []

    def begins_anew(self, id_: str) -> str | None:
        """The column of places in each of which ids of stays begin anew: most of those that repeat
        are in several."""
        if kind_of(id_) > OF_STAY or id_ not in self.names:
            return None
        if any(self._lies_in(id_, one) for one in self._of(OF_PERSON, self.names)):
            return None
        places = (n for n in self.names if says(n, PLACE) and not self.differs(n) and n != id_)
        for place in places:
            of_id = dict[str, list[str]]()
            for one, where in zip(self.values[id_], self.values[place], strict=False):
                of_id.setdefault(one, []).append(where)
            several = [len({*own}) > 1 for own in of_id.values() if len(own) > 1]
            if 2 * sum(several) > len(several):
                return place
        return None

    def _are_codes(self, name: str) -> bool:
        return all(re.fullmatch(r"(?=.*\d)\S{4,}|", one.strip()) for one in self.values[name])

    def _says_label(self, name: str, label: str) -> bool:
        """Whether a column has one value for each label, as titles and numbers of codes have, or
        one label for each of its values, as synonyms have."""
        labels, values = self.values.get(label, []), self.values[name]
        repeated = [0 < len({*own}) <= _DISTINCT * len(own) for own in (labels, values)]
        titles = repeated[0] and lie_within(labels, values)
        return kind_of(name) > OF_STAY and (
            titles or (all(repeated) and lie_within(values, labels))
        )

    def id_of(self, label: str) -> str | None:
        """As `id_beside`; `NUMBERED` where rows have several labels, and no column may be one."""
        found, several = self.id_beside(label), self._holds_several(label)
        may = any(kind_of(n) < OTHER or self.differs(n) for n in self._candidates(label))
        texts = [n for n in self.rest(label) if n.strip().lower() in TEXTS and self.differs(n)]
        alone = several or (texts and not self._candidates(label))
        return NUMBERED if found is None and alone and not may else found

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
        likeliest = min(map(kind_of, unique), default=OTHER)
        named = likeliest < OTHER
        if index := [name for name in unique if self.is_index(name)]:
            return index[0]
        fine = (name for name in found if kind_of(name) < OTHER or self._is_fine(name))
        shared = [name for name in fine if name not in unique]
        stays = self._apart([name for name in shared if kind_of(name) <= OF_STAY])
        persons = self._of(OF_PERSON, shared)
        own = [one for one in stays if all(self._lies_in(one, other) for other in persons)]
        if self.each(label) and stays:
            sure = [one for one in own if persons or self._is_in_runs(one)]
            return (
                self._only([] if named else sure) if sure or not named else self._likeliest(unique)
            )
        if stays and not self.each(label):
            finer = [n for n in self._of(NAMED, shared) if self._lies_in(n, stays[0])]
            main = [name for name in finer if says(name, MAIN)]
            return main[0] if len(main) == 1 else self._only(stays, own)
        if self._holds_several(label) or not shared:
            runs = [n for n in found if self._may_group(n) and self._is_in_runs(n)]
            if named or not runs:
                return self._likeliest(unique)
            return self._only(self._apart(runs)) if self._of(NAMED, runs) else None
        units = [one for one in unique if says(one, UNIT)]
        if units and len(persons) == len([one for one in shared if kind_of(one) < OTHER]) > 0:
            return self._likeliest(self._of(USUAL, unique) or units)
        alone = len(found) == 1 and not (says(found[0], ATTRIBUTE) or says(found[0], SHARED))
        if alone and self._is_in_runs(found[0]):
            return found[0]
        if not any(kind_of(one) < OTHER or self._is_in_runs(one) for one in shared):
            return self._only(unique, [one for one in unique if not self._counts_rows(one)])
        if likeliest > OF_STAY and not units:
            return self._finest(shared)
        return None if min(map(kind_of, shared)) < OTHER else self._only(unique, unique)

    def _holds_several(self, label: str) -> bool:
        """Whether a row, or a cell, holds several labels, so that rows may be instances."""
        cells, nodes = self.source.first_cells(label), self.source.nodes
        return self.each(label) or sign_between(cells, nodes)[0] is not None

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
            rows = other.id == NUMBERED and not self._holds_several(str(first.label))
            return not rows and first.label == other.label
        return first.label != other.label and other.label in self.rivals

    def _labels(self) -> Iterator[str]:
        """Patterns and columns most of whose cells are nodes, all of them first."""
        if self.named.classes is not None:
            yield from (name for name in self.names if says(name, _TRUE) and self.are_numbers(name))
        if self.rivals and not self._share_nodes(self.rivals):
            yield ",".join(self.rivals)
        yield from self.rivals
        if not self.rivals and (best := self.label() or self.best) is not None:
            near = [n for n in self.beside(best) if self.values[n] and self.share(n) >= LEAST_SHARE]
            again = [n for n in near if best in self.families and self.says_again(n, best)]
            first = {one: self.names.index(self.members(one)[0]) for one in [*near, best]}
            yield from again or [",".join(sorted(first, key=lambda one: first[one]))]
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
        several = self._holds_several(label)
        person = next(iter(self._of(OF_PERSON, found)), "")

        def rank(name: str) -> tuple[int, int, bool]:
            kind = USUAL if self.is_index(name) else kind_of(name)
            if kind > OF_STAY and person not in ("", name):
                kind = FINER if self._lies_in(name, person) else kind
            loose = kind > OF_STAY or (kind == USUAL and several and not self._is_in_runs(name))
            unsound = loose and self.differs(name) != several and not says(name, UNIT)
            unsound |= kind == OTHER and not (self.differs(name) or self._is_in_runs(name))
            unsound &= not self.is_index(name)
            if kind >= NAMED and self._may_group(name) and self._is_in_runs(name):
                kind, unsound = FINER, False
            unsound |= not name.strip() and self._counts_rows(name)
            few = -len({*values[name]}) if kind == OTHER else 0
            return kind + 10 * unsound, few, few < 0 and not self._counts_rows(name)

        likely = sorted(found, key=rank)
        sound = [name for name in likely if rank(name)[0] <= OTHER or self.differs(name)]
        others = [name for name in likely if name not in sound]
        shared = [] if several or sound else [n for n in others if self._may_group(n)]
        named = [name for name in others if kind_of(name) < OTHER]
        rows = several and not any(self.differs(n) or self._is_in_runs(n) for n in found)
        likely = [n for n in shared if self._is_in_runs(n) or not self.are_numbers(n)]
        first = [NUMBERED, *sound] if rows else [*sound, *likely, NUMBERED, *shared]
        return [*dict.fromkeys([*first, *named])]

    def _may_group(self, name: str) -> bool:
        """Whether cells look like ids that rows of instances share: a few rows, texts of digits."""
        values = self.values[name]
        shaped = all(re.fullmatch(r"(?=.*\d)(?!\d{1,4}$)\S{4,}", one) for one in values)
        return shaped and not self.differs(name) and self._is_fine(name)
