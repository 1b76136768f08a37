"""Which columns of a table can hold its labels, the ids of its instances and their persons."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from audit.base.files import called
from audit.data.column_kinds import (
    FINER,
    NAMED,
    OF_PERSON,
    OF_STAY,
    OTHER,
    USUAL,
    is_admitting,
    is_attribute,
    is_further,
    is_main,
    is_predicted,
    is_unit,
    kind_of,
    names_labels,
    names_system,
)
from audit.data.known_nodes import LEAST_SHARE, sign_between
from audit.data.label_format import Columns
from audit.data.label_formats.several import code_sets_of, families, families_of, is_pattern
from audit.data.records import fitting, is_coarse, lie_within
from audit.data.sources import Source
from audit.data.unnamed_columns import DAY, MOST_VALUES

_DECIMAL = re.compile(r"-?\d*[.,]\d*[1-9]\d*")
_FAR, _FAR_NUMBERS = 0.5, 0.75
"""Share of nodes, of that of labels, below which other cells, or numbers, are something else."""
_BLANK, _ROWS = 0.1, 50
"""Largest share of blank ids, and number of rows of each on average if its name says little."""
_DISTINCT = 0.8
"""Largest share of different labels by which titles are found."""


@dataclass(frozen=True)
class TableColumns:
    """What the columns of a table can be, by the first cells of each and by their names.

    Args:
        source: The table, or its first rows, which knows the nodes.
        named: What the user names of it.
    """

    source: Source
    named: Columns

    @cached_property
    def names(self) -> list[str]:
        """The columns that have no role yet."""
        names = list(self.source.schema)
        taken = called(names, [*self.named.beside.values(), *filter(None, [self.named.id])])
        return [name for name in names if name not in taken]

    @cached_property
    def families(self) -> dict[str, list[str]]:
        """The families of columns that hold labels, all of them first if they are several."""
        shares = self.source.share_of_nodes
        every = families_of(self.source).items()
        known = {one: names for one, names in every if any(map(shares, names))}
        if len(known) < 2:
            return known
        order = sorted(known, key=lambda one: self.names.index(known[one][0]))
        return {",".join(order): [name for one in order for name in known[one]], **known}

    @cached_property
    def values(self) -> dict[str, list[str]]:
        """The first values of each column of plain values, row by row."""
        schema = self.source.schema.items()
        return {n: [] if of.is_nested() else self.source.first_values(n) for n, of in schema}

    def members(self, label: str) -> list[str]:
        """The columns that a label's name, or the pattern of a family, means."""
        found = self.families.get(label) or called(self.names, [label])
        return found or (fitting(label, self.names) if self.each(label) else [])

    def each(self, label: str) -> bool:
        """Whether each row has labels in several columns, or a list, so that it is an instance."""
        dtype = self.source.schema.get(label)
        listed = dtype is not None and dtype.is_nested()
        return listed or label in self.families or is_pattern(label, self.names)

    def rest(self, label: str) -> list[str]:
        """The columns beside those of labels and of all families."""
        own = self.members(label)
        return [name for name in self.names if not (name in own or self._grouped(name))]

    def share(self, label: str) -> float:
        """The share of the cells of a column, or of a family's columns, that are nodes."""
        if label not in self._shares:
            self._shares[label] = self._share(label)
        return self._shares[label]

    @cached_property
    def _shares(self) -> dict[str, float]:
        return {}

    def _share(self, label: str) -> float:
        shares = [self.source.share_of_nodes(name) for name in self.members(label)]
        filled = [share for share in shares if share is not None]
        share = sum(filled) / len(filled) if filled else 0.0
        nodes, cells = self.source.nodes, self.values.get(label)
        for name in self._systems if nodes and cells and share < LEAST_SHARE else ():
            own = dict[str, list[str]]()
            for value, cell in zip(self.values[name], cells or (), strict=True):
                own.setdefault(value, []).append(cell)
            least = len(cells or ()) / MOST_VALUES
            kept = [one for one in own.values() if len(one) > least]
            share = max([share, *(nodes.share(one) or 0.0 for one in kept if nodes)])
        return share

    @cached_property
    def _systems(self) -> list[str]:
        return [name for name in self.names if names_system(name) and self.values[name]]

    def label(self) -> str | None:
        """The column, or the columns of all families, whose cells alone are nodes."""
        alone = {name: self.share(name) for name in self.names if not self._grouped(name)}
        sure = {name: s for name, s in alone.items() if not is_predicted(name)}
        best = next(iter(self.families), None) or max(sure, key=lambda one: sure[one], default=None)
        if best is None or self.share(best) < LEAST_SHARE:
            return self._titled(list(sure))
        if self._lacks_zeros(best):
            return None
        if self._is_torn(best):
            return None
        share = self.share(best)
        near = [name for name in sure if name != best and sure[name] > self._far(name) * share]
        near = [name for name in near if not self._stands_in(name, best)]
        near = [name for name in near if not is_admitting(name)]
        own = sorted(near + [best] * (best not in self.families), key=self.names.index)
        further = [name for name in own if is_further(name)]
        if near and sum(map(is_main, own)) == 1 and len(further) == len(own) - 1:
            return ",".join([*own, *([best] if best in self.families else [])])
        return None if near else best

    def _titled(self, names: Sequence[str]) -> str | None:
        """The only column whose cells are titles of nodes, where none holds nodes."""
        nodes = self.source.nodes
        cells = {name: self.source.first_cells(name) for name in names} if nodes else {}
        shares = {name: nodes.share_of_titles(own) for name, own in cells.items() if nodes}
        found = [name for name, share in shares.items() if share > _FAR * LEAST_SHARE]
        return found[0] if len(found) == 1 and shares[found[0]] >= LEAST_SHARE else None

    def _is_torn(self, label: str) -> bool:
        """Whether some columns of a family hold fewer nodes than those that are its labels."""
        held = {*self.members(label)}
        every = families(self.source.schema).values()
        rest = {name for names in every if held & {*names} for name in names} - held
        return any(self.source.share_of_nodes(name) for name in rest)

    def _far(self, name: str) -> float:
        return _FAR_NUMBERS if self._are_numbers(name) else _FAR

    def _lacks_zeros(self, label: str) -> bool:
        cells = [cell for name in self.members(label) for cell in self.values[name]]
        return self.source.nodes is not None and self.source.nodes.lack_zeros(cells)

    def _grouped(self, name: str) -> bool:
        return any(name in members for members in self.families.values())

    def within(self, label: str) -> list[str]:
        """Columns of nodes that stand among the labels of a family."""
        near = [name for name in self.rest(label) if self.share(name) >= LEAST_SHARE]
        return [name for name in near if self._stands_in(name, label) or is_admitting(name)]

    def _stands_in(self, name: str, label: str) -> bool:
        """Whether each cell of a column stands among those of a family in the same row too."""
        own = [self.values[one] for one in self.members(label)]
        rows = zip(self.values[name], zip(*own, strict=True), strict=True)
        return len(own) > 1 and all(not cell.strip() or cell in beside for cell, beside in rows)

    def codes_of(self, label: str) -> Mapping[str, str | None]:
        """The code set of each of several families; empty where they do not differ."""
        sets = code_sets_of(self.source, label.split(",")) if label in self.families else {}
        return sets if len(sets) > 1 and len({*sets.values()}) > 1 else {}

    def differs(self, name: str) -> bool:
        """Whether each of the first rows has another value."""
        return len({*self.values[name]}) == len(self.values[name])

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
            and not (is_predicted(name) or (nodes and nodes.means(name)))
            and not self._says_label(name, label)
        )

    def _says_label(self, name: str, label: str) -> bool:
        """Whether a column has one value for each label, as titles and numbers of codes have."""
        labels = self.values.get(label, [])
        repeated = 0 < len({*labels}) <= _DISTINCT * len(labels)
        return repeated and kind_of(name) > OF_STAY and lie_within(labels, self.values[name])

    def id_beside(self, label: str) -> str | None:
        """The only column that can be the id beside that of the labels.

        Where each row is an instance it differs in each; else several rows share its values, unless
        no other column can be one. A column of stays is none that persons share. Whether samples of
        persons are instances, or the rows of one, is not clear.
        """
        found = self._candidates(label)
        unique = [name for name in found if self.differs(name)]
        index = [name for name in unique if self.is_index(name)]
        if index:
            return index[0]
        fine = (name for name in found if kind_of(name) < OTHER or self._is_fine(name))
        shared = [name for name in fine if name not in unique]
        stays = [name for name in shared if kind_of(name) <= OF_STAY]
        if self.each(label):
            return self._only([*unique, *stays], unique)
        if stays:
            persons = self._of(OF_PERSON, shared)
            own = [one for one in stays if all(self._lies_in(one, other) for other in persons)]
            return self._only(stays, own)
        if self._joins(label) or not shared:
            return self._only(unique, unique)
        if len(found) == 1 and self._is_in_runs(found[0]) and not is_attribute(found[0]):
            return found[0]
        if not any(kind_of(one) < OTHER or self._is_in_runs(one) for one in shared):
            return self._only(unique, [one for one in unique if not self._counts_rows(one)])
        if min(map(kind_of, unique), default=OTHER) > OF_STAY and not any(map(is_unit, unique)):
            return self._finest(shared)
        return None if min(map(kind_of, shared)) < OTHER else self._only(unique, unique)

    def _joins(self, label: str) -> bool:
        """Whether the cells of a column hold several labels."""
        return sign_between(self.source.first_cells(label), self.source.nodes)[0] is not None

    def _of(self, kind: int, names: Sequence[str]) -> list[str]:
        return [name for name in names if kind_of(name) == kind]

    def _only(self, every: Sequence[str], own: Sequence[str]) -> str | None:
        """The only one of the likeliest kind of all, if it is one of its own.

        One whose name says nothing is the only one of all, and no other row has its value.
        """
        best = self._of(min(map(kind_of, every), default=OTHER), every)
        sure = len(best) == 1 and best[0] in own and self._is_fine(best[0])
        told = sure and (kind_of(best[0]) < OTHER or self.differs(best[0]))
        return best[0] if told else None

    def is_index(self, name: str) -> bool:
        """Whether a column has no name and each row another text, as an index that was written."""
        return not name.strip() and self.differs(name) and not self._are_numbers(name)

    def _are_numbers(self, name: str) -> bool:
        return all(map(str.isdecimal, filter(None, self.values[name])))

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

    def _labels(self) -> Iterator[str]:
        """Patterns and columns most of whose cells are nodes."""
        yield from self.families
        shares = {name: self.share(name) for name in self.names if not self._grouped(name)}
        held = [name for name in shares if shares[name] >= LEAST_SHARE]
        named = {name: names_labels(name) for name in held}
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
            unsound = kind > OF_STAY and self.differs(name) != several and not is_unit(name)
            unsound |= kind == OTHER and not (self.differs(name) or self._is_in_runs(name))
            unsound &= not self.is_index(name)
            unsound |= not name.strip() and self._counts_rows(name)
            return kind + 10 * unsound, -len({*values[name]}) if kind == OTHER else 0

        return sorted(found, key=rank)
