"""Which columns of a table can hold its labels, by their names and their cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress

from audit.base.files import called
from audit.data.column_names import (
    ADMITTING,
    CODED,
    LABEL,
    MAIN,
    MEASURED,
    MOMENT,
    PREDICTED,
    RIVAL,
    is_further,
    says,
)
from audit.data.known_nodes import LEAST_SHARE, alphanumeric, common_beginning
from audit.data.label_format import Columns
from audit.data.label_formats.several import code_sets_of, families, families_of, is_pattern
from audit.data.records import fitting
from audit.data.sources import Source
from audit.data.unnamed_columns import MOST_VALUES, names_system, plain_name

_FAR, _FAR_NUMBERS, _FAR_UNNAMED = 0.5, 0.75, 0.9
"""Share of nodes, of that of labels, below which other cells are something else: any, numbers, and
numbers that are not named as labels beside some that are."""
_CALLED = 4
"""Least number of letters and digits of a name by which a column is called as a file is."""
_MOSTLY = 0.75
"""Share of a column's nodes that stand in a family's from which it says again what that says."""
_LEVELS = 3
"""Least number of different nodes in the column of the lowest level."""
_FLAGS = tuple(map(frozenset, ("yn", "tf", "mf", "mfu", "ynu", "jn", "sn", "on", "01")))
"""Values of columns of two answers, as first letters in lower case."""
_ANSWERS = {"yes", "no", "true", "false", "male", "female", "ja", "nein", "si", "non", "oui"}
_HEADED = 0.9
"""Least share of cells that are nodes, headings among them, of diagnoses without their places."""


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
        if any(map(self._is_telling, self.names)):
            filled = {one: [n for n in names if shares(n)] for one, names in known.items()}
            known = {o: known[o] for o, own in filled.items() if not any(map(self._by_chance, own))}
        if len(known) < 2:
            return known
        order = sorted(known, key=lambda one: self.names.index(known[one][0]))
        return {",".join(order): [name for one in order for name in known[one]], **known}

    def _is_telling(self, name: str) -> bool:
        """Whether a column holds nodes, and not by chance."""
        held = self.source.share_of_nodes(name) or 0.0
        return held >= LEAST_SHARE and not self._by_chance(name)

    def _by_chance(self, name: str) -> bool:
        """Whether a column holds hardly more nodes than numbers of as many digits do by chance."""
        nodes, share = self.source.nodes, self.source.share_of_nodes(name) or 0.0
        return nodes is not None and 2 * nodes.chance(self.values[name]) >= share

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
        return [name for name in self.names if not (name in own or self.grouped(name))]

    def share(self, label: str) -> float:
        """The share of the cells of a column, or of a family's columns, that are nodes."""
        if label not in self._shares:
            self._shares[label] = self._share(label)
        return self._shares[label]

    @cached_property
    def _shares(self) -> dict[str, float]:
        return {}

    def _share(self, label: str) -> float:
        members, nodes = self.members(label), self.source.nodes
        filled = [one for name in members if (one := self.source.share_of_nodes(name)) is not None]
        share = sum(filled) / len(filled) if filled else 0.0
        if nodes and says(label, CODED):
            share = max(share, self.headed(cell for name in members for cell in self.values[name]))
        cells = self.values.get(label)
        for name in self._systems if nodes and cells and share < LEAST_SHARE else ():
            own = dict[str, list[str]]()
            for value, cell in zip(self.values[name], cells or (), strict=True):
                own.setdefault(value, []).append(cell)
            least = len(cells or ()) / MOST_VALUES
            kept = [one for one in own.values() if len(one) > least]
            share = max([share, *(nodes.share(one) or 0.0 for one in kept if nodes)])
        return share

    def headed(self, cells: Iterable[str]) -> float:
        """`LEAST_SHARE` where nearly all cells are codes or their headings, else 0."""
        nodes = self.source.nodes
        held = nodes.share(cells, headings=True) if nodes else None
        return LEAST_SHARE if (held or 0) >= _HEADED else 0.0

    @cached_property
    def _systems(self) -> list[str]:
        return [name for name in self.names if names_system(name) and self.values[name]]

    def label(self) -> str | None:
        """The column, or the columns of all families, whose cells alone are nodes."""
        best = self.best
        if best is None or self.share(best) < LEAST_SHARE:
            return self._titled()
        if self._is_each_once(best) and (titled := self._titled()) is not None:
            return titled
        if (lowest := self.lowest(best)) is not None:
            return lowest
        if self._lacks_zeros(best) or self._is_torn(best):
            return None
        near = self.beside(best)
        own = sorted(near + [best] * (best not in self.families), key=self.names.index)
        fuller = [
            one
            for one in near
            if best in own and all(other == one or self._stands_in(other, one) for other in own)
        ]
        if fuller:
            return fuller[0]
        own = self._without_repeated([*own, *([best] if best in self.families else [])], best)
        alike = own == [best] or self._are_alike(best, own)
        return ",".join(own) if alike else None

    @cached_property
    def rivals(self) -> list[str]:
        """Columns of no family, nor of codes, that hold nodes alike, none above another's: each may
        be the labels."""
        best, nodes = self.best, self.source.nodes
        if nodes is None or nodes.coded or best is None:
            return []
        if best in self.families or self.label() is not None:
            return []
        near = [n for n in self.beside(best) if self.share(n) >= LEAST_SHARE]
        near = [n for n in near if not self.above(best, [n])]
        whole = {n: self._plain_share(n) for n in [*near, best]}
        least = _HEADED * max(whole.values())
        alike = sorted(whole, key=lambda n: (whole[n] < least, self.names.index(n)))
        rows = [*zip(*map(self.source.first_cells, alike), strict=True)]
        levels = sum(map(nodes.hold_one_above, rows)) > len(rows) / 2
        return alike if near and not levels else []

    def _share_nodes(self, names: Sequence[str]) -> bool:
        """Whether columns have a node in common in a row, so that they say one thing twice."""
        rows = zip(*map(self._nodes_of, names), strict=True)
        return any(len(frozenset().union(*row)) < sum(map(len, row)) for row in rows)

    def lowest(self, best: str) -> str | None:
        """The column of the lowest of several levels, of which each row holds one above too."""
        nodes = self.source.nodes
        if nodes is None or nodes.coded:
            return None
        alone = [n for n in self._alone if not (says(n, PREDICTED) or says(n, ADMITTING))]
        levels = self.members(best) if best in self.families else alone
        levels = [name for name in levels if self.share(name) >= _HEADED]
        whole = [n for n in levels if self._plain_share(n) >= _HEADED] or levels
        last = max(whole, key=lambda n: (len({*self.values[n]}), self.share(n)), default="")
        above = self.above(last, levels)
        if any(not self._stands_in(n, last) for n in levels if n not in (last, *above)):
            return None
        named = f"{last[:-1]}[{last[-1:]}]" if self.grouped(last) else last
        return named if above and len({*self.values[last]}) >= _LEVELS else None

    def above(self, label: str, names: Iterable[str]) -> list[str]:
        """Columns whose cells are nodes above their row's label, or it, and blank where it is."""
        members = self.members(label)
        nodes, own = self.source.nodes, self.values[members[0]] if len(members) == 1 else []
        if nodes is None or not own:
            return []
        names = [name for name in names if self.values[name] and not self._is_measure(name)]
        pairs = {n: {*zip(self.values[n], own, strict=True)} for n in names}
        pairs = {n: {pair for pair in both if any(pair)} for n, both in pairs.items()}
        apart = {n: {(a, b) for a, b in both if a != b} for n, both in pairs.items()}
        return [n for n in apart if apart[n] and all(nodes.is_above(*pair) for pair in apart[n])]

    def _without_repeated(self, own: Sequence[str], best: str) -> list[str]:
        """Columns without those whose nodes the others have in each row."""
        kept = [*own]
        for one in sorted((name for name in own if name != best), key=self.share):
            others = ",".join(other for other in kept if other != one)
            if self._stands_in(one, others):
                kept.remove(one)
        return kept

    def _are_alike(self, best: str, own: Sequence[str]) -> bool:
        """Whether columns are named as one main and further ones, or all are codes of a row.

        Codes are, of one classification, where the columns are named alike: as diagnoses or main
        and further ones, or with one beginning; and none as another version of the same.
        """
        own = [name for name in own if name not in self.families]
        further = [name for name in own if is_further(name)]
        first = [name for name in own if name not in further]
        words = [*re.findall("[a-z]{3,}", plain_name(first[0]))][-1:] if len(first) == 1 else []
        same = bool(further and words) and all(words[0] in plain_name(name) for name in further)
        if len(first) == 1 and (says(first[0], MAIN) or same):
            return True
        nodes, every = self.source.nodes, [*own, *self.members(best)]
        far = min(map(self.share, own), default=0) < _FAR_NUMBERS * self.share(best)
        if nodes is None or not nodes.coded or far or any(says(n, RIVAL) for n in every):
            return False
        stem = common_beginning(every).strip("_ ")
        return 2 * len(stem) >= max(map(len, every)) or all(
            says(name, MAIN) or is_further(name) or says(name, LABEL) for name in own
        )

    @cached_property
    def _alone(self) -> dict[str, float]:
        """The shares of nodes of the columns of no family but those of 0 and 1, and but flags,
        days, times, sizes and remarks where others hold nodes."""
        names = [one for one in self.names if not (self.grouped(one) or names_system(one))]
        shares = {n: self.share(n) for n in names if {*self.values[n]} - {""} != {"0", "1"}}
        telling = [*filter(self._is_telling, shares)] or [*shares]
        telling = [name for name in telling if not self._is_measure(name)] or telling
        named = [name for name in telling if self._is_called_so(name)] or telling
        return {n: one for n, one in shares.items() if n in named or one < LEAST_SHARE}

    def _is_measure(self, name: str) -> bool:
        """Whether a column is of flags, days, times, sizes or remarks, by its name or its cells."""
        if says(name, LABEL):
            return False
        filled = {cell.strip().casefold() for cell in self.values[name]} - {""}
        short = all(one in _ANSWERS or len(one) == 1 for one in filled)
        flags = short and any({one[0] for one in filled} <= own for own in _FLAGS)
        days = all(map(MOMENT.fullmatch, filled))
        return says(name, MEASURED) or (bool(filled) and (flags or days))

    def _is_called_so(self, name: str) -> bool:
        """Whether a column is called as a file of nodes is, as isco08 is beside ISCO-08.csv."""
        nodes, own = self.source.nodes, alphanumeric(name)
        digits = any(map(str.isdigit, own)) and len(own) >= _CALLED
        return nodes is not None and not nodes.coded and digits and own in alphanumeric(nodes.name)

    @cached_property
    def best(self) -> str | None:
        """The columns of all families, else the column, that most likely hold the labels."""
        alone = self._alone
        own = [name for name in alone if not says(name, PREDICTED)]
        ranks = {one: (round(alone[one], 2), self._plain_share(one)) for one in own}
        return next(iter(self.families), None) or max(ranks, key=lambda n: ranks[n], default=None)

    def _plain_share(self, name: str) -> float:
        """The share of the cells of a column that are nodes as a whole."""
        nodes, cells = self.source.nodes, self.values[name]
        return sum(nodes.weight(one) > 0 for one in cells) / len(cells) if nodes and cells else 0.0

    def beside(self, best: str) -> list[str]:
        """Columns whose cells are nodes too and say something that the likeliest labels do not."""
        alone = [n for n in self.rest(best) if n in self._alone and not says(n, PREDICTED)]
        alone = [n for n in alone if not (self._measures(n, best) or self._is_measure(n))]
        least = {name: self._far(name, best) * self.share(best) for name in alone}
        near = [name for name in alone if self.share(name) > least[name]]
        near = [name for name in near if len({*self._nodes_of(name)}) > 1]
        return [one for one in near if not (says(one, ADMITTING) or self._stands_in(one, best))]

    def _titled(self) -> str | None:
        """The only column, or family, whose cells are titles of nodes, where none holds nodes."""
        nodes = self.source.nodes
        names = [one for one in self._alone if not says(one, PREDICTED)]
        names = [one for one in names if not (self.values[one] and self.are_numbers(one))]
        lists = {one: sum(self.source.first_lists(one), start=list[str]()) for one in names}
        cells = {n: self.source.first_cells(n) or lists[n] for n in names} if nodes else {}
        shares = {name: nodes.share_of_titles(own) for name, own in cells.items() if nodes}
        found = [name for name, share in shares.items() if share > _FAR * LEAST_SHARE]
        several = families(self.source.schema).items() if len(found) > 1 else ()
        whole = [one for one, members in several if {*members} == {*found}] or found
        return whole[0] if len(whole) == 1 and shares[found[0]] >= LEAST_SHARE else None

    def _is_torn(self, label: str) -> bool:
        """Whether some columns of a family hold fewer nodes than those that are its labels."""
        held = {*self.members(label)}
        every = families(self.source.schema).values()
        rest = {name for names in every if held & {*names} for name in names} - held
        return any(self.source.share_of_nodes(name) for name in rest)

    def _is_each_once(self, name: str) -> bool:
        """Whether cells are whole numbers of which none stands twice, and nodes are no codes."""
        nodes, cells = self.source.nodes, [*filter(None, self.values.get(name, ()))]
        plain = nodes is not None and not nodes.coded and all(map(str.isdecimal, cells))
        return plain and len({*cells}) == len(cells) > 1

    def are_numbers(self, name: str) -> bool:
        """Whether each of the first cells of a column is a whole number or blank."""
        return all(map(str.isdecimal, filter(None, self.values[name])))

    def _measures(self, name: str, best: str) -> bool:
        """Whether cells are numbers beside labels some of which are none, and not named as such."""
        if says(name, LABEL) or says(name, MAIN) or is_further(name):
            return False
        whole, *labels = (
            all(re.fullmatch(r"-?\d*([.,]\d*)?", cell) for cell in self.values[one])
            for one in (name, *self.members(best))
        )
        return whole and not all(labels)

    def _far(self, name: str, best: str) -> float:
        if not self.are_numbers(name):
            return _FAR
        unnamed = says(best, LABEL) and not (says(name, LABEL) or says(name, MAIN))
        return _FAR_UNNAMED if unnamed and not is_further(name) else _FAR_NUMBERS

    def _lacks_zeros(self, label: str) -> bool:
        cells = [cell for name in self.members(label) for cell in self.values[name]]
        return self.source.nodes is not None and self.source.nodes.lack_zeros(cells)

    def grouped(self, name: str) -> bool:
        """Whether a column is of a family of labels."""
        return any(name in members for members in self.families.values())

    def within(self, label: str) -> list[str]:
        """Columns of nodes that stand among the labels."""
        near = [name for name in self.rest(label) if self.share(name) >= LEAST_SHARE]
        return [name for name in near if self._stands_in(name, label) or says(name, ADMITTING)]

    def _stands_in(self, name: str, label: str) -> bool:
        """Whether the nodes of each cell of a column are among those of the labels in its row."""
        return all(self._among(name, label))

    def says_again(self, name: str, label: str) -> bool:
        """Whether most nodes of a column are among those of the labels in its row."""
        filled = [*compress(self._among(name, label), self._nodes_of(name))]
        return sum(filled) > _MOSTLY * len(filled)

    def _among(self, name: str, label: str) -> Iterator[bool]:
        own = [self._nodes_of(one) for one in self.members(label)]
        rows = zip(self._nodes_of(name), zip(*own, strict=True), strict=True)
        return (inner <= frozenset().union(*beside) for inner, beside in rows)

    def _nodes_of(self, name: str) -> list[frozenset[str]]:
        """The nodes in each of the first cells, or lists, of a column."""
        nodes = self.source.nodes
        if nodes and name not in self._held:
            cells = [[cell] for cell in self.values[name]] or self.source.first_lists(name)
            self._held[name] = [frozenset().union(*map(nodes.inside, own)) for own in cells]
        return self._held.get(name, [])

    @cached_property
    def _held(self) -> dict[str, list[frozenset[str]]]:
        return {}

    def codes_of(self, label: str) -> Mapping[str, str | None]:
        """The code set of each of several families; empty where they do not differ."""
        several = label in self.families or (self.each(label) and label not in self.names)
        sets = code_sets_of(self.source, label.split(",")) if several else {}
        return sets if len(sets) > 1 and len({*sets.values()}) > 1 else {}
