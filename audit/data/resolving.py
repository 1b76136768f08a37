"""Columns of a table: as stated, published or found, else asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from audit.base.errors import InputError, first_cases
from audit.base.plurals import counted
from audit.base.readings import AskedError, Reading, as_typed
from audit.base.table import Table, TextLines
from audit.data.asking.ask import kinds_of, patterns, present_in, proposed, screen, way_of
from audit.data.asking.repairs import ids_of, refuse_headings, sets_of, stated_set
from audit.data.asking.seen import HALF, Seen, as_read, is_record
from audit.data.columns import ROW, Columns, as_written, family, taking
from audit.data.labels import Nodes, labels_in
from audit.data.layouts import layout_of, spelt
from audit.data.rows import (
    FLAGS,
    SCIENTIFIC,
    ClassNames,
    own_classes,
    refuse_rounded,
    rows_in,
    used_classes,
)
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.built_in import ICD9CM, ICD10CM

IDS = ("instance", "id")
LABELS = ("label", "labels", "node", "code")
"""Names of the columns of ids and of labels that are read without a question."""
_MOST_PAIRS, _JUDGED = 0.1, 10
"""Share of rows that may repeat an id with its label where nobody names the column of ids; number
of labels from which on a column of a pattern is judged."""


def resolved(
    table: Table, stated: Columns, hierarchy: Hierarchy, classes: ClassNames | None = None
) -> Columns:
    """Which columns of a table are ids and labels, how cells are read, and which rows count.

    What is stated comes first, then a published layout, then ``instance`` or ``id`` beside
    ``label``, ``labels``, ``node`` or ``code``, then the only column of nine in ten nodes beside
    one other. A large table is known by its first rows.

    Args:
        table: The table.
        stated: What the user states, with patterns of label columns.
        hierarchy: The hierarchy whose nodes labels are.
        classes: Names of class numbers, by these.

    Raises:
        AskedError: If it is not certain; with the options that read the table, where some do.
        InputError: If a column is stated that there is not, or no label has a value.
    """
    return Request(table, spelt(table, stated), hierarchy, classes).resolved()


@dataclass(frozen=True)
class Request:
    """What is to be read, and what is stated of it; fields as in `resolved`.

    ``other`` is whether the hierarchy is offered in place of the stated one.
    """

    table: Table
    stated: Columns
    hierarchy: Hierarchy
    classes: ClassNames | None = None
    other: bool = False

    def resolved(self) -> Columns:
        """The columns; raises AskedError with options that were tried on the data."""
        try:
            return self._checked(self._columns())
        except AskedError as error:
            error.where, (error.options, error.reads) = str(self.table), self._tried(error.options)
            if not (error.options or error.hint):
                way = "name them with --id and --label; --skip-rows N passes over lines above them"
                error.hint = error.reads or way
            raise

    @cached_property
    def seen(self) -> Seen:
        """What is seen of the table."""
        return Seen.of(self.table, Nodes(self.hierarchy), self.stated, self.classes)

    def with_options(self, options: Mapping[str, Any]) -> Request:
        """The request with options that are offered, in place of what was stated."""
        stated, own, rest = self.stated, dict[str, Any](), dict(options)
        if not rest.pop("header", True):
            own["table"] = _without_header(self.table)
        if name := rest.pop("hierarchy", ""):
            both = {one.name: one for one in (ICD9CM, ICD10CM)}
            own |= {"hierarchy": both[name].load(), "other": True}
        return replace(self, stated=replace(stated, **rest), **own)

    def _columns(self) -> Columns:
        """What is stated, completed by a known layout; else by columns of 0 and 1, and names."""
        stated, layout = as_written(self.table, self.stated), layout_of(self.table)
        if self.table.split_files and not stated.split:
            stated = replace(stated, split="split")
        if layout is not None:
            columns = taking(self.table, layout.columns(self.table, stated))
            if columns.id and all(columns.id) and columns.label:
                return columns
        columns = taking(self.table, stated)
        label = columns.label or self._flags(columns)
        if columns.flags or label != columns.label:
            return self._flagged(replace(columns, label=label))
        columns = self._named(self._matched(columns))
        return columns if columns.id and columns.label else self._only(columns)

    def _matched(self, columns: Columns) -> Columns:
        """The columns as they are; AskedError where a pattern takes some that hold few nodes."""
        if all(map(self.table.column, self.stated.label)):
            return columns
        shares = {one: self.seen.share_of(self.seen.labels(one, columns)) for one in columns.label}
        best = max(shares.values(), key=lambda share: share.of_complete)
        least, most = min(_JUDGED, best.n / 2), HALF * best.of_complete
        wrong = [one for one, of in shares.items() if of.n >= least and of.of_complete < most]
        if wrong:
            kept = [one for one in columns.label if one not in wrong]
            raise AskedError(
                "every column that a pattern of --label takes must hold labels",
                found=f"few nodes in {first_cases(wrong)}",
                options={"label": patterns(self.seen, kept)},
            )
        return columns

    def _flags(self, columns: Columns) -> tuple[str, ...]:
        """Columns that are named as nodes and hold 0 and 1, if they are two or more."""
        free = [one for one in self.table.schema if one not in columns.taken]
        named = [one for one in free if self.seen.nodes.is_node(one.strip())]
        found = tuple(filter(self.seen.is_flag, named))
        return found if len(found) > 1 else ()

    def _flagged(self, columns: Columns) -> Columns:
        """The columns with their id; AskedError without one stated or of `IDS`, or ``flags``."""
        label = columns.label
        if not label:
            raise InputError(
                "--flags requires columns that are named as nodes and hold 0 and 1",
                found=f"the columns {first_cases(self.table.schema)}",
                where=self.table,
            )
        id_ = columns.id or tuple(filter(None, map(self.table.column, IDS)))[:1]
        if not (columns.flags and id_):
            ids = id_ or ids_of(self.seen, replace(columns, flags=True))[0]
            raise AskedError(
                "whether columns of 0 and 1 are labels, and which holds the ids, is not certain",
                found=f"columns named as nodes: {first_cases(label)}",
                options={"flags": True, "id": ids},
            )
        out = {*label, *id_, *columns.taken}
        others = [one for one in self.table.schema if one not in out and self.seen.is_flag(one)]
        told = self._unread(others, "they hold 0 and 1 and are named as no node")
        return replace(columns, id=id_, readings=tuple(told))

    def _named(self, columns: Columns) -> Columns:
        """The columns with those added that are named as ids and labels are, if both are sure."""
        ids, labels = (tuple(filter(None, map(self.table.column, own))) for own in (IDS, LABELS))
        labels = labels if len(labels) == 1 else ()
        found = replace(columns, id=columns.id or ids[:1], label=columns.label or labels)
        sure = found.id and found.label and (columns.id or not self._has_likelier_id(found))
        return found if sure else columns

    def _has_likelier_id(self, columns: Columns) -> bool:
        """Whether the id never repeats, and another column, which does, is more likely the id."""
        seen, n = self.seen, self.seen.frame.height
        if len(self.table.schema) < 3 or seen.n_values(columns.id[0]) < n:
            return False
        other = ids_of(seen, replace(columns, id=()))[0][0]
        return other != ROW and seen.n_values(other) < n

    def _only(self, columns: Columns) -> Columns:
        """The columns with the only one of nine in ten nodes, and one other as id; else asked."""
        seen, told, label, id_ = self.seen, list[Reading](), columns.label, columns.id
        if self.table.text.header and not label and id_ in ((), (ROW,)) and is_record(seen):
            headless = replace(self, table=_without_header(self.table), stated=columns)
            raise AskedError(
                "a first line that names the columns is required",
                found=f"a record: {first_cases(self.table.schema)}",
                options={"header": False, **proposed(headless.seen).options},
            )
        rows, out = seen.frame.height, {*label, *columns.taken, seen.index}
        free = [one for one in seen.frame.columns if one not in out]
        if not label:
            good = [*filter(seen.is_good, free)]
            if len(good) != 1 or any(self._may_hold(one, good[0]) for one in free):
                self._ask(columns)
            label = (good[0],)
            why = "nine in ten of its values are nodes, and not half of any other column's"
            told.append(Reading(f"{good[0]!r} holds the labels", why, rows, "--label COLUMN"))
        if not id_:
            rest = [one for one in free if one not in label]
            if len(rest) != 1 or not seen.may_be_ids(rest[0]):
                self._ask(columns)
            pairs = seen.frame.select(*rest, *label).n_unique()
            alone = seen.n_values(rest[0]) > HALF * rows or not seen.is_listed(label[0])
            if rows - pairs > _MOST_PAIRS * rows or not alone:
                self._ask(columns)
            id_ = (rest[0],)
            said = f"{rest[0]!r} is the id of an instance"
            told.append(Reading(said, "it is the only other column", rows, "--id COLUMN"))
        return replace(columns, id=id_, label=label, readings=tuple(told))

    def _may_hold(self, name: str, good: str) -> bool:
        """Whether half of a column's labels can be nodes, or it is of the family of ``good``."""
        if name == good:
            return False
        if family(name) == family(good) and self.seen.n_values(name):
            return True
        way = way_of(self.seen, name)
        if way is None or way.share.of_complete < HALF:
            return False
        return bool(way.options) or self.seen.may_be_labels(name)

    def _ask(self, columns: Columns) -> None:
        """Raise AskedError that shows the columns; ids that all are rounded are refused."""
        for name in () if columns.id else self.table.schema:
            cells = self.seen.cells(name)["cell"]
            if len(cells) < self.seen.n_rows(name) and cells.str.contains(SCIENTIFIC).all():
                refuse_rounded(cells, name, self.table)
        others = [one for one in (ICD9CM, ICD10CM) if one.name != self.hierarchy.name]
        others = others if self.seen.nodes.coded and not self.other else []
        seen = replace(self.seen, stated=columns)
        proposal = proposed(seen, (Nodes(one.load()) for one in others))
        roles = (("the ids", columns.id), ("the labels", columns.label))
        which = " and which ".join(what for what, known in roles if not known)
        raise AskedError(
            f"which column holds {which} is not certain",
            options=proposal.options,
            screen=screen(seen, proposal),
        )

    def _checked(self, columns: Columns) -> Columns:
        """Columns whose rows are labels of one kind, with the code sets of these."""
        seen = self.seen
        published = bool(columns.layout) and not self.stated.label
        stated_set(columns, self.hierarchy)
        columns = columns if published or columns.flags else self._multi_hot(columns)
        rows = self._rows(columns).drop_nulls("label")
        if rows.is_empty() and seen.whole and not columns.flags:
            raise InputError(
                "a column of labels with a value is required",
                found=f"none in {first_cases(columns.label)}",
                where=self.table,
            )
        used = {*columns.label, *columns.taken, columns.table, seen.index or ""}
        kinds = None
        if not published:
            kinds = kinds_of(seen, rows.select("row", "label"), used)
            kinds = kinds or present_in(seen, columns.id, columns.label)
        if kinds:
            options = {"id": columns.id, "label": columns.label}
            options = {k: v for k, v in options.items() if not getattr(self.stated, k)}
            options |= kinds.options
            raise AskedError("rows must be chosen", found=kinds.said[0], options=options)
        if not published and not columns.codes:
            refuse_headings(seen, _label_counts(rows))
        if columns.flags:
            return columns
        if not (columns.version or columns.table):
            columns = replace(columns, sets=sets_of(seen, columns))
        used |= {one.name for one in seen.frame if one.equals(seen.frame[columns.label[0]])}
        nodes = [one for one in seen.frame.columns if one not in used and seen.is_good(one)]
        told = self._unread(nodes, "nine in ten of their values are nodes too")
        return replace(columns, readings=(*columns.readings, *told))

    def _unread(self, names: Sequence[str], why: str) -> Iterator[Reading]:
        """One line that names columns that are not read."""
        if names:
            rows = sum(map(self.seen.n_rows, names))
            option = as_typed({"label": tuple(names[:1])})
            yield Reading(f"not read: {first_cases(names)}", why, rows, option)

    def _multi_hot(self, columns: Columns) -> Columns:
        """Columns with ``flags`` where a column holds lists of one length of 0 and 1 alone."""
        name = columns.label[0]
        cells = self.seen.frame[name].drop_nulls()
        if len(columns.label) > 1 or not self.seen.is_listed(name):
            return columns
        lists = labels_in(cells, columns)
        lengths, values = {*lists.list.len()}, {*lists.explode().str.to_lowercase()}
        if len(lengths) != 1 or min(lengths) < 2 or not values <= FLAGS:
            return columns
        classes = self.classes or own_classes(self.table, columns)
        if not classes:
            raise AskedError(
                "lists of 0 and 1 are labels by their place, which --classes must name",
                found=f"lists of {min(lengths)} in {name!r}",
                hint="--classes FILE, a name a line, in the order of the lists",
            )
        said = f"{name!r} says of each class whether it is a label"
        why = "its lists are of one length, and hold 0 and 1 alone"
        told = Reading(said, why, len(lists), "--label COLUMN")
        return replace(columns, flags=True, readings=(*columns.readings, told))

    def _rows(self, columns: Columns) -> pl.DataFrame:
        """The rows of labels, among those seen, that are not refused."""
        frame, classes = self.seen.frame, self.classes or own_classes(self.table, columns)
        used = used_classes(frame, columns, classes, self.table)
        return rows_in(frame, columns, used, 0, self.table).filter(pl.col("refused").is_null())

    def _tried(self, options: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """Options that read the data, with those that an error offers, and what they read; no
        options, and why, where they do not."""
        if not options:
            return {}, ""
        request = self.with_options(options)
        try:
            reads = request.reads(request.resolved())
        except AskedError as error:
            more = any(options.get(name) != value for name, value in error.options.items())
            whole = {**options, **error.options}
            return (whole, error.reads) if more else ({}, f"{error.required}, found {error.found}")
        except InputError as error:
            return {}, f"{error.required}, found {error.found}"
        return ({**options}, reads) if reads else ({}, "")

    def reads(self, columns: Columns) -> str:
        """A clause on how many instances and labels are read; empty if most labels are no nodes."""
        rows, seen = self._rows(columns), self.seen
        n = nodes = 0
        for (of,), own in rows.drop_nulls("label").group_by("table"):
            texts = as_read(_label_counts(own), seen.nodes, seen.stated)
            n += sum(texts.values())
            nodes += sum(k for t, k in texts.items() if seen.nodes.is_node(t, of and str(of)))
        if nodes < HALF * n or not n:
            return ""
        instances = counted(rows["instance"].drop_nulls().n_unique(), "instances")
        none = "1 is no node" if n - nodes == 1 else f"{n - nodes:,} are no nodes"
        said = f"reads {instances} and {counted(n, 'labels')}, of which {none}"
        return said if seen.whole else f"{said}, in the first {seen.frame.height:,} rows"


def _without_header(table: Table) -> Table:
    """The table with its column names as the first row; columns are called ``column_1`` ..."""
    names = {f"column_{n}": name for n, name in enumerate(table.schema, start=1)}
    below = table.renamed(names)

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        yield pl.DataFrame({one: [names[one]] for one in columns})
        yield from below.frames(columns, at_once)

    schema = dict.fromkeys(names, pl.String())
    return replace(below, schema=schema, scan=scan, text=TextLines(header=False))


def _label_counts(rows: pl.DataFrame) -> Mapping[str, int]:
    return dict(rows.group_by("label", maintain_order=True).len().iter_rows())
