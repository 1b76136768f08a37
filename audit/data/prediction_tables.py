"""Tables of predictions: a column a class, a row a score, or the labels of each instance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NoReturn

import numpy as np
import polars as pl

from audit.base.dag import FloatArray
from audit.base.errors import SchemaError, first_cases
from audit.base.readings import AskedError, Reading
from audit.base.table import column_among
from audit.data.class_lists import GivenClasses, class_names, class_number, columns_named, distinct
from audit.data.columns import AS_WRITTEN
from audit.data.dataset import LabelDataset
from audit.data.labels import Nodes, labels_in
from audit.data.placing import place
from audit.data.raw_predictions import (
    LOOKED_AT,
    MOST_TOLERANCE,
    RawPredictions,
    are_flags,
    are_within,
    filled,
    listed,
    numbers_alone,
    numbers_of,
    stored,
    texts_of,
    vectors_in,
)
from audit.data.rows import BETWEEN

HALF, NEARLY_ALL = 0.5, 0.9
UNNAMED = ("", "Unnamed: 0")
"""Names of a first column that has none, as the index of a frame that was saved."""
_CALLED = "call the answers prediction and their scores score"
_ANSWERS = ("label", "node", "prediction")


class Labelled:
    """A dataset, as predictions of it are read.

    Args:
        dataset: The labels.
        classes: A class list; None: that of the labels' data, if there is one.
        raw: Whether numbers are said to be raw outputs of a model.
    """

    def __init__(self, dataset: LabelDataset, classes: GivenClasses, *, raw: bool) -> None:
        self.dataset, self.raw, self.nodes = dataset, raw, Nodes(dataset.hierarchy)
        self.table = code_set(dataset)
        self.names = class_names(classes, self._is_class) or dataset.classes
        self.id = dataset.id or ""
        """Column of the labels' ids, or several joined by commas; empty if they have none."""
        stated = dataset.columns.values()
        self.label = {name.casefold() for one in stated for name in one.label}
        """Columns of the labels, in lower case."""

    def is_node(self, text: str) -> bool:
        """Whether a text is a node, as labels are read; of the classifications a complete code."""
        if self.nodes.is_node(text, self.table) or self.dataset.words == AS_WRITTEN:
            return self.nodes.is_complete(text, self.table)
        placed = place(text, self.table, self.dataset.hierarchy, self.dataset.words)
        return placed.node is not None

    def _is_class(self, text: str) -> bool:
        """Whether a text may name a class: a node, headings included."""
        return self.nodes.is_node(text, self.table) or self.is_node(text)

    def has_number(self, text: str) -> bool:
        """Whether a text is the number of a class that has a name."""
        number = class_number(text)
        return number is not None and number < len(self.names) and self.names[number] != ""

    def share(self, cells: pl.Series, is_node: Callable[[str], bool]) -> float:
        """Share of the labels in the first cells that are nodes; 0 without labels."""
        labels = labels_in(cells.head(LOOKED_AT), AS_WRITTEN).explode().drop_nulls()
        nodes = [one for one in labels.unique() if is_node(one)]
        return int(labels.is_in(nodes).sum()) / max(len(labels), 1)


def code_set(dataset: LabelDataset) -> str | None:
    """The code set of all labels, if they are of one."""
    tables = dataset.mappings["table"].unique().to_list()
    return tables[0] if len(tables) == 1 else None


def in_frame(
    frame: pl.DataFrame, known: Labelled, where: object, *, absent: float | None = None
) -> RawPredictions:
    """Predictions of a table.

    Columns that are called as nodes hold a score each; or one column holds all scores of an
    instance, or flags, as a list. Else one holds answers, which are nodes or numbers of named
    classes, or lists of these; and the one column of numbers from 0 to 1, if any, their scores.
    Columns that are not read are told. A blank score of a column of a class is ``absent``, or
    refused.

    Raises:
        AskedError: If several columns may be the ids, the answers or the scores.
        SchemaError: If there is no row, or a cell is not as the others.
    """
    if not frame.height:
        raise SchemaError("a table with rows is required", found="no row", where=where)
    if frame.width > 1 and frame.columns[0] in UNNAMED:
        numbered = texts_of(frame.to_series()).to_list() == [*map(str, range(frame.height))]
        frame = frame[:, 1:] if numbered else frame  # the index of a frame that was saved is no id
    table = PredictionTable(frame, known, where)
    classes, answers = table.classes(), table.nodes or table.class_numbers
    if len(classes) > 1 or (classes and not {*answers} - {*classes}):
        return table.wide(classes, absent)
    vectors = {n: one for n in table.rest if (one := vectors_in(table.frame[n])) is not None}
    within = {n: one for n, one in vectors.items() if known.raw or are_within(one)}
    vectors = within or ({} if answers else vectors)
    if len(vectors) == 1:
        return table.of_lists(*vectors.popitem())
    scores = [n for n, one in table.numbers.items() if known.raw or are_within(one)]
    table.find_id({*answers, *scores})
    ids = None if table.id is None else filled(table.frame[table.id], "an id", where)
    return table.long(ids)


def _is_called(name: str, *wanted: str) -> bool:
    """Whether a name is one of those wanted, whatever its case and the blanks around it."""
    return name.strip().casefold() in {one.strip().casefold() for one in wanted if one}


class PredictionTable:
    """A table of predictions, and what its columns may hold.

    Args:
        frame: The table.
        known: What is known of the labels.
        where: What it was read from, for messages.
        ids: Whether a column of it may be the ids.
    """

    def __init__(
        self, frame: pl.DataFrame, known: Labelled, where: object, *, ids: bool = True
    ) -> None:
        parts = known.id.split(",")
        if len(parts) > 1 and {*parts} <= {*frame.columns}:  # which together are the id
            texts = pl.DataFrame([texts_of(frame[name]) for name in parts])
            joined = texts.select(pl.concat_str(pl.all(), separator=BETWEEN).alias(known.id))
            frame = pl.concat([joined, frame.drop(parts)], how="horizontal")
        self.frame, self.known, self.where = frame, known, where
        alone = {column.name: numbers_alone(column) for column in self.frame}
        self.numbers = {name: one for name, one in alone.items() if one is not None}
        """The columns of numbers alone."""
        plain = [column.name for column in self.frame if not column.dtype.is_nested()]
        called = (column_among(plain, one) for one in (known.id, "id", "instance", *UNNAMED))
        self.id = next((one for one in called if one is not None), None) if ids else None

    @property
    def rest(self) -> list[str]:
        """The columns beside the ids."""
        return [name for name in self.frame.columns if name != self.id]

    def _ask(self, what: str, found: str, hint: str = "", **options: str) -> NoReturn:
        required = f"{what} is not certain"
        raise AskedError(required, found=found, where=self.where, hint=hint, options=options)

    def find_id(self, read: Collection[str], *, alone: bool = False) -> None:
        """Where the id is not known, find the only other column of texts, or of whole numbers
        beyond 0 and 1, beside columns that are read; without a value twice where rows are an
        instance each and stand ``alone``."""
        if self.id is not None:
            return
        found = [
            name
            for name in self.frame.columns
            if not (name in read or self.frame[name].dtype.is_nested())
            and (name not in self.numbers or self._are_whole_beyond_one(name))
            and not (alone and self.frame[name].is_duplicated().any())
        ]
        if len(found) > 1:
            hint = f"call it {self.known.id or 'id'!r}, or leave out the others"
            self._ask("which column holds the ids", first_cases(found), hint)
        self.id = found[0] if found else None

    def _are_whole_beyond_one(self, name: str) -> bool:
        numbers = self.numbers[name]
        return bool((numbers == numbers.round()).all()) and not are_within(numbers)

    def ids(self) -> tuple[str, ...]:
        """The ids of rows that are an instance each; numbers from 0 without any."""
        if self.id is None:
            return tuple(map(str, range(self.frame.height)))
        ids = filled(self.frame[self.id], "an id", self.where).to_list()
        return distinct(ids, "instance", self.where)

    def unread(self, read: Collection[str | None]) -> tuple[Reading, ...]:
        """What is told of columns that are not read."""
        names = [name for name in self.rest if name not in {*read}]
        decision = f"columns of the predictions are not read: {first_cases(names)}"
        why = "others hold the ids, the answers and the scores"
        return (Reading(decision, why, self.frame.height, _CALLED),) if names else ()

    def classes(self) -> dict[str, str]:
        """The columns that are called as nodes, or as named classes, each with its class, if most
        hold numbers. Numbers that count up from 0 are no nodes."""
        own = {name: name.strip() for name in self.rest if self._means(name)}
        counted = [*own.values()] == [*map(str, range(len(own)))] and not self.known.names
        return {} if counted or 2 * len(own.keys() & self.numbers.keys()) <= len(own) else own

    def _means(self, name: str) -> bool:
        """Whether a column is called as a node, or as a class by its name or number."""
        bare, known = name.strip(), self.known
        return known.is_node(bare) or bare in known.names or known.has_number(bare)

    def of_lists(self, name: str, numbers: FloatArray) -> RawPredictions:
        """Predictions of the column that holds all scores, or flags, of an instance as a list."""
        where = f"{self.where}: lists in {name!r}"
        names = columns_named(self.known.names, numbers.shape[1], where)
        self.find_id([name], alone=True)
        flags = bool(np.isin(numbers, (0, 1)).all())
        return replace(self._matrix(numbers, names, [name], flags=flags), named=True)

    def wide(self, classes: dict[str, str], absent: float | None) -> RawPredictions:
        """Predictions of a column a class; those of 0 and 1 without a point, or flags, are sets."""
        self.find_id(classes, alone=True)
        columns = [self.frame[name] for name in classes]
        numbers = np.column_stack([self._filled_numbers(column, absent) for column in columns])
        spare = [name for name in self.rest if name in self.numbers and name not in classes]
        additional = self._extra_classes(numbers, spare)
        every = np.column_stack([numbers, *(self.numbers[name] for name in additional)])
        names = distinct([*classes.values(), *additional], "class", self.where)
        flags = all(map(are_flags, columns))
        raw = self._matrix(every, names, [*classes, *additional], flags=flags)
        return replace(raw, named=bool(spare) and {*classes.values()} <= {*self.known.names})

    def _matrix(
        self, numbers: FloatArray, classes: tuple[str, ...], read: Sequence[str], *, flags: bool
    ) -> RawPredictions:
        """Predictions of a row an instance, of columns that are read."""
        ids, told, numbered = self.ids(), self.unread(read), self.id is None
        return RawPredictions(
            ids, classes, stored(numbers), flags, (), str(self.where), told, numbered
        )

    def _filled_numbers(self, column: pl.Series, absent: float | None) -> FloatArray:
        numbers = numbers_of(column if absent is None else column.fill_null(absent))
        wrong = numbers.is_null().arg_true()
        if len(wrong):
            values = zip(wrong.head(5), texts_of(column).gather(wrong.head(5)), strict=True)
            cases = [f"{one or 'nothing'} in row {row + 1}" for row, one in values]
            raise SchemaError(
                f"the column {column.name!r} must hold a number in every row",
                found=first_cases(cases, len(wrong)),
                where=self.where,
                hint="write 0 where the model has no score, or a row for each score: id,node,score",
            )
        return numbers.to_numpy()

    def _extra_classes(self, numbers: FloatArray, spare: Sequence[str]) -> list[str]:
        """Those of ``spare`` from 0 to 1, also classes; none if each row sums to one without."""
        shares = (np.abs(numbers.sum(axis=1) - 1) <= MOST_TOLERANCE).all()
        if not spare or self.known.names or shares:
            return []
        if self.known.raw:
            hint = "--classes FILE names those that are, a name a line; or leave out the others"
            found = f"{first_cases(spare)}, which are no nodes"
            self._ask("which columns are outputs of the model", found, hint)
        return [name for name in spare if are_within(self.numbers[name])]

    def long(self, ids: pl.Series | None, instances: Sequence[str] | None = None) -> RawPredictions:
        """Predictions of rows that hold an answer each, or several, with its score if there is one.

        Args:
            ids: The id of each row; None: they are numbered from 0.
            instances: Every instance once, in order; None: those of the rows.
        """
        where, height = self.where, self.frame.height
        own = pl.Series([*map(str, range(height))], dtype=pl.String) if ids is None else ids
        answers = self._answer()
        score, told = self._score(answers)
        cells = self.frame[answers]
        several = cells.dtype.is_nested() or bool(texts_of(cells).str.starts_with("[").any())
        nodes = labels_in(cells, AS_WRITTEN) if several else filled(cells, "an answer", where)
        numbers = 1.0 if score is None else numbers_of(filled(self.frame[score], "a score", where))
        rows = pl.DataFrame({"instance": own, "node": nodes}).with_columns(score=numbers)
        rows = (rows.explode("node") if several else rows).drop_nulls("node")
        pairs = rows.unique(maintain_order=True) if score is None else rows
        every = own.unique(maintain_order=True).to_list() if instances is None else instances
        raw = listed(pairs, every, where, set_valued=score is None)
        unread = self.unread({answers, score})
        return replace(raw, numbered=ids is None, readings=(*told, *unread))

    @cached_property
    def nodes(self) -> list[str]:
        """The columns most of whose cells are nodes; those of shares are none, unless they are
        called answers."""
        shares = {n for n, one in self.numbers.items() if are_within(one)}
        names = [n for n in self.rest if n not in shares or _is_called(n, *_ANSWERS)]
        return [n for n in names if self.known.share(self.frame[n], self.known.is_node) >= HALF]

    @cached_property
    def class_numbers(self) -> list[str]:
        """The other columns of numbers of classes that have names."""
        names, known = [n for n in self.rest if n not in self.nodes], self.known
        names = names if known.names else []
        return [n for n in names if known.share(self.frame[n], known.has_number) >= NEARLY_ALL]

    def _answer(self) -> str:
        """The one column of answers: that of nodes, else of numbers of classes, unless another is
        called prediction, or it may hold the true labels."""
        known = {*self.nodes, *self.class_numbers}
        may = [
            n for n in self.rest if n in known or n not in self.numbers or _is_called(n, *_ANSWERS)
        ]
        for name in may:
            if _is_called(name, "prediction") and (name in known or name not in self.numbers):
                return name
        found = self.nodes or self.class_numbers
        what = "which column holds the answers"
        if len(found) > 1:
            hint = "call it prediction; of several answers write a row each: id, label, score"
            self._ask(what, f"{first_cases(found)} hold nodes", hint)
        if not found and len(may) == 1:
            return may[0]  # placing tells more of labels that are no nodes
        if not found:
            columns = f"the columns {first_cases(self.frame.columns)}, in which few cells are nodes"
            hint = "columns of scores are called as nodes; --classes FILE names numbers of classes"
            self._ask(what, columns, f"{_CALLED}; {hint}")
        if len(may) > 1 and found[0].casefold() in self.known.label:
            others = first_cases(name for name in may if name != found[0])
            said = f"{found[0]!r}, as the true labels are called, beside {others}"
            self._ask(what, said, _CALLED)
        if self.known.is_node(found[0].strip()):
            columns, hint = first_cases(self.frame.columns), "write names of the columns above it"
            self._ask("whether the first line names the columns", columns, hint)
        return found[0]

    def _score(self, answers: str) -> tuple[str | None, tuple[Reading, ...]]:
        """The column of scores beside the answers, if there is one, and what is told of it."""
        numbers = {n: one for n, one in self.numbers.items() if n not in (answers, self.id)}
        named = [name for name in numbers if _is_called(name, "score")]
        inside = [name for name, one in numbers.items() if are_within(one)]
        found = named or inside or [*numbers]
        if not found:
            return None, ()
        if named or (len(found) == 1 and self.known.raw):
            return found[0], ()
        if len(found) > 1 or not inside or {*numbers[found[0]].unique()} <= {0, 1}:
            held = ((n, numbers[n].to_numpy()) for n in found)
            ranges = ", ".join(f"{n!r} from {one.min():g} to {one.max():g}" for n, one in held)
            hint = "call it score, and leave out what is none; --sigmoid or --softmax if they are"
            hint += " raw outputs of a model"
            self._ask("which column holds scores, from 0 to 1,", ranges, hint)
        decision, why = f"{found[0]!r} holds the scores", "it alone holds numbers from 0 to 1"
        option = "call the column of scores score"
        return found[0], (Reading(decision, why, self.frame.height, option),)
