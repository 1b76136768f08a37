"""JSON lines, or a JSON array: an object for each instance with its labels, or for each label."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import polars as pl
import pyarrow as pa

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import called
from audit.base.readings import Reading
from audit.data.column_names import OF_PERSON, OF_STAY, kind_of
from audit.data.json_lines import (
    Line,
    begins_object,
    entries_below,
    excerpt,
    first_list,
    flattened,
    frames,
    is_array,
    is_document,
    is_object,
    keys_of,
    nested,
    objects,
    plain,
    span_text,
)
from audit.data.known_nodes import LEAST_SHARE, KnownNodes, is_expression, sign_between, split
from audit.data.label_format import Chosen, Columns, LabelFormat, RawLabels, exploded, raw_labels
from audit.data.label_formats import long, tables
from audit.data.records import (
    UnclearColumnsError,
    column_for,
    id_among,
    id_of_rows,
    is_numbering,
    only_texts,
    pick,
)
from audit.data.sources import Frame, Source
from audit.data.sources.source import ID_NAMES
from audit.data.unnamed_columns import few_ids, flags, unnamed_columns, with_unread

LINES_LOOKED_AT = 1_000
"""Number of JSON lines from which the keys of the id and the labels are detected in batches."""


def read(source: Source, columns: Columns) -> RawLabels:
    """Read one list of labels per line; null or an empty list is an instance without labels, and of
    an object of 0 and 1, as spaCy writes categories, the keys of 1 are the labels.

    Numbers become text as they are written. The id is the named key, else ``id``, ``instance`` or
    ``hadm_id``, else the only key beside the labels that holds a plain value.
    """
    lines = _lines(source)
    if _is_nested(lines, columns.label):
        flat = _flat(lines, str(columns.label), source)
        if not called(flat.schema, [str(columns.label)]):
            _refuse_nested(lines[:LINES_LOOKED_AT], str(columns.label), source)
        raw = long.FORMAT.read(flat, columns)
        told = with_unread(flat.schema, [raw.id, columns.label], columns, raw.readings)
        return replace(raw, sources=source.files, readings=told)
    chosen = _chosen(lines, columns, source, lambda: lines)
    (labels,), names = chosen.labels, keys_of(lines)
    roles = tables.roles_of(columns, names, source)
    frame = frame_of(lines, labels, roles, chosen.id, sign=chosen.sign, joined=chosen.joined)
    listed = pick(frame, source, labels="labels", instance="instance", **{r: r for r in roles})
    others = set(names) - {labels, *roles.values(), *nested(lines), chosen.id}
    name = tables.ROW if chosen.id is None else chosen.id
    table = pl.DataFrame([listed["instance"].alias(name), *_of_texts(lines, others - {""})])
    flagged = flags(
        _known(Frame(table), source), name, [key for key in table.columns if key != name]
    )
    said = (*chosen.readings, *flagged)
    kept = {
        "readings": with_unread(names, [chosen.id, labels], columns, said),
        "numbered": chosen.id is None,
        "id": chosen.id,
        "layout": tables.layout_of(chosen, listed=True),
    }
    unnamed = unnamed_columns(table, name, (), source, groups=columns.group is None)
    return raw_labels(exploded(listed), listed, source, columns.rules, unnamed=unnamed, **kept)


def _lines(source: Source) -> list[Line]:
    """All objects; of lists of ways to nodes, each way is its last node."""
    nodes = source.nodes
    return [(where, _ends(line, nodes) if nodes else line) for where, line in objects(source)]


def _ends(value: Any, nodes: KnownNodes) -> Any:
    if isinstance(value, dict):
        return {key: _ends(one, nodes) for key, one in value.items()}
    if not isinstance(value, list):
        return value
    ways = [one for one in value if isinstance(one, list)]
    if ways and len(ways) == len(value) and all(map(nodes.are_way, ways)):
        return [way[-1] for way in ways]
    return [_ends(one, nodes) for one in value]


def matches(source: Source) -> bool:
    """Whether the first line is a JSON object, or begins as one in a file with that suffix.

    Or whether the text begins as an array, alone or in an object, with labels or nodes in it.
    """
    if is_array(source) or is_document(source):
        head, nodes = "".join(source.head_lines), source.nodes
        texts = _TEXTS.findall(head)
        return bool(_LABELS.search(head)) or (nodes is not None and any(map(nodes.means, texts)))
    named = source.suffix in (".jsonl", ".ndjson") and begins_object(source)
    return named or is_object(source)


_LABELS, _TEXTS = re.compile(r'"labels?"\s*:'), re.compile(r'[:\[,]\s*"([^"]*)"(?!\s*:)')
"""A key of labels, and texts that are values."""


def choose(source: Source, columns: Columns, rows: Source) -> Chosen:
    """The keys of the id and of the labels, from the first `LINES_LOOKED_AT` lines."""
    lines = list(islice(objects(source, streamed=True), LINES_LOOKED_AT))
    if _is_nested(lines, columns.label):
        raise InputError(
            "labels in lists of text are required where rows are not held in memory",
            found=f"nested objects, by {columns.label!r}",
            where=source,
            hint="leave out --memory, or name the engine: --engine memory",
        )
    chosen = _chosen(lines, columns, source, lambda: objects(source, streamed=True))
    used = [chosen.id, *chosen.labels]
    return replace(chosen, readings=with_unread(keys_of(lines), used, columns, chosen.readings))


def _chosen(
    lines: Sequence[Line], columns: Columns, source: Source, every: Callable[[], Iterable[Line]]
) -> Chosen:
    """The keys, from the lines looked at, and from all where values must be known to differ."""
    names, within = keys_of(lines), nested(lines)
    labels, told = _labels_key(lines, columns.label, source)
    beside = {labels, *tables.roles_of(columns, names, source).values(), *within}
    if any(map(span_text, entries_below(lines[:LINES_LOOKED_AT], labels))):
        said, why = f"the lists in {labels!r} hold spans, whose texts are the labels", "two numbers"
        told = (*told, Reading(said, f"{why} stand before each", 0, "--label KEY"))
    cells = [] if labels in within else _cells(lines, labels)
    sign, _ = sign_between(cells, source.nodes, codes=labels.lower() == "label")
    texts = columns.id is None and only_texts(names, beside, source)
    if cells and not (sign or texts or is_numbering(columns.id, names)):
        columns = replace(columns, id=id_among(names, columns.id, beside, source))

    def values(key: str) -> Iterator[pl.Series]:
        def frame(some: Sequence[Line]) -> pl.DataFrame:
            others = ((where, {} if key in beside else line) for where, line in some)
            read = [plain(line.get(key), key, where) for where, line in others]
            return pl.DataFrame({"instance": read}, schema={"instance": pl.String})

        for some in frames(every(), frame, source):
            yield some["instance"]

    instance, readings = id_of_rows(names, columns.id, beside, source, values)
    rows = sum(1 for _ in every()) if told else 0
    told = tuple(replace(one, rows=rows) for one in told)
    if instance is not None:
        first = [str(line.get(instance)) for _, line in lines[:LINES_LOOKED_AT]]
        readings += few_ids(instance, first, values(instance))
    return Chosen(
        instance,
        (labels,),
        frames_in_batches,
        joined=labels not in within,
        sign=sign,
        readings=(*told, *readings),
    )


def _cells(lines: Sequence[Line], key: str) -> list[str]:
    return [str(line[key]) for _, line in lines[:LINES_LOOKED_AT] if line.get(key) is not None]


def as_table(source: Source) -> Source:
    """JSON as a table of its plain values and lists of text; another source as it is."""
    if not (source.is_text and source.files and (begins_object(source) or is_array(source))):
        return source
    lines = _lines(source)
    within = nested(lines)
    lists = {key for key in within if all(_is_list(line.get(key)) for _, line in lines)}
    names = [key for key in keys_of(lines) if key in lists or key not in within]
    schema = {key: pl.List(pl.String) if key in lists else pl.String() for key in names}
    columns = {key: [line.get(key) for _, line in lines] for key in names}
    return _known(Frame(pl.DataFrame(columns, schema=schema, strict=False)), source)


def _is_list(value: object) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def _labels_key(
    lines: Sequence[Line], named: str | None, source: Source
) -> tuple[str, tuple[Reading, ...]]:
    """The key of the lists of labels: the one named, else ``labels``, else the one of nodes."""
    names, nodes = keys_of(lines), source.nodes
    some, within = lines[:LINES_LOOKED_AT], nested(lines)
    unnamed = named is None and not called(names, ["labels"])
    if unnamed and nodes:
        texts = {key: _entries(some, key) for key in names if key in within}
        held = [key for key, own in texts.items() if 2 * sum(map(nodes.means, own)) > len(own)]
        if len(held) == 1:
            evidence = "most of their entries are nodes, or titles of some"
            told = Reading(f"the lists in {held[0]!r} are the labels", evidence, 0, "--label KEY")
            return held[0], (told,)
    if unnamed or within & {*called(names, [named or "labels"])}:
        _refuse_nested(some, named or "", source)
    if named is None and not called(names, _NAMES):
        raise UnclearColumnsError(
            "a key of labels is required",
            found=f"the keys {first_cases(names)}",
            where=source,
            hint="name it with --label",
        )
    return column_for("labels", named or called(names, _NAMES)[0], names, source), ()


_NAMES = ("labels", "label")
"""Keys of the labels unless the user names one; case is ignored."""


def _entries(lines: Sequence[Line], key: str) -> list[str]:
    values = (span_text(one) or one for one in entries_below(lines, key))
    return [one for one in values if isinstance(one, str)]


def _is_nested(lines: Sequence[Line], label: str | None) -> bool:
    """Whether the labels are in objects below a key, ``code.coding.code``."""
    names = keys_of(lines) if label and "." in label else []
    return label not in names and str(label).partition(".")[0] in names


def _refuse_nested(lines: Sequence[Line], below: str, source: Source) -> None:
    """Say of labels that are nested in objects by which dotted key they are read."""
    rows = [row for _, line in lines for row in flattened(line, "")]
    names = [n for n in dict.fromkeys(n for row in rows for n in row) if "." in n]
    inside = [name for name in names if name.startswith(below)]
    every = {n: [row.get(n) for _, line in lines for row in flattened(line, n)] for n in inside}
    texts = {name: [value for value in own if value] for name, own in every.items()}
    nodes = source.nodes
    held = [n for n in inside if nodes and texts[n] and (nodes.share(texts[n]) or 0) >= LEAST_SHARE]
    if not (held or (below and inside)):
        return
    flat = _flat(lines, (held or inside)[0], source)
    whom = any(kind_of(name) in (OF_STAY, OF_PERSON) for name in flat.frame.columns)
    whom = whom and not _hold_several(lines, (held or inside)[0])
    own = [n for n in called(flat.frame.columns, ID_NAMES) if whom and _differs(lines, n)]
    raise UnclearColumnsError(
        "labels in lists of text, or a dotted key of those in nested objects, are required",
        found=f"objects, with {first_cases(inside)}",
        where=source,
        hint=f"name one of these keys: --label {(held or inside)[0]}",
        table=_known(Frame(flat.frame.drop(own)), source),
    )


def _hold_several(lines: Sequence[Line], along: str) -> bool:
    """Whether many lines hold several things with labels, so that a line is an instance.

    Several codings are of one thing.
    """
    several = [len(first_list(line, along.split("."))) > 1 for _, line in lines]
    return _MANY * sum(several) > len(several)


_MANY = 4
"""One line in so many is many."""


def _differs(lines: Sequence[Line], key: str) -> bool:
    """Whether each line has its own value, so that labels on several lines share none."""
    return len({str(line.get(key)) for _, line in lines}) == len(lines) > 1


def _flat(lines: Sequence[Line], along: str, source: Source) -> Frame:
    """A table of plain values by dotted key, a row for each label.

    Where a key on the way to it holds a plain value instead of an object, that is the label.
    """
    rows = [row for _, line in lines for row in flattened(line, along)]
    around = {along[:at] for at, letter in enumerate(along) if letter == "."}
    for row in rows:
        held = row.keys() & around
        if held and row.get(along) is None:
            row[along] = row.pop(held.pop())
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return _known(Frame(pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String))), source)


def _known(table: Frame, source: Source) -> Frame:
    table.know(source.nodes, named_classes=source.named_classes)
    table.name = source.name
    return table


def frames_in_batches(source: Source, chosen: Chosen, at_once: int) -> Iterator[pl.DataFrame]:
    """Frames of ids and lists of labels; a key of the wanted names is looked for in each frame."""
    first = 0

    def frame(some: Sequence[Line]) -> pl.DataFrame:
        names = keys_of(some)
        key = chosen.id and column_for("instance", chosen.id, names, source)
        labels = column_for("labels", chosen.labels[0], names, source)
        named = chosen.rules.roles.items()
        roles = {role: next(iter(called(names, [one])), one) for role, one in named}
        read = frame_of(some, labels, roles, key, first, sign=chosen.sign, joined=chosen.joined)
        marks = chosen.rules.marked(read, source, {role: role for role in roles})
        return read.select("instance", "labels", *marks)

    for read in frames(objects(source, streamed=True), frame, source, at_once):
        yield read
        first += read.height


def _of_texts(lines: list[Line], keys: Collection[str]) -> Iterator[pl.Series]:
    """Values a line of each key that holds text, a number or nothing."""
    for key in sorted(keys):
        values = [line.get(key) for _, line in lines]
        if all(isinstance(one, str) and one.isprintable() for one in (key, *{*values} - {None})):
            yield pl.Series(key, values, pl.String)


def frame_of(
    lines: Sequence[Line],
    labels: str,
    roles: dict[str, str],
    id: str | None,
    first: int = 0,
    *,
    sign: str | None = None,
    joined: bool = False,
) -> pl.DataFrame:
    """A frame with ``labels``, a list of text, and text columns ``instance`` and of each role.

    It has one row per line. Without a key of the id, rows are numbered from ``first`` on. Where
    they are ``joined`` a text is one label, or several that ``sign`` joins.
    """
    lists = [_labels(line, labels, where, sign, joined) for where, line in lines]
    # Polars alone makes a column of each list before it joins them
    columns = [pl.Series("labels", pa.array(lists, pa.large_list(pa.large_string())))]
    for role, key in (roles if id is None else {"instance": id, **roles}).items():
        own = [plain(line.get(key), key, where) for where, line in lines]
        columns.append(pl.Series(role, own, pl.String))
    if id is None:
        columns.append(pl.Series("instance", range(first, first + len(lines))).cast(pl.String))
    return pl.DataFrame(columns)


def _labels(
    line: dict[str, Any], key: str, where: str, sign: str | None, plain_text: bool
) -> list[str | None] | None:
    if key not in line:
        raise SchemaError(f"every line must have the key {key!r}", found="none", where=where)
    labels = line[key]
    if labels is None:
        return None
    if isinstance(labels, str) and plain_text:
        found = [one or None for one in map(str.strip, split(labels, sign))]
        return [*filter(None, found)] if sign and is_expression(sign) else found
    if isinstance(labels, dict) and {*map(str, labels.values())} <= _ON | _OFF:
        return [name for name, value in labels.items() if str(value) in _ON]
    if not isinstance(labels, list):
        raise SchemaError(f"the key {key!r} must hold a list", found=excerpt(labels), where=where)
    labels = [span_text(one) or one for one in labels]
    for label in labels:
        if not (label is None or isinstance(label, str)):
            raise SchemaError("a label must be text or a number", found=excerpt(label), where=where)
    return labels


_ON, _OFF = {"1", "1.0", "True"}, {"0", "0.0", "False"}


FORMAT = LabelFormat(
    name="jsonl",
    title="JSON lines, or a JSON array, with a key for the id and a list or text in labels",
    matches=matches,
    read=read,
    choose=choose,
)
