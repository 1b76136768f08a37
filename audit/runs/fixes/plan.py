"""What changes make of the rows of a table, whatever it is written in: cells, and whole rows."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from audit.base.errors import InputError, first_cases
from audit.data.label_format import Layout
from audit.data.label_formats.wide import state_of
from audit.runs.fixes.changes import Ledger, Record, between, changed_cell, with_added

_AS_FLOAT = re.compile(r"([0-9]+)\.0")
_OPPOSITE = {
    "0": "1", "0.0": "1.0", "false": "true", "no": "yes", "n": "y", "unchecked": "checked",
    "nein": "ja", "non": "oui", "absent": "present", "negative": "positive", "": "x",
}  # fmt: skip
"""What is written for either of two, beside what is written for the other."""


class Cells(Protocol):
    """The cells of a table: text, lists of text, or flags of any type."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns."""

    @property
    def height(self) -> int:
        """Number of rows below the names of columns."""

    def cell(self, row: int, place: int) -> Any:
        """What a cell holds; None where it is null, or the row is shorter."""


@dataclass
class Plan:
    """What becomes of the rows of a table; others stay.

    Args:
        further: Rows to add: the row behind which each stands, and its label.
    """

    cells: dict[tuple[int, int], Any] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    further: list[tuple[int, str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.cells or self.gone or self.further)


class Planner:
    """Plans the changes of a ledger; those that are made are counted there."""

    def __init__(self, table: Cells, layout: Layout, ledger: Ledger, codes: str = "") -> None:
        self._table, self._layout, self._ledger, self._codes = table, layout, ledger, codes
        self._plan = Plan()

    def plan(self) -> Plan:
        """What becomes of the rows."""
        layout, rows_of = self._layout, defaultdict[str, list[int]](list)
        for row, instance in enumerate(self._ids()):
            if instance in self._ledger.of and row not in self._left_out:
                rows_of[instance].append(row)
        single = self._of_rows if layout.of_instances else self._of_assertions
        change = self._of_flags if layout.flags else single
        for instance, rows in rows_of.items():
            change(Record(self._ledger, instance, self._codes), rows)
        return self._plan

    @cached_property
    def _left_out(self) -> set[int]:
        """Rows that do not count."""
        rules = self._layout.rules
        columns = {
            name: [_text(self._table.cell(row, place)).strip() for row in range(self._table.height)]
            for name in rules.conditions
            for place in [self.place(name)]
        }
        return {row for row, counts in enumerate(rules.counts(columns)) if not counts}

    @cached_property
    def varying(self) -> set[int]:
        """Places whose values differ between rows of one instance that follow each other."""
        found, width = set[int](), range(len(self._table.names))
        before: str | None = None
        for row, instance in enumerate(self._ids()):
            if instance == before:
                cell = self._table.cell
                found |= {n for n in width if cell(row, n) != cell(row - 1, n)}
            before = instance
        return found

    def place(self, name: str) -> int:
        """The place of a column by its name, else by what it is without case and blanks around."""
        exact = self._by_name.get(name)
        return self._by_name[name.strip().lower()] if exact is None else exact

    @cached_property
    def _by_name(self) -> dict[str, int]:
        numbered = [*enumerate(self._table.names)][::-1]
        return {name.strip().lower(): n for n, name in numbered} | {n: i for i, n in numbered}

    @cached_property
    def places(self) -> list[int]:
        """The places of the columns of labels."""
        return [self.place(name) for name in self._layout.labels]

    def _ids(self) -> Iterator[str]:
        if self._layout.day is not None:
            yield from self._visits(*map(self.place, self._layout.day))
            return
        if self._layout.id is None:
            yield from map(str, range(self._table.height))
            return
        place = self.place(self._layout.id)
        for row in range(self._table.height):
            text = _text(self._table.cell(row, place)).strip()
            yield whole[1] if (whole := _AS_FLOAT.fullmatch(text)) else text

    def _visits(self, person: int, time: int) -> Iterator[str]:
        """The visit of each event, else the person and the day."""
        cell, id = self._table.cell, self._layout.id
        visit = None if id is None else self.place(id)
        for row in range(self._table.height):
            named = None if visit is None else cell(row, visit)
            day = f"{cell(row, person)} {str(cell(row, time))[:10]}"
            yield day if named is None else str(named)

    def _of_rows(self, record: Record, rows: Sequence[int]) -> None:
        """Changes where a row is an instance; labels are added to its last row."""
        for row in rows:
            before = {n: self._table.cell(row, n) for n in self.places}
            became = {n: self._cell(cell, record) for n, cell in before.items()}
            if row == rows[-1]:
                self._add(record, became)
            self._plan.cells |= {(row, n): became[n] for n in before if became[n] != before[n]}

    def _cell(self, cell: Any, record: Record) -> Any:
        if not isinstance(cell, list):
            return cell and changed_cell(str(cell), record, self._layout.sign)
        became = [one if one is None else record.becomes(_text(one).strip()) for one in cell]
        return [n for n, old in zip(became, cell, strict=True) if n is not None or old is None]

    def _add(self, record: Record, cells: dict[int, Any]) -> None:
        """Put added labels into the first blank cells, or behind those that a cell holds."""
        last = max(cells)
        if self._listed:
            added = [*record.added()]
            cells[last] = [*(cells[last] or []), *added] if added else cells[last]
        elif self._layout.sign is not None:
            added = [*record.added()]
            text = cells[last] or ""
            if added:
                cells[last] = with_added(text, self._layout.sign, added, self._between)
        else:
            for n in cells:
                free = not (cells[n] or "").strip()
                if free and (label := next(record.added(), None)) is not None:
                    cells[n] = label

    @cached_property
    def _listed(self) -> bool:
        held = (self._table.cell(row, n) for row in range(self._table.height) for n in self.places)
        return isinstance(next((one for one in held if one is not None), None), list)

    @cached_property
    def _between(self) -> str:
        """What stands between the labels of the first cell that holds several."""
        held = (self._table.cell(row, n) for row in range(self._table.height) for n in self.places)
        signs = (between(cell or "", self._layout.sign or "") for cell in held)
        return next(filter(None, signs), "")

    def _of_assertions(self, record: Record, rows: Sequence[int]) -> None:
        """Changes where a row is an instance and a label; an instance keeps its last row."""
        (place,), left = self.places, len(rows)
        for row in rows:
            text = _text(self._table.cell(row, place))
            label = text.strip()
            new = record.becomes(label) if label else label
            if new is None:
                left -= 1
                if left or self._layout.day:
                    self._plan.gone.add(row)
                else:
                    self._plan.cells[row, place] = ""
            elif new != label:
                self._plan.cells[row, place] = text.replace(label, new, 1)
        if self._layout.day is None:
            self._plan.further += [(rows[-1], label) for label in record.added()]

    def _of_flags(self, record: Record, rows: Sequence[int]) -> None:
        """Changes where each label has a column of flags."""
        for row in rows:
            flags = dict[str, bool]()
            for label, place in self._columns.items():
                if state_of(self._table.cell(row, place)):
                    new = record.becomes(label)
                    if new != label:
                        flags.setdefault(label, False)
                        flags |= {} if new is None else {new: True}
            if row == rows[-1]:
                flags |= dict.fromkeys(record.added(), True)
            self._refuse_without_column(flags)
            for label, state in flags.items():
                place = self._columns[label]
                if state != state_of(self._table.cell(row, place)):
                    self._plan.cells[row, place] = self._written(place, state)

    @cached_property
    def _columns(self) -> dict[str, int]:
        return dict(zip(self._layout.flags, self.places, strict=True))

    def _refuse_without_column(self, labels: dict[str, bool]) -> None:
        if lacking := [label for label in labels if label not in self._columns]:
            raise InputError(
                "a column for each label that is written is required",
                found=f"none for {first_cases(lacking)}",
                hint="rename or add the column, and audit the table anew, or decide otherwise: a "
                "table with a column for each label gets no further one",
            )

    def _written(self, place: int, state: bool) -> Any:
        """What a column writes for a state: as it does elsewhere, else the opposite of what it
        has, else as other columns do."""
        if own := self._usual(place)[state]:
            return own.most_common(1)[0][0]
        other = self._usual(place)[not state].most_common(1)
        if other and (not isinstance(other[0][0], str) or other[0][0].strip()):
            return _opposite(other[0][0])
        every = sum((self._usual(n)[state] for n in self.places), Counter[Any]())
        return every.most_common(1)[0][0] if every else "1" if state else ""

    def _usual(self, place: int) -> dict[bool, Counter[Any]]:
        return self._states[place]

    @cached_property
    def _states(self) -> dict[int, dict[bool, Counter[Any]]]:
        """How often each value of a column of flags stands for either state; null is left out."""
        found: dict[int, dict[bool, Counter[Any]]] = {}
        for place in self.places:
            held = Counter(self._table.cell(row, place) for row in range(self._table.height))
            found[place] = {
                state: Counter(
                    {v: n for v, n in held.items() if v is not None and state_of(v) == state}
                )
                for state in (False, True)
            }
        return found


def _opposite(value: Any) -> Any:
    if not isinstance(value, str):
        return not value if isinstance(value, bool) else type(value)(not value)
    word = value.strip()
    found = (_OPPOSITE | {yes: no for no, yes in _OPPOSITE.items()}).get(word.lower(), "1")
    return found.upper() if word.isupper() else found.title() if word.istitle() else found


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
