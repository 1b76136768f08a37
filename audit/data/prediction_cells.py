"""Cells of predictions, and what is known of the labels, by which columns are told apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import polars as pl

from audit.base.dag import FloatArray
from audit.base.errors import SchemaError, first_cases
from audit.data.cells import labels_in
from audit.data.class_lists import GivenClasses, class_names, class_number
from audit.data.columns import AS_WRITTEN, Columns
from audit.data.dataset import LabelDataset
from audit.data.nodes import Nodes
from audit.data.placing import place

LOOKED_AT = 1_000
"""Number of first rows by which columns are known."""
_FLAGS = {"0": 0, "1": 1, "false": 0, "true": 1}


def texts_of(cells: pl.Series) -> pl.Series:
    """Values as tidy text, whole numbers without a point; null where they are blank."""
    if cells.dtype.is_float():
        whole = cells.cast(pl.Int64, strict=False)
        texts = cells.cast(pl.String)
        return whole.cast(pl.String).zip_with((whole == cells).fill_null(True), texts)
    return cells.cast(pl.String).str.strip_chars().replace("", None)


def numbers_of(cells: pl.Series) -> pl.Series:
    """Values as float64, true and false as 1 and 0; null where they are none. A comma may stand for
    the decimal point.

    >>> numbers_of(pl.Series(["0,25", "1e-3", "high", "5%", "true"])).to_list()
    [0.25, 0.001, None, None, 1.0]
    """
    plain = cells.cast(pl.Float64, strict=False)
    if plain.null_count() == cells.null_count():
        return plain
    text = texts_of(cells).str.to_lowercase()
    pointed = text.str.replace(r"^([-+]?\d*),(\d+(?:e[-+]?\d+)?)$", "${1}.${2}")
    flags = text.replace_strict(_FLAGS, default=None, return_dtype=pl.Float64)
    return pointed.cast(pl.Float64, strict=False).fill_null(flags)


def numbers_alone(cells: pl.Series) -> pl.Series | None:
    """The numbers of a column that has some, and nothing else but blanks; None of others."""
    if cells.dtype.is_nested():
        return None
    for some in (cells.head(LOOKED_AT), cells):
        numbers = numbers_of(some)
        if not numbers.null_count() == texts_of(some).null_count() < len(some):
            return None
    return numbers


def are_flags(cells: pl.Series) -> bool:
    """Whether all are 0 and 1 without a point, or true and false."""
    if cells.dtype.is_float():
        return False
    return bool(texts_of(cells).str.to_lowercase().is_in([*_FLAGS]).fill_null(False).all())


def are_within(numbers: pl.Series | FloatArray) -> bool:
    """Whether all numbers are from 0 to 1."""
    return bool(((numbers >= 0) & (numbers <= 1)).all())


def vectors_in(cells: pl.Series) -> FloatArray | None:
    """The numbers of lists of one length, shape (n_rows, length): flags, or scores.

    None of other cells, and of whole numbers beyond 0 and 1, which are numbers of classes.
    """
    if isinstance(cells.dtype, pl.List | pl.Array):
        lists = cells.cast(pl.List(cells.dtype.inner))
    elif cells.dtype == pl.String and cells.head(LOOKED_AT).str.starts_with("[").all():
        lists = labels_in(cells, Columns())
    else:
        return None
    lengths = lists.list.len().unique().to_list()
    if len(lengths) != 1 or not lengths[0]:
        return None
    numbers = numbers_of(lists.explode())
    if numbers.has_nulls() or ((numbers == numbers.round()).all() and not are_within(numbers)):
        return None
    return np.reshape(numbers.to_numpy(), (len(cells), lengths[0]))


def with_names(cells: pl.Series, names: Sequence[str]) -> pl.Series:
    """Numbers of classes, alone or in lists, as their names; a number without one as text."""
    known = {str(number): name for number, name in enumerate(names)}
    if isinstance(cells.dtype, pl.List | pl.Array):
        return cells.cast(pl.List(pl.String)).list.eval(pl.element().replace(known))
    return texts_of(cells).replace(known)


def filled(cells: pl.Series, what: str, where: object) -> pl.Series:
    """The values as tidy text; SchemaError where one is blank: ``what`` they are, with an
    article."""
    texts = texts_of(cells)
    blank = texts.is_null().arg_true()
    if len(blank):
        cases = [f"row {row + 1}" for row in blank.head(5)]
        found = f"none in {first_cases(cases, len(blank))} of the column {cells.name!r}"
        raise SchemaError(f"every row must have {what}", found=found, where=where)
    return texts


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
        self.names = class_names(classes, self.is_class) or dataset.classes
        self.id = dataset.id or ""
        """Column of the labels' ids, or several joined by commas; empty if they have none."""
        stated = dataset.columns.values()
        self.label = {name.casefold() for one in stated for name in one.label}
        """Columns of the labels, in lower case."""
        seps = {one.sep for one in stated}
        self.sep = seps.pop() if len(seps) == 1 else ""
        """What joins labels in a cell."""

    @cached_property
    def ids(self) -> frozenset[str]:
        """The labels' ids; empty if they are numbers of rows."""
        return frozenset(() if self.dataset.numbered else self.dataset.instances["instance"])

    def is_node(self, text: str) -> bool:
        """Whether a text is a node, as labels are read; of the classifications a complete code."""
        if self.nodes.is_node(text, self.table) or self.dataset.words == AS_WRITTEN:
            return self.nodes.is_complete(text, self.table)
        placed = place(text, self.table, self.dataset.hierarchy, self.dataset.words)
        return placed.node is not None

    def is_class(self, text: str) -> bool:
        """Whether a text may name a class: a node, headings included."""
        return self.nodes.is_node(text, self.table) or self.is_node(text)

    def has_number(self, text: str) -> bool:
        """Whether a text is the number of a class that has a name."""
        number = class_number(text)
        return number is not None and number < len(self.names) and self.names[number] != ""

    def share(self, cells: pl.Series, is_node: Callable[[str], bool]) -> float:
        """Share of the labels in the first cells that are nodes; 0 without labels."""
        labels = labels_in(cells.head(LOOKED_AT), Columns(sep=self.sep)).explode().drop_nulls()
        nodes = [one for one in labels.unique() if is_node(one)]
        return int(labels.is_in(nodes).sum()) / max(len(labels), 1)


def code_set(dataset: LabelDataset) -> str | None:
    """The code set of all labels, if they are of one."""
    tables = dataset.mappings["table"].unique().to_list()
    return tables[0] if len(tables) == 1 else None
