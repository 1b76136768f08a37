"""The command that would read a table: options for its columns, tried before they are told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from shlex import quote

import polars as pl

from audit.base.errors import AuditError
from audit.base.files import called
from audit.base.readings import AskedError
from audit.data.known_nodes import LEAST_SHARE, hold_several
from audit.data.label_format import Columns, RawLabels
from audit.data.label_formats.several import families_of, stating
from audit.data.records import ID_NAMES, is_coarse
from audit.data.sources import Frame, Source

_ID = re.compile(r"(^|_|\b)(id|key|no|nr)$|^(record|case|instance)")
_CAMEL = re.compile(r"(?<=[a-z])(?=I[dD]$|Key$)")
_PREDICTED = re.compile(r"(^|_)pred|^(score|prob)")
_STAY = re.compile(r"stay|visit|admission|encounter|episode|hadm")
_PERSON = re.compile(r"patient|subject|person|member|bene")
_LABEL = re.compile(r"label|code|diag|dx|icd|class|term|concept|tag|categor")
_TRIED = 12
"""Number of commands that are tried."""
_WHOLE = 2**26
"""Number of bytes of a source that is tried as a whole; of a larger one the first rows are."""

Tried = Callable[[Source, Columns], RawLabels]


def nearest_command(source: Source, named: Columns, tried: Tried, *, groups: bool = True) -> str:
    """Options that name the columns of ids and labels, which read the source when they are tried.

    Args:
        source: The dataset, which may know the nodes.
        named: What the user names already.
        tried: Reads a source by the columns named.
        groups: Whether a group may be named.

    Returns:
        A hint; empty where the source is not a table with two columns.
    """
    if len(source.schema) < 2:
        return ""
    some = source if source.size < _WHOLE else _first_rows(source)
    commands = _commands(some, named, groups)
    for columns in (one for _, one in zip(range(_TRIED), commands, strict=False)):
        if _reads(some, columns, tried):
            return (
                f"name the columns of ids and labels, perhaps: {_options(source, columns)}"
                "; audit list formats lists what is read without that"
            )
    return (
        "no columns that were tried hold ids and labels"
        + " that are nodes of this hierarchy" * (source.nodes is not None)
        + "; --id and --label name them"
    )


def _first_rows(source: Source) -> Source:
    names, *rows = source.head_rows
    first = Frame(pl.DataFrame(rows, schema=names, orient="row"))
    first.know(source.nodes)
    return first


def _reads(source: Source, columns: Columns, tried: Tried) -> bool:
    """Whether columns give instances with labels, most of them nodes if these are known."""
    try:
        labels = tried(source, columns).rows["label"].drop_nulls()
    except AskedError:
        return True
    except AuditError:
        return False
    share = source.nodes.share(labels.head(10_000)) if source.nodes else 1.0
    return share is not None and share >= LEAST_SHARE


def _options(source: Source, columns: Columns) -> str:
    roles = {"--id": columns.id, "--group": columns.group, "--label": columns.label}
    options = {option: f"{option} {quote(name)}" for option, name in roles.items() if name}
    if columns.label and "," in columns.label and not columns.codes:
        options["--label"] = stating(source, [columns.label])
    return " ".join(options.values())


def _commands(source: Source, named: Columns, groups: bool) -> Iterator[Columns]:
    """What may be named, the likeliest first."""
    names = [name for name in source.schema if name.strip()]
    known = families_of(source)
    if source.nodes and len(known) > 1:
        order = sorted(known, key=lambda one: names.index(known[one][0]))
        known = {",".join(order): [name for one in order for name in known[one]], **known}
    grouped = {name for members in known.values() for name in members}
    own = [named.label] if named.label else list(_labels(source, names, known))
    for label in own:
        rest = [name for name in names if name not in (*grouped, label)]
        several = label in known or hold_several(source.first_cells(label))
        for id_ in [named.id] if named.id else _ids(source, rest, several):
            group = next(_persons_of(source, rest, id_), None) if groups else None
            for one in dict.fromkeys((named.group or group, named.group)):
                yield replace(named, id=id_, label=label, group=one)


def _labels(source: Source, names: Sequence[str], known: dict[str, list[str]]) -> Iterator[str]:
    """Patterns and columns that may hold labels: those whose cells are nodes, if these are known.

    Else one whose name says so, one most of whose cells have a digit and a letter or a dot, any.
    """
    yield from known
    free = [name for name in names if not any(name in members for members in known.values())]
    named = [name for name in free if _LABEL.search(name.strip().lower())]
    if source.nodes is None:
        ids = (_ID, _STAY, _PERSON)
        idlike = [n for n in free if any(kind.search(n.strip().lower()) for kind in ids)]
        others = [name for name in free if name not in idlike] or free
        coded = (name for name in others if _coded(source.first_cells(name)))
        yield from dict.fromkeys([*(n for n in named if n in others), *coded, *others])
        return
    shares = {name: source.share_of_nodes(name) or 0.0 for name in free}
    held = [name for name in free if shares[name] >= LEAST_SHARE]
    yield from sorted(held, key=lambda name: (-round(shares[name], 1), name not in named))


def _coded(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell.strip()]
    coded = [cell for cell in filled if re.search(r"\d", cell) and re.search(r"[A-Za-z.]", cell)]
    return 2 * len(coded) > len(filled)


def _ids(source: Source, names: Sequence[str], several: bool) -> list[str]:
    """Columns that may hold the id, the likeliest first: finer than the patient, no row's number.

    Where labels stand one a row, a column with another value in each row numbers the rows; where
    several stand in one row, one that repeats is no id unless its name says so. One that has hardly
    any values is none; of others the finest is likeliest, and decimals are unlikely.
    """
    cells = {name: source.first_cells(name) for name in names}
    values = {name: source.first_values(name) for name in names}
    names = [name for name in names if not is_coarse(len({*values[name]}), len(values[name]))]
    person = next(filter(_is_person, names), None)
    usual = called(names, ID_NAMES)

    def rank(name: str) -> tuple[int, int]:
        low = _CAMEL.sub("_", name.strip()).lower()
        if name in usual or _STAY.search(low):
            return (0 if name in usual else 1), 0
        sound = (1 < len(set(cells[name])) == len(cells[name])) == several
        sound = sound and not _PREDICTED.search(low)
        finer = person not in (None, name) and _nested(cells[name], cells[person or ""])
        likely = 2 if finer else 3 if _ID.search(low) else 4 if name == person else 5
        if likely == 5 and any(re.fullmatch(r"-?\d*[.,]\d+", one) for one in cells[name]):
            likely = 17
        finest = -len(set(cells[name])) if likely == 5 else 0
        return (likely if sound else likely + 10), finest

    return sorted(names, key=rank)


def _is_person(name: str) -> bool:
    low = name.strip().lower()
    return bool(_PERSON.search(low)) and not _STAY.search(low)


def _persons_of(source: Source, names: Sequence[str], id_: str) -> Iterator[str]:
    """Columns of persons in whose values the ids lie."""
    ids = source.first_cells(id_)
    persons = (name for name in names if name != id_ and _is_person(name))
    return (name for name in persons if _nested(ids, source.first_cells(name)))


def _nested(inner: Sequence[str], outer: Sequence[str]) -> bool:
    """Whether each value lies in one of another column that has not more, and repeats somewhere."""
    pairs = {pair for pair in zip(inner, outer, strict=False) if pair[0].strip()}
    return 0 < len(set(outer)) <= len({one for one, _ in pairs}) == len(pairs)
