"""Rows by role: which column or key holds the id, the label, the score, as tidy text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from polars.datatypes import DataTypeClass

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import called, name_among
from audit.base.other_files import SHEETS
from audit.base.readings import Reading
from audit.data.json_lines import (
    AS_WRITTEN,
    Line,
    begins_object,
    frames,
    is_array,
    keys_of,
    nested,
    objects_on,
)
from audit.data.known_nodes import is_expression, looks_behind, split
from audit.data.sources import Source
from audit.data.sources.source import ID_NAMES
from audit.policy.policy import KEYS_OF_COLUMNS

_LISTS = (pl.List, pl.Array)
_OPTIONS = {"instance": "--id", "label": "--label", "labels": "--label"}

STRATUM = "stratum:"
"""Prefix that marks the name of a stratum among the names of roles."""
_FEW, _MANY = 5, 25
"""Fewer values than the first, each in that many rows on average, are hardly ids."""
NUMBERED = "ROW"
"""What is named in place of a column of ids where each row is an instance, numbered from 0."""
INDEX = "index"
"""Name of a column that only numbers the rows where another may hold the ids."""


@dataclass(frozen=True, eq=False)
class Records:
    """Rows by role, and what became of the rows that cannot be used.

    Args:
        frame: The rows that can be used, with a column for each role.
        ledger: Number of the others, by reason.
        sources: The files that they were read from.
    """

    frame: pl.DataFrame
    ledger: Mapping[str, int] = field(default_factory=dict)
    sources: tuple[Path, ...] = ()

    @property
    def rows_read(self) -> int:
        """Number of rows read; each is in the frame or in the ledger."""
        return self.frame.height + sum(self.ledger.values())


def records(
    source: Source,
    roles: Mapping[str, Sequence[str]],
    named: Mapping[str, str] | None = None,
    required: Collection[str] = (),
) -> Records:
    """The rows of a table, or of JSON lines, as stripped text by role, null where blank.

    Args:
        source: CSV, TSV, JSON lines or Parquet; text may be packed with gzip.
        roles: Names that the column of each role may have, case ignored; the first one there
            counts. The roles that the source has are the columns of the frame, in this order.
        named: Columns that the user named, by role; they overrule the names.
        required: Roles that must have a column.

    Raises:
        InputError: If there is no such file, it is empty, or a line is not a JSON object.
        SchemaError: If a role is none of ``roles``; a required column, or one that the user named,
            is missing; or a column holds something else than plain values.
    """
    named = named or {}
    unknown = [role for role in named if role not in roles]
    if unknown:
        raise InputError(f"columns are named for {', '.join(roles)}", found=first_cases(unknown))
    table = table_of(source)
    if table.is_empty():
        raise InputError("a file with rows is required", found="none", where=source)
    found = {}
    for role, accepted in roles.items():
        here = [name for wanted in accepted if (name := present(table, wanted))]
        if role in named or (role in required and not here):
            hint = f"call the column that is meant {accepted[0]!r}"
            here = [name_among(table.columns, named.get(role, accepted[0]), source, hint)]
        found.update({role: here[0]} if here else {})
    return Records(pick(table, source, **found))


def sound_records(
    rows: pl.DataFrame, reasons: Collection[str], sources: Sequence[Path] = ()
) -> Records:
    """The rows whose ``refused`` is null, and how many others there are by its reasons."""
    refused = rows["refused"]
    counts = dict(refused.drop_nulls().value_counts().iter_rows())
    sound = rows.filter(refused.is_null()) if counts else rows
    ledger = {reason: counts[reason] for reason in reasons if reason in counts}
    return Records(sound.drop("refused"), ledger, tuple(sources))


def table_of(source: Source) -> pl.DataFrame:
    """All rows of a table as stored, or of JSON lines as text.

    A key of JSON that holds lists or objects is a column of lists, so that it is no column of text.
    """
    source.refuse_pickle()
    return _json_table(source) if is_json(source) else source.table()


def is_json(source: Source) -> bool:
    """Whether a text holds an object a line, or JSON that should."""
    return begins_object(source) or (is_array(source) and "json" in source.suffix)


def _json_table(source: Source) -> pl.DataFrame:
    listed = set[str]()

    def frame_of(lines: Sequence[Line]) -> pl.DataFrame:
        names = keys_of(lines)
        listed.update(nested(lines))
        columns = {name: [_written(line.get(name)) for _, line in lines] for name in names}
        return pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String))

    parts = list(frames(objects_on(source.lines(), AS_WRITTEN), frame_of, source))
    table = pl.concat(parts, how="diagonal") if parts else pl.DataFrame()
    return table.with_columns(pl.concat_list(name) for name in sorted(listed))


def _written(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def present(frame: pl.DataFrame, name: str) -> str | None:
    """The column of that name, ignoring case; None if there is none."""
    return next(iter(called(frame.columns, [name])), None)


def column_for(role: str, wanted: str, names: Sequence[str], source: Source) -> str:
    """The column named for a role, ignoring case; raises SchemaError if it does not exist."""
    if role.startswith(STRATUM):
        hint = f"--strata, and {KEYS_OF_COLUMNS} of the policy, name columns"
        return name_among(names, wanted, source, hint)
    hint = f"name another with {_OPTIONS[role]}" if role in _OPTIONS else ""
    several = called(names, [one.strip() for one in wanted.split(",")])
    if role == "instance" and len(several) > 1 and source.files:
        hint = made_with_key(source, several)
    return name_among(names, wanted, source, hint)


def made_with_key(source: Source, columns: Sequence[str]) -> str:
    """A hint: what makes a table in which several columns are one of ids, joined by a sign that
    their first values lack."""
    values = "".join(one for name in columns for one in source.first_values(name))
    sign = next((one for one in "|/~^" if one not in values), "\t")
    key = f"p.concat_str({[*columns]}, separator='{sign}').alias('key')"
    told = f"makes keyed.csv, in which {first_cases(columns)} are one, --id key"
    return f"{written_anew(source, key, 'keyed.csv')} {told}"


def written_anew(source: Source, column: str, name: str) -> str:
    """What writes a table with other columns to a file."""
    path = source.files[0]
    made = f"read_excel('{path}', infer_schema_length=0)"
    if path.suffix.lower() not in SHEETS:
        made = f"read_csv('{path}', infer_schema=False, separator={source.separator!r})"
    return f'python -c "import polars as p; p.{made}.with_columns({column}).write_csv({name!r})"'


def fitting(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that fit a pattern, or one of several between commas, case ignored, in their order.

    >>> fitting("DX#", ["DX1", "DX1_POA", "DXVER"]), fitting("A,B#", ["B2", "a"])
    (['DX1'], ['B2', 'a'])
    """
    several = [translate(one.strip().lower()) for one in pattern.split(",")]
    shapes = [re.compile(one.replace(r"\#", "[0-9]+")) for one in several]
    return [name for name in names if any(one.match(name.strip().lower()) for one in shapes)]


def id_among(
    names: Sequence[str], named: str | None, beside: Collection[str], source: Source
) -> str:
    """The column, or key, that holds the instance's id, beside those with another role.

    It is the one that the user named, else ``id``, ``instance`` or ``hadm_id``, else the only one
    that is not named as a node is. A column ``index`` is one only where there is no other.
    """
    if named is not None:
        return column_for("instance", named, names, source)
    if (known := source.known_id(names)) is not None:
        return known
    candidates = _ids_among(names, beside, source)
    if len(candidates) == 1:
        return candidates[0]
    raise UnclearColumnsError(
        "exactly one column must hold the id of the instance",
        found=f"the candidates {first_cases(candidates)}" if candidates else "no candidate",
        where=source,
        hint="name it with --id",
    )


class UnclearColumnsError(SchemaError):
    """It is not clear which column holds the ids, or the labels.

    ``table`` is the table whose columns may be named, where it is not the source itself.
    """

    def __init__(self, required: str, *, table: Source | None = None, **said: Any) -> None:
        self.table = table
        super().__init__(required, **said)


TEXTS = ("text", "sentence", "content", "comment", "review", "tweet", "utterance", "abstract")
"""Names of what is labelled itself."""


def only_texts(names: Sequence[str], beside: Collection[str], source: Source) -> bool:
    """Whether the only column that may hold ids is called as what is labelled itself."""
    return [name.strip().lower() in TEXTS for name in _ids_among(names, beside, source)] == [True]


def _ids_among(names: Sequence[str], beside: Collection[str], source: Source) -> list[str]:
    held = source.schema if source.is_text is False else {}
    free = [n for n in names if n not in beside and not is_opaque(held.get(n))]
    if usual := called(free, ID_NAMES) or called(free, ["_input_hash"]):  # the second of Prodigy
        return usual
    others = [name for name in free if not (source.nodes and source.nodes.means(name))]
    others = [name for name in others if name.strip().lower() != INDEX] or others
    return [name for name in others if name.strip().lower() not in TEXTS] or others


def is_opaque(dtype: pl.DataType | None) -> bool:
    """Whether values are of a type that no id, label or number is, as pictures are."""
    listed = isinstance(dtype, _LISTS)
    return (
        dtype is not None and not listed and (dtype.is_nested() or dtype in (pl.Binary, pl.Object))
    )


def id_of_rows(
    names: Sequence[str],
    named: str | None,
    beside: Collection[str],
    source: Source,
    values: Callable[[str], Iterator[pl.Series]],
) -> tuple[str | None, tuple[Reading, ...]]:
    """The column of the id where each row is an instance; None: rows are numbered, which is told.

    A column is none that nobody called an id and that repeats, or is named as a node, or a text. As
    `id_among`; ``values`` gives those of a column, some rows at a time.
    """
    if is_numbering(named, names):
        return None, ()
    free = _ids_among(names, beside, source)
    if named is not None or len(free) > 1 or called(free, ID_NAMES):
        return id_among(names, named, beside, source), ()
    text = only_texts(names, beside, source)
    if free and not text and not repeats(values(free[0])):
        return free[0], ()
    why = f"the values of {free[0]!r} repeat" if free else "no column holds an id"
    why = f"{free[0]!r} holds what is labelled" if text else why
    rows = sum(map(len, values(names[0])))
    return None, (Reading("rows are instances, numbered from 0", why, rows, "--id COLUMN"),)


def is_numbering(named: str | None, names: Iterable[str]) -> bool:
    """Whether the user says that rows are numbered, and means no column that is called so."""
    return named == NUMBERED and not called(names, [named])


def is_coarse(values: int, rows: int) -> bool:
    """Whether a column has so few values in so many rows that it is hardly one of ids."""
    return values < _FEW and rows >= _MANY * max(1, values)


def repeats(values: Iterable[pl.Series]) -> bool:
    """Whether some value that is not null is there twice."""
    hashes = pl.concat([pl.Series(dtype=pl.UInt64), *(one.drop_nulls().hash() for one in values)])
    return bool(hashes.is_duplicated().any())


def lie_within(inner: Sequence[str], outer: Sequence[str]) -> bool:
    """Whether each value lies in one of another column that has not more, and repeats somewhere."""
    pairs = {pair for pair in zip(inner, outer, strict=False) if pair[0].strip()}
    return 0 < len(set(outer)) <= len({one for one, _ in pairs}) == len(pairs)


def pick(frame: pl.DataFrame, source: Source, **columns: str | None) -> pl.DataFrame:
    """Select columns by role, under its name, as tidy text; roles without one are left out."""
    found = {
        role: column_for(role, column, frame.columns, source)
        for role, column in columns.items()
        if column is not None
    }
    lists = [column for role, column in found.items() if role == "labels"]
    chosen = pl.DataFrame({column: frame[column] for column in found.values()})
    text = tidy(chosen, source, lists)
    return pl.DataFrame([_of_role(role, text[column]) for role, column in found.items()])


def _of_role(role: str, text: pl.Series) -> pl.Series:
    """Values under the name of their role; ids that became decimals, 17.0, as whole numbers."""
    if role in ("instance", "group") and text.str.ends_with(".0").any():
        text = text.str.replace(r"^([0-9]+)\.0$", "$1")
    return text.alias(role)


def tidy(frame: pl.DataFrame, source: Source, lists: Collection[str] = ()) -> pl.DataFrame:
    """Convert every value to stripped text, null if blank; whole floats are written as integers.

    Lists stay lists, of such values.
    """
    frame = plain(frame, source, lists)
    columns = {
        one.name: one.to_frame().select(_text(pl.first(), one.dtype)).to_series() for one in frame
    }
    return pl.DataFrame(columns)


def plain(frame: pl.DataFrame, source: Source, lists: Collection[str] = ()) -> pl.DataFrame:
    """The frame, with durations as text; raises SchemaError as `tidy` does."""
    for name, dtype in frame.schema.items():
        inner = dtype.inner if name in lists and isinstance(dtype, _LISTS) else dtype
        if inner.is_nested() or inner in (pl.Binary, pl.Object):
            raise SchemaError(
                f"the column {name!r} must hold plain values"
                + " or lists of them" * (name in lists),
                found=str(dtype),
                where=source,
            )
    return frame.with_columns(pl.col(pl.Duration).dt.to_string("iso"))


def is_blank(values: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Whether values, none of them a list, become null when they are made tidy."""
    if dtype.is_float():
        return values.fill_nan(None).is_null()
    return values.is_null() if dtype.is_integer() else _text(values, dtype).is_null()


def parts(joined: pl.Expr, separator: str) -> pl.Expr:
    """Split a joined text into a list of labels as tidy text; null if all of it is blank."""
    bare = joined.str.strip_chars()
    if looks_behind(separator):
        apart = partial(_apart, separator)
        return pl.when(bare != "").then(joined.map_batches(apart, pl.List(pl.String)))
    if is_expression(separator):
        joined, separator = joined.str.replace_all(separator[1:-1], _BETWEEN), _BETWEEN
    inside = joined.str.split(separator).list.eval(_text(pl.element(), pl.String))
    return pl.when(bare != "").then(inside)


def _apart(separator: str, joined: pl.Series) -> pl.Series:
    cells = (None if one is None else split(one, separator) for one in joined)
    tidied = ([part.strip() or None for part in cell] if cell else None for cell in cells)
    return pl.Series(joined.name, tidied, pl.List(pl.String))


_BETWEEN = "\x1f"


def _text(values: pl.Expr, dtype: pl.DataType | DataTypeClass) -> pl.Expr:
    if isinstance(dtype, _LISTS):
        return values.cast(pl.List(dtype.inner)).list.eval(_text(pl.element(), dtype.inner))
    if dtype.is_float():
        values = values.fill_nan(None)
        whole = values.cast(pl.Int64, strict=False)
        written = pl.when(whole == values).then(whole.cast(pl.String))
        return written.otherwise(values.cast(pl.String))
    if dtype.is_integer():
        return values.cast(pl.String)
    if dtype == pl.Duration:
        values = values.dt.to_string("iso")
    return values.cast(pl.String).str.strip_chars().replace("", None)


ATTRIBUTION_COLUMNS = ("id", "target", "tokens", "scores")
"""Columns that attributions must have."""
ATTRIBUTION_DEFAULTS: Mapping[str, Any] = {"method": "attribution", "model": "model", "seed": 0}
"""Defaults for columns or values that are missing."""
